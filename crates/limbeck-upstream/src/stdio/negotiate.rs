//! Negotiation of the protocol generation with a child process.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::ErrorCode;

use crate::connection::{Connection, TransportConnection};
use crate::error::UpstreamError;
use crate::http::dialect::HttpDialect;
use crate::negotiate::context::{ConnectContext, LastProcess};
use crate::protocol::ProtocolGeneration;
use crate::rpc::handshake::HandshakeError;
use crate::server_messages::ServerMessages;
use crate::spec::StdioSpec;
use crate::sync::lock;
use crate::time::in_ms;

use super::connection::StdioConnection;
use super::program;

/// Time for `initialize` after a rejected probe, before a fresh process is started.
const SECOND_HANDSHAKE: Duration = Duration::from_secs(10);

/// Starts the program of `spec` and performs the handshake; `known` is the cached result of an earlier start.
///
/// # Errors
///
/// [`UpstreamError::ProgramNotFound`], [`UpstreamError::Spawn`], [`UpstreamError::StartTimeout`],
/// [`UpstreamError::Exited`] and [`UpstreamError::Handshake`].
pub(crate) async fn connect(
    context: &ConnectContext,
    spec: &StdioSpec,
    known: Option<HttpDialect>,
) -> Result<(Connection, HttpDialect), UpstreamError> {
    let start = StdioNegotiation {
        context,
        spec,
        program: program::resolve(spec)?,
    };
    let connection = match known {
        Some(HttpDialect::Legacy) => start.legacy().await,
        Some(HttpDialect::Modern | HttpDialect::Sse) | None => start.probe().await,
    }?;
    let dialect = match connection.generation() {
        ProtocolGeneration::Legacy => HttpDialect::Legacy,
        ProtocolGeneration::Modern => HttpDialect::Modern,
    };
    Ok((connection, dialect))
}

/// One start of a server, with as many processes as the negotiation needs.
struct StdioNegotiation<'a> {
    context: &'a ConnectContext,
    spec: &'a StdioSpec,
    program: PathBuf,
}

impl StdioNegotiation<'_> {
    async fn probe(&self) -> Result<Connection, UpstreamError> {
        let mut connection = self.spawn()?;
        match connection
            .handshake(ProtocolGeneration::Modern, self.context.start_timeout)
            .await
        {
            Ok(service) => {
                return Ok(Connection::new(
                    TransportConnection::Process(connection),
                    service,
                    ProtocolGeneration::Modern,
                ));
            }
            Err(fault @ HandshakeError::TimedOut) => {
                return Err(self.failed(connection, fault).await);
            }
            // The probe may have left the server in a state that it does not recover from, so `initialize` goes to a fresh process.
            Err(HandshakeError::Silent | HandshakeError::Ended) => {}
            Err(HandshakeError::Refused { .. } | HandshakeError::NoCommonVersion { .. }) => {
                // Shorter than a start: a server that answered the probe is up, and a fresh process is tried
                // next.
                let limit = SECOND_HANDSHAKE.min(self.context.start_timeout);
                if let Ok(service) = connection
                    .handshake(ProtocolGeneration::Legacy, limit)
                    .await
                {
                    return Ok(Connection::new(
                        TransportConnection::Process(connection),
                        service,
                        ProtocolGeneration::Legacy,
                    ));
                }
            }
        }
        connection.end().await;
        self.legacy().await
    }

    async fn legacy(&self) -> Result<Connection, UpstreamError> {
        let mut connection = self.spawn()?;
        match connection
            .handshake(ProtocolGeneration::Legacy, self.context.start_timeout)
            .await
        {
            Ok(service) => Ok(Connection::new(
                TransportConnection::Process(connection),
                service,
                ProtocolGeneration::Legacy,
            )),
            Err(HandshakeError::Refused { code, .. })
                if code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION.0 =>
            {
                connection.end().await;
                self.modern().await
            }
            Err(fault) => Err(self.failed(connection, fault).await),
        }
    }

    async fn modern(&self) -> Result<Connection, UpstreamError> {
        let mut connection = self.spawn()?;
        match connection
            .handshake(ProtocolGeneration::Modern, self.context.start_timeout)
            .await
        {
            Ok(service) => Ok(Connection::new(
                TransportConnection::Process(connection),
                service,
                ProtocolGeneration::Modern,
            )),
            Err(fault) => Err(self.failed(connection, fault).await),
        }
    }

    fn spawn(&self) -> Result<StdioConnection, UpstreamError> {
        let context = self.context;
        let stop = context.closing.child_token();
        let server_messages = Arc::new(ServerMessages::new(context.sink.clone()));
        let connection = StdioConnection::spawn(
            self.spec,
            &self.program,
            server_messages,
            stop,
            &context.tracker,
            &context.guard,
        )?;
        // Stored before the handshake, so that a report can show why a start hangs.
        *lock(&context.last_process) = Some(LastProcess {
            stderr: Some(connection.process.stderr.clone()),
            pending: connection.pending.clone(),
        });
        Ok(connection)
    }

    /// Ends the process and returns the error, with the end of its standard error.
    async fn failed(&self, connection: StdioConnection, fault: HandshakeError) -> UpstreamError {
        connection.process.stop.cancel();
        connection.process.ended().await;
        let status = connection.process.status().unwrap_or_default();
        let stderr_tail = connection.process.stderr_excerpt();
        match fault {
            HandshakeError::Ended => UpstreamError::Exited {
                // A program that is no server prints its own text and ends well.
                status: match connection.pending.traffic().junk_lines {
                    0 => status,
                    _ => format!("{status}, its output was not MCP"),
                },
                stderr_tail,
            },
            HandshakeError::TimedOut | HandshakeError::Silent => UpstreamError::StartTimeout {
                ms: in_ms(self.context.start_timeout),
                stderr_tail,
            },
            HandshakeError::Refused { code, message } => UpstreamError::Handshake {
                reason: format!(
                    "{} (code {code})",
                    connection.process.redactor.redact(&message)
                ),
            },
            HandshakeError::NoCommonVersion { offered } => UpstreamError::Handshake {
                reason: format!("it supports only protocol version {}", offered.join(", ")),
            },
        }
    }
}
