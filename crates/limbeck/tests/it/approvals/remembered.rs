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
