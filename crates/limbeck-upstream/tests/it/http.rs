//! The pool against servers on real sockets: both eras of Streamable HTTP, the old transport, and hostile ones.

mod calls;
mod embeddings;
mod fake_server;
mod generations;
mod guard;
mod headers;
mod hostile;
mod models;
mod questions;
mod sessions;
mod streams;
mod support;
