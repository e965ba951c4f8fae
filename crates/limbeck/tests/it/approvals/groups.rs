//! Groups of questions: governance 42 and 43. And denials that count beyond their question: governance 39.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::terminal::on_terminal;
use super::{ASK, CATCHING, Mail, id_of, questions_of};

/// A program of 40 calls at one place.
const FORTY: &str = "const numbers = Array.from({ length: 40 }, (_, n) => n);
const sent = await Promise.allSettled(numbers.map(n => tools.mail.send({ n })));
return sent.filter(one => one.status === 'fulfilled').length";

#[test]
fn of_a_group_of_forty_exactly_the_chosen_thirty_seven_are_sent() {
    let mail = Mail::with(ASK);
    let mut envelope = mail.paused(FORTY);
    let id = id_of(&envelope);
    let mut chosen = BTreeSet::new();
    // As many as one person can look through are open at a time.
    for (approved, exit) in [(18, 3), (19, 0)] {
        let questions = questions_of(&envelope);
        assert_eq!(questions.len(), 20);
        let all = mail.approvals();
        for question in &questions[..approved] {
            let asked = all.iter().find(|one| one["id"] == **question).unwrap();
            chosen.insert(asked["arguments"]["n"].as_u64().unwrap());
        }
        let approve = questions[..approved].iter().map(String::as_str);
        let mut arguments = vec!["resume", &id, "--approve"];
        arguments.extend(approve);
        arguments.push("--deny");
        arguments.extend(questions[approved..].iter().map(String::as_str));
        arguments.push("--json");
        let output = mail.world.command(arguments).output().unwrap();
        envelope = crate::world::CommandOutcome::of(output)
            .ends_with(exit)
            .json();
    }
    assert_eq!(envelope["value"], 37);
    let sent: BTreeSet<u64> = mail
        .calls()
        .iter()
        .map(|call| call["n"].as_u64().unwrap())
        .collect();
    assert_eq!((sent.len(), mail.calls().len()), (37, 37));
    assert_eq!(sent, chosen);
}

#[test]
fn at_a_terminal_a_group_is_one_question_of_which_some_are_chosen() {
    let mail = Mail::with(ASK);
    let program =
        "const sent = await Promise.allSettled([7, 8, 9, 10].map(n => tools.mail.send({ n })));
return sent.map(one => one.status)";
    mail.world.file("program.ts", program);
    // Four denials that are one act do not end the program.
    let steps = [("all 4", "y 1,3\n"), ("all 2", "n\n"), ("reason", "\n")];
    let (code, shown) = on_terminal(&mail, &["run", "program.ts"], &steps);
    assert_eq!(code, 0, "{shown}");
    let mut sent: Vec<u64> = mail
        .calls()
        .iter()
        .map(|call| call["n"].as_u64().unwrap())
        .collect();
    sent.sort_unstable();
    assert_eq!(sent, [7, 9], "{shown}");
}

#[test]
fn under_balanced_the_third_identical_call_of_a_run_is_asked_about() {
    let rules = "[policy]\npreset = \"balanced\"\nclasses = { \"mail.list\" = \"read\" }\n";
    let mail = Mail::with(rules);
    let program = |page: &str| {
        format!("for (let n = 0; n < 4; n++) await tools.mail.list({{ page: {page} }}); return 1")
    };
    let envelope = mail.paused(&program("1"));
    assert_eq!(mail.calls().len(), 2);
    let asked = &mail.approvals()[0];
    assert_eq!(
        (&asked["preset"], &asked["class"]),
        (&json!("balanced"), &json!("read"))
    );
    let id = id_of(&envelope);
    // The same again is asked about again, unless the answer counts for the run.
    mail.resume(&id, ["--approve"]).ends_with(3);
    assert_eq!(mail.calls().len(), 3);
    mail.resume(&id, ["--approve", "--remember", "run"])
        .ends_with(0);
    assert_eq!(mail.calls().len(), 4);
    // The control: calls that differ are not asked about.
    let run = mail
        .world
        .limbeck_reading(["run", "-", "--json"], &program("n"));
    run.ends_with(0);
    assert_eq!(mail.calls().len(), 8);
}

#[test]
fn a_call_that_was_denied_gets_the_old_denial_in_another_run_until_it_is_forgotten() {
    let mail = Mail::with(ASK);
    let id = id_of(&mail.paused(CATCHING));
    mail.resume(&id, ["--deny", "--reason", "not today"])
        .ends_with(0);
    let again = mail.world.limbeck_reading(["run", "-", "--json"], CATCHING);
    let value = again.ends_with(0).json()["value"].clone();
    assert_eq!(value[0], "denied", "{value}");
    let message = value[1].as_str().unwrap();
    assert!(
        message.contains("user:local") && message.contains("not today"),
        "{message}"
    );
    assert_eq!(mail.approvals().len(), 1);
    // The control: other arguments are asked about.
    let other = CATCHING.replace("anna@", "ben@");
    mail.paused(&other);
    let question = mail.approvals()[0]["id"].as_str().unwrap().to_owned();
    mail.world
        .limbeck(["approvals", "forget", &question])
        .ends_with(0);
    mail.paused(CATCHING);
    assert_eq!(mail.calls(), [] as [Value; 0]);
    assert_eq!(
        mail.approvals()[0]["decisions"][0]["reason"],
        json!("not today")
    );
}
