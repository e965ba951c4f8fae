//! What a pipe remembers of the session of its client, so that another gateway can go on with it.
//!
//! - What the client sends a gateway once: the handshake, its log level, its subscriptions. It is repeated.
//! - Requests without an answer. Those that only read are sent again; the others are answered with an error, because
//!   what they did is not known.
//! - Requests of the gateway to the client. The client is notified that they are cancelled, and a late answer is dropped: the next
//!   gateway counts its requests from the beginning, and must not take it for the answer to one of its own.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::message::News;
use crate::surface::{BuiltInTool, failed, with_hint};

/// Requests that are remembered. A client with more in flight gets no answer to the rest.
const OPEN_MAX: usize = 4_096;
/// Longest request that is kept to be sent again.
const REPEATED_BYTES_MAX: usize = 64 << 10;
/// Subscriptions that are remembered, as many as a session has.
const SUBSCRIPTIONS_MAX: usize = 256;
/// How often a request is sent: one that ends every gateway must not end all that follow.
const SENDS_MAX: u32 = 2;
/// JSON-RPC's error code for a fault of the server.
const INTERNAL_ERROR: i32 = -32603;

/// What the store knows of an execution whose gateway is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostExecution {
    /// Calls that may write were in flight.
    InDoubt,
    /// It waits to be continued; no call is in doubt.
    Paused,
    /// A gateway still runs it.
    Running,
    /// It has ended, and its result is recorded.
    Ended,
    /// It has no record, and what may write is recorded before it is sent.
    Unrecorded,
    /// Its record cannot be read.
    Unknown,
}

/// Session of one client.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    initialize: Option<Initialize>,
    initialized: Option<Vec<u8>>,
    log_level: Option<Vec<u8>>,
    /// By the address of the resource.
    subscriptions: BTreeMap<String, Vec<u8>>,
    /// Requests of the client, by the text of their id.
    open: HashMap<String, OpenRequest>,
    /// Number of requests so far, which orders them.
    requests: u64,
    /// Requests of the gateway by the id that the client knows, each with the gateway's own.
    asked: HashMap<String, Value>,
    /// Ids of requests that the client knows nothing of.
    own: HashSet<String>,
    own_requests: u64,
    /// Number of gateways before this one.
    lost_gateways: u32,
}

#[derive(Debug)]
struct Initialize {
    line: Vec<u8>,
    id: String,
    is_answered: bool,
}

#[derive(Debug)]
struct OpenRequest {
    id: Value,
    number: u64,
    /// The request, while it may be sent again.
    line: Option<Vec<u8>>,
    is_call: bool,
    is_repeatable: bool,
    /// Whether the gateway has the whole of it.
    is_sent: bool,
    sends: u32,
    execution: Option<String>,
}

/// What is done with a line of the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FromClient<'l> {
    /// It is sent, and the request with this key counts as sent then.
    Forward(Cow<'l, [u8]>, Option<String>),
    /// It is for a gateway that is gone.
    Drop,
}

/// What a client has to hear when its gateway is gone.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// Notifications that requests of the gateway are cancelled.
    pub(super) cancelled: Vec<Value>,
    /// Requests that are answered with an error.
    pub(super) failed: Vec<LostRequest>,
}

/// A request of which it is not known what it did.
#[derive(Debug)]
pub(super) struct LostRequest {
    id: Value,
    is_call: bool,
    /// The execution that it became.
    pub(super) execution: Option<String>,
}

/// Members of a message that decide about it.
#[derive(Deserialize)]
struct Head<'l> {
    id: Option<Value>,
    #[serde(borrow)]
    method: Option<Cow<'l, str>>,
    #[serde(borrow)]
    params: Option<&'l RawValue>,
}

/// Members of parameters that decide about a message.
#[derive(Default, Deserialize)]
struct Params {
    name: Option<String>,
    uri: Option<String>,
    #[serde(rename = "requestId")]
    request_id: Option<Value>,
}

impl Head<'_> {
    fn params(&self) -> Params {
        let params = self.params.map(|params| serde_json::from_str(params.get()));
        params.and_then(Result::ok).unwrap_or_default()
    }
}

fn key(id: &Value) -> String {
    id.to_string()
}

