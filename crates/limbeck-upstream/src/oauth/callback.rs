//! Loopback listener for the redirect of a browser (RFC 8252 §7.3).
//!
//! Any process on this machine can connect to it, and any web page can send a browser there. So it listens on
//! 127.0.0.1 only, on a port chosen by the system where the client is not registered for one, and accepts one
//! answer: a `GET` of its path, with its own host name and the state of this sign-in. Other requests are
//! rejected. Its pages repeat no text of the request.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, REFERRER_POLICY};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::authorization_response::AuthorizationResponse;
use super::error::OAuthError;

/// Connections served at the same time; a browser opens two or three.
const CONNECTIONS_MAX: usize = 16;
/// Time limit of one connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest request head.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Time for the browser to read the page after the answer has arrived.
const LAST_PAGE: Duration = Duration::from_secs(1);

/// Listener for one redirect.
#[derive(Debug)]
pub(super) struct CallbackListener {
    listener: TcpListener,
    port: u16,
    path: String,
    uri: String,
}

impl CallbackListener {
    /// Listens on `port`, or on any port. A client that is registered for a port is registered for
    /// `http://localhost:PORT/callback`, as other MCP clients are.
    pub(super) async fn bind(port: Option<u16>, path: String) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await?;
        let bound = listener.local_addr()?.port();
        let host = match port {
            Some(_) => "localhost",
            None => "127.0.0.1",
        };
        Ok(Self {
            listener,
            port: bound,
            uri: format!("http://{host}:{bound}{path}"),
            path,
        })
    }

    /// The redirect URI.
    pub(super) fn uri(&self) -> &str {
        &self.uri
    }

    /// Waits for the redirect of the sign-in with `state`; a refusal counts as one.
    pub(super) async fn wait(&self, state: &str) -> Result<AuthorizationResponse, OAuthError> {
        let (sender, mut receiver) = mpsc::channel(1);
        let expected = Arc::new(ExpectedRedirect {
            hosts: [
                format!("127.0.0.1:{}", self.port),
                format!("localhost:{}", self.port),
            ],
            path: self.path.clone(),
            state: state.to_owned(),
            sender,
        });
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                answer = receiver.recv() => {
                    if let Some(answer) = answer {
                        let _ = timeout(LAST_PAGE, connections.join_next()).await;
                        return answer;
                    }
                }
                accepted = self.listener.accept(), if connections.len() < CONNECTIONS_MAX => {
                    // A connection that cannot be accepted was closed by the browser.
                    if let Ok((stream, _)) = accepted {
                        connections.spawn(serve(stream, expected.clone()));
                    }
                }
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
            }
        }
    }
}

/// Expected properties of the redirect.
struct ExpectedRedirect {
    hosts: [String; 2],
    path: String,
    state: String,
    sender: mpsc::Sender<Result<AuthorizationResponse, OAuthError>>,
}

async fn serve(stream: TcpStream, expected: Arc<ExpectedRedirect>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = expected.answer(&request);
        async move { Ok::<_, Infallible>(answer) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(CONNECTION_TIMEOUT)
        .keep_alive(false)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // An error means that the browser closed the connection after its response.
    let _ = timeout(CONNECTION_TIMEOUT, served).await;
}

impl ExpectedRedirect {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let host = request.headers().get(HOST).and_then(|v| v.to_str().ok());
        // A page on another site can send requests here under its own host name (DNS rebinding).
        if !host.is_some_and(|host| self.hosts.iter().any(|own| own == host)) {
            return page(
                StatusCode::FORBIDDEN,
                "This is not the address of a sign-in.",
            );
        }
        if request.method() != Method::GET || request.uri().path() != self.path {
            return page(
                StatusCode::NOT_FOUND,
                "There is no sign-in at this address.",
            );
        }
        let query = request.uri().query().unwrap_or_default();
        // A request with a wrong state is rejected without ending the wait: anyone on this machine can send
        // one.
        let redirect = match AuthorizationResponse::from_query(query, &self.state) {
            Err(OAuthError::Redirect { .. }) => {
                return page(
                    StatusCode::BAD_REQUEST,
                    "This answer does not belong to the current sign-in.",
                );
            }
            redirect => redirect,
        };
        let words = match &redirect {
            Ok(_) => {
                "Limbeck has received the answer. See the terminal for the result; you can close this page."
            }
            Err(_) => "The sign-in was refused. See the terminal; you can close this page.",
        };
        match self.sender.try_send(redirect) {
            Ok(()) => page(StatusCode::OK, words),
            Err(_) => page(StatusCode::GONE, "This sign-in already has an answer."),
        }
    }
}

fn page(status: StatusCode, words: &'static str) -> Response<Full<Bytes>> {
    let body =
        format!("<!doctype html><meta charset=\"utf-8\"><title>Limbeck</title><p>{words}</p>\n");
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'",
        ),
        (REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, http::HeaderValue::from_static(value));
    }
    response
}
