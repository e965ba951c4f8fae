//! One request, from its head to its answer.
//!
//! In this order, each before the next: the name we are called by and the origin, the path and the
//! method, the token, whether there is room, the content type, the size, the body, and only then the
//! protocol, which is the SDK's. What is refused before the token is known ends its connection.
//!
//! ```text
//! /mcp                                       POST GET DELETE   token
//! /metrics                                   GET               token
//! /health, /ready                            GET               nothing, and nothing is told
//! /.well-known/oauth-protected-resource[/mcp] GET              nothing; with an issuer only
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

use super::authentication::Authentication;
use super::authority::Names;
use super::body::{Answer, Bodies, Holding, text, typed};
use super::clients::{Client, Clients, TooMany};
use super::metrics::{Refusal, Traffic};
use super::patience;
use crate::Gateway;

const MCP: &str = "/mcp";
const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource";
const RESOURCE_METADATA_MCP: &str = "/.well-known/oauth-protected-resource/mcp";
const JSON: &str = "application/json";
const SESSION_ID: &str = "mcp-session-id";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// First revision without sessions.
const STATELESS_SINCE: &str = "2026-07-28";

/// Answers requests.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) gateway: Gateway,
    pub(crate) names: Names,
    pub(crate) authentication: Authentication,
    pub(crate) clients: Clients,
    pub(crate) traffic: Traffic,
    pub(crate) bodies: Bodies,
    /// Time between two signs of life for a client that waits.
    pub(crate) sign_of_life: Duration,
    /// What clients see, TLS of ours or a proxy's.
    pub(crate) scheme: &'static str,
    /// Cancelled when the gateway is about to end.
    pub(crate) draining: CancellationToken,
}

