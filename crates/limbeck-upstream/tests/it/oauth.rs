//! The OAuth client against an authorization server and an MCP server on real sockets.
//!
//! Every rejection is tested beside a sign-in that succeeds in the same world.

mod files;
mod hostile;
mod login;
mod principals;
mod refusals;
mod tokens;
mod two_processes;
mod unattended;
mod web_server;
mod world;
