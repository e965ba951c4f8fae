//! Handling of a request, from its head to its response.
//!
//! Checks run in this order: host and origin, path and method, token, limits of the principal, content type,
//! size, body. Then the SDK handles the message. A request that is rejected before its token was verified
//! closes its connection.
//!
//! ```text
//! /mcp                                       POST GET DELETE   token
//! /metrics                                   GET               token
//! /approvals                                 GET               token
//! /approvals/ID                              GET POST          token
//! /health, /ready                            GET               none; no details in the response
//! /.well-known/oauth-protected-resource[/mcp] GET              none; only with an issuer
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Version, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use limbeck_domain::limits::HTTP_HEAD_BYTES_MAX;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::allowed_hosts::AllowedHosts;
use super::answer_body::AnswerBody;
use super::approvals::APPROVALS;
use super::authentication::{Authentication, TokenOwner};
use super::bodies::{BodyReader, HttpResponse, counted, later, reason, text, typed};
use super::clients::{ClientLimitError, PrincipalClient, PrincipalClients, RequestGuard};
use super::connection_places::{ConnectionPlace, TooManyConnectionsError};
use super::keep_alive;
use super::metrics::{HttpMetrics, RefusalReason};
use super::redacted_answer::redacted;
use crate::answer_place::AnswerPlace;
use crate::answer_room::AnswerRoom;
use crate::unique_keys::{DUPLICATE_KEY, has_duplicate_key};
use limbeck_gateway::Gateway;
use limbeck_gateway::audit::{AuditEvent, AuditEventKind};

const MCP: &str = "/mcp";
const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource";
const RESOURCE_METADATA_MCP: &str = "/.well-known/oauth-protected-resource/mcp";
pub(super) const JSON: &str = "application/json";
const SESSION_ID: &str = "mcp-session-id";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// First revision without sessions.
const STATELESS_SINCE: &str = "2026-07-28";

/// Handles the requests of all connections.
#[derive(Debug)]
pub(crate) struct HttpService {
    pub(crate) gateway: Gateway,
    pub(crate) names: AllowedHosts,
    pub(crate) authentication: Authentication,
    pub(crate) clients: PrincipalClients,
    pub(crate) metrics: HttpMetrics,
    pub(crate) bodies: BodyReader,
    /// Room for the answers that are not yet written.
    pub(crate) answers: AnswerRoom,
    /// Time that a client may leave a part of its answer unread.
    pub(crate) write_stall: Duration,
    /// Interval of keep-alive comments to a waiting client.
    pub(crate) keep_alive: Duration,
    /// URL scheme that clients use, with TLS of this server or of a proxy.
    pub(crate) scheme: &'static str,
    /// Cancelled when the shutdown begins.
    pub(crate) draining: CancellationToken,
}

impl HttpService {
    /// Handles a request. Cancels `last` when its connection should take no further request.
    pub(crate) async fn answer(
        &self,
        request: Request<Incoming>,
        place: &ConnectionPlace,
        last: &CancellationToken,
    ) -> HttpResponse {
        self.metrics.requests.fetch_add(1, Ordering::Relaxed);
        let operation = operation(&request);
        let is_http1 = request.version() < Version::HTTP_2;
        let mut answer = match self.route(request, place).await {
            Ok(answer) => answer,
            Err(mut refused) => {
                last.cancel();
                if is_http1 {
                    let close = HeaderValue::from_static("close");
                    refused.headers_mut().insert(header::CONNECTION, close);
                }
                *refused
            }
        };
        if answer.status().is_client_error() || answer.status().is_server_error() {
            let principal = answer.extensions().get::<RequestPrincipal>();
            let principal = principal.map_or("", |owner| &*owner.0);
            self.gateway.record(AuditEvent {
                client: Some("http".to_owned()),
                operation: Some(operation),
                code: Some(answer.status().as_u16().to_string()),
                ..AuditEvent::new(AuditEventKind::Refuse, principal)
            });
        }
        let headers = answer.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        answer
    }

