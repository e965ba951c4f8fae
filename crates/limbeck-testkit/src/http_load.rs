//! Load generator: many clients of one HTTP gateway, each on its own connection, with every response checked.
//!
//! Start reading at [`run`].

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Time limit of one response.
const PATIENCE: Duration = Duration::from_secs(60);
const REVISION: &str = "2026-07-28";
/// Pairs in flight at the same time; each runs two programs.
const PAIRS_AT_ONCE: usize = 8;
/// Time that the first program of a pair waits, so that the second one ends before it.
const PAIR_MS: u64 = 40;

/// Clients and requests of one run.
#[derive(Clone, Debug)]
pub struct LoadSpec {
    /// Address of the gateway, without TLS.
    pub address: SocketAddr,
    /// Bearer tokens of the principals; clients are distributed over them.
    pub tokens: Vec<String>,
    /// Concurrent clients.
    pub clients: usize,
    /// Total number of programs.
    pub requests: usize,
}

/// Outcome of one run.
#[derive(Clone, Debug, Default)]
pub struct LoadOutcome {
    /// Programs that returned their own value.
    pub right: usize,
    /// Wrong responses, the first few.
    pub wrong: Vec<String>,
    /// Duration of each program, shortest first.
    pub times: Vec<Duration>,
    /// Duration of the run.
    pub took: Duration,
}

/// Sends all programs, distributed over the clients. Each returns a number of its own; all requests have the same
/// JSON-RPC id.
pub fn run(load: &LoadSpec) -> LoadOutcome {
    let next = AtomicUsize::new(0);
    let started = Instant::now();
    let parts = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..load.clients)
            .map(|number| {
                let token = &load.tokens[number % load.tokens.len()];
                let next = &next;
                scope.spawn(move || client(load, token, next))
            })
            .collect();
        let parts = clients.into_iter().map(|client| client.join());
        parts
            .map(|part| part.unwrap_or_default())
            .collect::<Vec<LoadOutcome>>()
    });
    merged(parts, started)
}

/// Sends `count` pairs of programs, several pairs at the same time: one program waits, and while it does another client
/// sends one that does not, under the same JSON-RPC id. The later one is answered first; each must get its own value.
pub fn interleaved(load: &LoadSpec, count: usize) -> LoadOutcome {
    let started = Instant::now();
    let next = AtomicUsize::new(0);
    let parts = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..PAIRS_AT_ONCE)
            .map(|_| scope.spawn(|| pairs(load, count, &next)))
            .collect();
        let parts = threads.into_iter().map(|thread| thread.join());
        parts
            .map(|part| part.unwrap_or_default())
            .collect::<Vec<LoadOutcome>>()
    });
    merged(parts, started)
}

fn pairs(load: &LoadSpec, count: usize, next: &AtomicUsize) -> LoadOutcome {
    let mut outcome = LoadOutcome::default();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return outcome;
        }
        let started = Instant::now();
        match pair(load, number) {
            Ok(values) if values == [json!(["late", number]), json!(["early", number])] => {
                outcome.right += 1;
            }
            Ok(values) => outcome.wrong.push(format!("{number}: {values:?}")),
            Err(error) => outcome.wrong.push(format!("{number}: {error}")),
        }
        outcome.times.push(started.elapsed());
    }
}

/// Values of the second and of the first program of a pair.
fn pair(load: &LoadSpec, number: usize) -> io::Result<[Value; 2]> {
    let token = |of: usize| &load.tokens[of % load.tokens.len()];
    let mut early = Client::connect(load.address, token(number))?;
    let mut late = Client::connect(load.address, token(number + 1))?;
    let wait = format!("await new Promise(done => setTimeout(done, {PAIR_MS}));");
    early.send_execute(&format!("{wait} return ['early', {number}]"))?;
    let mut second = late.execute(&format!("return ['late', {number}]"))?;
    let mut first = early.envelope()?;
    Ok([second["value"].take(), first["value"].take()])
}

fn merged(parts: Vec<LoadOutcome>, started: Instant) -> LoadOutcome {
    let mut all = LoadOutcome {
        took: started.elapsed(),
        ..LoadOutcome::default()
    };
    for part in parts {
        all.right += part.right;
        all.wrong.extend(part.wrong);
        all.times.extend(part.times);
    }
    all.wrong.truncate(5);
    all.times.sort_unstable();
    all
}

