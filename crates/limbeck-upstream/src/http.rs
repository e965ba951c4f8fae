//! Servers reached over HTTP.
//!
//! `rmcp` drives the protocol as it does over pipes, through our own transport ([`wire`]): each request is one
//! exchange ([`exchange`]), whose answer comes as JSON or on an event stream and goes through the same
//! reader as a line of a child process, so results stay raw and junk costs only itself.
//! [`session`] holds what the exchanges of one connection share, [`connect`] finds out how a server speaks.
//!
//! Everything that leaves goes through [`guard::Client`]: it judges the address after the name was
//! resolved, connects to exactly that address, and follows no redirect.

mod address;
pub(crate) mod connect;
mod credentials;
mod events;
mod exchange;
pub mod guard;
mod headers;
mod keychain;
pub(crate) mod params;
mod resolve;
mod retry;
mod secret;
pub(crate) mod session;
mod spec;
mod streams;
pub(crate) mod wire;

pub use address::{AddressClass, NetworkRules};
pub use credentials::Credentials;
pub use headers::HeaderValueSpec;
pub use secret::{LocalSecrets, SecretReference, SecretResolver};
pub use spec::{HttpKind, HttpSpec};
