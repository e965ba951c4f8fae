//! Finds out how a server speaks over HTTP, and connects to it.
//!
//! A modern request first. When it is refused with anything but a modern server's own error, `initialize`;
//! when that is refused with 400, 404 or 405, the event stream of the old transport. A refusal for want of
//! a sign-in, and a server that cannot be reached, say nothing about how it speaks. Verdicts are
//! remembered per origin and path for a while; a wrong one heals, because a refused one is asked anew.

use std::sync::Arc;

use rmcp::model::ErrorCode;

use crate::UpstreamError;
use crate::connection::{Connection, Peer, in_ms};
use crate::era::{Launch, Trace};
use crate::listener::Listener;
use crate::stdio::tap::Tap;
use crate::sync::lock;
use crate::wire::HandshakeFault;

use super::exchange::is_modern;
use super::guard::Client;
use super::headers::StaticHeaders;
use super::session::{Access, Speech, fault};
use super::wire::{HttpWire, Refusal};
use super::{HttpKind, HttpSpec};

/// Connects to the server of `spec`, whose verdict is `known` if it was asked lately.
///
/// # Errors
///
/// [`UpstreamError::Unreachable`], [`UpstreamError::NotAllowed`], [`UpstreamError::Secret`],
/// [`UpstreamError::SignInNeeded`], [`UpstreamError::Http`], [`UpstreamError::InvalidAnswer`] and
/// [`UpstreamError::Handshake`].
pub(crate) async fn connect(
    launch: &Launch,
    spec: &HttpSpec,
    known: Option<Speech>,
) -> Result<(Connection, Speech), UpstreamError> {
    let client = Client::new(&spec.url, spec.network.clone()).map_err(|error| fault(&error))?;
    let headers = StaticHeaders::resolve(&spec.headers, &*spec.secrets).await?;
    let dial = Dial {
        launch,
        kind: spec.kind,
        access: Access {
            client,
            url: spec.url.clone(),
            headers: Arc::new(headers),
            credentials: spec.credentials.clone(),
            sign_in: format!("limbeck auth login {}", launch.ears.server),
        },
    };
    match (spec.kind, known) {
        (HttpKind::Sse, _) => dial.events().await,
        (HttpKind::Auto, Some(Speech::Sse)) => dial.remembered(Speech::Sse).await,
        (_, Some(Speech::Legacy)) => dial.remembered(Speech::Legacy).await,
        (_, Some(Speech::Modern | Speech::Sse) | None) => dial.probe().await,
    }
}

struct Dial<'a> {
    launch: &'a Launch,
    kind: HttpKind,
    access: Access,
}

type Dialled = Result<(Connection, Speech), UpstreamError>;

impl Dial<'_> {
    async fn probe(&self) -> Dialled {
        match self.shake(Speech::Modern).await {
            Ok(connection) => Ok((connection, Speech::Modern)),
            Err(refusal) if is_verdict(&refusal) => self.legacy().await,
            Err(refusal) => Err(self.error(refusal)),
        }
    }

    /// Asks as the server was last seen to speak, and from the beginning when it no longer does.
    async fn remembered(&self, speech: Speech) -> Dialled {
        match self.shake(speech).await {
            Ok(connection) => Ok((connection, speech)),
            // Also a modern server's refusal: it was asked as a legacy one.
            Err(Refusal::Handshake(HandshakeFault::Refused { .. })) => self.probe().await,
            Err(refusal) if is_verdict(&refusal) => self.probe().await,
            Err(refusal) => Err(self.error(refusal)),
        }
    }

    async fn legacy(&self) -> Dialled {
        let refusal = match self.shake(Speech::Legacy).await {
            Ok(connection) => return Ok((connection, Speech::Legacy)),
            Err(refusal) => refusal,
        };
        match &refusal {
            // It was only slow to answer the first question.
            Refusal::Handshake(HandshakeFault::Refused { code, .. })
                if *code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION.0 =>
            {
                match self.shake(Speech::Modern).await {
                    Ok(connection) => Ok((connection, Speech::Modern)),
                    Err(refusal) => Err(self.error(refusal)),
                }
            }
            Refusal::Http(UpstreamError::Http {
                status: 400 | 404 | 405,
                ..
            }) if self.kind == HttpKind::Auto => match self.shake(Speech::Sse).await {
                Ok(connection) => Ok((connection, Speech::Sse)),
                // The first refusal says more than "no event stream either".
                Err(Refusal::Http(error @ UpstreamError::NotAllowed { .. })) => Err(error),
                Err(_) => Err(self.error(refusal)),
            },
            Refusal::Handshake(_) | Refusal::Http(_) => Err(self.error(refusal)),
        }
    }

    async fn events(&self) -> Dialled {
        match self.shake(Speech::Sse).await {
            Ok(connection) => Ok((connection, Speech::Sse)),
            Err(refusal) => Err(self.error(refusal)),
        }
    }

    async fn shake(&self, speech: Speech) -> Result<Connection, Refusal> {
        let launch = self.launch;
        let listener = Arc::new(Listener::new(launch.ears.clone()));
        let tap = Arc::new(Tap::new(listener));
        *lock(&launch.trace) = Some(Trace {
            stderr: None,
            tap: tap.clone(),
        });
        let stop = launch.closing.child_token();
        let access = self.access.clone();
        let mut wire = HttpWire::new(access, speech, tap, stop, launch.tracker.clone());
        let service = wire.handshake(launch.start_timeout).await?;
        Ok(Connection::new(Peer::Http(wire), service, speech.era()))
    }

    fn error(&self, refusal: Refusal) -> UpstreamError {
        match refusal {
            // Nothing was called yet that could have been lost.
            Refusal::Http(UpstreamError::ConnectionLost { status, .. }) => {
                UpstreamError::Unreachable { reason: status }
            }
            Refusal::Http(error) => error,
            Refusal::Handshake(HandshakeFault::Refused { code, message }) => {
                UpstreamError::Handshake {
                    reason: format!("{message} (code {code})"),
                }
            }
            Refusal::Handshake(HandshakeFault::NoCommonVersion { offered }) => {
                UpstreamError::Handshake {
                    reason: format!("it speaks only {}", offered.join(", ")),
                }
            }
            Refusal::Handshake(HandshakeFault::Ended) => UpstreamError::Unreachable {
                reason: "the connection ended during the handshake".to_owned(),
            },
            Refusal::Handshake(HandshakeFault::TimedOut | HandshakeFault::Silent) => {
                let ms = in_ms(self.launch.start_timeout);
                UpstreamError::Unreachable {
                    reason: format!("no answer to the first request within {ms} ms"),
                }
            }
        }
    }
}

/// Whether a refusal says that the server does not speak that way.
fn is_verdict(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::Handshake(HandshakeFault::Refused { code, .. }) => !is_modern((*code).into()),
        Refusal::Handshake(HandshakeFault::Silent | HandshakeFault::NoCommonVersion { .. }) => true,
        Refusal::Handshake(HandshakeFault::Ended | HandshakeFault::TimedOut) => false,
        Refusal::Http(UpstreamError::Http { status, .. }) => {
            matches!(status, 400 | 402 | 404..=428 | 430..=501)
        }
        Refusal::Http(
            UpstreamError::InvalidAnswer { .. }
            | UpstreamError::Protocol { .. }
            | UpstreamError::Handshake { .. }
            | UpstreamError::ConnectionLost { .. },
        ) => true,
        Refusal::Http(_) => false,
    }
}
