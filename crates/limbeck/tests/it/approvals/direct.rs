//! A client's own call of an exposed tool, asked about, continued and sent once: governance 19, 20, 25 and 52.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Mail, PROGRAM, id_of};
use crate::serve::Client;

/// Time after which a condition counts as one that never holds.
const HANG: Duration = Duration::from_secs(60);

/// Clients see the tools of the server; two of them are asked about.
const EXPOSED: &str = r#"expose = "direct"
[policy]
preset = "observe"

[[policy.rule]]
id = "mail-outside"
effect = "ask"
tools = ["mail.send", "mail.hang"]
"#;

/// What a client of revision 2026-07-28 can do.
const FORMS: &str = r#"{"elicitation": {"form": {}}}"#;
const FORMS_AND_TASKS: &str =
    r#"{"elicitation": {"form": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}}"#;

/// A process that serves a client of revision 2026-07-28.
struct Modern {
    client: Client,
    capabilities: Value,
    requests: u32,
}

impl Modern {
    fn start(mail: &Mail, capabilities: &str) -> Self {
        let mut command = mail.world.command(["serve"]);
        Self {
            client: Client::silent(command.stderr(std::process::Stdio::null())),
            capabilities: serde_json::from_str(capabilities).unwrap(),
            requests: 0,
        }
    }

    /// The whole answer to a request.
    fn ask(&mut self, method: &str, mut params: Value) -> Value {
        self.requests += 1;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        });
        self.client.ask(self.requests, method, &params)
    }

    fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// The name under which a client sees a tool.
    fn name_of(&mut self, tool: &str) -> String {
        let listed = self.result("tools/list", json!({}));
        let tools = listed["tools"].as_array().unwrap().iter();
        let mut names = tools.map(|listed| listed["name"].as_str().unwrap());
        let name = names.find(|name| name.ends_with(tool));
        name.unwrap_or_else(|| panic!("{listed}")).to_owned()
    }

    fn kill(mut self) {
        self.client.child.kill().unwrap();
        self.client.child.wait().unwrap();
    }
}

fn call(name: &str) -> Value {
    json!({"name": name, "arguments": {"to": "anna@example.org", "n": 1}})
}

/// `params` again, with what the client keeps of `asked` and its answer to the only question.
fn again(params: &Value, asked: &Value, answer: &Value) -> Value {
    let requests = asked["inputRequests"].as_object().unwrap();
    assert_eq!(requests.len(), 1, "{asked}");
    let key = requests.keys().next().unwrap();
    let mut again = params.clone();
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({ key: answer });
    again
}

fn approve() -> Value {
    json!({"action": "accept", "content": {"decision": "approve"}})
}

fn statuses(mail: &Mail) -> Vec<String> {
    let listed = mail.world.limbeck(["executions", "--json"]).ends_with(0);
    let listed = listed.json()["executions"].clone();
    let listed = listed.as_array().unwrap().iter();
    listed
        .map(|one| one["status"].as_str().unwrap().to_owned())
        .collect()
}

