//! Negotiation of the protocol with a server over HTTP.
//!
//! A modern request is sent first. When it is rejected with anything but a modern server's own error,
//! `initialize` follows; when that is rejected with 400, 404 or 405, the event stream of the old transport. A
//! rejection that requires a sign-in, and a server that cannot be reached, decide nothing. Results are cached
//! per origin and path for a while; a wrong one corrects itself, because a rejection starts the negotiation
//! again.

use std::sync::Arc;

use rmcp::model::ErrorCode;

use crate::connection::{Connection, TransportConnection};
use crate::error::UpstreamError;
use crate::negotiate::context::{ConnectContext, LastProcess};
use crate::oauth::login_command::login_command;
use crate::rpc::handshake::HandshakeError;
use crate::rpc::pending::PendingRequests;
use crate::server_messages::ServerMessages;
use crate::sync::lock;
use crate::time::in_ms;

use super::connection::{HttpConnection, HttpHandshakeError};
use super::dialect::HttpDialect;
use super::exchange::is_modern;
use super::guard::GuardedClient;
use super::headers::StaticHeaders;
use super::session::{ServerAccess, upstream_error};
use super::{HttpKind, HttpSpec};

/// Connects to the server of `spec`; `known` is the cached result of an earlier negotiation.
///
/// # Errors
///
/// [`UpstreamError::Unreachable`], [`UpstreamError::NotAllowed`], [`UpstreamError::Secret`],
/// [`UpstreamError::SignInNeeded`], [`UpstreamError::Http`], [`UpstreamError::InvalidAnswer`] and
/// [`UpstreamError::Handshake`].
pub(crate) async fn connect(
    context: &ConnectContext,
    spec: &HttpSpec,
    known: Option<HttpDialect>,
) -> Result<(Connection, HttpDialect), UpstreamError> {
    let client = GuardedClient::new(&spec.url, spec.network.clone())
        .map_err(|error| upstream_error(&error))?;
    let headers = StaticHeaders::resolve(&spec.headers, &*spec.secrets, &spec.url).await?;
    let negotiation = HttpNegotiation {
        context,
        kind: spec.kind,
        access: ServerAccess {
            client,
            url: spec.url.clone(),
            headers: Arc::new(headers),
            credentials: spec.credentials.clone(),
            sign_in: login_command(
                context.sink.server.as_str(),
                context.sink.principal.as_deref(),
            ),
        },
    };
    match (spec.kind, known) {
        (HttpKind::Sse, _) => negotiation.events().await,
        (HttpKind::Auto, Some(HttpDialect::Sse)) => negotiation.remembered(HttpDialect::Sse).await,
        (_, Some(HttpDialect::Legacy)) => negotiation.remembered(HttpDialect::Legacy).await,
        (_, Some(HttpDialect::Modern | HttpDialect::Sse) | None) => negotiation.probe().await,
    }
}

struct HttpNegotiation<'a> {
    context: &'a ConnectContext,
    kind: HttpKind,
    access: ServerAccess,
}

type Negotiated = Result<(Connection, HttpDialect), UpstreamError>;

