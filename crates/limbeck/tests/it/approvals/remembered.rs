//! Answers that count for more calls than one, over the command line: governance 41.

use serde_json::{Value, json};

use super::terminal::on_terminal;
use super::{Mail, SERVER, id_of};

/// Rules that ask about `mail.send` and let answers be remembered for as long as `remember` says.
fn rules(remember: &str, class: &str) -> String {
    format!(
        r#"
[policy]
preset = "observe"
classes = {{ "mail.send" = "{class}" }}

[[policy.rule]]
id = "mail-outside"
effect = "ask"
tools = ["mail.send"]
ask = {{ remember = "{remember}" }}
"#
    )
}

fn send(to: &str, text: &str) -> String {
    format!("return (await tools.mail.send({{ to: '{to}', text: '{text}' }})).sent")
}

fn run(mail: &Mail, program: &str, exit: i32) -> Value {
    let run = mail.world.limbeck_reading(["run", "-", "--json"], program);
    run.ends_with(exit).json()
}

#[test]
fn a_remembered_answer_counts_for_the_same_target_until_it_is_void() {
    let mail = Mail::with(&rules("30d", "write"));
    let id = id_of(&mail.paused(&send("anna", "one")));
    mail.resume(&id, ["--approve", "--remember", "30d"])
        .ends_with(0);
    // Another text in another run is sent, and its question is on record with whose answer it was.
    assert_eq!(run(&mail, &send("anna", "two words"), 0)["value"], true);
    assert_eq!(mail.calls().len(), 2);
    let asked = mail.approvals();
    assert_eq!(asked[1]["state"], "spent");
    let decision = &asked[1]["decisions"][0];
    assert_eq!(
        (&decision["by"], &decision["channel"]),
        (&json!("user:local"), &json!("cli"))
    );
    let listed = mail.world.limbeck(["approvals", "remembered", "--json"]);
    let listed = listed.ends_with(0).json()["remembered"][0].clone();
    assert_eq!(decision["remembered"], listed["id"]);
    assert_eq!(
        (&listed["same"], &listed["any"]),
        (&json!(["to"]), &json!(["text"]))
    );
    assert_eq!(listed["arguments"], json!({"to": "anna"}));
    // Another target is asked about.
    run(&mail, &send("ben", "one"), 3);
    // A denying rule wins.
    let config = mail.world.home().join(".config/limbeck/config.toml");
    let before = std::fs::read_to_string(&config).unwrap();
    let deny = "\n[[policy.rule]]\nid = 'no'\neffect = 'deny'\ntools = ['mail.send']\nargs = { text = 'secret*' }\n";
    std::fs::write(&config, format!("{before}{deny}")).unwrap();
    assert_ne!(
        run(&mail, &send("anna", "secret words"), 1)["status"],
        "completed"
    );
    // Other rules about such calls are a reason to ask again; the first ones are not.
    run(&mail, &send("anna", "three"), 3);
    std::fs::write(&config, &before).unwrap();
    run(&mail, &send("anna", "four"), 0);
    // So is another definition of the tool.
    let changed = SERVER.replacen(r#"{"name":"send","#, r#"{"name":"send","title":"Send","#, 1);
    mail.world.file("mail.sh", &changed);
    run(&mail, &send("anna", "five"), 3);
    mail.world.file("mail.sh", SERVER);
    // The list that is known until then has the other definition.
    mail.world.limbeck(["tools", "mail"]).ends_with(0);
    run(&mail, &send("anna", "six"), 0);
    let id = listed["id"].as_str().unwrap();
    mail.world.limbeck(["approvals", "forget", id]).ends_with(0);
    run(&mail, &send("anna", "seven"), 3);
    assert_eq!(mail.calls().len(), 4);
}

#[test]
fn an_answer_for_a_run_counts_for_the_rest_of_it_and_for_no_other() {
    let mail = Mail::with(&rules("8h", "destructive"));
    let program = "for (const text of ['a b', 'c d', 'e f']) await tools.mail.send({ to: 'anna', text }); return 1";
    let id = id_of(&mail.paused(program));
    // A destructive call is remembered for its run at most.
    let refused = mail
        .resume(&id, ["--approve", "--remember", "8h"])
        .ends_with(1);
    assert!(refused.stderr.contains("`run` at most"), "{refused:?}");
    assert!(mail.calls().is_empty());
    mail.resume(&id, ["--approve", "--remember", "run"])
        .ends_with(0);
    assert_eq!(mail.calls().len(), 3);
    run(&mail, program, 3);
    assert_eq!(mail.calls().len(), 3);
}

#[test]
fn an_answer_for_good_is_a_rule_of_the_user_and_only_where_no_rule_asks() {
    let mail = Mail::with("\n# kept\n[policy]\npreset = \"balanced\"\n");
    let asked = |to: &str, answer: &str| {
        let arguments = json!({ "to": to, "text": "one two" }).to_string();
        let call = ["call", "mail", "send", &arguments];
        on_terminal(&mail, &call, &[("allow?", answer)])
    };
    // A schema that says which arguments there are: what a rule does not name could be anything.
    let (code, shown) = asked("zed", "y always\n");
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("in this run alone"), "{shown}");
    let closed = r#"{"type":"object","properties":{"to":{},"text":{},"bcc":{}},"additionalProperties":false}"#;
    let closed = format!(r#"{{"name":"send","inputSchema":{closed}}}"#);
    let open = r#"{"name":"send","inputSchema":{"type":"object"}}"#;
    mail.world
        .file("mail.sh", &SERVER.replacen(open, &closed, 1));
    mail.world.limbeck(["tools", "mail"]).ends_with(0);
    // It takes recipients now, so that the user sees it first.
    let accepted = mail.world.limbeck(["pins", "accept", "mail", "--yes"]);
    accepted.ends_with(0);
    let (code, shown) = asked("anna", "y always\n");
    assert_eq!(code, 0, "{shown}");
    let config = mail.world.home().join(".config/limbeck/config.toml");
    let written = std::fs::read_to_string(config).unwrap();
    assert!(
        written.contains("# kept") && written.contains("effect = \"allow\""),
        "{written}"
    );
    let call = |arguments| mail.world.limbeck(["call", "mail", "send", arguments]);
    call(r#"{"to":"anna","text":"three four"}"#).ends_with(0);
    for other in [
        r#"{"to":"ben","text":"one two"}"#,
        r#"{"to":["anna"],"text":"one two"}"#,
        r#"{"to":["anna","eve"],"text":"one two"}"#,
        // It has not all arguments of the call that was approved, or another one, or another type of text.
        r#"{"to":"anna"}"#,
        r#"{"to":"anna","text":null}"#,
        r#"{"to":"anna","text":["one two"]}"#,
        r#"{"to":"anna","text":"one two","bcc":"eve"}"#,
        r#"{"to":"anna","text":"one two","bcc":null}"#,
    ] {
        call(other).ends_with(3);
    }
    assert_eq!(mail.calls().len(), 3);
}

/// The server with a schema of `send` that says which arguments there are, and a title.
fn closed_server(title: &str) -> String {
    let closed = json!({
        "name": "send", "title": title,
        "inputSchema": {"type": "object", "properties": {"to": {}, "text": {}}, "additionalProperties": false},
    });
    let open = r#"{"name":"send","inputSchema":{"type":"object"}}"#;
    SERVER.replacen(open, &closed.to_string(), 1)
}

#[test]
fn no_rule_is_written_for_a_definition_that_changed_since_the_question() {
    let mail = Mail::with("\n[policy]\npreset = \"balanced\"\n");
    mail.world.file("mail.sh", &closed_server("Send"));
    let program = "const name = ['se', 'nd'].join(''); return (await (tools.mail as any)[name]({ to: 'anna', text: 'one two' })).sent";
    let id = id_of(&mail.paused(program));
    let config = mail.world.home().join(".config/limbeck/config.toml");
    let has_rule = || {
        std::fs::read_to_string(&config)
            .unwrap()
            .contains("always-")
    };
    mail.world
        .file("mail.sh", &closed_server("Send to everyone"));
    let always = ["--approve", "--remember", "always"];
    let asked_again = mail.resume(&id, always).ends_with(3);
    assert!(
        asked_again.stderr.contains("no rule is written"),
        "{asked_again:?}"
    );
    assert!(!has_rule());
    assert_eq!(mail.calls(), [] as [Value; 0]);
    // The control: the question about the definition of now.
    mail.resume(&id, always).ends_with(0);
    assert!(has_rule());
    assert_eq!(mail.calls().len(), 1);
}

#[test]
fn an_answer_counts_for_the_entry_of_the_server_that_was_asked_about() {
    let mail = Mail::with(&rules("30d", "write"));
    let config = mail.world.home().join(".config/limbeck/config.toml");
    let before = std::fs::read_to_string(&config).unwrap();
    let other = mail.world.path().join("other-calls");
    let elsewhere = before.replacen("/calls\"", "/other-calls\"", 1);
    assert_ne!(elsewhere, before);
    // A question that is open.
    let id = id_of(&mail.paused(&send("ben", "one")));
    std::fs::write(&config, &elsewhere).unwrap();
    mail.resume(&id, ["--approve"]).ends_with(3);
    // A remembered answer.
    std::fs::write(&config, &before).unwrap();
    let id = id_of(&mail.paused(&send("anna", "one")));
    mail.resume(&id, ["--approve", "--remember", "30d"])
        .ends_with(0);
    std::fs::write(&config, &elsewhere).unwrap();
    run(&mail, &send("anna", "two"), 3);
    assert!(!other.exists());
    // The control: other keys of the entry say nothing about who gets the call.
    let timeout = "[servers.mail]\ntimeout_ms = 5000\n";
    std::fs::write(&config, before.replacen("[servers.mail]\n", timeout, 1)).unwrap();
    run(&mail, &send("anna", "three"), 0);
    assert_eq!(mail.calls().len(), 2);
}
