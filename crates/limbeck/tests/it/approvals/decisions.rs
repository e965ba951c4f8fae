//! Decisions over the command line: governance 23, 33, 40 and 63.

use serde_json::json;

use super::{ASK, CATCHING, Mail, PROGRAM, id_of, questions_of};

#[test]
fn an_approved_program_completes_and_its_call_is_sent_once() {
    let mail = Mail::with(ASK);
    let envelope = mail.paused(PROGRAM);
    let id = id_of(&envelope);
    let completed = mail.resume(&id, ["--approve"]).ends_with(0).json();
    assert_eq!(
        (&completed["status"], &completed["value"]),
        (&json!("completed"), &json!(true))
    );
    assert_eq!(completed["execution_id"], envelope["execution_id"]);
    assert_eq!(completed["effects"], json!({"reads": 0, "writes": 1}));
    assert_eq!(mail.calls(), [json!({"to": "anna@example.org", "n": 1})]);
    let approval = &mail.approvals()[0];
    assert_eq!(approval["state"], "spent");
    assert_eq!(approval["decisions"][0]["by"], "user:local");
    assert_eq!(approval["decisions"][0]["channel"], "cli");
    // A lost answer is read again, and nothing is sent again.
    let again = mail.resume(&id, []).ends_with(0).json();
    assert_eq!(again["value"], true);
    assert_eq!(mail.calls().len(), 1);
}

#[test]
fn a_denied_program_reads_the_reason_and_goes_on() {
    let mail = Mail::with(ASK);
    let id = id_of(&mail.paused(CATCHING));
    let resumed = mail.resume(&id, ["--deny", "--reason", "not before Monday"]);
    let envelope = resumed.ends_with(0).json();
    assert_eq!(envelope["value"][0], "denied", "{envelope}");
    let message = envelope["value"][1].as_str().unwrap();
    assert!(message.contains("not before Monday"), "{message}");
    assert_eq!(mail.calls(), [] as [serde_json::Value; 0]);
    let approval = &mail.approvals()[0];
    assert_eq!(approval["state"], "denied");
    assert_eq!(approval["decisions"][0]["reason"], "not before Monday");
}

#[test]
fn what_a_program_did_before_a_pause_is_warned_of_at_its_end() {
    let mail = Mail::with(ASK);
    let program = "const name = 'nope';
try { await tools.mail[name]({}) } catch {}
const listed: any = await tools.mail.list({});
const note = `note ${listed.remark}`;
for (const n of [1, 2]) { try { await tools.mail.send({ n, note }) } catch {} }
return 'all sent'";
    let id = id_of(&mail.paused(program));
    mail.resume(&id, ["--deny"]).ends_with(3);
    let envelope = mail.resume(&id, ["--approve"]).ends_with(0).json();
    assert_eq!(envelope["value"], "all sent");
    let warnings = envelope["warnings"].to_string();
    assert!(warnings.contains("2 calls were not sent"), "{warnings}");
    assert!(warnings.contains("remark"), "{warnings}");
    assert_eq!(mail.calls().len(), 2, "{:?}", mail.calls());
    // The control: a program that lost nothing is warned of nothing.
    let id = id_of(&mail.paused(PROGRAM));
    let envelope = mail.resume(&id, ["--approve"]).ends_with(0).json();
    assert_eq!(envelope.get("warnings"), None, "{envelope}");
}

#[test]
fn a_question_that_the_program_gave_up_is_a_warning() {
    let mail = Mail::with(ASK);
    let program = "import asyncio
try:
    await asyncio.wait_for(tools.mail.send(n=1), 0.2)
except asyncio.TimeoutError:
    pass
return 'sent'";
    let run = ["run", "-", "--json", "--language", "py"];
    let envelope = mail.world.limbeck_reading(run, program);
    let envelope = envelope.ends_with(0).json();
    let warnings = envelope["warnings"].to_string();
    assert!(
        warnings.contains("stopped waiting while a person was asked about"),
        "{envelope}"
    );
    assert_eq!(mail.calls(), [] as [serde_json::Value; 0]);
    assert_eq!(mail.approvals()[0]["state"], "withdrawn");
}

#[test]
fn an_answer_that_waits_has_the_short_arguments_of_its_questions() {
    let mail = Mail::with(ASK);
    let long = format!("return tools.mail.send({{ text: '{}' }})", "x".repeat(500));
    assert_eq!(mail.paused(&long)["pending"][0].get("arguments"), None);
    let envelope = mail.paused(PROGRAM);
    assert_eq!(
        envelope["pending"][0]["arguments"],
        json!({"to": "anna@example.org", "n": 1})
    );
}