/// Waits until something is asked.
fn asked(mail: &Mail) -> Value {
    let limit = Instant::now() + HANG;
    loop {
        if let Some(approval) = mail.approvals().pop() {
            return approval;
        }
        assert!(Instant::now() < limit, "nothing is asked");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_form_of_a_client_decides_about_its_own_call() {
    let mail = Mail::with(EXPOSED);
    let mut client = Modern::start(&mail, FORMS);
    let params = call(&client.name_of("send"));
    let first = client.result("tools/call", params.clone());
    assert_eq!(first["resultType"], "input_required", "{first}");
    assert_eq!(mail.calls(), [] as [Value; 0]);
    let retry = again(&params, &first, &approve());
    let result = client.result("tools/call", retry.clone());
    // As the server sent it.
    assert_eq!(
        result["structuredContent"],
        json!({"sent": true}),
        "{result}"
    );
    assert_eq!(result["isError"], Value::Null, "{result}");
    assert_eq!(mail.calls(), [params["arguments"].clone()]);
    let approval = &mail.approvals()[0];
    assert_eq!(approval["state"], "spent");
    assert_eq!(approval["decisions"][0]["channel"], "client");
    // A state is good once, and it makes no second call.
    let replayed = client.ask("tools/call", retry);
    assert!(replayed["error"]["message"].is_string(), "{replayed}");
    assert_eq!(mail.calls().len(), 1);
    assert_eq!(statuses(&mail), ["completed"]);

    let second = client.result("tools/call", params.clone());
    let decline = json!({"action": "decline"});
    let denied = client.result("tools/call", again(&params, &second, &decline));
    assert_eq!(denied["isError"], true, "{denied}");
    let text = denied["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("was denied"), "{text}");
    assert_eq!(mail.calls().len(), 1);
}

#[test]
fn a_state_outlives_the_gateway_and_opens_for_its_own_request_once() {
    let mail = Mail::with(EXPOSED);
    let program = json!({"name": "execute", "arguments": {"code": PROGRAM}});
    let mut client = Modern::start(&mail, FORMS);
    let direct = call(&client.name_of("send"));
    for (runs, params) in [(1, direct), (2, program)] {
        let first = client.result("tools/call", params.clone());
        assert_eq!(first["resultType"], "input_required", "{first}");
        client.kill();
        client = Modern::start(&mail, FORMS);
        let retry = again(&params, &first, &approve());
        let mut altered = retry.clone();
        let mut state = first["requestState"].as_str().unwrap().to_owned();
        let last = state.pop().unwrap();
        state.push(if last == 'A' { 'B' } else { 'A' });
        altered["requestState"] = state.into();
        let mut other = retry.clone();
        // Arguments that can be read, but are others.
        let changed = if runs == 1 { "n" } else { "timeout_ms" };
        other["arguments"][changed] = json!(2_000);
        for refused in [altered, other] {
            let refused = client.ask("tools/call", refused);
            let message = refused["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains("requestState"), "{refused}");
        }
        assert_eq!(mail.calls().len(), runs - 1);
        let result = client.result("tools/call", retry.clone());
        assert_ne!(result["isError"], true, "{result}");
        assert_eq!(mail.calls().len(), runs, "{result}");
        // Not by another process either.
        client.kill();
        client = Modern::start(&mail, FORMS);
        let replayed = client.ask("tools/call", retry);
        assert!(replayed["error"]["message"].is_string(), "{replayed}");
        assert_eq!(mail.calls().len(), runs);
        assert_eq!(statuses(&mail), vec!["completed"; runs]);
    }
}

#[test]
fn a_call_whose_gateway_was_killed_is_continued_by_a_command_and_by_resume() {
    let mail = Mail::with(EXPOSED);
    let mut client = Modern::start(&mail, "{}");
    let name = client.name_of("send");
    // The person is asked elsewhere, so there is no answer yet.
    let message = json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {
        "name": name, "arguments": {"to": "anna@example.org"}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}}}});
    client.client.send(&message);
    let question = asked(&mail);
    assert_eq!(question["state"], "pending");
    client.kill();
    assert_eq!(statuses(&mail), ["paused"]);
    let id = question["execution_id"].as_str().unwrap();
    let resumed = mail.resume(id, ["--approve"]).ends_with(0).json();
    assert_eq!(resumed["value"]["structuredContent"], json!({"sent": true}));
    assert_eq!(mail.calls(), [json!({"to": "anna@example.org"})]);
    // A client gets the result as its call would have, and nothing is sent again.
    let mut client = Modern::start(&mail, "{}");
    let params = json!({"name": "resume", "arguments": {"execution_id": id}});
    let result = client.result("tools/call", params);
    assert_eq!(
        result["structuredContent"],
        json!({"sent": true}),
        "{result}"
    );
    mail.resume(id, []).ends_with(0);
    assert_eq!(mail.calls().len(), 1);
}

