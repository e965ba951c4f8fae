//! The pool against servers on real sockets: both eras of Streamable HTTP, the old transport, and hostile ones.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calls;
mod embeddings;
mod eras;
mod guard;
mod headers;
mod hostile;
mod peer;
mod questions;
mod sessions;
mod streams;
mod support;
