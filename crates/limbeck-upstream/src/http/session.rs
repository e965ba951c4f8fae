//! State shared by all exchanges of one HTTP connection.

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

use crate::error::UpstreamError;
use crate::http::CredentialSource;
use crate::redactor::Redactor;
use crate::rpc::pending::PendingRequests;
use crate::rpc::reader::MessageReader;
use crate::sync::lock;

use super::dialect::HttpDialect;
use super::guard::{self, GuardError, GuardedClient, GuardedResponse};
use super::headers::StaticHeaders;
use super::params::ParamHeaders;

/// Time limit of the request that ends a session.
const DELETE_LIMIT: Duration = Duration::from_secs(2);
/// Longest session id; servers use UUIDs and signed tokens.
const SESSION_ID_BYTES_MAX: usize = 4 << 10;
/// Both forms of a response; the specification requires every client to accept them.
const ACCEPT_BOTH: &str = "application/json, text/event-stream";

/// Address, headers and credentials of a server.
#[derive(Clone)]
pub(crate) struct ServerAccess {
    pub(crate) client: GuardedClient,
    pub(crate) url: Url,
    pub(crate) headers: Arc<StaticHeaders>,
    pub(crate) credentials: Option<Arc<dyn CredentialSource>>,
    /// Command that signs in to this server.
    pub(crate) sign_in: String,
}

/// One connection over HTTP.
pub(crate) struct HttpSession {
    pub(super) access: ServerAccess,
    pub(super) dialect: HttpDialect,
    pub(super) pending: Arc<PendingRequests>,
    inbox: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
    /// Address for messages, once it is known.
    messages: OnceLock<Url>,
    /// `Mcp-Session-Id`, when the server gave one.
    id: OnceLock<HeaderValue>,
    /// Error that ended the handshake.
    pub(super) handshake_error: Mutex<Option<UpstreamError>>,
    /// Exchanges in flight; cancelling one closes its response.
    pub(super) exchanges: Mutex<HashMap<i64, CancellationToken>>,
    pub(super) params: ParamHeaders,
    /// Recognizes the token that was sent last.
    token: Mutex<Redactor>,
    is_closing: AtomicBool,
    pub(super) stop: CancellationToken,
    pub(super) tracker: TaskTracker,
}

impl HttpSession {
    /// Creates the state of a new connection, and the queue that `rmcp` receives from. Cancelling `stop` ends
    /// the connection; the session is closed on `tracker`.
    pub(crate) fn open(
        access: ServerAccess,
        dialect: HttpDialect,
        pending: Arc<PendingRequests>,
        stop: CancellationToken,
        tracker: TaskTracker,
    ) -> (Arc<Self>, mpsc::Receiver<RxJsonRpcMessage<RoleClient>>) {
        let (inbox, received) = mpsc::channel(crate::rpc::reader::INBOX_MESSAGES_MAX);
        let messages = match dialect {
            HttpDialect::Modern | HttpDialect::Legacy => OnceLock::from(access.url.clone()),
            HttpDialect::Sse => OnceLock::new(),
        };
        let session = Arc::new(Self {
            access,
            dialect,
            pending,
            inbox,
            messages,
            id: OnceLock::new(),
            handshake_error: Mutex::default(),
            exchanges: Mutex::default(),
            params: ParamHeaders::default(),
            token: Mutex::default(),
            is_closing: AtomicBool::new(false),
            stop,
            tracker,
        });
        let end_session = session.clone().end_session();
        session.tracker.spawn(end_session);
        (session, received)
    }

    async fn end_session(self: Arc<Self>) {
        self.stop.cancelled().await;
        // Fails all pending requests first: ending the session may take two seconds.
        self.pending.close();
        // A session that the server ended needs no request.
        if self.id.get().is_none() || self.is_closing.load(Ordering::Relaxed) {
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

    /// Stores the address for messages of an `endpoint` event. It must be in the server's origin.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(super) fn take_endpoint(&self, data: &[u8]) -> Result<(), UpstreamError> {
        let text = String::from_utf8_lossy(data);
        let url = self.access.url.join(text.trim());
        let refused = |reason: String| UpstreamError::NotAllowed { reason };
        let url = url.map_err(|error| refused(format!("the address for messages: {error}")))?;
        // Messages carry credentials, which must not be sent to another origin.
        if url.origin() != self.access.url.origin() {
            return Err(refused(format!(
                "the server requests that messages are sent to `{}`, which is not its own origin",
                guard::origin(&url)
            )));
        }
        self.access
            .client
            .check(&url)
            .map_err(|error| upstream_error(&error))?;
        let _ = self.messages.set(url);
        Ok(())
    }

    pub(super) fn has_endpoint(&self) -> bool {
        self.messages.get().is_some()
    }

    pub(super) fn has_session(&self) -> bool {
        self.id.get().is_some()
    }

    /// Stores the session id of the response to `initialize`, and notices when a later response has another.
    ///
    /// # Errors
    ///
    /// Reason why the id cannot be used.
    pub(super) fn note_session(
        &self,
        response: &GuardedResponse,
        is_initialize: bool,
    ) -> Result<(), UpstreamError> {
        let found = response.headers().get("mcp-session-id");
        let (HttpDialect::Legacy, Some(id)) = (self.dialect, found) else {
            return Ok(());
        };
        if !is_initialize {
            if self.id.get().is_some_and(|known| known != id) {
                self.end_when_idle("the server changed the session's id");
            }
            return Ok(());
        }
        // The specification allows visible ASCII only; other bytes could break the header.
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

    /// Whether the session accepts no further requests.
    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed) || self.stop.is_cancelled()
    }

