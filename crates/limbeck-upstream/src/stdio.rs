//! Servers that are child processes, with the protocol on their pipes.
//!
//! `rmcp` runs the protocol (handshake, ids, metadata, cancellation) over our own transport, because its
//! decoding is strict and loses the raw text. Three tasks serve a process: the reader and the writer
//! ([`pipes`]) move whole lines, and the supervisor ([`process`]) reaps, terminates and drains standard error.
//! `rmcp` sees handshakes, requests of the server, and placeholders for responses.

pub(crate) mod connection;
pub(crate) mod framing;
pub(crate) mod guard;
pub(crate) mod negotiate;
pub(crate) mod pipes;
pub(crate) mod process;
mod process_group;
pub(crate) mod program;
pub(crate) mod stderr;
