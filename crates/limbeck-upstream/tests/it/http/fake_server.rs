//! A server on a socket that answers as a test wants, byte for byte if need be, and keeps what it was sent.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// One request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Value,
}

impl ReceivedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The JSON-RPC method, or the HTTP one when there is no body.
    pub(crate) fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or(&self.method)
    }

    pub(crate) fn id(&self) -> Value {
        self.body["id"].clone()
    }
}

/// What is answered.
pub(crate) enum FakeReply {
    /// A whole response.
    Whole {
        status: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// An event stream, piece by piece, until the sender is gone.
    Events(mpsc::UnboundedReceiver<String>),
    /// These bytes and the end of the connection.
    Raw(Vec<u8>),
    /// Nothing, until the other side leaves.
    Nothing,
}

impl FakeReply {
    pub(crate) fn status(status: u16) -> Self {
        Self::Whole {
            status,
            headers: Vec::new(),
            body: String::new(),
        }
    }

    pub(crate) fn json(body: &Value) -> Self {
        Self::typed(200, "application/json", &body.to_string())
    }

    pub(crate) fn typed(status: u16, kind: &str, body: &str) -> Self {
        Self::Whole {
            status,
            headers: vec![("Content-Type".into(), kind.into())],
            body: body.into(),
        }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        if let Self::Whole { headers, .. } = &mut self {
            headers.push((name.into(), value.into()));
        }
        self
    }

    /// A stream of these pieces.
    pub(crate) fn events(pieces: &[String]) -> Self {
        let (tx, rx) = mpsc::unbounded_channel();
        for piece in pieces {
            tx.send(piece.clone()).unwrap();
        }
        Self::Events(rx)
    }
}

type ReplyFn = Arc<dyn Fn(&ReceivedRequest) -> FakeReply + Send + Sync>;

/// A running server; it ends with the test's runtime.
pub(crate) struct FakeServer {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<ReceivedRequest>>>,
    left: Arc<Mutex<Vec<String>>>,
}

impl FakeServer {
    pub(crate) async fn start(
        answer: impl Fn(&ReceivedRequest) -> FakeReply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peer = Self {
            address: listener.local_addr().unwrap(),
            seen: Arc::default(),
            left: Arc::default(),
        };
        let answer: ReplyFn = Arc::new(answer);
        let (seen, left) = (peer.seen.clone(), peer.left.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, answer.clone(), seen.clone(), left.clone()));
            }
        });
        peer
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.origin())
    }

    pub(crate) fn seen(&self) -> Vec<ReceivedRequest> {
        self.seen.lock().unwrap().clone()
    }

    /// The methods in the order they arrived.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.seen().iter().map(|it| it.rpc().to_owned()).collect()
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        self.seen().iter().filter(|it| it.rpc() == method).count()
    }

    /// Methods whose response the other side closed before its end.
    pub(crate) fn left(&self) -> Vec<String> {
        self.left.lock().unwrap().clone()
    }
}

async fn serve(
    stream: TcpStream,
    answer: ReplyFn,
    seen: Arc<Mutex<Vec<ReceivedRequest>>>,
    left: Arc<Mutex<Vec<String>>>,
) {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    while let Some(request) = request(&mut read).await {
        seen.lock().unwrap().push(request.clone());
        match answer(&request) {
            FakeReply::Whole {
                status,
                headers,
                body,
            } => {
                let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n", body.len());
                for (name, value) in headers {
                    write!(head, "{name}: {value}\r\n").unwrap();
                }
                let whole = format!("{head}\r\n{body}");
                if write.write_all(whole.as_bytes()).await.is_err() {
                    return;
                }
            }
            FakeReply::Events(mut pieces) => {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
                let _ = write.write_all(head.as_bytes()).await;
                let mut nothing = [0];
                loop {
                    tokio::select! {
                        piece = pieces.recv() => match piece {
                            Some(piece) if write.write_all(piece.as_bytes()).await.is_ok() => {}
                            _ => return,
                        },
                        _ = read.read(&mut nothing) => {
                            left.lock().unwrap().push(request.rpc().to_owned());
                            return;
                        }
                    }
                }
            }
            FakeReply::Raw(bytes) => {
                let _ = write.write_all(&bytes).await;
                return;
            }
            FakeReply::Nothing => {
                let _ = read.read(&mut [0]).await;
                left.lock().unwrap().push(request.rpc().to_owned());
                return;
            }
        }
    }
}

async fn request(read: &mut (impl AsyncBufReadExt + Unpin)) -> Option<ReceivedRequest> {
    let mut line = String::new();
    if read.read_line(&mut line).await.ok()? == 0 {
        return None;
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        read.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers
        .get("content-length")
        .map_or(0, |it| it.parse().unwrap());
    let mut body = vec![0; length];
    read.read_exact(&mut body).await.ok()?;
    Some(ReceivedRequest {
        method,
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    })
}

/// A JSON-RPC result.
pub(crate) fn result(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

pub(crate) fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// One event with a message.
pub(crate) fn event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}

fn tools(id: &Value) -> Value {
    let echo = json!({"name": "echo", "inputSchema": {"type": "object"}});
    result(
        id,
        &json!({"resultType": "complete", "tools": [echo], "ttlMs": 0, "cacheScope": "private"}),
    )
}

/// The result of `echo`: its arguments.
pub(crate) fn echo(seen: &ReceivedRequest) -> Value {
    let arguments = &seen.body["params"]["arguments"];
    result(
        &seen.id(),
        &json!({"resultType": "complete", "content": [], "structuredContent": arguments}),
    )
}

/// A healthy modern server.
pub(crate) fn modern(seen: &ReceivedRequest) -> FakeReply {
    match seen.rpc() {
        "server/discover" => FakeReply::json(&result(
            &seen.id(),
            &json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
            }),
        )),
        "tools/list" => FakeReply::json(&tools(&seen.id())),
        "tools/call" => FakeReply::json(&echo(seen)),
        "GET" | "DELETE" => FakeReply::status(405),
        _ => FakeReply::typed(
            404,
            "application/json",
            &error(&seen.id(), -32601, "no such").to_string(),
        ),
    }
}

/// A healthy server with sessions that knows nothing newer; `session` is the id it gives.
pub(crate) fn legacy(seen: &ReceivedRequest, session: &str) -> FakeReply {
    let fresh = seen.header("mcp-session-id").is_none();
    match seen.rpc() {
        "initialize" => FakeReply::json(&result(
            &seen.id(),
            &json!({
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "old", "version": "1"},
            }),
        ))
        .with("Mcp-Session-Id", session),
        _ if fresh => {
            let refused = error(&Value::Null, -32000, "Bad Request: Server not initialized");
            FakeReply::typed(400, "application/json", &refused.to_string())
        }
        _ if seen.header("mcp-session-id") != Some(session) => FakeReply::status(404),
        "tools/list" => FakeReply::json(&tools(&seen.id())),
        "tools/call" => FakeReply::json(&echo(seen)),
        "GET" => FakeReply::status(405),
        "DELETE" => FakeReply::status(200),
        _ => FakeReply::status(202),
    }
}
