//! `limbeck policy suggest`: rules from approvals.

use serde_json::{Value, json};

use crate::approvals::Mail;
use crate::world::World;

const BALANCED: &str = "[policy]\npreset = 'balanced'\n";

/// Runs a program whose plan is asked about, and answers.
fn answered(mail: &Mail, to: &str, answer: &str) {
    let program = format!("return (await tools.mail.send({{ to: '{to}', text: 'hi' }})).sent");
    let envelope = mail.paused(&program);
    let id = envelope["execution_id"].as_str().unwrap();
    mail.resume(id, [answer]).ends_with(0);
}

fn suggested(world: &World) -> Vec<Value> {
    let shown = world
        .limbeck(["policy", "suggest", "--json"])
        .ends_with(0)
        .json();
    shown["suggestions"].as_array().unwrap().clone()
}

#[test]
fn what_was_approved_three_times_becomes_a_rule_and_what_was_denied_does_not() {
    let mail = Mail::with(BALANCED);
    let anna = "anna@example.org";
    for _ in 0..2 {
        answered(&mail, anna, "--approve");
    }
    assert_eq!(suggested(&mail.world), Vec::<Value>::new());
    answered(&mail, anna, "--approve");
    let [rule] = &*suggested(&mail.world) else {
        panic!("{:?}", suggested(&mail.world))
    };
    assert_eq!(
        (&rule["tool"], &rule["approvals"]),
        (&json!("mail.send"), &json!(3))
    );
    let arguments = json!({ "to": { "eq": anna }, "text": { "eq": "hi" } });
    assert_eq!(rule["args"], arguments);
    let [changed] = rule["backtest"]["changed"].as_array().unwrap().as_slice() else {
        panic!("{rule}")
    };
    assert_eq!(
        (&changed["from"], &changed["to"]),
        (&json!("ask"), &json!("allow"))
    );
    assert_eq!(
        (&changed["calls"], &changed["executions"]),
        (&json!(3), &json!(3))
    );

    // The rule is one that is read, and a call like those goes out unasked.
    let file = mail.world.home().join(".config/limbeck/config.toml");
    let before = std::fs::read_to_string(&file).unwrap();
    let with_rule = format!("{before}\n{}", rule["toml"].as_str().unwrap());
    std::fs::write(&file, with_rule).unwrap();
    mail.world.limbeck(["policy", "check"]).ends_with(0);
    let program = format!("return (await tools.mail.send({{ to: '{anna}', text: 'hi' }})).sent");
    let envelope = mail.world.envelope(&program);
    assert_eq!(envelope["value"], true, "{envelope}");

    // A person denies such a call: nothing that allows it is suggested.
    std::fs::write(&file, before).unwrap();
    let envelope = mail.paused(&program);
    let id = envelope["execution_id"].as_str().unwrap();
    mail.resume(id, ["--deny"]);
    assert_eq!(suggested(&mail.world), Vec::<Value>::new());
}
