//! Servers reached over HTTP.
//!
//! Everything that leaves goes through [`guard::Client`]: it judges the address after the name was
//! resolved, connects to exactly that address, and follows no redirect.

mod address;
mod credentials;
pub mod guard;
mod resolve;

pub use address::{AddressClass, NetworkRules};
pub use credentials::Credentials;
