//! Budgets over the command line, with a server that records what arrives: governance 75 and 76.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{Mail, id_of, questions_of};
use crate::world::CommandOutcome;

const TEN: &str = "
[policy]
preset = 'observe'
[[budget]]
id = 'ten'
tools = ['mail.*']
per = 'day'
calls = 10
reason = 'people read mail'
";

/// Twenty calls at once. Returns how many were sent, and the errors of the others.
const TWENTY: &str = "const ended = await Promise.allSettled(
    Array.from({ length: 20 }, (_, n) => tools.mail.send({ n })));
const failed = ended.filter(one => one.status === 'rejected').map((one: any) => one.reason);
return { sent: ended.length - failed.length,
         errors: failed.map(e => [e.code, e.retryable, e.message, e.server, e.tool]) };";

/// What is left of the only counter.
fn left(mail: &Mail) -> Value {
    let shown = mail.world.limbeck(["policy", "budgets", "--json"]);
    shown.ends_with(0).json()["left"][0].clone()
}

fn run(mail: &Mail, program: &str) -> CommandOutcome {
    mail.world.limbeck_reading(["run", "-", "--json"], program)
}

#[test]
fn of_twenty_calls_at_once_exactly_ten_leave_and_the_others_say_when_to_come_back() {
    let mail = Mail::with(TEN);
    let envelope = run(&mail, TWENTY).ends_with(0).json();
    assert_eq!(envelope["value"]["sent"], 10, "{envelope}");
    assert_eq!(mail.calls().len(), 10);
    let errors = envelope["value"]["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 10);
    let [code, retryable, message, server, tool] = errors[0].as_array().unwrap().as_slice() else {
        panic!("{errors:?}")
    };
    assert_eq!((code, retryable), (&json!("limit_exceeded"), &json!(true)));
    assert_eq!((server, tool), (&json!("mail"), &json!("send")));
    let message = message.as_str().unwrap();
    for part in [
        "budget `ten` (10 calls a day)",
        "people read mail",
        "room again at",
        "T00:00:00Z",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let counter = left(&mail);
    assert_eq!(
        (&counter["left"], &counter["limit"]),
        (&json!(0), &json!(10))
    );
    // What was refused is in the journal as what the program read: a replay ends alike, and counts nothing.
    let replayed = mail.world.limbeck(["replay", &id_of(&envelope)]);
    replayed.ends_with(0);
    // A client's own call is counted on the same budget.
    let call = mail
        .world
        .limbeck(["call", "mail", "list", "{}"])
        .ends_with(1);
    assert!(call.stderr.contains("budget `ten`"), "{call:?}");
    assert_eq!(mail.calls().len(), 10);
    let explained = mail
        .world
        .limbeck(["policy", "explain", "mail.send", "--json"]);
    assert_eq!(explained.ends_with(0).json()["budgets"][0]["left"], 0);
}

#[test]
fn a_gateway_that_is_killed_between_its_calls_resets_no_counter() {
    let mail = Mail::with(&TEN.replace("calls = 10", "calls = 3"));
    let program = mail.world.file(
        "program.ts",
        "await tools.mail.send({}); await tools.mail.list({}); await tools.mail.hang({});",
    );
    let mut command = mail.world.command(["run", program.to_str().unwrap()]);
    let mut running = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while mail.calls_file().metadata().is_err() || mail.calls().len() < 3 {
        assert!(running.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    // SIGKILL.
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(left(&mail)["left"], 0);
    let program = "return await tools.mail.send({}).catch((e: any) => e.code)";
    let envelope = run(&mail, program).ends_with(0).json();
    assert_eq!(envelope["value"], "limit_exceeded");
    assert_eq!(mail.calls().len(), 3);
}

#[test]
fn a_person_lets_a_call_out_that_a_budget_has_no_room_for() {
    let mail = Mail::with(&TEN.replace("calls = 10", "calls = 1\non_exceed = 'ask'"));
    let program = "const sent: any[] = [];
for (const n of [1, 2, 3]) sent.push(await tools.mail.send({ n }).then(() => n, (e: any) => e.code));
return sent";
    let envelope = mail.paused(program);
    assert_eq!(mail.calls(), [json!({"n": 1})]);
    let pending = &envelope["pending"][0];
    assert_eq!(pending["rule"], "budget:ten", "{envelope}");
    let reason = pending["reason"].as_str().unwrap();
    assert!(
        reason.contains("`ten` (1 call a day) is used up"),
        "{reason}"
    );
    let id = id_of(&envelope);
    let second = mail.resume(&id, ["--approve", &questions_of(&envelope)[0]]);
    let third = second.ends_with(3).json();
    assert_eq!(mail.calls(), [json!({"n": 1}), json!({"n": 2})]);
    let ended = mail.resume(&id, ["--deny", &questions_of(&third)[0]]);
    let ended = ended.ends_with(0).json();
    assert_eq!(ended["value"], json!([1, 2, "denied"]), "{ended}");
    assert_eq!(mail.calls().len(), 2);
    // What a person let out is counted too.
    let all = mail
        .world
        .limbeck(["policy", "budgets", "--json"])
        .ends_with(0)
        .json();
    assert_eq!(all["left"][0]["left"], 0);
}
