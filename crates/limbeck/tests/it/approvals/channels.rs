//! The same question over MCP and HTTP, and who may decide there: governance 19, 21, 24 and 44.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{ASK, CATCHING, Mail, PROGRAM, id_of, questions_of};
use crate::http::{Served, tokens};
use crate::serve::Client;
use crate::world::CommandOutcome;

/// Time after which a condition counts as one that never holds.
const HANG: Duration = Duration::from_secs(60);

fn resume(client: &mut Client, number: u32, arguments: &Value) -> (bool, String) {
    let params = json!({"name": "resume", "arguments": arguments});
    let answer = client.ask(number, "tools/call", &params);
    let result = &answer["result"];
    let text = result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"));
    (result["isError"] == true, text.to_owned())
}

fn tool_names(client: &mut Client, number: u32) -> Vec<String> {
    let listed = client.ask(number, "tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

#[test]
fn resume_is_listed_only_where_something_asks() {
    let asks = Mail::with(ASK);
    let mut client = Client::connect(&asks.world, &["serve"]);
    assert_eq!(tool_names(&mut client, 2), ["search", "execute", "resume"]);
    let plain = Mail::with("[policy]\npreset = \"observe\"\n");
    let mut client = Client::connect(&plain.world, &["serve"]);
    assert_eq!(tool_names(&mut client, 2), ["search", "execute"]);
    // Callable all the same.
    let (is_error, text) = resume(&mut client, 3, &json!({"execution_id": "ex_unknown"}));
    assert!(is_error && !text.is_empty(), "{text}");
}

#[test]
fn a_model_cannot_approve_and_can_wait_and_cancel() {
    let mail = Mail::with(ASK);
    let envelope = mail.paused(PROGRAM);
    let (id, question) = (id_of(&envelope), questions_of(&envelope).remove(0));
    let mut client = Client::connect(&mail.world, &["serve"]);
    for (number, arguments) in [
        json!({"execution_id": id, "action": "approve"}),
        json!({"execution_id": id, "action": "approve", "content": {"approval_id": question}}),
        json!({"execution_id": id, "action": "answer", "content": {"decision": "approve"}}),
    ]
    .iter()
    .enumerate()
    {
        let (is_error, text) = resume(&mut client, 10 + number as u32, arguments);
        assert!(is_error, "{text}");
        assert!(text.contains("hint:"), "{text}");
    }
    assert_eq!(mail.approvals()[0]["state"], "pending");
    assert_eq!(mail.calls(), [] as [Value; 0]);
    // The control: once a person has approved, waiting gets the value.
    mail.resume(&id, ["--approve"]).ends_with(0);
    let (is_error, text) = resume(&mut client, 20, &json!({"execution_id": id}));
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((is_error, &read["value"]), (false, &json!(true)), "{text}");
    assert_eq!(mail.calls().len(), 1);
    let other = id_of(&mail.paused(PROGRAM));
    let (_, text) = resume(
        &mut client,
        21,
        &json!({"execution_id": other, "action": "cancel"}),
    );
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["status"], "cancelled", "{text}");
    assert_eq!(mail.calls().len(), 1);
}

#[test]
fn a_model_may_deny_with_a_reason() {
    let mail = Mail::with(ASK);
    let id = id_of(&mail.paused(CATCHING));
    let mut client = Client::connect(&mail.world, &["serve"]);
    let arguments = json!({"execution_id": id, "action": "deny", "content": {"reason": "the user changed her mind"}});
    let (is_error, text) = resume(&mut client, 2, &arguments);
    let read: Value = serde_json::from_str(&text).unwrap();
    assert!(!is_error, "{text}");
    assert_eq!(read["value"][0], "denied", "{text}");
    assert!(text.contains("changed her mind"), "{text}");
    // No person decided, and the text does not say that one did.
    assert!(text.contains("by the model and not by a person"), "{text}");
    assert!(!text.contains("user:local"), "{text}");
    assert_eq!(mail.approvals()[0]["decisions"][0]["channel"], "model");
    assert_eq!(mail.calls(), [] as [Value; 0]);
}

/// Sends a request and returns status and JSON of the answer.
pub(super) fn http(
    address: SocketAddr,
    token: &str,
    request: &str,
    body: Option<&Value>,
) -> (u16, Value) {
    let body = body.map(Value::to_string).unwrap_or_default();
    let head = format!(
        "{request} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(HANG)).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(
        head.to_ascii_lowercase()
            .contains("cache-control: no-store"),
        "{head}"
    );
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

/// The questions that the owner of a token sees.
fn listed(address: SocketAddr, token: &str) -> Value {
    http(address, token, "GET /approvals", None).1["approvals"].clone()
}

/// Waits for a question about a call of the owner of `token`, and returns its id.
pub(super) fn asked(address: SocketAddr, token: &str) -> String {
    let limit = Instant::now() + HANG;
    loop {
        if let Some(question) = listed(address, token)[0]["id"].as_str() {
            return question.to_owned();
        }
        assert!(Instant::now() < limit, "nothing is asked");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn over_http_a_question_belongs_to_its_principal() {
    let mail = Mail::with(ASK);
    let (file, [alice, bob]) = tokens(&mail.world);
    let served = Served::start(&mail.world, &["--token-file", &file]);
    let address = served.address;
    let mut client = served.client(&alice);
    let running = std::thread::spawn(move || client.execute(PROGRAM).unwrap());
    let question = asked(address, &alice);
    let path = format!("/approvals/{question}");
    let approve = json!({"decision": "approve"});
    // To bob it is as unknown as an id that nothing has.
    assert_eq!(listed(address, &bob), json!([]));
    let nothing = "/approvals/ap_00000000000000000000000000000000";
    for request in [format!("GET {path}"), format!("POST {path}")] {
        let body = request.starts_with("POST").then_some(&approve);
        let foreign = http(address, &bob, &request, body);
        let unknown = http(address, &bob, &request.replace(&path, nothing), body);
        assert_eq!(foreign.0, 404);
        assert_eq!(foreign, unknown);
    }
    assert_eq!(mail.calls(), [] as [Value; 0]);
    let (status, shown) = http(address, &alice, &format!("GET {path}"), None);
    assert_eq!(status, 200, "{shown}");
    assert_eq!(shown["approval"]["state"], "pending");
    assert_eq!(
        shown["approval"]["arguments"],
        json!({"to": "anna@example.org", "n": 1})
    );
    assert!(shown["question"].as_str().unwrap().contains("mail.send"));
    let (status, decided) = http(address, &alice, &format!("POST {path}"), Some(&approve));
    assert_eq!(
        (status, &decided["outcome"]),
        (200, &json!("decided")),
        "{decided}"
    );
    let decision = &decided["approval"]["decisions"][0];
    assert_eq!(
        (&decision["by"], &decision["channel"]),
        (&json!("user:token:alice"), &json!("browser"))
    );
    let envelope = running.join().unwrap();
    assert_eq!(envelope["value"], true, "{envelope}");
    assert_eq!(mail.calls().len(), 1);
    // The same decision again is no mistake, and another one is too late.
    let (status, same) = http(address, &alice, &format!("POST {path}"), Some(&approve));
    assert_eq!((status, &same["outcome"]), (200, &json!("same")), "{same}");
    let deny = json!({"decision": "deny"});
    let (status, late) = http(address, &alice, &format!("POST {path}"), Some(&deny));
    assert_eq!(
        (status, &late["outcome"]),
        (409, &json!("too_late")),
        "{late}"
    );
    let message = late["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("already approved by user:token:alice (browser)"),
        "{message}"
    );
}

#[test]
fn over_http_an_approver_lists_a_question_and_no_other_decides() {
    let mail = Mail::with(&format!(
        "{ASK}ask = {{ approvers = [\"user:token:bob\"] }}\n"
    ));
    let (file, [alice, bob]) = tokens(&mail.world);
    let served = Served::start(&mail.world, &["--token-file", &file]);
    let address = served.address;
    let mut client = served.client(&alice);
    let running = std::thread::spawn(move || client.execute(PROGRAM).unwrap());
    let question = asked(address, &alice);
    let request = format!("POST /approvals/{question}");
    let approve = json!({"decision": "approve"});
    let (status, refused) = http(address, &alice, &request, Some(&approve));
    assert_eq!(status, 403, "{refused}");
    assert_eq!(refused["error"]["code"], "not_allowed", "{refused}");
    assert!(refused["error"]["hint"].is_string(), "{refused}");
    assert_eq!(mail.calls(), [] as [Value; 0]);
    assert_eq!(listed(address, &bob)[0]["id"], question.as_str());
    let (status, shown) = http(address, &bob, &format!("GET /approvals/{question}"), None);
    assert_eq!(status, 200, "{shown}");
    let (status, decided) = http(address, &bob, &request, Some(&approve));
    assert_eq!(status, 200, "{decided}");
    let by = &decided["approval"]["decisions"][0]["by"];
    assert_eq!(by, "user:token:bob", "{decided}");
    assert_eq!(running.join().unwrap()["value"], true);
    assert_eq!(mail.calls().len(), 1);
}

#[test]
fn over_http_arguments_that_a_rule_denies_are_refused_and_nothing_is_recorded() {
    let deny = "\n[[policy.rule]]\nid = 'not-ben'\neffect = 'deny'\ntools = ['mail.send']\nargs = { to = 'ben*' }\n";
    let mail = Mail::with(&format!("{ASK}ask = {{ edit = [\"to\"] }}\n{deny}"));
    let (file, [alice, _]) = tokens(&mail.world);
    let served = Served::start(&mail.world, &["--token-file", &file]);
    let address = served.address;
    let mut client = served.client(&alice);
    let running = std::thread::spawn(move || client.execute(PROGRAM).unwrap());
    let request = format!("POST /approvals/{}", asked(address, &alice));
    let edited = |to: &str| json!({"decision": "approve", "edited": {"to": to, "n": 1}});
    let (status, refused) = http(address, &alice, &request, Some(&edited("ben@example.org")));
    let error = &refused["error"];
    assert_eq!(
        (status, &error["code"]),
        (409, &json!("denied")),
        "{refused}"
    );
    assert!(
        error["message"].to_string().contains("not-ben"),
        "{refused}"
    );
    assert!(error["hint"].is_string(), "{refused}");
    assert_eq!(listed(address, &alice)[0]["decisions"], json!([]));
    assert_eq!(mail.calls(), [] as [Value; 0]);
    let (status, decided) = http(address, &alice, &request, Some(&edited("carl@example.org")));
    assert_eq!(status, 200, "{decided}");
    assert_eq!(running.join().unwrap()["value"], true);
    assert_eq!(mail.calls(), [json!({"to": "carl@example.org", "n": 1})]);
}

#[test]
fn a_quorum_of_two_is_two_people_and_who_asked_may_be_left_out() {
    let both = r#"approvers = ["user:token:alice", "user:token:bob"]"#;
    for (terms, who_approves) in [
        (format!("{both}, quorum = 2"), [true, true]),
        (format!("{both}, not_requester = true"), [false, true]),
    ] {
        let mail = Mail::with(&format!("{ASK}ask = {{ {terms} }}\n"));
        let (file, [alice, bob]) = tokens(&mail.world);
        let served = Served::start(&mail.world, &["--token-file", &file]);
        let address = served.address;
        let mut client = served.client(&alice);
        let running = std::thread::spawn(move || client.execute(PROGRAM).unwrap());
        let question = asked(address, &alice);
        assert_eq!(asked(address, &bob), question);
        let request = format!("POST /approvals/{question}");
        let approve = json!({"decision": "approve"});
        // Twice: the same person is not two.
        for _ in 0..2 {
            let (status, answer) = http(address, &alice, &request, Some(&approve));
            assert_eq!(status == 200, who_approves[0], "{terms}: {answer}");
            let still = listed(address, &bob);
            assert_eq!(still[0]["state"], "pending", "{terms}: {still}");
        }
        assert_eq!(mail.calls(), [] as [Value; 0], "{terms}");
        let (status, answer) = http(address, &bob, &request, Some(&approve));
        assert_eq!(status == 200, who_approves[1], "{terms}: {answer}");
        assert_eq!(running.join().unwrap()["value"], true, "{terms}");
        assert_eq!(mail.calls().len(), 1, "{terms}");
        assert_eq!(listed(address, &bob), json!([]));
    }
}

/// The whole answer to a request of revision 2026-07-28, with its headers.
pub(super) fn post(
    address: SocketAddr,
    token: &str,
    method: &str,
    name: &str,
    message: &Value,
) -> String {
    let body = message.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: {method}\r\nmcp-name: {name}\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(HANG)).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_foreign_execution_is_unknown_to_resume() {
    let mail = Mail::with(ASK);
    // Of the user of the command line.
    let id = id_of(&mail.paused(PROGRAM));
    let (file, [alice, _]) = tokens(&mail.world);
    let served = Served::start(&mail.world, &["--token-file", &file]);
    let ask = |arguments: Value| {
        let params = json!({
            "name": "resume", "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        });
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        post(served.address, &alice, "tools/call", "resume", &message)
    };
    for action in ["wait", "approve", "deny", "cancel"] {
        // The text differs by the id alone, which the client sent.
        let foreign = ask(json!({"execution_id": id, "action": action}));
        let unknown =
            ask(json!({"execution_id": format!("ex_{}", "0".repeat(32)), "action": action}));
        assert!(foreign.contains("\"isError\":true"), "{action}: {foreign}");
        assert!(unknown.contains("\"isError\":true"), "{action}: {unknown}");
        assert!(!foreign.contains("mail"), "{action}: {foreign}");
    }
    assert_eq!(mail.approvals()[0]["state"], "pending");
    let resumed: CommandOutcome = mail.resume(&id, ["--approve"]);
    assert_eq!(resumed.ends_with(0).json()["value"], true);
}
