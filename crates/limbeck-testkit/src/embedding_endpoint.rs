//! Fake embedding endpoint on a real socket: texts are similar when they contain words of the same list.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

/// Length of a vector: one number shared by all texts, one for each meaning, and [`OTHERS`].
const DIMENSIONS: usize = 24;
/// Numbers for texts without any of the meanings.
const OTHERS: usize = 12;

/// Kind of the responses of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointBehaviour {
    /// Correct responses.
    Well,
    /// No response, with the connection kept open.
    Hangs,
    /// Bytes that are not JSON.
    Garbage,
    /// Correct responses with vectors of another length.
    OtherDimensions,
    /// HTTP 500 with the headers of the request as body.
    Fails,
    /// HTTP 307 to `http://127.0.0.1:PORT/v1/elsewhere`, which responds correctly.
    Redirects,
}

/// Request that the endpoint received.
#[derive(Clone, Debug)]
pub struct EndpointRequest {
    /// Path of the request.
    pub path: String,
    /// Header `Authorization`.
    pub authorization: Option<String>,
    /// Texts in `input`.
    pub texts: Vec<String>,
}

/// Embedding endpoint. Its threads end with the process.
#[derive(Clone, Debug)]
pub struct EmbeddingEndpoint {
    address: SocketAddr,
    state: Arc<EndpointState>,
}

#[derive(Debug)]
struct EndpointState {
    meanings: Vec<Vec<String>>,
    behaviour: Mutex<EndpointBehaviour>,
    requests: Mutex<Vec<EndpointRequest>>,
}

impl EmbeddingEndpoint {
    /// Starts an endpoint. Texts with words of the same element of `meanings` (lowercase words, separated by spaces) are
    /// similar.
    ///
    /// # Panics
    ///
    /// When no socket is available, and with more meanings than a vector has numbers for.
    pub fn start(meanings: &[&str]) -> Self {
        assert!(meanings.len() < DIMENSIONS - OTHERS, "too many meanings");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket on this machine");
        let words = |meaning: &&str| meaning.split(' ').map(str::to_owned).collect();
        let endpoint = Self {
            address: listener.local_addr().expect("it is bound"),
            state: Arc::new(EndpointState {
                meanings: meanings.iter().map(words).collect(),
                behaviour: Mutex::new(EndpointBehaviour::Well),
                requests: Mutex::default(),
            }),
        };
        let state = Arc::clone(&endpoint.state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&state);
                std::thread::spawn(move || state.serve(stream));
            }
        });
        endpoint
    }

    /// URL of the endpoint for a configuration.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Changes the kind of later responses.
    pub fn set_behaviour(&self, behaviour: EndpointBehaviour) {
        *lock(&self.state.behaviour) = behaviour;
    }

    /// Requests received so far.
    pub fn requests(&self) -> Vec<EndpointRequest> {
        lock(&self.state.requests).clone()
    }

    /// Number of received texts that contain `text`.
    pub fn request_count_for(&self, text: &str) -> usize {
        let asked = self.requests();
        let texts = asked.iter().flat_map(|asked| &asked.texts);
        texts.filter(|asked| asked.contains(text)).count()
    }
}

impl EndpointState {
    /// Responds to the requests of one connection until the client closes it.
    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut read = BufReader::new(stream.try_clone().ok()?);
        let mut write = stream;
        loop {
            let (asked, headers) = request(&mut read)?;
            lock(&self.requests).push(asked.clone());
            let behaviour = *lock(&self.behaviour);
            let there = asked.path.ends_with("/elsewhere");
            let response = match behaviour {
                EndpointBehaviour::Hangs => {
                    std::thread::sleep(Duration::from_secs(60));
                    return None;
                }
                EndpointBehaviour::Garbage => response("200 OK", "", "<html>not at all</html>"),
                EndpointBehaviour::Fails => response("500 Internal Server Error", "", &headers),
                EndpointBehaviour::Redirects if !there => {
                    let to = "Location: /v1/elsewhere\r\n";
                    response("307 Temporary Redirect", to, "")
                }
                EndpointBehaviour::Well
                | EndpointBehaviour::OtherDimensions
                | EndpointBehaviour::Redirects => {
                    let more = usize::from(behaviour == EndpointBehaviour::OtherDimensions);
                    response("200 OK", "", &self.answer(&asked.texts, more))
                }
            };
            write.write_all(response.as_bytes()).ok()?;
        }
    }

    /// Vectors in reverse order of the texts, to test that clients use the index.
    fn answer(&self, texts: &[String], more: usize) -> String {
        let data = texts.iter().enumerate().rev();
        let data: Vec<Value> = data
            .map(|(index, text)| {
                let mut vector = self.vector(text);
                vector.resize(vector.len() + more, 0.5);
                json!({"object": "embedding", "index": index, "embedding": vector})
            })
            .collect();
        json!({"object": "list", "data": data, "model": "words"}).to_string()
    }

    /// All vectors share their first number, as in models where all texts are close to each other.
    fn vector(&self, text: &str) -> Vec<f32> {
        let text = text.to_lowercase();
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
        let mut vector = vec![0.0; DIMENSIONS];
        vector[0] = 2.0;
        let means = |meaning: &&Vec<String>| meaning.iter().any(|word| words.contains(&&**word));
        match self.meanings.iter().position(|meaning| means(&meaning)) {
            Some(place) => vector[1 + place] = 1.0,
            None => {
                let sum: usize = text.bytes().map(usize::from).sum();
                vector[DIMENSIONS - 1 - sum % OTHERS] = 1.0;
            }
        }
        vector
    }
}

/// Reads one request and the text of its head.
fn request(read: &mut BufReader<TcpStream>) -> Option<(EndpointRequest, String)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if read.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned())
    };
    let mut body = vec![0; header("content-length")?.parse().ok()?];
    read.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).ok()?;
    let texts = body["input"].as_array()?.iter();
    let asked = EndpointRequest {
        path: head.split(' ').nth(1)?.to_owned(),
        authorization: header("authorization"),
        texts: texts
            .filter_map(|text| Some(text.as_str()?.to_owned()))
            .collect(),
    };
    Some((asked, head))
}

fn response(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n{body}")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
