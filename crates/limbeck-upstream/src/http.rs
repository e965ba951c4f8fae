//! Servers reached over HTTP.
//!
//! `rmcp` runs the protocol as it does over pipes, through our own transport ([`connection`]). Each request is
//! one exchange ([`exchange`]), whose response arrives as JSON or on an event stream and goes through the same
//! reader as a line of a child process, so results stay raw and an invalid message affects only its own
//! request. [`session`] holds the state shared by the exchanges of one connection, [`negotiate`] finds out
//! which protocol a server supports.
//!
//! Every request goes through [`guard::GuardedClient`]: it checks the address after the name was resolved,
//! connects to exactly that address, and does not follow redirects.

mod address;
pub(crate) mod connection;
mod credentials;
pub(crate) mod dialect;
pub(crate) mod events;
mod exchange;
pub mod guard;
mod headers;
mod keychain;
pub(crate) mod negotiate;
pub(crate) mod params;
mod resolve;
mod retry;
mod secret;
pub(crate) mod session;
mod spec;
mod streams;

pub use address::{AddressClass, NetworkRules};
pub use credentials::CredentialSource;
pub use headers::HeaderValueSpec;
pub use secret::{LocalSecrets, SecretReference, SecretResolver};
pub use spec::{HttpKind, HttpSpec};
