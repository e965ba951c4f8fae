//! Calls in doubt and the four answers about them: governance 62.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Mail;

/// Time after which a condition counts as one that never holds.
const HANG: Duration = Duration::from_secs(60);

const PROGRAM: &str =
    "try { return (await tools.mail.hang({ n: 9007199254740993n.toString() })).sent }
catch (error: any) { return [error.code, error.retryable] }";

/// A world in which a gateway was killed while its call was in flight, and the execution.
fn killed() -> (Mail, String) {
    let mail = Mail::with("[policy]\npreset = \"observe\"\n");
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
