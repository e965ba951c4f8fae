//! Catalog of known tools: names, signatures, argument checks.
//!
//! A [`Catalog`] is an immutable snapshot, shared behind `Arc` and rebuilt whenever a server's list changes. Its
//! parts:
//!
//! - names of tools, in any style: [`Catalog::resolve`],
//! - signatures for models: [`Tool::signature`] and [`Tool::declaration`],
//! - validation of arguments: [`Tool::validate`],
//! - check of a program's calls before it runs: [`Catalog::check`], and of its reads in the results: [`ResultReads`],
//! - plan of the calls a program may make: [`Catalog::plan`],
//! - declarations for type checkers: [`declarations`],
//! - types of results that their server does not declare: [`Observed`] and [`Tool::output_shape`].
//!
//! Definitions come from upstreams, and names and arguments from models, so no input is trusted: every walk over a
//! schema is bounded in depth and in steps, every text in bytes, and no reference is ever fetched. The crate does no I/O
//! and reads no clock, so the same inputs give the same answers.
//!
//! Start reading at [`Catalog::new`].

#![forbid(unsafe_code)]

mod absence;
mod bare_name;
mod catalog;
mod check;
pub mod declarations;
mod identifiers;
pub mod names;
pub mod nearest;
mod observed;
mod plan;
mod resolve;
mod result_reads;
mod schema;
mod seems_to_read;
mod server;
mod signature;
mod tool;
mod validate;
pub mod words;
mod written_calls;

pub use absence::{Absences, AbsentServer};
pub use catalog::Catalog;
pub use check::{CheckOptions, Edit, Finding, FindingKind, Findings};
pub use observed::{Observed, OutputShape, Provenance, Shape};
pub use plan::{Plan, PlannedCall, PlannedFlow, PlannedTool, PlannedUnknown};
pub use resolve::{ListedServers, ResolveError, Resolved};
pub use result_reads::{ResultReads, text_input_warnings};
pub use server::{Off, ServerTools};
pub use tool::{Detail, Tool};
pub use validate::{AcceptedArguments, schema_mismatch};
pub use written_calls::WrittenCall;
