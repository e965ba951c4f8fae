//! The OAuth client against an authorization server and an MCP server on real sockets.
//!
//! Every refusal stands beside a sign-in that succeeds in the same world.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod files;
mod hostile;
mod login;
mod principals;
mod refusals;
mod tokens;
mod two_processes;
mod unattended;
mod web;
mod world;