impl Service {
    /// Answers a request. `last` is cancelled when its connection should take no more.
    pub(crate) async fn answer(
        &self,
        request: Request<Incoming>,
        last: &CancellationToken,
    ) -> Answer {
        self.traffic.requests.fetch_add(1, Ordering::Relaxed);
        let is_http1 = request.version() < Version::HTTP_2;
        let mut answer = match self.route(request).await {
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
        let headers = answer.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        answer
    }

    /// `Err` is an answer to somebody who did not show who they are.
    async fn route(&self, request: Request<Incoming>) -> Result<Answer, Box<Answer>> {
        // Over HTTP/1 a head is read in pieces as large as its bound, so one of two pieces gets here.
        if head_bytes(&request) > HTTP_HEAD_BYTES_MAX {
            return Err(self.refuse(Refusal::Form, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
        }
        let (uri, headers) = (request.uri(), request.headers());
        let host = self.names.check(uri, headers).map_err(|misnamed| {
            self.traffic.refused(Refusal::Name);
            text(misnamed.status(), misnamed.text())
        })?;
        // Letter by letter: nothing is decoded, joined or cut off, and no path takes a query.
        let path = match uri.query() {
            None => uri.path(),
            Some(_) => "",
        };
        match path {
            MCP => self.mcp(request, &host).await,
            "/health" => self.get(&request, || text(StatusCode::OK, "ok\n")),
            "/ready" => self.get(&request, || match self.draining.is_cancelled() {
                false => text(StatusCode::OK, "ready\n"),
                true => text(StatusCode::SERVICE_UNAVAILABLE, "ending\n"),
            }),
            "/metrics" => self.metrics(&request, &host).await,
            RESOURCE_METADATA | RESOURCE_METADATA_MCP if self.authentication.issuer().is_some() => {
                self.get(&request, || self.resource_metadata(&host))
            }
            _ => Err(self.refuse(Refusal::Form, StatusCode::NOT_FOUND)),
        }
    }

    fn get(
        &self,
        request: &Request<Incoming>,
        answer: impl FnOnce() -> Answer,
    ) -> Result<Answer, Box<Answer>> {
        match *request.method() {
            Method::GET | Method::HEAD => Ok(answer()),
            _ => Err(self.not_allowed("GET")),
        }
    }

    async fn metrics(
        &self,
        request: &Request<Incoming>,
        host: &Authority,
    ) -> Result<Answer, Box<Answer>> {
        if request.method() != Method::GET {
            return Err(self.not_allowed("GET"));
        }
        self.principal(request.headers(), host).await?;
        let metrics = self.traffic.text(&self.gateway, &self.clients);
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
    ) -> Result<Answer, Box<Answer>> {
        if !matches!(
            *request.method(),
            Method::POST | Method::GET | Method::DELETE
        ) {
            return Err(self.not_allowed("GET, POST, DELETE"));
        }
        let principal = self.principal(request.headers(), host).await?;
        if self.draining.is_cancelled() {
            return Err(Box::new(later(StatusCode::SERVICE_UNAVAILABLE)));
        }
        let client = match self.clients.enter(&principal) {
            Ok(client) => client,
            Err(too_many) => {
                self.traffic.refused(Refusal::TooMany);
                return Ok(later(match too_many {
                    TooMany::Requests => StatusCode::TOO_MANY_REQUESTS,
                    TooMany::Principals => StatusCode::SERVICE_UNAVAILABLE,
                }));
            }
        };
        let (parts, body) = request.into_parts();
        let answer = match self.protocol(client.client(), parts, body).await {
            Ok(answer) => answer,
            Err(status) => {
                self.traffic.refused(Refusal::Form);
                reason(status)
            }
        };
        Ok(answer.map(|body| Holding::new(body, client).boxed_unsync()))
    }

    /// Hands a request to the SDK, and its answer back.
    async fn protocol(
        &self,
        client: &Arc<Client>,
        parts: Parts,
        body: Incoming,
    ) -> Result<Answer, StatusCode> {
        let session = session_of(&parts.headers)?;
        if let Some(session) = &session
            && parts.method == Method::DELETE
            && !client.sessions.has(session)
        {
            return Err(StatusCode::NOT_FOUND);
        }
        if parts.method != Method::POST {
            let request = Request::from_parts(parts, Full::new(Bytes::new()));
            return Ok(hand_over(Arc::clone(client), request, session).await);
        }
        if !is_plain_json(&parts.headers) {
            return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
        }
        if session.is_none() && may_begin_session(&parts.headers) && client.sessions.is_full() {
            return Ok(later(StatusCode::SERVICE_UNAVAILABLE));
        }
        let body = self.bodies.read(&parts.headers, body).await?;
        if serde_json::from_slice::<IgnoredAny>(&body).is_err() {
            return Ok(no_message(-32700, "Parse error"));
        }
        let request = Request::from_parts(parts, Full::new(body));
        let answer = hand_over(Arc::clone(client), request, session);
        Ok(patience::answer(answer.boxed(), self.sign_of_life).await)
    }

    async fn principal(
        &self,
        headers: &HeaderMap,
        host: &Authority,
    ) -> Result<Arc<str>, Box<Answer>> {
        match self.authentication.principal(headers).await {
            Some(principal) => Ok(principal),
            None => {
                let mut answer = self.refuse(Refusal::Token, StatusCode::UNAUTHORIZED);
                let headers = answer.headers_mut();
                headers.insert(header::WWW_AUTHENTICATE, self.challenge(host));
                Err(answer)
            }
        }
    }

    /// The same whatever was wrong: RFC 6750 would tell a token that is missing from one that is not
    /// good, and with that whether a guess was one.
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

    /// RFC 9728 §2.
    fn resource_metadata(&self, host: &Authority) -> Answer {
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

    fn not_allowed(&self, allowed: &'static str) -> Box<Answer> {
        let mut answer = self.refuse(Refusal::Form, StatusCode::METHOD_NOT_ALLOWED);
        let allowed = HeaderValue::from_static(allowed);
        answer.headers_mut().insert(header::ALLOW, allowed);
        answer
    }

    fn refuse(&self, refusal: Refusal, status: StatusCode) -> Box<Answer> {
        self.traffic.refused(refusal);
        Box::new(reason(status))
    }
}

/// Bytes of a head, near enough: names, values and what stands around them.
fn head_bytes(request: &Request<Incoming>) -> usize {
    let line = request.method().as_str().len() + request.uri().to_string().len();
    let fields = request.headers().iter();
    let fields = fields.map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    fields.fold(line, |bytes, field| bytes + field)
}

/// The session a request names; two are none.
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

/// JSON, and not compressed: what a form on a web page cannot send.
fn is_plain_json(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok());
    let essence = media_type.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(JSON))
        && !headers.contains_key(header::CONTENT_ENCODING)
}

/// Whether a request may be an `initialize`.
fn may_begin_session(headers: &HeaderMap) -> bool {
    let version = headers.get(PROTOCOL_VERSION);
    version.is_none_or(|version| version.as_bytes() < STATELESS_SINCE.as_bytes())
}

/// The SDK's answer, without the texts of its own errors.
async fn hand_over(
    client: Arc<Client>,
    request: Request<Full<Bytes>>,
    session: Option<String>,
) -> Answer {
    let answer = client.service.handle(request).await;
    let status = answer.status();
    match session {
        // The SDK says so of JSON that is no message; that the type is right was seen before.
        _ if status == StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            no_message(-32600, "Invalid Request: one JSON-RPC message is needed")
        }
        // It ended between two looks.
        Some(session) if status.is_server_error() && !client.sessions.has(&session) => {
            reason(StatusCode::NOT_FOUND)
        }
        _ if status.is_server_error() => reason(status),
        _ => answer.map(BodyExt::boxed_unsync),
    }
}

/// To a body that is no JSON, or no JSON-RPC message.
fn no_message(code: i32, message: &str) -> Answer {
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    typed(StatusCode::BAD_REQUEST, JSON, error.to_string())
}

fn reason(status: StatusCode) -> Answer {
    text(status, status.canonical_reason().unwrap_or("Refused"))
}

fn later(status: StatusCode) -> Answer {
    let mut answer = reason(status);
    let soon = HeaderValue::from_static("1");
    answer.headers_mut().insert(header::RETRY_AFTER, soon);
    answer
}
