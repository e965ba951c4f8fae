//! JSON-RPC over any transport: pending requests, reading and encoding of messages, the handshake.

pub(crate) mod encode;
pub(crate) mod envelope;
pub(crate) mod handshake;
pub(crate) mod handshake_result;
mod peer_requests;
pub(crate) mod pending;
pub(crate) mod reader;
