//! MCP server for clients, over stdio and HTTP, on top of `limbeck-gateway`.
//!
//! - [`surface`] implements the protocol: two tools of its own, and the tools, resources and prompts of
//!   exposed servers as they are.
//! - [`http`] serves it to many clients over a network, each with a token.
//! - [`sharing`] lets several local clients, each with a process of its own, use one gateway.
//!
//! Start reading at [`surface::Surface`].

#![forbid(unsafe_code)]
// The futures of a served connection are nested deeper than the usual 128 types.
#![recursion_limit = "256"]

mod answer_place;
mod answer_room;
pub mod followed_files;
pub mod http;
mod request_memory;
#[cfg(unix)]
pub mod sharing;
pub mod surface;
mod unique_keys;