    /// Routes a request. `Err` is the response to an unauthenticated request, which closes its connection.
    async fn route(
        &self,
        request: Request<Incoming>,
        place: &ConnectionPlace,
    ) -> Result<HttpResponse, Box<HttpResponse>> {
        // hyper bounds its HTTP/1 read buffer and not the head, so a head of up to two buffers arrives here.
        if head_bytes(&request) > HTTP_HEAD_BYTES_MAX {
            return Err(self.refuse(
                RefusalReason::Form,
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            ));
        }
        let (uri, headers) = (request.uri(), request.headers());
        let host = self.names.check(uri, headers).map_err(|rejected| {
            self.metrics.refused(RefusalReason::Name);
            text(rejected.status(), rejected.text())
        })?;
        // Paths are compared byte by byte, without decoding or normalising; no path takes a query.
        let path = match uri.query() {
            None => uri.path(),
            Some(_) => "",
        };
        match path {
            MCP => self.mcp(request, &host, place).await,
            "/health" => self.get(&request, || text(StatusCode::OK, "ok\n")),
            "/ready" => self.get(&request, || match self.draining.is_cancelled() {
                false => text(StatusCode::OK, "ready\n"),
                true => text(StatusCode::SERVICE_UNAVAILABLE, "ending\n"),
            }),
            "/metrics" => self.metrics(&request, &host, place).await,
            "/approvals" => self.approvals(request, &host, place).await,
            _ if path.starts_with(APPROVALS) => self.approvals(request, &host, place).await,
            RESOURCE_METADATA | RESOURCE_METADATA_MCP if self.authentication.issuer().is_some() => {
                self.get(&request, || self.resource_metadata(&host))
            }
            _ => Err(self.refuse(RefusalReason::Form, StatusCode::NOT_FOUND)),
        }
    }

    fn get(
        &self,
        request: &Request<Incoming>,
        answer: impl FnOnce() -> HttpResponse,
    ) -> Result<HttpResponse, Box<HttpResponse>> {
        match *request.method() {
            Method::GET | Method::HEAD => Ok(answer()),
            _ => Err(self.not_allowed("GET")),
        }
    }

    async fn metrics(
        &self,
        request: &Request<Incoming>,
        host: &Authority,
        place: &ConnectionPlace,
    ) -> Result<HttpResponse, Box<HttpResponse>> {
        if request.method() != Method::GET {
            return Err(self.not_allowed("GET"));
        }
        self.owner(request.headers(), host, place).await?;
        let metrics = self
            .metrics
            .text(&self.gateway, &self.clients, &self.answers);
        Ok(typed(
            StatusCode::OK,
            "text/plain; version=0.0.4; charset=utf-8",
            metrics,
        ))
    }

    async fn mcp(
        &self,
        request: Request<Incoming>,
        host: &Authority,
        place: &ConnectionPlace,
    ) -> Result<HttpResponse, Box<HttpResponse>> {
        if !matches!(
            *request.method(),
            Method::POST | Method::GET | Method::DELETE
        ) {
            return Err(self.not_allowed("GET, POST, DELETE"));
        }
        let TokenOwner { principal, .. } = self.owner(request.headers(), host, place).await?;
        if self.draining.is_cancelled() {
            return Err(Box::new(later(StatusCode::SERVICE_UNAVAILABLE)));
        }
        let client = match self.entered(&principal) {
            Ok(client) => client,
            Err(mut too_many) => {
                too_many
                    .extensions_mut()
                    .insert(RequestPrincipal(principal));
                return Ok(*too_many);
            }
        };
        let (mut parts, body) = request.into_parts();
        let room = Arc::new(AnswerPlace::new(&self.answers, &principal));
        parts.extensions.insert(Arc::clone(&room));
        let answer = match self
            .protocol(&principal, client.client(), parts, body)
            .await
        {
            Ok(answer) => {
                if answer.status() == StatusCode::TOO_MANY_REQUESTS {
                    self.metrics.refused(RefusalReason::TooMany);
                }
                answer
            }
            Err(StatusCode::TOO_MANY_REQUESTS) => {
                self.metrics.refused(RefusalReason::TooMany);
                later(StatusCode::TOO_MANY_REQUESTS)
            }
            Err(status) => {
                self.metrics.refused(RefusalReason::Form);
                reason(status)
            }
        };
        let mut answer = answer;
        answer.extensions_mut().insert(RequestPrincipal(principal));
        let (stall, closed) = (self.write_stall, place.closing());
        Ok(answer.map(|body| AnswerBody::new(body, room, client, stall, closed).boxed_unsync()))
    }