impl Remembered {
    /// Whether no request of the client waits for its answer.
    pub(super) fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// Notes a line of the client.
    pub(super) fn see_of_client<'l>(&mut self, line: &'l [u8]) -> FromClient<'l> {
        let forward = |key| FromClient::Forward(Cow::Borrowed(line), key);
        let Ok(head) = serde_json::from_slice::<Head<'_>>(line) else {
            // The gateway says what is wrong with it.
            return forward(None);
        };
        match (&head.method, &head.id) {
            (Some(method), Some(id)) => {
                let key = key(id);
                self.request(method, id.clone(), &head, line);
                forward(Some(key))
            }
            (Some(method), None) => {
                match &**method {
                    "notifications/initialized" => self.initialized = Some(line.to_owned()),
                    // A cancelled request is not answered.
                    "notifications/cancelled" => {
                        if let Some(id) = head.params().request_id {
                            self.open.remove(&key(&id));
                        }
                    }
                    _ => {}
                }
                forward(None)
            }
            (None, Some(id)) => match self.asked.remove(&key(id)) {
                Some(original) if original == *id => forward(None),
                Some(original) => match with_id(line, &original) {
                    Some(line) => FromClient::Forward(Cow::Owned(line), None),
                    None => FromClient::Drop,
                },
                None => FromClient::Drop,
            },
            (None, None) => forward(None),
        }
    }

    fn request(&mut self, method: &str, id: Value, head: &Head<'_>, line: &[u8]) {
        let key = key(&id);
        match method {
            "initialize" => {
                self.initialize = Some(Initialize {
                    line: line.to_owned(),
                    id: key.clone(),
                    is_answered: false,
                });
            }
            "logging/setLevel" => self.log_level = Some(line.to_owned()),
            "resources/subscribe" => {
                let uri = head.params().uri;
                if let Some(uri) = uri.filter(|_| self.subscriptions.len() < SUBSCRIPTIONS_MAX) {
                    self.subscriptions.insert(uri, line.to_owned());
                }
            }
            "resources/unsubscribe" => {
                if let Some(uri) = head.params().uri {
                    self.subscriptions.remove(&uri);
                }
            }
            _ => {}
        }
        if self.open.len() >= OPEN_MAX {
            return;
        }
        let is_call = method == "tools/call";
        let is_search = || head.params().name.as_deref() == Some(BuiltInTool::Search.name());
        self.requests += 1;
        let request = OpenRequest {
            id,
            number: self.requests,
            line: Some(line.to_owned()),
            is_call,
            // A call may write, and an answer to a question is given once.
            is_repeatable: (!is_call || is_search()) && method != "tasks/update",
            is_sent: false,
            sends: 0,
            execution: None,
        };
        self.open.insert(key, request);
    }

    /// Notes that the gateway has the whole of a request.
    pub(super) fn sent(&mut self, key: &str) {
        if let Some(request) = self.open.get_mut(key) {
            request.is_sent = true;
            request.sends += 1;
            let is_kept =
                |line: &Vec<u8>| request.is_repeatable && line.len() <= REPEATED_BYTES_MAX;
            request.line = request.line.take().filter(is_kept);
        }
    }

    /// Notes news of the gateway.
    pub(super) fn begun(&mut self, news: &News) {
        if let News::Begun { request, execution } = news
            && let Ok(id) = serde_json::to_value(request)
            && let Some(request) = self.open.get_mut(&key(&id))
        {
            request.execution = Some(execution.clone());
        }
    }

    /// Notes a line of the gateway, and returns what the client gets of it; `None` when that is nothing.
    pub(super) fn see_of_gateway<'l>(&mut self, line: &'l [u8]) -> Option<Cow<'l, [u8]>> {
        let Ok(head) = serde_json::from_slice::<Head<'_>>(line) else {
            return Some(Cow::Borrowed(line));
        };
        match (&head.method, &head.id) {
            (None, Some(id)) => {
                let key = key(id);
                if self.own.remove(&key) {
                    return None;
                }
                self.open.remove(&key);
                if let Some(initialize) = &mut self.initialize
                    && initialize.id == key
                {
                    initialize.is_answered = true;
                }
            }
            (Some(_), Some(id)) => {
                let shown = self.shown(id);
                self.asked.insert(key(&shown), id.clone());
                if shown != *id {
                    return with_id(line, &shown).map(Cow::Owned);
                }
            }
            (Some(method), None) if method == "notifications/cancelled" => {
                if let Some(id) = head.params().request_id {
                    let shown = self.shown(&id);
                    self.asked.remove(&key(&shown));
                    if shown != id {
                        return with_cancelled(line, head.params?, &shown).map(Cow::Owned);
                    }
                }
            }
            (Some(_) | None, None) => {}
        }
        Some(Cow::Borrowed(line))
    }

    /// The id under which the client knows a request of this gateway.
    fn shown(&self, id: &Value) -> Value {
        match (self.lost_gateways, id) {
            (0, id) => id.clone(),
            (lost, Value::String(id)) => json!(format!("limbeck-{lost}-{id}")),
            (lost, id) => json!(format!("limbeck-{lost}-{id}")),
        }
    }

    /// Forgets the gateway. What is left is sent to the next one with [`Remembered::replay`].
    pub(super) fn lost(&mut self) -> Lost {
        self.lost_gateways += 1;
        self.own.clear();
        let mut lost = Lost::default();
        for (id, _) in self.asked.drain() {
            if let Ok(id) = serde_json::from_str::<Value>(&id) {
                lost.cancelled.push(json!({
                    "jsonrpc": "2.0",
                    "method": "notifications/cancelled",
                    "params": {"requestId": id, "reason": "the gateway ended"},
                }));
            }
        }
        let is_over = |request: &OpenRequest| {
            let is_repeated = request.is_repeatable && request.sends < SENDS_MAX;
            request.line.is_none() || (request.is_sent && !is_repeated)
        };
        let mut over: Vec<OpenRequest> = self
            .open
            .extract_if(|_, request| is_over(request))
            .map(|(_, request)| request)
            .collect();
        over.sort_by_key(|request| request.number);
        lost.failed = over
            .into_iter()
            .map(|request| LostRequest {
                id: request.id,
                is_call: request.is_call,
                execution: request.execution,
            })
            .collect();
        lost
    }

    /// Lines that bring another gateway to where the last one was, and the keys of the requests among them.
    pub(super) fn replay(&mut self) -> (Vec<u8>, Vec<String>) {
        let mut lines = Vec::new();
        if let Some(initialize) = &self.initialize
            && initialize.is_answered
        {
            let mut own = vec![initialize.line.clone()];
            own.extend(self.log_level.clone());
            own.extend(self.subscriptions.values().cloned());
            for (number, line) in own.iter().enumerate() {
                self.own_requests += 1;
                let id = json!(format!("limbeck-own-{}", self.own_requests));
                if let Some(line) = with_id(line, &id) {
                    self.own.insert(key(&id));
                    lines.extend(line);
                }
                if number == 0 {
                    lines.extend(self.initialized.iter().flatten());
                }
            }
        }
        let mut open: Vec<(&String, &OpenRequest)> = self.open.iter().collect();
        open.sort_by_key(|(_, request)| request.number);
        let mut keys = Vec::new();
        for (key, request) in open {
            if let Some(line) = &request.line {
                lines.extend(line);
                keys.push(key.clone());
            }
        }
        (lines, keys)
    }
}

