//! Handshake of a connection, run by `rmcp`.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ErrorCode, ProtocolVersion};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle,
};
use rmcp::transport::Transport;

use crate::handler::ClientHandler;
use crate::protocol::ProtocolGeneration;

use super::pending::PendingRequests;

/// Time for a response to `server/discover` once the server has read it. A server that knows the request
/// answers in milliseconds; one that does not may never respond.
pub(crate) const PROBE_ANSWER: Duration = Duration::from_secs(5);

/// Client of one connection, run by `rmcp`.
pub(crate) type McpService = RunningService<RoleClient, ClientHandler>;

/// Failure of a handshake.
#[derive(Debug)]
pub(crate) enum HandshakeError {
    /// The server answered with an error.
    Refused { code: i32, message: String },
    /// The server supports no version of this protocol generation.
    NoCommonVersion { offered: Vec<String> },
    /// The server read the request and did not respond.
    Silent,
    /// The server or its output ended.
    Ended,
    /// The start timeout passed.
    TimedOut,
}

/// Performs the handshake over `transport`; `rmcp` serves the connection from then on.
pub(crate) async fn perform_handshake(
    pending: &Arc<PendingRequests>,
    transport: impl Transport<RoleClient> + 'static,
    generation: ProtocolGeneration,
) -> Result<McpService, HandshakeError> {
    let handler = ClientHandler {
        server_messages: pending.server_messages().clone(),
        generation,
    };
    serve_client_with_lifecycle(handler, transport, lifecycle(generation))
        .await
        .map_err(handshake_error)
}

fn lifecycle(generation: ProtocolGeneration) -> ClientLifecycleMode {
    match generation {
        ProtocolGeneration::Legacy => ClientLifecycleMode::Initialize,
        ProtocolGeneration::Modern => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    }
}

fn handshake_error(error: ClientInitializeError) -> HandshakeError {
    match error {
        ClientInitializeError::JsonRpcError(error) => HandshakeError::Refused {
            code: error.code.0,
            message: error.message.into_owned(),
        },
        ClientInitializeError::NoCompatibleProtocolVersion {
            server_supported, ..
        } => HandshakeError::NoCommonVersion {
            offered: server_supported
                .iter()
                .map(|version| version.as_str().to_owned())
                .collect(),
        },
        ClientInitializeError::ConnectionClosed(_)
        | ClientInitializeError::TransportError { .. } => HandshakeError::Ended,
        other => HandshakeError::Refused {
            code: ErrorCode::INTERNAL_ERROR.0,
            message: other.to_string(),
        },
    }
}
