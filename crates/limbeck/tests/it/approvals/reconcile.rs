//! Calls in doubt and the four answers about them: governance 62.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{ASK, Mail, id_of};

/// Time after which a condition counts as one that never holds.
const HANG: Duration = Duration::from_secs(60);

const PROGRAM: &str =
    "try { return (await tools.mail.hang({ n: 9007199254740993n.toString() })).sent }
catch (error: any) { return [error.code, error.retryable] }";

/// A world in which a gateway was killed while its call was in flight, and the execution.
fn killed() -> (Mail, String) {
    killed_under("")
}

/// [`killed`], with more in the configuration.
fn killed_under(more: &str) -> (Mail, String) {
    let mail = Mail::with(&format!("[policy]\npreset = \"observe\"\n{more}"));
    let program = mail.world.file("program.ts", PROGRAM);
    let mut command = mail.world.command(["run".as_ref(), program.as_os_str()]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let limit = Instant::now() + HANG;
    while mail.calls().is_empty() {
        assert!(Instant::now() < limit, "the call does not arrive");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let listed = mail.world.limbeck(["executions", "--json"]).ends_with(0);
    assert!(listed.stderr.contains("limbeck reconcile"), "{listed:?}");
    let execution = &listed.json()["executions"][0];
    assert_eq!(execution["status"], "needs_reconciliation");
    (mail, execution["id"].as_str().unwrap().to_owned())
}

fn in_doubt(mail: &Mail, id: &str) -> Value {
    let listed = mail.world.limbeck(["reconcile", id, "--json"]);
    listed.ends_with(0).json()["in_doubt"].clone()
}

#[test]
fn each_answer_about_a_call_in_doubt_reaches_the_program() {
    let result = r#"{"content":[],"structuredContent":{"sent":"by hand"}}"#;
    let answers: [(&[&str], Value, usize); 4] = [
        (&["--happened", "--result", result], json!("by hand"), 1),
        (&["--did-not-happen"], json!(["not_sent", true]), 1),
        (&["--give-up"], json!(["in_doubt", false]), 1),
        (&["--retry"], json!(true), 2),
    ];
    for (answer, value, calls) in answers {
        let (mail, id) = killed();
        let doubtful = in_doubt(&mail, &id);
        let call = &doubtful[0];
        assert_eq!(
            (&call["server"], &call["tool"]),
            (&json!("mail"), &json!("hang"))
        );
        assert_eq!(call["arguments"], json!({"n": "9007199254740993"}));
        let number = call["call_id"].to_string();
        // Until then nothing goes on, and nothing is repeated.
        let early = mail.resume(&id, []);
        assert_eq!(early.code, 1, "{early:?}");
        assert!(early.stderr.contains("in doubt"), "{early:?}");
        // The second attempt is answered.
        std::fs::write(mail.calls_file().with_extension("answer"), "").unwrap();
        let settle = [&["reconcile", &id, &number, "--json"], answer].concat();
        let settled = mail.world.command(settle).output().unwrap();
        let settled = crate::world::CommandOutcome::of(settled)
            .ends_with(0)
            .json();
        assert_eq!(settled["in_doubt"], json!([]), "{answer:?}");
        let resumed = mail.resume(&id, []).ends_with(0).json();
        assert_eq!(resumed["value"], value, "{answer:?}");
        assert_eq!(mail.calls().len(), calls, "{answer:?}");
        assert_eq!(in_doubt(&mail, &id), json!([]));
    }
}

#[test]
fn a_call_that_is_not_in_doubt_is_not_settled() {
    let (mail, id) = killed();
    let other = mail.world.limbeck(["reconcile", &id, "99", "--give-up"]);
    assert!(other.ends_with(2).stderr.contains("call 99 of execution"));
    let wrong = ["reconcile", &id, "1", "--happened", "--result", "{}"];
    mail.world.limbeck(wrong).ends_with(2);
    assert_eq!(in_doubt(&mail, &id).as_array().unwrap().len(), 1);
    mail.world.limbeck(["reconcile", "ex_unknown"]).ends_with(2);
}

/// Parameters of the calls of `hang` that reached the server, in order.
fn hung(mail: &Mail) -> Vec<Value> {
    let text = std::fs::read_to_string(mail.calls_file()).unwrap();
    let params = |line: &str| serde_json::from_str::<Value>(line).unwrap()["params"].clone();
    let calls = text.lines().map(params);
    calls.filter(|params| params["name"] == "hang").collect()
}

fn in_doubt_rule(rule: &str) -> String {
    format!("[policy.in_doubt]\n\"mail.hang\" = {{ {rule} }}\n")
}

#[test]
fn a_call_in_doubt_is_settled_without_a_person_only_as_the_operator_said() {
    let found = |condition: &str| {
        format!(
            "verify = {{ tool = \"mail.list\", args = {{ n = \"$arguments.n\" }}, found = {{ {condition} }} }}"
        )
    };
    // What the program gets when the call happened, which has no result.
    let happened = json!([null, null]);
    for (rule, value, calls) in [
        ("idempotent = true".to_owned(), json!(true), 2),
        (
            "idempotency = { argument = \"request_id\" }".to_owned(),
            json!(true),
            2,
        ),
        (
            "idempotency = { meta = \"example.com/key\" }".to_owned(),
            json!(true),
            2,
        ),
        (found("sent = { eq = true }"), happened, 1),
        (found("sent = { eq = false }"), json!(true), 2),
    ] {
        let (mail, id) = killed_under(&in_doubt_rule(&rule));
        std::fs::write(mail.calls_file().with_extension("answer"), "").unwrap();
        let resumed = mail.resume(&id, []).ends_with(0).json();
        assert_eq!(resumed["value"], value, "{rule}");
        assert_eq!(hung(&mail).len(), calls, "{rule}");
    }
    // A read that does not say it, a key that no header can carry, a read that fails, and no word at all.
    for rule in [
        found("id = { eq = 1 }"),
        found("sent = { eq = true }").replace("mail.list", "mail.gone"),
        "idempotency = { header = \"Idempotency-Key\" }".to_owned(),
        "idempotent = false".to_owned(),
    ] {
        let (mail, id) = killed_under(&in_doubt_rule(&rule));
        let resumed = mail.resume(&id, []);
        assert_eq!(resumed.code, 1, "{rule}: {resumed:?}");
        assert!(resumed.stderr.contains("in doubt"), "{rule}: {resumed:?}");
        assert_eq!(hung(&mail).len(), 1, "{rule}");
        assert_eq!(in_doubt(&mail, &id).as_array().unwrap().len(), 1, "{rule}");
    }
}

#[test]
fn a_call_in_doubt_has_its_key_and_its_time_and_a_retry_has_the_same_key() {
    let rule = in_doubt_rule("idempotency = { argument = \"request_id\" }");
    let (mail, id) = killed_under(&rule);
    let doubtful = in_doubt(&mail, &id);
    let call = &doubtful[0];
    // The arguments are the program's; the key is beside them.
    assert_eq!(call["arguments"], json!({"n": "9007199254740993"}));
    let key = call["key"].as_str().unwrap();
    let sent_at = call["sent_at"].as_str().unwrap();
    assert!(sent_at.ends_with('Z') && sent_at.len() == 27, "{sent_at}");
    let table = mail.world.limbeck(["reconcile", &id]).ends_with(0).stdout;
    assert!(table.contains(key), "{table}");

    std::fs::write(mail.calls_file().with_extension("answer"), "").unwrap();
    let number = call["call_id"].to_string();
    let settle = ["reconcile", &id, &number, "--retry"];
    mail.world.limbeck(settle).ends_with(0);
    mail.resume(&id, []).ends_with(0);
    let arguments = json!({"n": "9007199254740993", "request_id": key});
    let sent: Vec<Value> = hung(&mail)
        .iter()
        .map(|it| it["arguments"].clone())
        .collect();
    assert_eq!(sent, [arguments.clone(), arguments]);
    // What the operator said is shown by the commands that explain the policy.
    let explained = mail.world.limbeck(["policy", "explain", "mail.hang"]);
    let explained = explained.ends_with(0).stdout;
    assert!(
        explained.contains("sent again with the same key in the argument `request_id`"),
        "{explained}"
    );
    mail.world.limbeck(["policy", "check"]).ends_with(0);
}

#[test]
fn a_denied_call_is_not_asked_about_again_although_each_call_has_a_key_of_its_own() {
    let key =
        "[policy.in_doubt]\n\"mail.send\" = { idempotency = { argument = \"request_id\" } }\n";
    let program = "const once = async () => {
  try { return (await tools.mail.send({ n: 1 })).sent } catch (error: any) { return error.code }
};
return [await once(), await once()]";
    let denied = Mail::with(&format!("{ASK}{key}"));
    let id = id_of(&denied.paused(program));
    let ended = denied.resume(&id, ["--deny"]).ends_with(0).json();
    assert_eq!(ended["value"], json!(["denied", "denied"]));
    assert_eq!(denied.approvals().len(), 1);
    // The control: calls that are approved are asked about each, and sent with the key that the person saw.
    let approved = Mail::with(&format!("{ASK}{key}"));
    let id = id_of(&approved.paused(program));
    approved.resume(&id, ["--approve"]).ends_with(3);
    let ended = approved.resume(&id, ["--approve"]).ends_with(0).json();
    assert_eq!(ended["value"], json!([true, true]));
    let shown: Vec<Value> = approved
        .approvals()
        .iter()
        .map(|it| it["arguments"].clone())
        .collect();
    assert_eq!(approved.calls(), shown);
    assert_ne!(shown[0]["request_id"], shown[1]["request_id"]);
}
