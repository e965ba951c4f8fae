//! What all exchanges of one connection share.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use rmcp::RoleClient;
use rmcp::service::{InboundStreamOrigin, RxJsonRpcMessage};
use secrecy::ExposeSecret;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;

use crate::redactor::Redactor;
use crate::stdio::reader::Reader;
use crate::stdio::tap::Tap;
use crate::sync::lock;
use crate::{Credentials, Era, UpstreamError};

use super::guard::{self, Client, GuardError, Response};
use super::headers::StaticHeaders;
use super::params::ParamHeaders;

/// Time for the farewell to a session.
const DELETE_LIMIT: Duration = Duration::from_secs(2);
/// A session's id; servers use UUIDs and signed tokens.
const SESSION_ID_BYTES_MAX: usize = 4 << 10;
/// Both forms of an answer, as the specification demands of every client.
const ACCEPT_BOTH: &str = "application/json, text/event-stream";

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speech {
    /// Streamable HTTP, self-contained requests.
    Modern,
    /// Streamable HTTP with `initialize`.
    Legacy,
    /// A stream of events and a second address for messages (2024-11-05).
    Sse,
}

impl Speech {
    pub(crate) fn era(self) -> Era {
        match self {
            Self::Modern => Era::Modern,
            Self::Legacy | Self::Sse => Era::Legacy,
        }
    }
}

/// What every connection to a server uses: how to reach it and as whom.
#[derive(Clone)]
pub(crate) struct Access {
    pub(crate) client: Client,
    pub(crate) url: Url,
    pub(crate) headers: Arc<StaticHeaders>,
    pub(crate) credentials: Option<Arc<dyn Credentials>>,
    /// The command that signs in to this server.
    pub(crate) sign_in: String,
}

/// One connection.
pub(crate) struct Session {
    pub(super) access: Access,
    pub(super) speech: Speech,
    pub(super) tap: Arc<Tap>,
    inbox: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
    /// Where messages go, once it is known.
    messages: OnceLock<Url>,
    /// `Mcp-Session-Id`, when the server gave one.
    id: OnceLock<HeaderValue>,
    /// What kept the handshake from an answer.
    pub(super) handshake_fault: Mutex<Option<UpstreamError>>,
    /// Exchanges under way; cancelling one closes its response.
    pub(super) exchanges: Mutex<HashMap<i64, CancellationToken>>,
    pub(super) params: ParamHeaders,
    /// Knows the token that was sent last.
    token: Mutex<Redactor>,
    is_over: AtomicBool,
    pub(super) stop: CancellationToken,
    pub(super) tracker: TaskTracker,
}

impl Session {
    /// A connection about to be made, and what `rmcp` will receive on it. Cancelling `stop` ends it, with a
    /// farewell on `tracker`.
    pub(crate) fn open(
        access: Access,
        speech: Speech,
        tap: Arc<Tap>,
        stop: CancellationToken,
        tracker: TaskTracker,
    ) -> (Arc<Self>, mpsc::Receiver<RxJsonRpcMessage<RoleClient>>) {
        let (inbox, received) = mpsc::channel(crate::stdio::reader::INBOX_MESSAGES_MAX);
        let messages = match speech {
            Speech::Modern | Speech::Legacy => OnceLock::from(access.url.clone()),
            Speech::Sse => OnceLock::new(),
        };
        let session = Arc::new(Self {
            access,
            speech,
            tap,
            inbox,
            messages,
            id: OnceLock::new(),
            handshake_fault: Mutex::default(),
            exchanges: Mutex::default(),
            params: ParamHeaders::default(),
            token: Mutex::default(),
            is_over: AtomicBool::new(false),
            stop,
            tracker,
        });
        let farewell = session.clone().farewell();
        session.tracker.spawn(farewell);
        (session, received)
    }

    async fn farewell(self: Arc<Self>) {
        self.stop.cancelled().await;
        self.tap.close();
        // A session the server ended itself needs none.
        if self.id.get().is_none() || self.is_over.load(Ordering::Relaxed) {
            return;
        }
        let request = self.request(
            Method::DELETE,
            &self.access.url,
            HeaderMap::new(),
            Vec::new(),
        );
        let _ = timeout(DELETE_LIMIT, request).await;
    }