    /// Accepts no further requests, and ends the connection when those in flight have completed.
    pub(super) fn end_when_idle(&self, reason: &str) {
        self.pending.set_end_reason(reason.to_owned());
        self.is_closing.store(true, Ordering::Relaxed);
        self.end_if_idle();
    }

    pub(super) fn end_if_idle(&self) {
        if self.is_closing() && lock(&self.exchanges).is_empty() {
            self.stop.cancel();
        }
    }

    /// Sends a request with the headers of the entry and the session, and once more when the credentials were
    /// renewed after a 401 or 403.
    ///
    /// # Errors
    ///
    /// Any error of the connection and of the credentials, and [`UpstreamError::SignInNeeded`].
    pub(super) async fn request(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<GuardedResponse, UpstreamError> {
        let first = self.send(&method, url, &headers, body.clone()).await?;
        let status = first.status();
        if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Ok(first);
        }
        let done = self.after_refusal(first, &method, url, &headers, body);
        let done = done.await;
        if method == Method::POST {
            return done.map_err(|error| self.after_answer(status, error));
        }
        done
    }

    /// Sends a request that was answered with 401 or 403 once more, with new credentials where there are any.
    async fn after_refusal(
        &self,
        first: GuardedResponse,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
        body: Vec<u8>,
    ) -> Result<GuardedResponse, UpstreamError> {
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
        let second = self.send(method, url, headers, body).await?;
        // A second 401 with a fresh token means that only the user can help.
        if second.status() == StatusCode::UNAUTHORIZED {
            return Err(self.sign_in_needed());
        }
        Ok(second)
    }

    /// The error of a request that the server answered with `status` before something else failed. A request of the
    /// handshake has no effect, so its error stays that of a start.
    pub(super) fn after_answer(&self, status: StatusCode, error: UpstreamError) -> UpstreamError {
        match self.pending.handshake_result() {
            Some(_) => error.after_answer(status.as_u16()),
            None => error,
        }
    }

    fn without_tokens(&self, response: GuardedResponse) -> Result<GuardedResponse, UpstreamError> {
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

    fn tokens(&self) -> Option<&Arc<dyn CredentialSource>> {
        let credentials = self.access.credentials.as_ref()?;
        (!self.access.headers.has_authorization()).then_some(credentials)
    }

    async fn send(
        &self,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
        body: Vec<u8>,
    ) -> Result<GuardedResponse, UpstreamError> {
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
        // Last, so that headers of this request override those of the entry.
        all.extend(headers.clone());
        if let Some(credentials) = self.tokens()
            && let Some(value) = credentials.authorization().await?
        {
            *lock(&self.token) = Redactor::of(value.expose_secret());
            let header = || UpstreamError::Secret {
                header: "Authorization".to_owned(),
                reason: "the token has a character that is not allowed in a header".to_owned(),
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
                // Another server may listen there when the address can be reached again, so the session must
                // not be reused.
                self.end_when_idle("the server could not be reached");
            }
            upstream_error(&error)
        })
    }

    /// Value of `MCP-Protocol-Version`; none before the version was negotiated.
    fn version(&self) -> Option<HeaderValue> {
        match (self.dialect, self.pending.handshake_result()) {
            (HttpDialect::Modern, _) => Some(HeaderValue::from_static("2026-07-28")),
            (HttpDialect::Legacy, Some(handshake_result)) => {
                HeaderValue::from_str(&handshake_result.protocol).ok()
            }
            (HttpDialect::Legacy, None) | (HttpDialect::Sse, _) => None,
        }
    }

    /// Reader for messages on the stream of `request`, or on no request's stream.
    pub(super) fn reader(&self, request: Option<i64>) -> MessageReader {
        let origin = match (self.dialect, request) {
            // All messages share a stream.
            (HttpDialect::Sse, _) => None,
            (_, Some(id)) => Some(InboundStreamOrigin::OutboundRequest(
                rmcp::model::NumberOrString::Number(id),
            )),
            (_, None) => Some(InboundStreamOrigin::Unassociated),
        };
        MessageReader {
            pending: self.pending.clone(),
            inbox: self.inbox.clone(),
            origin,
        }
    }

    /// Removes every value that the entry declares, for an error text.
    pub(crate) fn redact_error<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.redact(text) {
            Cow::Borrowed(text) => self.access.headers.declared().redact(text),
            Cow::Owned(text) => {
                Cow::Owned(self.access.headers.declared().redact(&text).into_owned())
            }
        }
    }

    /// Removes the secrets of the entry and the token that was sent last.
    pub(super) fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let token = lock(&self.token);
        match self.access.headers.redactor().redact(text) {
            Cow::Borrowed(text) => token.redact(text),
            Cow::Owned(text) => Cow::Owned(token.redact(&text).into_owned()),
        }
    }
}

/// Converts the error of a request without a response.
pub(super) fn upstream_error(error: &GuardError) -> UpstreamError {
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
