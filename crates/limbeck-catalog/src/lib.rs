//! The tools that are known: names, signatures, argument checks, search.
//!
//! A [`Catalog`] is an immutable snapshot, made again whenever a server's list changes and shared behind
//! `Arc`. It answers what a program and a model ask about tools:
//!
//! - which tool is meant: [`Catalog::resolve`],
//! - how it is called: [`Tool::signature`] and [`Tool::declaration`],
//! - whether these arguments fit: [`Tool::validate`],
//! - whether the calls of a program can work at all: [`Catalog::judge`],
//! - what a type checker needs to know: [`declarations`],
//! - which tools do such a thing: [`Catalog::search`],
//! - what results look like where their server does not say: [`Observed`] and [`Tool::output_shape`].
//!
//! Definitions come from upstreams and names, arguments and queries from models, so nothing here is
//! trusted: every walk over a schema is bounded in depth and in steps, every text in bytes, and no
//! reference is ever fetched. The crate does no I/O and reads no clock: same inputs, same answers.
//!
//! Start reading at [`Catalog::new`].

#![forbid(unsafe_code)]

mod catalog;
mod check;
pub mod declarations;
mod identifiers;
pub mod names;
mod nearest;
mod observed;
mod resolve;
mod schema;
mod search;
mod server;
mod signature;
mod tool;
mod validate;

pub use catalog::Catalog;
pub use check::{Caller, Finding, Findings};
pub use observed::{Observed, OutputShape, Provenance, Shape};
pub use resolve::{ResolveError, Resolved};
pub use search::{Evidence, Hit, SearchAnswer, SearchQuery};
pub use server::ServerTools;
pub use tool::{Detail, Tool};
pub use validate::misfit;