impl LostRequest {
    /// The answer to it.
    pub(super) fn answer(&self, found: Option<LostExecution>) -> Value {
        let text = self.text(found);
        if !self.is_call {
            let error = json!({"code": INTERNAL_ERROR, "message": text});
            return json!({"jsonrpc": "2.0", "id": self.id, "error": error});
        }
        let result: CallToolResult = failed(text);
        json!({"jsonrpc": "2.0", "id": self.id, "result": result})
    }

    fn text(&self, found: Option<LostExecution>) -> String {
        let Some(id) = &self.execution else {
            return with_hint(
                "the gateway ended before it answered, and reported no execution for this request: most likely nothing was called, but a write may have happened",
                Some(
                    "`limbeck executions` lists what was recorded; look there before you send the request again",
                ),
            );
        };
        let (problem, hint) = match found.unwrap_or(LostExecution::Unknown) {
            LostExecution::InDoubt => (
                format!(
                    "the gateway ended while execution `{id}` ran: calls that may write were in flight, so a write may have happened"
                ),
                format!(
                    "do not send the request again before it is known: `limbeck reconcile {id}` lists the calls, `limbeck executions {id}` shows the record"
                ),
            ),
            LostExecution::Paused => (
                format!(
                    "the gateway ended while execution `{id}` ran: no write is in doubt, what it did so far is recorded"
                ),
                format!(
                    "call `resume` with this execution_id to go on where it was (`limbeck resume {id}`); `limbeck executions {id}` shows the record"
                ),
            ),
            LostExecution::Running => (
                format!(
                    "the connection to the gateway was lost while execution `{id}` ran, and it still runs: a write may have happened"
                ),
                format!(
                    "call `resume` with this execution_id for its result; `limbeck executions {id}` shows the record"
                ),
            ),
            LostExecution::Ended => (
                format!(
                    "the gateway ended before it answered; execution `{id}` has ended, and what it did is recorded"
                ),
                format!(
                    "call `resume` with this execution_id for its result; `limbeck executions {id}` shows the record"
                ),
            ),
            LostExecution::Unrecorded => (
                format!(
                    "the gateway ended when execution `{id}` began: no write was sent to a server"
                ),
                "send the request again; `limbeck executions` lists what was recorded".to_owned(),
            ),
            LostExecution::Unknown => (
                format!(
                    "the gateway ended while execution `{id}` ran, and its record could not be read: a write may have happened"
                ),
                format!("`limbeck executions {id}` shows the record"),
            ),
        };
        with_hint(&problem, Some(&hint))
    }
}