    /// Counts a request of `principal`; `Err` is the response to one too many.
    pub(super) fn entered(&self, principal: &Arc<str>) -> Result<RequestGuard, Box<HttpResponse>> {
        self.clients.enter(principal).map_err(|too_many| {
            self.metrics.refused(RefusalReason::TooMany);
            Box::new(later(match too_many {
                ClientLimitError::Requests => StatusCode::TOO_MANY_REQUESTS,
                ClientLimitError::Principals => StatusCode::SERVICE_UNAVAILABLE,
            }))
        })
    }

    /// Passes a request to the SDK and returns its response.
    async fn protocol(
        &self,
        principal: &Arc<str>,
        client: &Arc<PrincipalClient>,
        mut parts: Parts,
        body: Incoming,
    ) -> Result<HttpResponse, StatusCode> {
        let session = session_of(&parts.headers)?;
        if let Some(session) = &session
            && parts.method == Method::DELETE
            && !client.sessions.has(session)
        {
            return Err(StatusCode::NOT_FOUND);
        }
        if parts.method != Method::POST {
            let is_delete = parts.method == Method::DELETE;
            let request = Request::from_parts(parts, Full::new(Bytes::new()));
            let answer = hand_over(Arc::clone(client), request, session).await;
            let mut answer = redacted(answer, self.gateway.redaction()).await;
            // The SDK says 202, which clients read as "not closed": the Python SDK logs a failure.
            if is_delete && answer.status() == StatusCode::ACCEPTED {
                *answer.status_mut() = StatusCode::NO_CONTENT;
            }
            return Ok(answer);
        }
        if !is_plain_json(&parts.headers) {
            return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
        }
        if session.is_none() && may_begin_session(&parts.headers) && client.sessions.is_full() {
            return Ok(later(StatusCode::SERVICE_UNAVAILABLE));
        }
        let (body, held) = self.bodies.read(principal, &parts.headers, body).await?;
        if serde_json::from_slice::<IgnoredAny>(&body).is_err() {
            return Ok(no_message(-32700, "Parse error"));
        }
        if has_duplicate_key(&body) {
            return Ok(no_message(-32600, DUPLICATE_KEY));
        }
        // The SDK keeps the head with the message until its handler has ended.
        parts.extensions.insert(Arc::new(held));
        let room = parts.extensions.get::<Arc<AnswerPlace>>().map(Arc::clone);
        let request = Request::from_parts(parts, Full::new(body));
        let (client, redaction) = (Arc::clone(client), self.gateway.redaction().clone());
        let answer = async move {
            let answer = hand_over(client, request, session).await;
            let answer = redacted(answer, &redaction).await;
            match room {
                Some(room) => counted(&room, answer).await,
                None => answer,
            }
        };
        Ok(keep_alive::with_keep_alive(answer.boxed(), self.keep_alive).await)
    }

    /// Owner of the request's token. `Err` is the response to an unauthenticated request.
    pub(super) async fn owner(
        &self,
        headers: &HeaderMap,
        host: &Authority,
        place: &ConnectionPlace,
    ) -> Result<TokenOwner, Box<HttpResponse>> {
        match self.authentication.owner(headers).await {
            Some(owner) => match place.known_as(&owner.principal) {
                Ok(()) => Ok(owner),
                Err(TooManyConnectionsError) => {
                    self.metrics.refused(RefusalReason::TooMany);
                    Err(Box::new(later(StatusCode::TOO_MANY_REQUESTS)))
                }
            },
            None => {
                let mut answer = self.refuse(RefusalReason::Token, StatusCode::UNAUTHORIZED);
                let headers = answer.headers_mut();
                headers.insert(header::WWW_AUTHENTICATE, self.challenge(host));
                Err(answer)
            }
        }
    }

