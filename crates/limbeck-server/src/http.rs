//! MCP server over HTTP: many clients, both generations of the protocol, one endpoint, `/mcp`; and `/approvals` for people who decide about calls.
//!
//! Every client that can reach the address can send requests, so as little as possible happens before the token
//! is checked: hyper reads heads within bounds of size, number and time, [`allowed_hosts`] checks `Host` and
//! `Origin`, [`authentication`] the token. Bodies are read after that, and the SDK parses them. Each
//! principal has its own clients, sessions and limits.
//!
//! Three invariants, tested in `tests/it`:
//! - No request runs anything without a token, and no option allows it.
//! - Without TLS the server listens on loopback addresses only, unless the operator states that a proxy
//!   terminates TLS.
//! - A principal cannot see or use what belongs to another, or use up its limits.
//!
//! Start reading at [`HttpServer::serve`]; the path of a request is in [`service`].

mod allowed_hosts;
mod answer_body;
mod approvals;
mod authentication;
mod bearer_tokens;
mod bodies;
mod clients;
mod connection;
mod connection_places;
mod http_bounds;
mod http_options;
mod http_server;
mod issuer;
mod keep_alive;
mod metrics;
mod redacted_answer;
mod secret_files;
mod service;
mod sessions;
mod tls;

pub use allowed_hosts::HostNameError;
pub use authentication::Authentication;
pub use bearer_tokens::{BearerTokens, BearerTokensError, GeneratedToken};
pub use http_bounds::HttpBounds;
pub use http_options::{HttpError, HttpOptions, Security};
pub use http_server::{HttpListener, HttpServer};
pub use issuer::{Issuer, IssuerError};
pub use tls::{TlsError, TlsFiles};
