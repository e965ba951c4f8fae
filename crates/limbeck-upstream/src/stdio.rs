//! One child process and the protocol on its pipes.
//!
//! `rmcp` drives the protocol (handshake, ids, metadata, cancellation) over our own transport, because its
//! decoding is strict and lossy while a gateway must be neither. Three tasks serve a process: the reader
//! ([`reader`]) turns lines into answers and hands results over as raw text, the writer
//! ([`transport`]) writes whole lines, and the supervisor ([`process`]) reaps, terminates and drains
//! standard error. `rmcp` sees only handshakes, requests of the server, and empty stand-ins for answers.

pub(crate) mod envelope;
pub(crate) mod framing;
pub(crate) mod handshake;
pub(crate) mod process;
pub(crate) mod program;
pub(crate) mod reader;
pub(crate) mod stderr;
pub(crate) mod tap;
pub(crate) mod transport;
