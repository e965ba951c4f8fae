//! MCP server for one connection: the tools `search`, `execute` and `resume`, those of three earlier systems under their own
//! names, artifacts and descriptions of servers and tools as resources, and the tools, resources and prompts of exposed servers
//! as they are.
//!
//! One process serves both generations of the protocol; the SDK selects by the client's first message.
//! Handshake and lists do not wait for upstream servers, except for the first list of an exposed one.

#![expect(
    deprecated,
    reason = "sampling, roots, logging and resources/subscribe are what legacy peers have"
)]

mod arguments;
mod artifact_resources;
mod begun_executions;
mod built_in_calls;
mod built_in_results;
mod built_in_tools;
mod capabilities;
mod change_notifications;
mod client_exchanges;
mod client_names;
mod client_surface;
mod compat;
mod direct_results;
mod exchange;
mod exposed_lists;
mod exposed_tools;
mod forward;
mod handler;
mod instructions;
mod legacy_session;
mod log_level;
mod mcp_server;
mod own_addresses;
mod own_resources;
mod refusals;
mod resume;
mod resume_arguments;
mod running_tasks;
mod stdio;
mod tasks;
mod upstream_results;

pub(crate) use begun_executions::BegunExecutions;
#[cfg(unix)]
pub(crate) use built_in_results::{failed, with_hint};
#[cfg(unix)]
pub(crate) use built_in_tools::BuiltInTool;
pub use client_surface::Surface;
pub use compat::options::{
    CompatError, CompatOptions, EarlierSettings, ExecutionLog, PayloadForm, Predecessor, Rate,
    Times,
};
pub use exposed_tools::client_listing;
pub use mcp_server::McpServer;
#[cfg(unix)]
pub(crate) use stdio::{
    InputEnd, Lines, Output, PIPED_END, has_reader, line_too_long, serve_lines,
};
pub use stdio::{ServeError, serve_stdio};
