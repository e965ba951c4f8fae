//! The loopback address a browser is sent back to (RFC 8252 §7.3).
//!
//! Anybody on this machine can reach it, and any web page can send a browser there. So it listens on
//! 127.0.0.1 alone, on a port of the system's choice where the client is not registered for one, and takes
//! one answer: a `GET` of its path, under its own name, with the state of this sign-in. Everything else is
//! answered and forgotten. It writes no page that repeats a word of the request.

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

use super::error::OAuthError;
use super::login::Redirect;

/// Connections served at the same time; a browser opens two or three.
const CONNECTIONS_MAX: usize = 16;
/// Time for one connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a request head.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Time for the browser to read the page after the answer is in.
const LAST_PAGE: Duration = Duration::from_secs(1);

/// A listener for one redirect.
#[derive(Debug)]
pub(super) struct Callback {
    listener: TcpListener,
    port: u16,
    path: String,
    uri: String,
}

impl Callback {
    /// Listens on `port`, or on any port. Where the client is registered for a port it is registered
    /// for `http://localhost:PORT/callback`, as other MCP clients are.
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
    pub(super) async fn wait(&self, state: &str) -> Result<Redirect, OAuthError> {
        let (sender, mut receiver) = mpsc::channel(1);
        let expected = Arc::new(Expected {
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
                    // What cannot be accepted has gone away again.
                    if let Ok((stream, _)) = accepted {
                        connections.spawn(serve(stream, expected.clone()));
                    }
                }
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
            }
        }
    }
}

/// What a request has to be.
struct Expected {
    hosts: [String; 2],
    path: String,
    state: String,
    sender: mpsc::Sender<Result<Redirect, OAuthError>>,
}

async fn serve(stream: TcpStream, expected: Arc<Expected>) {
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
    // A browser that goes away has read what it wanted.
    let _ = timeout(CONNECTION_TIMEOUT, served).await;
}

impl Expected {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let host = request.headers().get(HOST).and_then(|v| v.to_str().ok());
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
        let redirect = match Redirect::from_query(query, &self.state) {
            Err(OAuthError::Redirect { .. }) => {
                return page(
                    StatusCode::BAD_REQUEST,
                    "This answer does not belong to the sign-in under way.",
                );
            }
            redirect => redirect,
        };
        let words = match &redirect {
            Ok(_) => {
                "Limbeck has the answer. See the terminal for how it went; this page can be closed."
            }
            Err(_) => "The sign-in was refused. See the terminal; this page can be closed.",
        };
        match self.sender.try_send(redirect) {
            Ok(()) => page(StatusCode::OK, words),
            Err(_) => page(StatusCode::GONE, "This sign-in has its answer already."),
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