/// A message with another id.
fn with_id(line: &[u8], id: &Value) -> Option<Vec<u8>> {
    with_member(line, "id", &to_raw_value(id).ok()?)
}

/// A notification of a cancelled request with another id of the request.
fn with_cancelled(line: &[u8], params: &RawValue, id: &Value) -> Option<Vec<u8>> {
    let id = to_raw_value(id).ok()?;
    let params = with_member(params.get().as_bytes(), "requestId", &id)?;
    let params = RawValue::from_string(String::from_utf8(params).ok()?.trim_end().to_owned());
    with_member(line, "params", &params.ok()?)
}

/// An object on a line with another value of one member; the other values stay as they are written.
fn with_member(line: &[u8], name: &str, value: &RawValue) -> Option<Vec<u8>> {
    let mut members: BTreeMap<String, &RawValue> = serde_json::from_slice(line).ok()?;
    members.insert(name.to_owned(), value);
    let mut line = serde_json::to_vec(&members).ok()?;
    line.push(b'\n');
    Some(line)
}

#[cfg(test)]
mod tests {
    use rmcp::model::RequestId;

    use super::*;

    fn line(message: &Value) -> Vec<u8> {
        format!("{message}\n").into_bytes()
    }

    /// A client's message that is forwarded and arrives.
    fn send(session: &mut Remembered, message: &Value) {
        let line = line(message);
        let FromClient::Forward(forwarded, key) = session.see_of_client(&line) else {
            panic!("{message} was dropped");
        };
        assert_eq!(forwarded, line);
        if let Some(key) = key {
            session.sent(&key);
        }
    }

