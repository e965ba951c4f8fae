//! A listening gateway, and a client that sends handwritten requests.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use limbeck_server::http::{
    Authentication, BearerTokens, HttpBounds, HttpOptions, HttpServer, Security,
};
use limbeck_testkit::World;
use limbeck_upstream::KnownSecrets;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) const ALICE: &str = "a11ce000000000000000000000000000000000000000000000000000000000a1";
pub(crate) const BOB: &str = "b0b0000000000000000000000000000000000000000000000000000000000b0b";
pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-06-18";

/// Timeout of conditions, long enough for a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// Listening gateway with the tokens of two principals.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) drain: CancellationToken,
    pub(crate) serving: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Starts with options changed by `change`.
    pub(crate) async fn with(change: impl FnOnce(&mut HttpOptions)) -> Self {
        Self::over([], change).await
    }

    /// Starts with upstream servers that never answer.
    pub(crate) async fn over<const N: usize>(
        silent: [&str; N],
        change: impl FnOnce(&mut HttpOptions),
    ) -> Self {
        let mut world = world();
        for name in silent {
            world = world.silent(name);
        }
        Self::in_world(world, change).await
    }

    /// Starts a gateway of `world`.
    pub(crate) async fn in_world(world: World, change: impl FnOnce(&mut HttpOptions)) -> Self {
        let mut options = options(Security::Loopback);
        change(&mut options);
        let gateway = world.start().await;
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let face = HttpServer::bind(gateway, any_port, options).await.unwrap();
        let url = face.url().unwrap();
        let address = url.split('/').nth(2).unwrap().parse().unwrap();
        let drain = CancellationToken::new();
        let serving = tokio::spawn(face.serve(drain.clone()));
        Self {
            address,
            drain,
            serving,
        }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes on a new connection and reads the response to its end.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> Reply {
        exchange(self.connect().await, bytes).await
    }

    /// Sends a request with `Connection: close`.
    pub(crate) async fn send(&self, request: &Ask) -> Reply {
        self.raw(&request.bytes(self.address)).await
    }

    /// Sends a request of the newest revision as `alice` and returns its result.
    pub(crate) async fn is_well(&self) {
        let reply = self
            .send(&Ask::modern(ALICE, "tools/list", json!({})))
            .await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.json()["result"]["tools"][0]["name"], "search");
    }

    /// Opens a session of an older revision and returns its id.
    pub(crate) async fn session(&self, token: &str) -> String {
        let reply = self.send(&Ask::initialize(token)).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.json()["result"]["serverInfo"]["name"], "limbeck");
        let id = reply.header("mcp-session-id").unwrap().to_owned();
        let mut ready = Ask::post(
            token,
            &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        );
        ready.set("mcp-session-id", &id);
        assert_eq!(self.send(&ready).await.status, 202);
        id
    }

    /// Value of the line `name` of `/metrics`.
    pub(crate) async fn metric(&self, name: &str) -> u64 {
        let reply = self.send(&Ask::get("/metrics", ALICE)).await;
        let line = reply
            .body
            .lines()
            .find(|line| line.split(' ').next() == Some(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in {}", reply.body));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }
}

/// World without a worker: no test here runs a program.
pub(crate) fn world() -> World {
    World::new(PathBuf::from("/nonexistent/worker"))
}

/// Options with the tokens of two principals.
pub(crate) fn options(security: Security) -> HttpOptions {
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("tokens");
    std::fs::write(&path, format!("alice {ALICE}\nbob {BOB}\n")).unwrap();
    HttpOptions {
        authentication: Authentication::by_tokens(
            BearerTokens::read(&path, &KnownSecrets::default()).unwrap(),
        ),
        allow_hosts: Vec::new(),
        allow_origins: Vec::new(),
        security,
        bounds: HttpBounds::default(),
        compat: Default::default(),
    }
}

/// Request to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Ask {
    pub(crate) fn new(method: &'static str, target: &str) -> Self {
        Self {
            method,
            target: target.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn get(target: &str, token: &str) -> Self {
        let mut ask = Self::new("GET", target);
        ask.set("authorization", &format!("Bearer {token}"));
        ask
    }

    /// POST of a message to `/mcp` with the headers that every revision needs.
    pub(crate) fn post(token: &str, message: &Value) -> Self {
        let mut ask = Self::new("POST", "/mcp");
        ask.set("authorization", &format!("Bearer {token}"));
        ask.set("content-type", "application/json");
        ask.set("accept", "application/json, text/event-stream");
        ask.body = message.to_string().into_bytes();
        ask
    }

    /// Request of the newest revision.
    pub(crate) fn modern(token: &str, method: &str, mut params: Value) -> Self {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let name = params["name"].as_str().map(str::to_owned);
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut ask = Self::post(token, &message);
        ask.set("mcp-protocol-version", MODERN);
        ask.set("mcp-method", method);
        if let Some(name) = name {
            ask.set("mcp-name", &name);
        }
        ask
    }

    /// `initialize` of an older revision.
    pub(crate) fn initialize(token: &str) -> Self {
        let params = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}});
        Self::post(
            token,
            &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}),
        )
    }

    /// Request within a session.
    pub(crate) fn within(token: &str, session: &str, method: &str, params: Value) -> Self {
        let mut ask = Self::post(
            token,
            &json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}),
        );
        ask.set("mcp-session-id", session);
        ask.set("mcp-protocol-version", LEGACY);
        ask
    }

    /// Sets a header and replaces one of that name.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> &mut Self {
        self.remove(name);
        self.add(name, value)
    }

    pub(crate) fn add(&mut self, name: &str, value: &str) -> &mut Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn remove(&mut self, name: &str) -> &mut Self {
        self.headers.retain(|(other, _)| other != name);
        self
    }

    /// Head without the final empty line. `Host` is the server's unless it was set.
    pub(crate) fn head(&self, address: SocketAddr) -> String {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !self.headers.iter().any(|(name, _)| name == "host") {
            head.push_str(&format!("host: {address}\r\n"));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head
    }

    pub(crate) fn bytes(&self, address: SocketAddr) -> Vec<u8> {
        let mut head = self.head(address);
        head.push_str("connection: close\r\n");
        let framed = self
            .headers
            .iter()
            .any(|(name, _)| name == "content-length" || name == "transfer-encoding");
        if !framed && (self.method == "POST" || !self.body.is_empty()) {
            head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        head.push_str("\r\n");
        [head.as_bytes(), &self.body].concat()
    }
}

/// Response.
#[derive(Debug)]
pub(crate) struct Reply {
    /// 0 when the connection was closed without a response.
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            assert!(text.is_empty(), "half an answer: {text}");
            return Self {
                status: 0,
                headers: Vec::new(),
                body: String::new(),
            };
        };
        let mut lines = head.lines();
        let status = lines
            .next()
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let chunked = headers.iter().any(|(name, _)| name == "transfer-encoding");
        let body = if chunked {
            unchunked(body)
        } else {
            body.to_owned()
        };
        Self {
            status,
            headers,
            body,
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(other, _)| other == name);
        header.map(|(_, value)| value.as_str())
    }

    /// The body as JSON, or the last message of an event stream.
    pub(crate) fn json(&self) -> Value {
        let text = match self.header("content-type") {
            Some("text/event-stream") => {
                let data = self
                    .body
                    .lines()
                    .filter_map(|line| line.strip_prefix("data:"));
                data.map(str::trim)
                    .rfind(|data| !data.is_empty())
                    .unwrap_or_default()
            }
            _ => &self.body,
        };
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

fn unchunked(mut text: &str) -> String {
    let mut body = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        body.push_str(&rest[..size]);
        text = &rest[size + 2..];
    }
    body
}