    pub(super) fn messages(&self) -> Result<&Url, UpstreamError> {
        self.messages.get().ok_or_else(|| UpstreamError::Handshake {
            reason: "it named no address for messages".to_owned(),
        })
    }

    /// Takes the address for messages that an `endpoint` event named. It has to be in the server's origin.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(super) fn take_endpoint(&self, data: &[u8]) -> Result<(), UpstreamError> {
        let text = String::from_utf8_lossy(data);
        let url = self.access.url.join(text.trim());
        let refused = |reason: String| UpstreamError::NotAllowed { reason };
        let url = url.map_err(|error| refused(format!("the address for messages: {error}")))?;
        if url.origin() != self.access.url.origin() {
            return Err(refused(format!(
                "the server wants messages sent to `{}`, which is not its own origin",
                guard::origin(&url)
            )));
        }
        self.access
            .client
            .check(&url)
            .map_err(|error| fault(&error))?;
        let _ = self.messages.set(url);
        Ok(())
    }

    pub(super) fn has_endpoint(&self) -> bool {
        self.messages.get().is_some()
    }

    pub(super) fn has_session(&self) -> bool {
        self.id.get().is_some()
    }

    /// Keeps the id that the answer to `initialize` brought, or notices that another came since.
    ///
    /// # Errors
    ///
    /// What is wrong with an id that cannot be used.
    pub(super) fn note_session(
        &self,
        response: &Response,
        is_initialize: bool,
    ) -> Result<(), UpstreamError> {
        let found = response.headers().get("mcp-session-id");
        let (Speech::Legacy, Some(id)) = (self.speech, found) else {
            return Ok(());
        };
        if !is_initialize {
            if self.id.get().is_some_and(|known| known != id) {
                self.end_soon("the server changed the session's id");
            }
            return Ok(());
        }
        let visible = id.as_bytes().iter().all(|byte| matches!(byte, b'!'..=b'~'));
        if !visible || id.is_empty() || id.len() > SESSION_ID_BYTES_MAX {
            return Err(UpstreamError::Handshake {
                reason: "its session id cannot be used".to_owned(),
            });
        }
        let mut id = id.clone();
        id.set_sensitive(true);
        let _ = self.id.set(id);
        Ok(())
    }

    /// Whether no further request may be sent.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed) || self.stop.is_cancelled()
    }

    /// Takes no further requests and ends when those under way have their answers.
    pub(super) fn end_soon(&self, reason: &str) {
        self.tap.end_because(reason.to_owned());
        self.is_over.store(true, Ordering::Relaxed);
        self.end_if_idle();
    }

    pub(super) fn end_if_idle(&self) {
        if self.is_over() && lock(&self.exchanges).is_empty() {
            self.stop.cancel();
        }
    }

    /// Sends a request as the entry and the session say, once more after a sign-in that the server asked for.
    ///
    /// # Errors
    ///
    /// Those of the connection, of the credentials, and [`UpstreamError::SignInNeeded`].
    pub(super) async fn request(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Response, UpstreamError> {
        let first = self.send(&method, url, &headers, body.clone()).await?;
        if !matches!(
            first.status(),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
        ) {
            return Ok(first);
        }
        let Some(credentials) = self.tokens() else {
            return self.without_tokens(first);
        };
        let challenge = first.headers().get("www-authenticate");
        let challenge = challenge.and_then(|value| value.to_str().ok());
        if !credentials
            .refused(first.status().as_u16(), challenge)
            .await?
        {
            return Err(self.sign_in_needed());
        }
        let second = self.send(&method, url, &headers, body).await?;
        if second.status() == StatusCode::UNAUTHORIZED {
            return Err(self.sign_in_needed());
        }
        Ok(second)
    }

    fn without_tokens(&self, response: Response) -> Result<Response, UpstreamError> {
        if response.status() == StatusCode::UNAUTHORIZED && !self.access.headers.has_authorization()
        {
            return Err(self.sign_in_needed());
        }
        Ok(response)
    }

    fn sign_in_needed(&self) -> UpstreamError {
        UpstreamError::SignInNeeded {
            url: guard::origin(&self.access.url),
            command: self.access.sign_in.clone(),
        }
    }

    fn tokens(&self) -> Option<&Arc<dyn Credentials>> {
        let credentials = self.access.credentials.as_ref()?;
        (!self.access.headers.has_authorization()).then_some(credentials)
    }

    async fn send(
        &self,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
        body: Vec<u8>,
    ) -> Result<Response, UpstreamError> {
        let mut all = self.access.headers.map().clone();
        all.insert(ACCEPT, HeaderValue::from_static(ACCEPT_BOTH));
        if !body.is_empty() {
            all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(id) = self.id.get() {
            all.insert("mcp-session-id", id.clone());
        }
        if let Some(version) = self.version() {
            all.insert("mcp-protocol-version", version);
        }
        all.extend(headers.clone());
        if let Some(credentials) = self.tokens()
            && let Some(value) = credentials.authorization().await?
        {
            *lock(&self.token) = Redactor::of(value.expose_secret());
            let header = || UpstreamError::Secret {
                header: "Authorization".to_owned(),
                reason: "the token has a character that no header can have".to_owned(),
            };
            let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| header())?;
            value.set_sensitive(true);
            all.insert(AUTHORIZATION, value);
        }
        let sent = self
            .access
            .client
            .send(method.clone(), url, all, body)
            .await;
        sent.map_err(|error| {
            if matches!(error, GuardError::Connect { .. }) {
                // Somebody else may sit there when it can be reached again.
                self.end_soon("the server could not be reached");
            }
            fault(&error)
        })
    }

    /// What `MCP-Protocol-Version` says: nothing before it was agreed on.
    fn version(&self) -> Option<HeaderValue> {
        match (self.speech, self.tap.greeting()) {
            (Speech::Modern, _) => Some(HeaderValue::from_static("2026-07-28")),
            (Speech::Legacy, Some(greeting)) => HeaderValue::from_str(&greeting.protocol).ok(),
            (Speech::Legacy, None) | (Speech::Sse, _) => None,
        }
    }

    /// What goes through the reader from now on came on the stream of `request`, or of none.
    pub(super) fn reader(&self, request: Option<i64>) -> Reader {
        let origin = match (self.speech, request) {
            // All messages share a stream.
            (Speech::Sse, _) => None,
            (_, Some(id)) => Some(InboundStreamOrigin::OutboundRequest(
                rmcp::model::NumberOrString::Number(id),
            )),
            (_, None) => Some(InboundStreamOrigin::Unassociated),
        };
        Reader {
            tap: self.tap.clone(),
            inbox: self.inbox.clone(),
            origin,
        }
    }

    /// The text without the secrets of the entry and the token that was sent last.
    pub(super) fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let token = lock(&self.token);
        match self.access.headers.redactor().redact(text) {
            Cow::Borrowed(text) => token.redact(text),
            Cow::Owned(text) => Cow::Owned(token.redact(&text).into_owned()),
        }
    }
}

/// The error of a request that brought no response.
pub(super) fn fault(error: &GuardError) -> UpstreamError {
    let reason = error.to_string();
    match error {
        GuardError::Connect { .. } => UpstreamError::Unreachable { reason },
        GuardError::Url { .. }
        | GuardError::Clear { .. }
        | GuardError::Address(_)
        | GuardError::Redirect { .. } => UpstreamError::NotAllowed { reason },
        GuardError::Broken { .. } | GuardError::TimedOut { .. } => UpstreamError::ConnectionLost {
            status: reason,
            stderr_tail: String::new(),
        },
        GuardError::TooLarge { limit } => UpstreamError::TooLarge {
            bytes: limit.saturating_add(1),
            limit: *limit,
        },
        GuardError::Encoded { .. } => UpstreamError::InvalidAnswer { reason },
    }
}