    fn call(id: u32, name: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}})
    }

    fn replayed(session: &mut Remembered) -> Vec<Value> {
        let (lines, keys) = session.replay();
        for key in keys {
            session.sent(&key);
        }
        let lines = lines.split_inclusive(|byte| *byte == b'\n');
        lines
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    fn with_handshake() -> Remembered {
        let mut session = Remembered::default();
        let params = json!({"protocolVersion": "2025-06-18", "clientInfo": {"name": "c"}});
        send(
            &mut session,
            &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}),
        );
        let answer = line(&json!({"jsonrpc": "2.0", "id": 0, "result": {}}));
        assert_eq!(session.see_of_gateway(&answer).as_deref(), Some(&*answer));
        send(
            &mut session,
            &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        );
        session
    }

    #[test]
    fn another_gateway_hears_the_handshake_and_its_answer_is_the_pipes_own() {
        let mut session = with_handshake();
        let level = json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "info"}});
        send(&mut session, &level);
        session.see_of_gateway(&line(&json!({"jsonrpc": "2.0", "id": 1, "result": {}})));
        assert!(session.is_idle());
        let lost = session.lost();
        assert!(lost.failed.is_empty() && lost.cancelled.is_empty());
        let replayed = replayed(&mut session);
        let methods: Vec<_> = replayed.iter().map(|message| &message["method"]).collect();
        assert_eq!(
            methods,
            [
                "initialize",
                "notifications/initialized",
                "logging/setLevel"
            ]
        );
        assert_eq!(replayed[0]["params"]["clientInfo"]["name"], "c");
        for message in [&replayed[0], &replayed[2]] {
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {}});
            assert_eq!(session.see_of_gateway(&line(&answer)), None);
        }
    }

    #[test]
    fn a_read_is_sent_once_more_and_a_call_is_answered_with_its_execution() {
        let mut session = with_handshake();
        send(
            &mut session,
            &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        );
        send(&mut session, &call(2, "execute"));
        send(&mut session, &call(3, "search"));
        send(&mut session, &call(4, "execute"));
        send(
            &mut session,
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}}),
        );
        // It was not sent, because the gateway was gone.
        let _ = session.see_of_client(&line(&call(5, "execute")));
        session.begun(&News::Begun {
            request: RequestId::Number(2),
            execution: "ex_1".to_owned(),
        });
        let lost = session.lost();
        let [failed] = &lost.failed[..] else {
            panic!("{lost:?}");
        };
        assert_eq!(failed.execution.as_deref(), Some("ex_1"));
        let answer = failed.answer(Some(LostExecution::InDoubt));
        assert_eq!(
            (&answer["id"], &answer["result"]["isError"]),
            (&json!(2), &json!(true))
        );
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        for part in [
            "`ex_1`",
            "a write may have happened",
            "limbeck executions ex_1",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let ids = |messages: Vec<Value>| -> Vec<Value> {
            let ids = messages.into_iter().map(|message| message["id"].clone());
            ids.filter(Value::is_number).collect()
        };
        assert_eq!(ids(replayed(&mut session)), [json!(1), json!(3), json!(5)]);
        // What was sent twice is given up.
        let lost = session.lost();
        let answers: Vec<Value> = lost
            .failed
            .iter()
            .map(|request| request.answer(None))
            .collect();
        assert_eq!(ids(answers), [json!(1), json!(3), json!(5)]);
        assert!(session.is_idle());
    }

    #[test]
    fn a_late_answer_to_a_gateway_that_is_gone_reaches_no_other() {
        let mut session = with_handshake();
        let ask = json!({"jsonrpc": "2.0", "id": 0, "method": "elicitation/create", "params": {}});
        let asked = line(&ask);
        assert_eq!(session.see_of_gateway(&asked).as_deref(), Some(&*asked));
        let lost = session.lost();
        assert_eq!(lost.cancelled[0]["params"]["requestId"], 0);
        // The next gateway counts from the beginning as well.
        let shown = session.see_of_gateway(&asked).unwrap().into_owned();
        let shown: Value = serde_json::from_slice(&shown).unwrap();
        assert_eq!(shown["id"], "limbeck-1-0");
        assert_eq!(shown["method"], "elicitation/create");
        let answer = |id: Value| line(&json!({"jsonrpc": "2.0", "id": id, "result": {"n": 1}}));
        assert_eq!(session.see_of_client(&answer(json!(0))), FromClient::Drop);
        let answered = answer(json!("limbeck-1-0"));
        let FromClient::Forward(forwarded, None) = session.see_of_client(&answered) else {
            panic!("it was dropped");
        };
        let forwarded: Value = serde_json::from_slice(&forwarded).unwrap();
        assert_eq!(forwarded["id"], 0);
        // And a request that the second one cancels has the id that the client knows.
        session.see_of_gateway(&asked);
        let cancelled = line(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0, "reason": "r"}}),
        );
        let shown = session.see_of_gateway(&cancelled).unwrap().into_owned();
        let shown: Value = serde_json::from_slice(&shown).unwrap();
        assert_eq!(
            shown["params"],
            json!({"requestId": "limbeck-1-0", "reason": "r"})
        );
    }
}
