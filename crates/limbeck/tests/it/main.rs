//! The `limbeck` executable as people and clients start it: standard output, standard error, exit code.
//!
//! The sample server of `limbeck demo` is the MCP server here, so that nothing else is needed.

#![expect(clippy::unwrap_used, reason = "a helper that fails, fails its test")]

mod artifacts;
mod demo;
mod doctor;
mod embeddings;
mod evidence;
mod http;
mod learn;
mod ledger;
mod past;
mod run;
mod secrets;
mod serve;
mod servers;
mod trust;
mod types;
mod usage;
mod world;