/// Writes `bytes` and reads to the end. Ignores write errors: a server that rejects may not read everything.
pub(crate) async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    bytes: &[u8],
) -> Reply {
    let _ = stream.write_all(bytes).await;
    Reply::parse(&rest_of(&mut stream).await)
}

/// Reads until the server closes the connection.
pub(crate) async fn rest_of(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    let read = async {
        // A reset counts as an end: the response before it was read.
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            answer.extend_from_slice(&buffer[..count]);
        }
    };
    let ended = tokio::time::timeout(SOON, read).await;
    assert!(ended.is_ok(), "the connection stays open");
    answer
}

/// Reads until `part` has arrived, and returns everything read.
pub(crate) async fn until_part(stream: &mut (impl AsyncRead + Unpin), part: &str) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    while !text.contains(part) {
        let read = tokio::time::timeout(SOON, stream.read(&mut buffer)).await;
        let count = read
            .unwrap_or_else(|_| panic!("no {part:?} in {text:?}"))
            .unwrap();
        assert!(count > 0, "closed before {part:?}: {text:?}");
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    text
}

/// Waits for a condition; panics when it times out.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut condition: impl FnMut() -> F) {
    let limit = Instant::now() + SOON;
    while !condition().await {
        assert!(Instant::now() < limit, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
