//! Fake provider of language models on a real socket, with the formats of Anthropic, Google Gemini and OpenAI, distinguished by their paths.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

/// Kind of the responses of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelBehaviour {
    /// A stream with the last message in capitals.
    Streams,
    /// The same without a stream.
    Answers,
    /// These texts, one for each request; then the last.
    Says(Vec<String>),
    /// A stream that ends before the answer does.
    Cuts,
    /// No response, with the connection kept open.
    Hangs,
    /// This status, with all headers of the request as its reason.
    Fails(u16),
    /// A stream that counts more tokens than there are.
    Overcounts,
}

/// Request that the provider received.
#[derive(Clone, Debug)]
pub struct ModelEndpointRequest {
    /// Path of the request.
    pub path: String,
    /// Headers, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body of the request.
    pub body: Value,
}

impl ModelEndpointRequest {
    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The text of the last message, in any of the formats.
    pub fn prompt(&self) -> String {
        let messages = self.body["messages"]
            .as_array()
            .or(self.body["contents"].as_array());
        let last = messages.and_then(|messages| messages.last());
        let last = last.map_or(&Value::Null, |last| match &last["content"] {
            Value::Null => &last["parts"][0]["text"],
            content => content,
        });
        last.as_str().unwrap_or_default().to_owned()
    }
}

/// Provider of language models. Its threads end with the process.
#[derive(Clone, Debug)]
pub struct ModelEndpoint {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    behaviour: Mutex<ModelBehaviour>,
    requests: Mutex<Vec<ModelEndpointRequest>>,
    arrived: Condvar,
}

impl ModelEndpoint {
    /// Starts a provider.
    ///
    /// # Panics
    ///
    /// When no socket is available.
    pub fn start(behaviour: ModelBehaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket on this machine");
        let endpoint = Self {
            address: listener.local_addr().expect("it is bound"),
            state: Arc::new(State {
                behaviour: Mutex::new(behaviour),
                requests: Mutex::default(),
                arrived: Condvar::new(),
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

    /// Its address, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Changes the kind of later responses.
    pub fn set_behaviour(&self, behaviour: ModelBehaviour) {
        *lock(&self.state.behaviour) = behaviour;
    }

    /// Requests received so far.
    pub fn requests(&self) -> Vec<ModelEndpointRequest> {
        lock(&self.state.requests).clone()
    }

    /// Waits until so many requests have arrived.
    ///
    /// # Panics
    ///
    /// When they do not arrive within a minute.
    pub fn await_requests(&self, count: usize) {
        let requests = lock(&self.state.requests);
        let minute = Duration::from_secs(60);
        let fewer = |requests: &mut Vec<_>| requests.len() < count;
        let waited = self
            .state
            .arrived
            .wait_timeout_while(requests, minute, fewer);
        let (_requests, late) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!late.timed_out(), "{count} requests");
    }
}

impl State {
    /// Responds to the requests of one connection until the client closes it.
    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut read = BufReader::new(stream.try_clone().ok()?);
        let mut write = stream;
        loop {
            let request = request(&mut read)?;
            let number = {
                let mut requests = lock(&self.requests);
                requests.push(request.clone());
                self.arrived.notify_all();
                requests.len() - 1
            };
            let behaviour = lock(&self.behaviour).clone();
            let capitals = request.prompt().to_uppercase();
            let (text, output) = match &behaviour {
                ModelBehaviour::Says(texts) => {
                    let said = texts.get(number).or(texts.last()).cloned();
                    (said.unwrap_or_default(), 5)
                }
                ModelBehaviour::Overcounts => (capitals, u64::MAX / 2),
                _ => (capitals, 5),
            };
            let response = match behaviour {
                ModelBehaviour::Hangs => {
                    // Until the client leaves.
                    let mut byte = [0];
                    let _ = read.read(&mut byte);
                    return None;
                }
                ModelBehaviour::Fails(status) => {
                    let headers: Vec<String> = request
                        .headers
                        .iter()
                        .map(|(name, value)| format!("{name}: {value}"))
                        .collect();
                    let body = json!({"error": {"message": headers.join("; ")}}).to_string();
                    response(status, "application/json", &body)
                }
                ModelBehaviour::Answers => response(
                    200,
                    "application/json",
                    &document(&request, &text, output).to_string(),
                ),
                ModelBehaviour::Cuts => {
                    let whole = events(&request, &text, output);
                    // Without its last two events.
                    let end = whole
                        .trim_end()
                        .rmatch_indices("\n\n")
                        .nth(1)
                        .map_or(0, |(at, _)| at);
                    response(200, "text/event-stream", &whole[..end.min(whole.len() / 2)])
                }
                ModelBehaviour::Streams | ModelBehaviour::Says(_) | ModelBehaviour::Overcounts => {
                    response(200, "text/event-stream", &events(&request, &text, output))
                }
            };
            write.write_all(response.as_bytes()).ok()?;
        }
    }
}

fn model_of(request: &ModelEndpointRequest) -> &str {
    let in_path = request.path.rsplit_once("/models/").map(|(_, rest)| rest);
    let in_path = in_path.and_then(|rest| rest.split(':').next());
    in_path
        .or(request.body["model"].as_str())
        .unwrap_or_default()
}

/// An answer without a stream.
fn document(request: &ModelEndpointRequest, text: &str, output: u64) -> Value {
    let model = model_of(request);
    if request.path.ends_with("/messages") {
        json!({"model": model, "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": {"input_tokens": 7, "output_tokens": output}})
    } else if request.path.contains("GenerateContent") {
        json!([{"modelVersion": model, "candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": output}}])
    } else {
        json!({"model": model, "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 7, "completion_tokens": output}})
    }
}

/// A stream of an answer, its text in two parts.
fn events(request: &ModelEndpointRequest, text: &str, output: u64) -> String {
    let model = model_of(request);
    let middle = (0..=text.len() / 2)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let (first, second) = text.split_at(middle);
    let events = if request.path.ends_with("/messages") {
        vec![
            json!({"type": "message_start", "message": {"model": model, "usage": {"input_tokens": 7, "output_tokens": 1}}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": first}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": second}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": output}}),
            json!({"type": "message_stop"}),
        ]
    } else if request.path.contains("GenerateContent") {
        vec![
            json!({"modelVersion": model, "candidates": [{"content": {"parts": [{"text": first}]}}]}),
            json!({"modelVersion": model, "candidates": [{"content": {"parts": [{"text": second}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": output}}),
        ]
    } else {
        vec![
            json!({"model": model, "choices": [{"index": 0, "delta": {"content": first}}]}),
            json!({"model": model, "choices": [{"index": 0, "delta": {"content": second}}]}),
            json!({"model": model, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
            json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": output}}),
            json!("[DONE]"),
        ]
    };
    let lines = events.iter().map(|event| match event {
        Value::String(word) => format!("data: {word}\n\n"),
        event => format!("data: {event}\n\n"),
    });
    lines.collect()
}

fn request(read: &mut BufReader<TcpStream>) -> Option<ModelEndpointRequest> {
    let mut line = String::new();
    read.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let target = line.split(' ').nth(1)?;
    let path = target.split('?').next().unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        read.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    read.read_exact(&mut body).ok()?;
    Some(ModelEndpointRequest {
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    })
}

fn response(status: u16, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} Status\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
