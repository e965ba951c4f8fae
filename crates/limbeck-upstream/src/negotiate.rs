//! Negotiation of the protocol generation with a server.
//!
//! `server/discover` is sent first. A result means that the server is modern. A JSON-RPC error means that it is
//! legacy, and `initialize` follows on the same pipes. Silence, or the end of the process, means legacy too,
//! but on a fresh process: real servers crash or hang on a request they do not know. A server that rejects
//! `initialize` for its version (`-32022`) is modern after all.
//!
//! Results are cached for an hour, per command line or per origin and path (`http::negotiate`). A wrong one
//! corrects itself: when a cached generation is refused, the other one is tried.

pub(crate) mod cache;
pub(crate) mod context;
pub(crate) mod target;

use std::sync::Arc;

use tokio::time::Instant;

use crate::connection::Connection;
use crate::error::UpstreamError;
use crate::{http, stdio};

use cache::NegotiationCache;
use context::ConnectContext;
use target::Target;

/// Connects to one server, each time it has to be started.
pub(crate) struct Connector {
    pub(crate) target: Target,
    pub(crate) cache: Arc<NegotiationCache>,
    pub(crate) context: ConnectContext,
}

impl Connector {
    /// Starts the server and performs the handshake. Every process gets the whole start timeout.
    ///
    /// # Errors
    ///
    /// Any error of a start: [`UpstreamError::ProgramNotFound`], [`UpstreamError::Spawn`],
    /// [`UpstreamError::StartTimeout`], [`UpstreamError::Exited`], [`UpstreamError::Handshake`], and those of
    /// an HTTP connection.
    pub(crate) async fn connect(&self) -> Result<Connection, UpstreamError> {
        let key = self.target.key();
        // A cached result saves the probe, which costs a second process with some legacy servers.
        let known = self.cache.recall(&key, Instant::now());
        let (connection, dialect) = match &self.target {
            Target::Http(spec) => http::negotiate::connect(&self.context, spec, known).await?,
            Target::Process(spec) => stdio::negotiate::connect(&self.context, spec, known).await?,
        };
        self.cache.remember(key, dialect, Instant::now());
        Ok(connection)
    }
}
