//! Settings of the HTTP server, and errors of a server that cannot start with them.

use std::io;
use std::net::SocketAddr;

use super::allowed_hosts::HostNameError;
use super::authentication::Authentication;
use super::http_bounds::HttpBounds;
use super::tls::{TlsError, TlsFiles};
use crate::surface::CompatOptions;

/// Settings of the HTTP server.
#[derive(Debug)]
pub struct HttpOptions {
    /// Tokens that requests are accepted with.
    pub authentication: Authentication,
    /// Accepted `Host` values besides loopback names and the bound address: `name` or `name:port`.
    pub allow_hosts: Vec<String>,
    /// Accepted `Origin` values, which web pages send.
    pub allow_origins: Vec<String>,
    /// Protection of the connection.
    pub security: Security,
    /// Load limits and timeouts.
    pub bounds: HttpBounds,
    /// Tools of earlier systems that clients list.
    pub compat: CompatOptions,
}

/// Protection of tokens and data in transit.
#[derive(Clone, Debug)]
pub enum Security {
    /// None: the server listens on a loopback address.
    Loopback,
    /// TLS by this server.
    Tls(TlsFiles),
    /// TLS by a proxy in front of this server.
    TlsProxy,
}

/// Failure to start the HTTP server.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Tokens would be sent in clear text over a network.
    #[error("{0} can be reached from other machines, and tokens would be sent there in clear text")]
    ClearText(SocketAddr),
    /// The address cannot be bound.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// An `--allow-host` or `--allow-origin` value is not valid.
    #[error(transparent)]
    Name(#[from] HostNameError),
    /// Certificate or key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl HttpError {
    /// Next step for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::ClearText(_) => {
                "listen on 127.0.0.1, or add `--tls-cert FILE --tls-key FILE`, or `--behind-tls-proxy` where a proxy has TLS"
            }
            Self::Listen { .. } => "choose another port, for example `--http 127.0.0.1:8081`",
            Self::Name(_) => "correct `--allow-host` or `--allow-origin`",
            Self::Tls(TlsError::OpenKey { .. }) => {
                "make a new key, then run `chmod 600` on its file"
            }
            Self::Tls(_) => "name a certificate chain and its unencrypted private key, both in PEM",
        }
    }
}