fn client(load: &LoadSpec, token: &str, next: &AtomicUsize) -> LoadOutcome {
    let mut outcome = LoadOutcome::default();
    let mut connection = Client::connect(load.address, token);
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= load.requests {
            return outcome;
        }
        let started = Instant::now();
        let answer = match &mut connection {
            Ok(client) => client.execute(&format!("return {number} * 3")),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        };
        outcome.times.push(started.elapsed());
        match answer {
            Ok(envelope) if envelope["value"] == json!(number * 3) => outcome.right += 1,
            Ok(envelope) => outcome.wrong.push(format!("{number}: {envelope}")),
            Err(error) => {
                outcome.wrong.push(format!("{number}: {error}"));
                connection = Client::connect(load.address, token);
            }
        }
    }
}

/// MCP client of the newest revision that keeps its connection.
#[derive(Debug)]
pub struct Client {
    address: SocketAddr,
    token: String,
    stream: BufReader<TcpStream>,
}

impl Client {
    /// Connects to a gateway.
    ///
    /// # Errors
    ///
    /// Errors of the connection.
    pub fn connect(address: SocketAddr, token: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            address,
            token: token.to_owned(),
            stream: BufReader::new(stream),
        })
    }

    /// Runs a program and returns its envelope.
    ///
    /// # Errors
    ///
    /// Errors of the connection, and responses that are not valid.
    pub fn execute(&mut self, program: &str) -> io::Result<Value> {
        self.execute_with(&json!({"code": program}))
    }

    /// Calls `execute` with `arguments` and returns the envelope.
    ///
    /// # Errors
    ///
    /// Errors of the connection, and responses that are not valid.
    pub fn execute_with(&mut self, arguments: &Value) -> io::Result<Value> {
        self.send_arguments(arguments)?;
        self.envelope()
    }

    /// Reads the envelope of a program that was sent.
    ///
    /// # Errors
    ///
    /// Errors of the connection, and responses that are not valid.
    pub fn envelope(&mut self) -> io::Result<Value> {
        let (status, body) = self.receive()?;
        let wrong = || io::Error::other(format!("{status}: {body}"));
        let answer: Value = serde_json::from_str(&body).map_err(|_| wrong())?;
        let text = answer["result"]["content"][0]["text"].as_str();
        let envelope = text.and_then(|text| serde_json::from_str(text).ok());
        envelope.ok_or_else(wrong)
    }

    /// Sends a program without waiting for the response.
    ///
    /// # Errors
    ///
    /// Errors of the connection.
    pub fn send_execute(&mut self, program: &str) -> io::Result<()> {
        self.send_arguments(&json!({"code": program}))
    }

    fn send_arguments(&mut self, arguments: &Value) -> io::Result<()> {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "execute", "arguments": arguments,
            "_meta": {"io.modelcontextprotocol/protocolVersion": REVISION, "io.modelcontextprotocol/clientCapabilities": {}},
        }})
        .to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: {REVISION}\r\n\
             mcp-method: tools/call\r\nmcp-name: execute\r\ncontent-length: {}\r\n\r\n{message}",
            self.address,
            self.token,
            message.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())
    }

    /// Reads a response: its status and its body, or the last message of an event stream. A gateway sends a slow response
    /// as an event stream, so that keep-alive comments can precede it.
    ///
    /// # Errors
    ///
    /// Errors of the connection, and responses that are not valid.
    pub fn receive(&mut self) -> io::Result<(u16, String)> {
        let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or_else(|| bad("no status"))?;
        let mut length = None;
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok();
            }
        }
        let body = match length {
            Some(length) => self.exactly(length)?,
            None => self.chunks()?,
        };
        let body = String::from_utf8(body).map_err(|_| bad("no text"))?;
        let message = body.lines().rfind(|line| line.starts_with("data: {"));
        let message = message.and_then(|line| line.strip_prefix("data: "));
        Ok((status, message.map_or_else(|| body.clone(), str::to_owned)))
    }

    fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim(), 16)
                .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "no length"))?;
            body.extend(self.exactly(length)?);
            // Every chunk ends with a line break, including the empty last one.
            self.stream.read_line(&mut line)?;
            if length == 0 {
                return Ok(body);
            }
        }
    }
}