#[test]
fn an_approved_call_that_was_in_flight_at_a_kill_is_in_doubt_and_not_sent_again() {
    let mail = Mail::with(EXPOSED);
    let mut client = Modern::start(&mail, FORMS);
    let params = call(&client.name_of("hang"));
    let first = client.result("tools/call", params.clone());
    let mut retry = again(&params, &first, &approve());
    retry["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    });
    let message = json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": retry});
    client.client.send(&message);
    let limit = Instant::now() + HANG;
    while mail.calls().is_empty() {
        assert!(Instant::now() < limit, "the call does not arrive");
        std::thread::sleep(Duration::from_millis(5));
    }
    client.kill();
    assert_eq!(statuses(&mail), ["needs_reconciliation"]);
    let approval = &mail.approvals()[0];
    assert_eq!(approval["state"], "spent");
    let id = approval["execution_id"].as_str().unwrap();
    let resumed = mail.resume(id, ["--approve"]);
    assert_eq!(resumed.code, 1, "{resumed:?}");
    assert_eq!(mail.calls().len(), 1);
}

/// Asks how far a task is until it has one of these statuses.
fn polled(client: &mut Modern, task: &str, statuses: &[&str]) -> Value {
    let limit = Instant::now() + HANG;
    loop {
        let found = client.result("tasks/get", json!({"taskId": task}));
        if statuses.contains(&found["status"].as_str().unwrap()) {
            return found;
        }
        assert!(Instant::now() < limit, "{found}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_task_waits_for_a_person_across_a_restart_and_a_cancelled_one_sends_nothing() {
    let mail = Mail::with(EXPOSED);
    let mut client = Modern::start(&mail, FORMS_AND_TASKS);
    let direct = call(&client.name_of("send"));
    let program = json!({"name": "execute", "arguments": {"code": PROGRAM}});
    for (runs, params) in [(1, direct.clone()), (2, program)] {
        let task = client.result("tools/call", params);
        assert_eq!(task["resultType"], "task", "{task}");
        let id = task["taskId"].as_str().unwrap().to_owned();
        let waiting = polled(&mut client, &id, &["input_required"]);
        let (key, form) = waiting["inputRequests"]
            .as_object()
            .unwrap()
            .iter()
            .next()
            .unwrap();
        assert!(key.starts_with("ap_"), "{waiting}");
        let message = form["params"]["message"].as_str().unwrap();
        assert!(message.contains("mail.send"), "{message}");
        client.kill();
        client = Modern::start(&mail, FORMS_AND_TASKS);
        let cancel = json!({ key: {"action": "cancel"} });
        client.result(
            "tasks/update",
            json!({"taskId": id, "inputResponses": cancel}),
        );
        polled(&mut client, &id, &["input_required"]);
        assert_eq!(mail.calls().len(), runs - 1);
        let answer = json!({ key: approve() });
        client.result(
            "tasks/update",
            json!({"taskId": id, "inputResponses": answer}),
        );
        let ended = polled(&mut client, &id, &["completed", "failed", "cancelled"]);
        assert_eq!(ended["status"], "completed", "{ended}");
        assert_ne!(ended["result"]["isError"], true, "{ended}");
        assert_eq!(mail.calls().len(), runs, "{ended}");
    }
    let unknown = client.ask(
        "tasks/get",
        json!({"taskId": format!("ex_{}", "0".repeat(32))}),
    );
    assert!(unknown["error"]["message"].is_string(), "{unknown}");

    let task = client.result("tools/call", direct);
    let id = task["taskId"].as_str().unwrap().to_owned();
    polled(&mut client, &id, &["input_required"]);
    client.result("tasks/cancel", json!({"taskId": id}));
    polled(&mut client, &id, &["cancelled"]);
    assert_eq!(mail.approvals().last().unwrap()["state"], "withdrawn");
    assert_eq!(mail.calls().len(), 2);
}

#[test]
fn the_task_of_another_principal_is_unknown() {
    let mail = Mail::with(EXPOSED);
    let envelope = mail.paused(PROGRAM);
    let id = id_of(&envelope);
    // The control: the owner of the state directory sees it.
    let mut client = Modern::start(&mail, FORMS_AND_TASKS);
    polled(&mut client, &id, &["input_required"]);
    // A beginning of an id is not one.
    let short = client.ask("tasks/get", json!({"taskId": id[..20]}));
    assert!(short["error"]["message"].is_string(), "{short}");
    let (file, [alice, _]) = crate::http::tokens(&mail.world);
    let served = crate::http::Served::start(&mail.world, &["--token-file", &file]);
    let capabilities: Value = serde_json::from_str(FORMS_AND_TASKS).unwrap();
    for (method, more) in [
        ("tasks/get", json!({})),
        ("tasks/update", json!({"inputResponses": {}})),
        ("tasks/cancel", json!({})),
    ] {
        for id in [id.clone(), format!("ex_{}", "0".repeat(32))] {
            let mut params = more.clone();
            params["taskId"] = id.clone().into();
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": capabilities,
            });
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            let answer = super::channels::post(served.address, &alice, method, &id, &message);
            assert!(answer.contains("no such task"), "{answer}");
        }
    }
    assert_eq!(mail.approvals()[0]["state"], "pending");
}