    /// Value of `WWW-Authenticate`, equal for missing and invalid tokens. RFC 6750 §3.1 would distinguish them,
    /// which confirms to a guesser that a token was read.
    fn challenge(&self, host: &Authority) -> HeaderValue {
        let challenge = match self.authentication.issuer() {
            None => "Bearer".to_owned(),
            Some(_) => format!(
                "Bearer resource_metadata=\"{}://{host}{RESOURCE_METADATA_MCP}\"",
                self.scheme
            ),
        };
        HeaderValue::try_from(challenge).unwrap_or_else(|_| HeaderValue::from_static("Bearer"))
    }

    /// Protected resource metadata (RFC 9728 §2).
    fn resource_metadata(&self, host: &Authority) -> HttpResponse {
        let issuer = self.authentication.issuer();
        let resource = issuer.and_then(|issuer| issuer.resource());
        let resource =
            resource.map_or_else(|| format!("{}://{host}{MCP}", self.scheme), str::to_owned);
        let servers: Vec<&str> = issuer.iter().map(|issuer| issuer.url()).collect();
        let metadata = json!({
            "resource": resource,
            "authorization_servers": servers,
            "bearer_methods_supported": ["header"],
            "resource_name": "Limbeck",
        });
        typed(StatusCode::OK, JSON, metadata.to_string())
    }

    pub(super) fn not_allowed(&self, allowed: &'static str) -> Box<HttpResponse> {
        let mut answer = self.refuse(RefusalReason::Form, StatusCode::METHOD_NOT_ALLOWED);
        let allowed = HeaderValue::from_static(allowed);
        answer.headers_mut().insert(header::ALLOW, allowed);
        answer
    }

    fn refuse(&self, refusal: RefusalReason, status: StatusCode) -> Box<HttpResponse> {
        self.metrics.refused(refusal);
        Box::new(reason(status))
    }
}

/// Whose request a response answers.
#[derive(Clone)]
struct RequestPrincipal(Arc<str>);

/// Method and path of a request, for its record.
fn operation(request: &Request<Incoming>) -> String {
    let path: String = request.uri().path().chars().take(80).collect();
    format!("{} {path}", request.method())
}

/// Approximate bytes of a head: request line, names, values and separators.
fn head_bytes(request: &Request<Incoming>) -> usize {
    let line = request.method().as_str().len() + request.uri().to_string().len();
    let fields = request.headers().iter();
    let fields = fields.map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    fields.fold(line, |bytes, field| bytes + field)
}

/// Session id of a request; two headers are an error.
fn session_of(headers: &HeaderMap) -> Result<Option<String>, StatusCode> {
    let mut values = headers.get_all(SESSION_ID).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => {
            let id = value.to_str().map_err(|_| StatusCode::NOT_FOUND)?;
            Ok(Some(id.to_owned()))
        }
        (Some(_), Some(_)) => Err(StatusCode::BAD_REQUEST),
    }
}

/// Whether the body is uncompressed JSON, which a form on a web page cannot send.
pub(super) fn is_plain_json(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok());
    let essence = media_type.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(JSON))
        && !headers.contains_key(header::CONTENT_ENCODING)
}

/// Whether a request may be an `initialize`, by its protocol version.
fn may_begin_session(headers: &HeaderMap) -> bool {
    let version = headers.get(PROTOCOL_VERSION);
    version.is_none_or(|version| version.as_bytes() < STATELESS_SINCE.as_bytes())
}

/// Response of the SDK, with the texts of its own errors replaced.
async fn hand_over(
    client: Arc<PrincipalClient>,
    request: Request<Full<Bytes>>,
    session: Option<String>,
) -> HttpResponse {
    let answer = client.service.handle(request).await;
    let status = answer.status();
    match session {
        // The SDK returns 415 for JSON that is not a message; the content type was checked before.
        _ if status == StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            no_message(-32600, "Invalid Request: one JSON-RPC message is needed")
        }
        // The session closed after the check above.
        Some(session) if status.is_server_error() && !client.sessions.has(&session) => {
            reason(StatusCode::NOT_FOUND)
        }
        _ if status.is_server_error() => reason(status),
        _ => answer.map(BodyExt::boxed_unsync),
    }
}

/// JSON-RPC error response, without an id, to a body that is not a message.
fn no_message(code: i32, message: &str) -> HttpResponse {
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    typed(StatusCode::BAD_REQUEST, JSON, error.to_string())
}