#[test]
fn the_same_decision_again_changes_nothing_and_another_hears_who_decided() {
    let mail = Mail::with(ASK);
    let envelope = mail.paused(PROGRAM);
    let (id, question) = (id_of(&envelope), questions_of(&envelope).remove(0));
    mail.resume(&id, ["--approve", &question]).ends_with(0);
    let same = mail.resume(&id, ["--approve", &question]).ends_with(0);
    assert_eq!(same.json()["value"], true);
    let other = mail.resume(&id, ["--deny", &question]).ends_with(0);
    assert_eq!(other.json()["value"], true);
    assert!(
        other
            .stderr
            .contains("already approved by user:local (cli)"),
        "{other:?}"
    );
    assert_eq!(mail.calls().len(), 1);
    assert_eq!(
        mail.approvals()[0]["decisions"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn of_two_questions_one_is_denied_and_the_rest_approved() {
    let mail = Mail::with(ASK);
    let program = "const sent = await Promise.allSettled([1, 2].map(n => tools.mail.send({ n })));
return sent.map(one => one.status)";
    let envelope = mail.paused(program);
    let questions = questions_of(&envelope);
    assert_eq!(questions.len(), 2);
    assert_eq!(mail.approvals()[0]["similar"], 1);
    let id = id_of(&envelope);
    let resumed = mail.resume(&id, ["--approve", "--deny", &questions[1]]);
    let value = resumed.ends_with(0).json()["value"].clone();
    assert_eq!(value, json!(["fulfilled", "rejected"]));
    assert_eq!(mail.calls(), [json!({"n": 1})]);
}

#[test]
fn with_one_of_two_questions_decided_the_answer_is_paused_again() {
    let mail = Mail::with(ASK);
    let program = "await Promise.all([1, 2].map(n => tools.mail.send({ n }))); return 'both'";
    let envelope = mail.paused(program);
    let questions = questions_of(&envelope);
    let id = id_of(&envelope);
    let first = mail.resume(&id, ["--approve", &questions[0]]).ends_with(3);
    let left = questions_of(&first.json());
    assert_eq!(left, [questions[1].clone()]);
    let second = mail.resume(&id, ["--approve"]).ends_with(0).json();
    assert_eq!(second["value"], "both");
    assert_eq!(mail.calls().len(), 2);
}

#[test]
fn a_stopped_execution_sends_nothing_and_a_late_approval_does_not_count() {
    let mail = Mail::with(ASK);
    let envelope = mail.paused(PROGRAM);
    let (id, question) = (id_of(&envelope), questions_of(&envelope).remove(0));
    let stopped = mail.resume(&id, ["--stop"]).ends_with(0).json();
    assert_eq!(stopped["status"], "cancelled");
    assert_eq!(mail.approvals()[0]["state"], "withdrawn");
    let late = mail.resume(&id, ["--approve", &question]);
    assert!(late.stderr.contains("withdrawn"), "{late:?}");
    assert_eq!(mail.calls(), [] as [serde_json::Value; 0]);
}

#[test]
fn edited_arguments_are_sent_where_the_rule_allows_it() {
    let edit = |rules: &str| {
        let mail = Mail::with(rules);
        let envelope = mail.paused(PROGRAM);
        let edit = format!(
            "{}={{\"to\":\"ben@example.org\",\"n\":1}}",
            questions_of(&envelope)[0]
        );
        let resumed = mail.resume(&id_of(&envelope), ["--edit", &edit]);
        (mail, resumed)
    };
    let (mail, edited) = edit(&format!("{ASK}ask = {{ edit = [\"to\"] }}\n"));
    let envelope = edited.ends_with(0).json();
    assert_eq!(mail.calls(), [json!({"to": "ben@example.org", "n": 1})]);
    assert!(
        envelope["warnings"].to_string().contains("changed"),
        "{envelope}"
    );
    assert_eq!(mail.approvals()[0]["decisions"][0]["edited"], true);
    let (mail, refused) = edit(&format!("{ASK}ask = {{ edit = [\"n\"] }}\n"));
    assert_ne!(refused.code, 0, "{refused:?}");
    assert_eq!(mail.calls(), [] as [serde_json::Value; 0]);
    assert_eq!(mail.approvals()[0]["state"], "pending");
}

#[test]
fn what_names_no_question_is_refused_before_anything_is_decided() {
    let mail = Mail::with(ASK);
    let id = id_of(&mail.paused(PROGRAM));
    let unknown = mail.resume(&id, ["--approve", "ap_ffff"]).ends_with(2);
    assert!(
        unknown.stderr.contains("no question has the id"),
        "{unknown:?}"
    );
    mail.resume(&id, ["--reason", "why"]).ends_with(2);
    mail.resume("ex_unknown", ["--approve"]).ends_with(2);
    assert_eq!(mail.approvals()[0]["state"], "pending");
    assert_eq!(mail.calls(), [] as [serde_json::Value; 0]);
}

#[test]
fn an_approval_that_cannot_count_by_the_rules_of_now_is_refused_and_not_recorded() {
    let by =
        |who: &str| format!("{ASK}ask = {{ approvers = [\"user:{who}\"], edit = [\"to\"] }}\n");
    let mail = Mail::with(&by("local"));
    let config = mail.world.home().join(".config/limbeck/config.toml");
    let before = std::fs::read_to_string(&config).unwrap();
    let envelope = mail.paused(PROGRAM);
    let (id, question) = (id_of(&envelope), questions_of(&envelope).remove(0));
    let is_open = || {
        let asked = mail.approvals();
        assert_eq!(asked.len(), 1);
        assert_eq!(
            (&asked[0]["state"], &asked[0]["decisions"]),
            (&json!("pending"), &json!([]))
        );
    };
    // The person is not an approver any more.
    std::fs::write(&config, before.replace("user:local", "user:anna")).unwrap();
    let refused = mail.resume(&id, ["--approve"]).ends_with(1);
    assert!(
        refused.stderr.contains("only user:anna may approve"),
        "{refused:?}"
    );
    is_open();
    // A rule denies the call, or what it is changed to.
    let deny = |to: &str| {
        let rule = "\n[[policy.rule]]\nid = 'no'\neffect = 'deny'\ntools = ['mail.send']\n";
        std::fs::write(
            &config,
            format!("{before}{rule}args = {{ to = '{to}@*' }}\n"),
        )
        .unwrap();
    };
    deny("anna");
    let refused = mail.resume(&id, ["--approve"]).ends_with(1);
    assert!(
        refused.stderr.contains("denied by rule `no`"),
        "{refused:?}"
    );
    is_open();
    deny("ben");
    let edit = format!("{question}={{\"to\":\"ben@example.org\",\"n\":1}}");
    let refused = mail.resume(&id, ["--edit", &edit]).ends_with(1);
    assert!(
        refused.stderr.contains("denied by rule `no`"),
        "{refused:?}"
    );
    is_open();
    assert_eq!(mail.calls(), [] as [serde_json::Value; 0]);
    // The control: the rule is not about the call as it was asked about.
    mail.resume(&id, ["--approve"]).ends_with(0);
    assert_eq!(mail.calls().len(), 1);
}

#[test]
fn an_approval_with_another_configuration_is_refused_before_it_is_recorded() {
    let mail = Mail::with(ASK);
    let id = id_of(&mail.paused(PROGRAM));
    let config = std::fs::read_to_string(mail.world.home().join(".config/limbeck/config.toml"));
    let other = config.unwrap().replace("mail-outside", "mail-elsewhere");
    let other = mail.world.file("other.toml", &other);
    let other = other.to_str().unwrap();
    let refused = mail.resume(&id, ["--approve", "--no-discover", "--config", other]);
    assert_ne!(refused.code, 0, "{refused:?}");
    let text = format!("{}{}", refused.stdout, refused.stderr);
    assert!(text.contains("rule `mail-outside`"), "{refused:?}");
    assert_eq!(mail.approvals()[0]["state"], "pending");
    assert_eq!(mail.approvals()[0]["decisions"], json!([]));
    // The control: the same command with the configuration that asked.
    mail.resume(&id, ["--approve"]).ends_with(0);
    assert_eq!(mail.calls().len(), 1);
}

#[test]
fn a_denial_of_nothing_is_an_error() {
    let mail = Mail::with(ASK);
    let id = id_of(&mail.paused(PROGRAM));
    mail.resume(&id, ["--approve"]).ends_with(0);
    let nothing = mail.resume(&id, ["--deny"]).ends_with(2);
    let text = "waits that could be denied";
    assert!(nothing.stderr.contains(text), "{nothing:?}");
    // The control: with a question that waits, it is denied.
    let id = id_of(&mail.paused(CATCHING));
    mail.resume(&id, ["--deny"]).ends_with(0);
    assert_eq!(mail.calls().len(), 1);
}

#[test]
fn hints_about_questions_have_the_configuration_of_their_command() {
    let mail = Mail::with(ASK);
    let envelope = mail.paused(PROGRAM);
    let (id, question) = (id_of(&envelope), questions_of(&envelope).remove(0));
    let config = mail.world.home().join(".config/limbeck/config.toml");
    let config = config.to_str().unwrap();
    let named = ["approvals", "--no-discover", "--config", config];
    let limbeck = format!("`limbeck --config {config} --no-discover");
    let list = mail.world.limbeck(named).ends_with(0).stderr;
    assert!(
        list.contains(&format!("{limbeck} resume EXECUTION`")),
        "{list}"
    );
    let one = mail
        .world
        .command(named.into_iter().chain([question.as_str()]));
    let one = crate::world::CommandOutcome::of({ one }.output().unwrap())
        .ends_with(0)
        .stderr;
    assert!(
        one.contains(&format!("{limbeck} resume {id} --approve {question}`")),
        "{one}"
    );
    // The control: without an option the hint has no option.
    let plain = mail.world.limbeck(["approvals"]).ends_with(0).stderr;
    assert!(plain.contains("`limbeck resume EXECUTION`"), "{plain}");
}