impl HttpNegotiation<'_> {
    async fn probe(&self) -> Negotiated {
        match self.perform_handshake(HttpDialect::Modern).await {
            Ok(connection) => Ok((connection, HttpDialect::Modern)),
            Err(refusal) if is_verdict(&refusal) => self.legacy().await,
            Err(refusal) => Err(self.error(refusal)),
        }
    }

    /// Tries the cached dialect, and negotiates again when the server rejects it.
    async fn remembered(&self, dialect: HttpDialect) -> Negotiated {
        match self.perform_handshake(dialect).await {
            Ok(connection) => Ok((connection, dialect)),
            // Includes a modern server's own errors: it got a legacy request.
            Err(HttpHandshakeError::Handshake(HandshakeError::Refused { .. })) => {
                self.probe().await
            }
            Err(refusal) if is_verdict(&refusal) => self.probe().await,
            Err(refusal) => Err(self.error(refusal)),
        }
    }

    async fn legacy(&self) -> Negotiated {
        let refusal = match self.perform_handshake(HttpDialect::Legacy).await {
            Ok(connection) => return Ok((connection, HttpDialect::Legacy)),
            Err(refusal) => refusal,
        };
        match &refusal {
            // The server is modern and was only slow to answer the probe.
            HttpHandshakeError::Handshake(HandshakeError::Refused { code, .. })
                if *code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION.0 =>
            {
                match self.perform_handshake(HttpDialect::Modern).await {
                    Ok(connection) => Ok((connection, HttpDialect::Modern)),
                    Err(refusal) => Err(self.error(refusal)),
                }
            }
            HttpHandshakeError::Http(UpstreamError::Http {
                status: 400 | 404 | 405,
                ..
            }) if self.kind == HttpKind::Auto => {
                match self.perform_handshake(HttpDialect::Sse).await {
                    Ok(connection) => Ok((connection, HttpDialect::Sse)),
                    // The first error is more helpful than "no event stream either".
                    Err(HttpHandshakeError::Http(error @ UpstreamError::NotAllowed { .. })) => {
                        Err(error)
                    }
                    Err(_) => Err(self.error(refusal)),
                }
            }
            HttpHandshakeError::Handshake(_) | HttpHandshakeError::Http(_) => {
                Err(self.error(refusal))
            }
        }
    }

    async fn events(&self) -> Negotiated {
        match self.perform_handshake(HttpDialect::Sse).await {
            Ok(connection) => Ok((connection, HttpDialect::Sse)),
            Err(refusal) => Err(self.error(refusal)),
        }
    }

    async fn perform_handshake(
        &self,
        dialect: HttpDialect,
    ) -> Result<Connection, HttpHandshakeError> {
        let context = self.context;
        let server_messages = Arc::new(ServerMessages::new(context.sink.clone()));
        let pending = Arc::new(PendingRequests::new(server_messages));
        *lock(&context.last_process) = Some(LastProcess {
            stderr: None,
            pending: pending.clone(),
        });
        let stop = context.closing.child_token();
        let access = self.access.clone();
        let mut connection =
            HttpConnection::new(access, dialect, pending, stop, context.tracker.clone());
        let service = connection.handshake(context.start_timeout).await?;
        Ok(Connection::new(
            TransportConnection::Http(connection),
            service,
            dialect.generation(),
        ))
    }

    fn error(&self, refusal: HttpHandshakeError) -> UpstreamError {
        match refusal {
            // During the handshake no call can have been lost.
            HttpHandshakeError::Http(UpstreamError::ConnectionLost { status, .. }) => {
                UpstreamError::Unreachable { reason: status }
            }
            HttpHandshakeError::Http(error) => error,
            HttpHandshakeError::Handshake(HandshakeError::Refused { code, message }) => {
                UpstreamError::Handshake {
                    reason: format!("{message} (code {code})"),
                }
            }
            HttpHandshakeError::Handshake(HandshakeError::NoCommonVersion { offered }) => {
                UpstreamError::Handshake {
                    reason: format!("it supports only protocol version {}", offered.join(", ")),
                }
            }
            HttpHandshakeError::Handshake(HandshakeError::Ended) => UpstreamError::Unreachable {
                reason: "the connection ended during the handshake".to_owned(),
            },
            HttpHandshakeError::Handshake(HandshakeError::TimedOut | HandshakeError::Silent) => {
                let ms = in_ms(self.context.start_timeout);
                UpstreamError::Unreachable {
                    reason: format!("no answer to the first request within {ms} ms"),
                }
            }
        }
    }
}

/// Whether an error means that the server does not support this dialect.
fn is_verdict(refusal: &HttpHandshakeError) -> bool {
    match refusal {
        HttpHandshakeError::Handshake(HandshakeError::Refused { code, .. }) => {
            !is_modern((*code).into())
        }
        HttpHandshakeError::Handshake(
            HandshakeError::Silent | HandshakeError::NoCommonVersion { .. },
        ) => true,
        HttpHandshakeError::Handshake(HandshakeError::Ended | HandshakeError::TimedOut) => false,
        HttpHandshakeError::Http(UpstreamError::Http { status, .. }) => {
            matches!(status, 400 | 402 | 404..=428 | 430..=501)
        }
        HttpHandshakeError::Http(
            UpstreamError::InvalidAnswer { .. }
            | UpstreamError::Protocol { .. }
            | UpstreamError::Handshake { .. }
            | UpstreamError::ConnectionLost { .. },
        ) => true,
        HttpHandshakeError::Http(_) => false,
    }
}
