//! Without a terminal a program pauses: it neither hangs nor sends anything (governance 45).

use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{ASK, CATCHING, Mail, PROGRAM, id_of, questions_of};

#[test]
fn a_headless_run_ends_with_three_and_says_what_it_waits_for() {
    let mail = Mail::with(ASK);
    let envelope = mail.paused(PROGRAM);
    let pending = &envelope["pending"][0];
    assert_eq!(pending["server"], "mail");
    assert_eq!(pending["tool"], "send");
    assert_eq!(pending["class"], "unknown");
    assert_eq!(pending["line"], 1);
    assert_eq!(pending["rule"], "mail-outside");
    assert_eq!(pending["reason"], "mail leaves the company");
    assert!(pending["expires_at"].is_string(), "{envelope}");
    assert!(envelope["next_step"].is_string(), "{envelope}");
    assert_eq!(mail.calls(), [] as [serde_json::Value; 0]);

    let listed = mail.approvals();
    let approval = &listed[0];
    assert_eq!(approval["id"], pending["approval_id"]);
    assert_eq!(approval["execution_id"], envelope["execution_id"]);
    assert_eq!(approval["state"], "pending");
    assert_eq!(approval["principal"], "local");
    assert_eq!(approval["class_from"], "unknown");
    assert_eq!(approval["similar"], 0);
    let sent = r#"{"to":"anna@example.org","n":1}"#;
    assert_eq!(approval["arguments"].to_string(), sent);
    let hash: String = Sha256::digest(sent)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(approval["sha256"], hash);

    let id = id_of(&envelope);
    let executions = mail.world.limbeck(["executions"]).ends_with(0);
    assert!(
        executions.stdout.contains("paused: 1 question"),
        "{executions:?}"
    );
    let shown = mail.world.limbeck(["executions", &id, "--json"]);
    let shown = shown.ends_with(0).json();
    assert_eq!(
        (&shown["status"], &shown["pending"]),
        (&json!("paused"), &json!(1))
    );
    // For people the same is text.
    mail.world.file("again.ts", PROGRAM);
    let text = mail.world.limbeck(["run", "again.ts"]).ends_with(3);
    assert!(
        text.stderr.contains("paused: 1 question about calls"),
        "{text:?}"
    );
    assert!(text.stderr.contains("limbeck resume ex_"), "{text:?}");
    assert_eq!(text.stdout, "");
    // The next command has the configuration of this one.
    let more = mail.world.file("more servers.json", "{\"mcpServers\": {}}");
    let more = more.to_str().unwrap();
    let text = mail.world.limbeck(["--config", more, "run", "again.ts"]);
    let text = text.ends_with(3);
    let next = format!("limbeck --config '{more}' resume ex_");
    assert!(text.stderr.contains(&next), "{text:?}");
}

#[test]
fn a_question_is_shown_whole_by_the_beginning_of_its_id() {
    let mail = Mail::with(ASK);
    let envelope = mail.paused(PROGRAM);
    let question = &questions_of(&envelope)[0];
    let shown = mail.world.limbeck(["approvals", &question[..12]]);
    let shown = shown.ends_with(0).stdout;
    for part in ["mail.send", "anna@example.org", "mail-outside", question] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let unknown = mail.world.limbeck(["approvals", "ap_unknown"]).ends_with(2);
    assert!(
        unknown.stderr.contains("no question has the id"),
        "{unknown:?}"
    );
}

#[test]
fn on_ask_denies_or_fails_and_never_allows() {
    let mail = Mail::with(ASK);
    let run = |on_ask: &str| {
        let arguments = ["run", "-", "--json", "--on-ask", on_ask];
        mail.world.limbeck_reading(arguments, CATCHING)
    };
    let denied = run("deny").ends_with(0).json();
    assert_eq!(denied["value"][0], "denied", "{denied}");
    // No program can catch it.
    let failed = run("fail").ends_with(1).json();
    assert_eq!(failed["status"], "failed", "{failed}");
    assert_eq!(mail.calls(), [] as [serde_json::Value; 0]);
    let paused = run("pause").ends_with(3).json();
    assert_eq!(paused["status"], "paused");
    let allowed = mail.world.limbeck(["run", "-", "--on-ask", "allow"]);
    allowed.ends_with(2);
    // The control: a call that no rule asks about is made.
    let listed = mail.world.limbeck_reading(
        ["run", "-", "--json", "--on-ask", "fail"],
        "return await tools.mail.list({})",
    );
    listed.ends_with(0);
    assert_eq!(mail.calls().len(), 1);
}

#[test]
fn a_single_call_that_asks_sends_nothing_without_a_terminal() {
    let mail = Mail::with(ASK);
    let call = mail
        .world
        .limbeck(["call", "mail", "send", r#"{"to":"a"}"#]);
    let call = call.ends_with(3);
    assert!(call.stderr.contains("mail-outside"), "{call:?}");
    assert!(call.stderr.contains("on a terminal"), "{call:?}");
    assert_eq!(call.stdout, "");
    // What is piped in is no answer.
    let piped = mail
        .world
        .limbeck_reading(["call", "mail", "send", r#"{"to":"a"}"#], "y\ny\ny\n");
    piped.ends_with(3);
    assert_eq!(mail.calls(), [] as [serde_json::Value; 0]);
    mail.world.limbeck(["call", "mail", "list"]).ends_with(0);
    assert_eq!(mail.calls().len(), 1);
}

#[test]
fn doctor_lists_paused_executions_by_guest_and_resume_names_one_that_is_missing() {
    let mail = Mail::with(ASK);
    let id = id_of(&mail.paused(PROGRAM));
    let report = mail.world.limbeck(["doctor", "--json"]).json();
    let [paused] = report["paused"].as_array().unwrap().as_slice() else {
        panic!("{report}")
    };
    assert_eq!(paused["language"], "typescript");
    assert_eq!(paused["release"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        (&paused["executions"], &paused["available"]),
        (&json!(1), &json!(true))
    );
    let text = mail.world.limbeck(["doctor"]);
    assert!(
        text.stdout.contains("1 execution, typescript guest "),
        "{text:?}"
    );
    assert!(!text.stderr.contains("does not have"), "{text:?}");

    let other = "0f".repeat(32);
    let file = mail.world.home().join(".local/state/limbeck/state.db");
    let state = rusqlite::Connection::open(file).unwrap();
    let of_another = "UPDATE execution SET guest_hash = ?1";
    assert_eq!(state.execute(of_another, [&other]).unwrap(), 1);
    let report = mail.world.limbeck(["doctor", "--json"]).json();
    assert_eq!(report["paused"][0]["available"], false);
    let text = mail.world.limbeck(["doctor"]);
    assert!(text.stderr.contains(&other), "{text:?}");
    let refused = mail.resume(&id, ["--approve"]).ends_with(2);
    assert!(
        refused.stderr.contains(&other) && refused.stderr.contains("another build of limbeck"),
        "{refused:?}"
    );
    assert_eq!(mail.calls(), [] as [serde_json::Value; 0]);
}
