//! A small HTTP server and a small browser, on real sockets.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// A request as a handler sees it.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl ReceivedRequest {
    /// A field of a form.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        pairs(&self.body).remove(name)
    }
}

/// Response of a handler.
#[derive(Clone, Debug)]
pub(crate) struct CannedResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl CannedResponse {
    pub(crate) fn json(value: &serde_json::Value) -> Self {
        Self::status(200, &value.to_string())
    }

    pub(crate) fn status(status: u16, body: &str) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json".to_owned())],
            body: body.to_owned(),
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

type Handler = dyn Fn(&str, &ReceivedRequest) -> CannedResponse + Send + Sync;

/// A server that logs what it was asked.
pub(crate) struct WebServer {
    base: String,
    log: Arc<Mutex<Vec<ReceivedRequest>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for WebServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl WebServer {
    /// `handler` gets the server's own base address with every request.
    pub(crate) async fn start(
        handler: impl Fn(&str, &ReceivedRequest) -> CannedResponse + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let log = Arc::new(Mutex::new(Vec::new()));
        let handler: Arc<Handler> = Arc::new(handler);
        let task = tokio::spawn(serve(listener, base.clone(), handler, log.clone()));
        Self { base, log, task }
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Requests to `path` so far.
    pub(crate) fn asked(&self, path: &str) -> Vec<ReceivedRequest> {
        let log = self.log.lock().unwrap();
        log.iter()
            .filter(|asked| asked.path == path)
            .cloned()
            .collect()
    }
}

async fn serve(
    listener: TcpListener,
    base: String,
    handler: Arc<Handler>,
    log: Arc<Mutex<Vec<ReceivedRequest>>>,
) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let (base, handler, log) = (base.clone(), handler.clone(), log.clone());
        tokio::spawn(async move {
            let service = service_fn(|request: hyper::Request<Incoming>| {
                let (base, handler, log) = (base.clone(), handler.clone(), log.clone());
                async move {
                    let asked = read(request).await;
                    log.lock().unwrap().push(asked.clone());
                    Ok::<_, Infallible>(said(handler(&base, &asked)))
                }
            });
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn read(request: hyper::Request<Incoming>) -> ReceivedRequest {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes());
    ReceivedRequest {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: pairs(parts.uri.query().unwrap_or_default()),
        headers: parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect(),
        body: String::from_utf8(body.unwrap_or_default().to_vec()).unwrap(),
    }
}

fn said(said: CannedResponse) -> hyper::Response<Full<Bytes>> {
    let mut response = hyper::Response::builder().status(said.status);
    for (name, value) in said.headers {
        response = response.header(name, value);
    }
    response.body(Full::new(Bytes::from(said.body))).unwrap()
}

pub(crate) fn pairs(form: &str) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(form.as_bytes())
        .into_owned()
        .collect()
}

/// What a browser that follows no redirect gets: status, `Location`, body.
pub(crate) async fn get(url: &Url) -> (u16, Option<Url>, String) {
    let host = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
    get_from(url, &host).await
}

/// [`get`] under another name for the host.
pub(crate) async fn get_from(url: &Url, host: &str) -> (u16, Option<Url>, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", url.port().unwrap()))
        .await
        .unwrap();
    let target = &url[url::Position::BeforePath..];
    let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let location = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("location")
            .then(|| Url::parse(value).unwrap())
    });
    (status, location, body.to_owned())
}
