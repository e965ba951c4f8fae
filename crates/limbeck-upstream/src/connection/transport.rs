//! The transport under a connection: a child process, or HTTP.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::http::connection::HttpConnection;
use crate::rpc::pending::PendingRequests;
use crate::stdio::connection::StdioConnection;

/// Transport of a connection.
pub(crate) enum TransportConnection {
    /// A child process and its pipes.
    Process(StdioConnection),
    /// An HTTP session.
    Http(HttpConnection),
}

impl TransportConnection {
    pub(super) fn pending(&self) -> &Arc<PendingRequests> {
        match self {
            Self::Process(connection) => &connection.pending,
            Self::Http(connection) => connection.pending(),
        }
    }

    /// Cancelled to end the connection.
    pub(super) fn stop(&self) -> &CancellationToken {
        match self {
            Self::Process(connection) => &connection.process.stop,
            Self::Http(connection) => connection.stop(),
        }
    }

    /// Whether the transport accepts no further requests.
    pub(super) fn is_closing(&self) -> bool {
        match self {
            Self::Process(connection) => connection.process.stop.is_cancelled(),
            Self::Http(connection) => connection.is_closing(),
        }
    }

    /// Completes when the exit status of a child process is known.
    pub(super) async fn ended(&self) {
        match self {
            Self::Process(connection) => connection.process.ended().await,
            Self::Http(_) => {}
        }
    }

    pub(super) fn status(&self) -> Option<String> {
        match self {
            Self::Process(connection) => connection.process.status(),
            Self::Http(_) => None,
        }
    }

    pub(super) fn stderr_excerpt(&self) -> String {
        match self {
            Self::Process(connection) => connection.process.stderr_excerpt(),
            Self::Http(_) => String::new(),
        }
    }

    /// Error text of the server without the values of its entry.
    pub(super) fn redact(&self, words: String) -> String {
        match self {
            Self::Process(connection) => connection.process.redactor.redact(&words).into_owned(),
            Self::Http(connection) => connection.redact_error(&words),
        }
    }
}
