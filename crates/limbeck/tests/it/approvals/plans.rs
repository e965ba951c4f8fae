//! One question for the writes of a program: governance 26 and 48 to 51, on every way by which a person answers.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::terminal::on_terminal;
use super::{Mail, id_of, questions_of};
use crate::http::{Served, tokens};
use crate::serve::Client;

/// Time after which a condition counts as one that never holds.
const HANG: Duration = Duration::from_secs(60);

const BALANCED: &str = "[policy]\npreset = \"balanced\"\n";

/// Two lines of a plan; the first call may fail.
const TWO_LINES: &str = "const first = await tools.mail.send({ to: 'anna', n: 1 }).then(() => 'sent', (error: any) => error.code);
await tools.mail.send({ to: 'ben', n: 2 });
return first";

fn recipients(mail: &Mail) -> Vec<String> {
    let calls = mail.calls();
    let recipients = calls.iter().map(|call| call["to"].as_str().unwrap());
    recipients.map(str::to_owned).collect()
}

/// The only open question, which is about a plan.
fn plan_of(envelope: &Value) -> &Value {
    let [plan] = envelope["pending"].as_array().unwrap().as_slice() else {
        panic!("{envelope}")
    };
    assert!(plan["plan_lines"].is_u64(), "{envelope}");
    plan
}

#[test]
fn forty_equal_writes_are_one_question_in_both_languages() {
    for (language, program) in [
        (
            "ts",
            "for (let n = 0; n < 40; n++) await tools.mail.send({ to: 'anna', n });\nreturn 40",
        ),
        (
            "py",
            "for n in range(40):\n    await tools.mail.send({'to': 'anna', 'n': n})\nreturn 40",
        ),
    ] {
        let mail = Mail::with(BALANCED);
        let run = ["run", "-", "--json", "--language", language];
        let paused = mail.world.limbeck_reading(run, program).ends_with(3).json();
        let plan = plan_of(&paused);
        assert_eq!(
            (&plan["plan_lines"], &plan["server"], &plan["tool"]),
            (&json!(1), &json!("mail"), &json!("send"))
        );
        assert_eq!(mail.calls(), [] as [Value; 0]);
        let listed = &mail.approvals()[0];
        assert_eq!(
            (&listed["call_id"], &listed["preset"]),
            (&json!(0), &json!("balanced"))
        );
        let line = &listed["arguments"]["lines"][0];
        assert_eq!(line["count"], json!({"at_most": 40}), "{listed}");
        assert_eq!(
            line["constants"],
            json!([{"name": "to", "json": "\"anna\""}])
        );
        assert_eq!(line["open"], json!(["n"]));

        let resumed = mail.resume(&id_of(&paused), ["--approve"]).ends_with(0);
        let resumed = resumed.json();
        assert_eq!(resumed["value"], 40, "{resumed}");
        assert_eq!(resumed["effects"], json!({"reads": 0, "writes": 40}));
        assert_eq!(mail.calls().len(), 40);
        let listed = mail.approvals();
        assert_eq!((listed.len(), &listed[0]["state"]), (1, &json!("spent")));
        assert_eq!(listed[0]["decisions"][0]["lines"], json!([1]));
        let replayed = mail.world.limbeck(["replay", &id_of(&paused)]);
        replayed.ends_with(0);
    }
}

#[test]
fn the_question_shows_all_that_is_accepted() {
    let mail = Mail::with(BALANCED);
    let program = "const found = await tools.mail.list({ box: 'in' });
await tools.mail.send({ to: 'anna\\u202e', text: found.text, amount: 9007199254740992 });
await tools.mail['se' + 'nd']({ to: 'ben' });";
    let paused = mail.paused(program);
    let question = &questions_of(&paused)[0];
    let shown = mail
        .world
        .limbeck(["approvals", question])
        .ends_with(0)
        .stdout;
    for part in [
        "Allow the writes of this program for",
        "1. mail.list (unknown; no class was set), once, line 1",
        "2. mail.send (unknown; no class was set), once, line 2",
        "\"anna<U+202E>\"",
        "computed when it runs, may have results of mail.list (line 1), and of calls that could not be followed (untrusted)",
        "9007199254740992",
        "2 | await tools.mail.send({ to:",
        "the program has 1 such place",
        "Preset balanced. Expires in 2",
        "Warning: ",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // A call of any tool may come from the place with a computed name, so the line with a computed argument covers nothing.
    let asked = mail
        .resume(&id_of(&paused), ["--approve"])
        .ends_with(3)
        .json();
    assert_eq!(asked["pending"][0]["tool"], "send");
    assert_eq!(mail.calls(), [json!({"box": "in"})]);
    // What no line shows is asked about when it is made.
    let asked = mail
        .resume(&id_of(&paused), ["--approve"])
        .ends_with(3)
        .json();
    let [call] = asked["pending"].as_array().unwrap().as_slice() else {
        panic!("{asked}")
    };
    assert_eq!(
        (&call["tool"], &call["plan_lines"]),
        (&json!("send"), &Value::Null)
    );
    assert_eq!(mail.calls().len(), 2);
    mail.resume(&id_of(&paused), ["--approve"]).ends_with(0);
    assert_eq!(mail.calls()[2], json!({"to": "ben"}));
}

#[test]
fn a_program_that_writes_nothing_is_not_asked_about() {
    let reads = format!("{BALANCED}[policy.classes]\n\"mail.list\" = \"read\"\n");
    let mail = Mail::with(&reads);
    for program in ["return 1 + 1", "return (await tools.mail.list({})).sent"] {
        let run = mail.world.limbeck_reading(["run", "-", "--json"], program);
        run.ends_with(0);
    }
    assert_eq!(mail.approvals(), [] as [Value; 0]);
    assert_eq!(mail.calls().len(), 1);
    // The control: the same program where the list may write.
    let mail = Mail::with(BALANCED);
    plan_of(&mail.paused("return (await tools.mail.list({})).sent"));
}

#[test]
fn only_the_chosen_lines_are_accepted() {
    let mail = Mail::with(BALANCED);
    let id = id_of(&mail.paused(TWO_LINES));
    for wrong in ["3", "0", "x"] {
        let refused = mail.resume(&id, ["--approve", "--lines", wrong]);
        assert_ne!(refused.code, 0, "{refused:?}");
        assert_eq!(mail.approvals()[0]["state"], "pending", "{wrong}");
    }
    let asked = mail.resume(&id, ["--approve", "--lines", "2"]).ends_with(3);
    let asked = asked.json();
    assert_eq!(asked["pending"][0]["plan_lines"], Value::Null, "{asked}");
    assert_eq!(mail.calls(), [] as [Value; 0]);
    let done = mail.resume(&id, ["--deny"]).ends_with(0).json();
    assert_eq!(done["value"], "denied", "{done}");
    assert_eq!(recipients(&mail), ["ben"]);
    // The control: together they are accepted both.
    let id = id_of(&mail.paused(TWO_LINES));
    let done = mail.resume(&id, ["--approve"]).ends_with(0).json();
    assert_eq!(done["value"], "sent", "{done}");
    assert_eq!(recipients(&mail), ["ben", "anna", "ben"]);
}

#[test]
fn a_destructive_line_is_accepted_by_its_number_alone() {
    let rules = format!("{BALANCED}[policy.classes]\n\"mail.list\" = \"destructive\"\n");
    let mail = Mail::with(&rules);
    let program = "await tools.mail.send({ to: 'anna' });
await tools.mail.list({ n: 7 });
return true";
    let paused = mail.paused(program);
    let shown = mail.world.limbeck(["approvals", &questions_of(&paused)[0]]);
    let shown = shown.ends_with(0).stdout;
    assert!(
        shown.contains("line 2; only when it is chosen by its number"),
        "{shown}"
    );
    let asked = mail
        .resume(&id_of(&paused), ["--approve"])
        .ends_with(3)
        .json();
    assert_eq!(asked["pending"][0]["class"], "destructive", "{asked}");
    assert_eq!(asked["pending"][0]["plan_lines"], Value::Null, "{asked}");
    assert_eq!(recipients(&mail), ["anna"]);
    let chosen = id_of(&mail.paused(program));
    mail.resume(&chosen, ["--approve", "--lines", "1,2"])
        .ends_with(0);
    assert_eq!(mail.calls()[2], json!({"n": 7}));
    // A program whose only writes are destructive has nothing to accept together.
    let single = mail.paused("await tools.mail.list({ n: 8 })");
    assert_eq!(single["pending"][0]["plan_lines"], Value::Null, "{single}");
}

#[test]
fn a_denied_plan_ends_the_program_before_its_first_line() {
    let mail = Mail::with(BALANCED);
    let program =
        "console.log('begins'); try { await tools.mail.send({ to: 'anna' }) } catch {} return 1";
    let id = id_of(&mail.paused(program));
    let denied = mail.resume(&id, ["--deny", "--reason", "not before Monday"]);
    assert_ne!(denied.code, 0);
    let denied = denied.json();
    assert_eq!(denied["status"], "cancelled", "{denied}");
    let message = denied["error"]["message"].as_str().unwrap();
    for part in [
        "user:local did not allow the writes of this program",
        "not before Monday",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let hint = denied["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("ask the user what to do instead"), "{hint}");
    assert_eq!(denied["stdout"], Value::Null, "{denied}");
    assert_eq!(mail.calls(), [] as [Value; 0]);
    assert_eq!(mail.approvals()[0]["state"], "denied");
    // It ends there again.
    mail.world.limbeck(["replay", &id]).ends_with(0);
}

#[test]
fn what_was_used_of_a_line_counts_after_a_restart() {
    let mail = Mail::with(BALANCED);
    let program = "const upTo = (n: number) => [...Array(n).keys()];
const send = (n: number) => tools.mail.send({ to: 'anna', n });
for (const n of upTo(20)) await send(n);
await tools.mail.send({ to: 'ben' });
for (const n of upTo(6)) await send(n + 20);
return 26";
    let paused = mail.paused(program);
    let id = id_of(&paused);
    let many = &mail.approvals()[0]["arguments"]["lines"][0]["count"];
    assert_eq!(*many, json!({"many": 25}));
    for wrong in ["0", "10001", "-1"] {
        assert_ne!(
            mail.resume(&id, ["--approve", "--many", wrong]).code,
            0,
            "{wrong}"
        );
    }
    // Another process each time: 20 calls of the line, then the call of a line that is not accepted.
    mail.resume(&id, ["--approve", "--lines", "1"]).ends_with(3);
    assert_eq!(mail.calls().len(), 20);
    // 5 more, and the line is used up.
    let asked = mail.resume(&id, ["--approve"]).ends_with(3).json();
    assert_eq!(mail.calls().len(), 26);
    let question = &questions_of(&asked)[0];
    let shown = mail
        .world
        .limbeck(["approvals", question, "--json"])
        .ends_with(0)
        .json();
    assert_eq!(
        shown["approvals"][0]["arguments"],
        json!({"to": "anna", "n": 25})
    );
    let done = mail.resume(&id, ["--approve"]).ends_with(0).json();
    assert_eq!(done["value"], 26, "{done}");
    assert_eq!(mail.calls().len(), 27);
    // The control: a person who allows more of them is not asked again.
    let id = id_of(&mail.paused(program));
    mail.resume(&id, ["--approve", "--lines", "1", "--many", "26"])
        .ends_with(3);
    let done = mail.resume(&id, ["--approve"]).ends_with(0).json();
    assert_eq!(done["value"], 26, "{done}");
}

#[test]
fn a_tool_that_changed_since_its_line_was_shown_is_asked_about() {
    let mail = Mail::with(BALANCED);
    let id = id_of(&mail.paused(TWO_LINES));
    let changed = super::SERVER.replace(
        "{\"name\":\"send\",",
        "{\"name\":\"send\",\"description\":\"to all\",",
    );
    assert_ne!(changed, super::SERVER);
    mail.world.file("mail.sh", &changed);
    let asked = mail.resume(&id, ["--approve"]).ends_with(3).json();
    assert_eq!(asked["pending"][0]["plan_lines"], Value::Null, "{asked}");
    assert_eq!(mail.calls(), [] as [Value; 0]);
    mail.resume(&id, ["--approve"]).ends_with(3);
    mail.resume(&id, ["--approve"]).ends_with(0);
    assert_eq!(recipients(&mail), ["anna", "ben"]);
}

#[test]
fn a_rule_that_asks_is_not_answered_by_the_plan() {
    let rules = format!(
        "{BALANCED}[[policy.rule]]\nid = \"large\"\neffect = \"ask\"\ntools = [\"mail.send\"]\nargs = {{ n = {{ gt = 100 }} }}\n"
    );
    let mail = Mail::with(&rules);
    // The number is computed in the first, so a condition names what no person saw.
    let program = "const n = [5].length; await tools.mail.send({ to: 'anna', n });
await tools.mail.send({ to: 'ben', n: 5 });
await tools.mail.list({});";
    let paused = mail.paused(program);
    assert_eq!(plan_of(&paused)["plan_lines"], 2, "{paused}");
    let asked = mail
        .resume(&id_of(&paused), ["--approve"])
        .ends_with(3)
        .json();
    assert_eq!(asked["pending"][0]["plan_lines"], Value::Null, "{asked}");
    mail.resume(&id_of(&paused), ["--approve"]).ends_with(0);
    assert_eq!(mail.calls().len(), 3);
    assert_eq!(mail.approvals().len(), 2);
}

#[test]
fn without_a_person_the_calls_are_denied_or_the_program_does_not_start() {
    let mail = Mail::with(BALANCED);
    let run = |on_ask: &str| {
        let arguments = ["run", "-", "--json", "--on-ask", on_ask];
        mail.world.limbeck_reading(arguments, super::CATCHING)
    };
    let denied = run("deny").ends_with(0).json();
    assert_eq!(denied["value"][0], "denied", "{denied}");
    let failed = run("fail").ends_with(1).json();
    assert_eq!(failed["error"]["kind"], "approval_needed", "{failed}");
    assert_eq!(mail.approvals(), [] as [Value; 0]);
    plan_of(&run("pause").ends_with(3).json());
    assert_eq!(mail.calls(), [] as [Value; 0]);
}

#[test]
fn a_question_about_a_plan_survives_the_death_of_its_gateway() {
    let mail = Mail::with(BALANCED);
    let mut client = Client::connect(&mail.world, &["serve"]);
    let code = json!({"name": "execute", "arguments": {"code": TWO_LINES}});
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": code}));
    let limit = Instant::now() + HANG;
    while mail.approvals().is_empty() {
        assert!(Instant::now() < limit, "nothing is asked");
        std::thread::sleep(Duration::from_millis(5));
    }
    client.child.kill().unwrap();
    client.child.wait().unwrap();
    let asked = &mail.approvals()[0];
    assert_eq!(asked["state"], "pending");
    let id = asked["execution_id"].as_str().unwrap();
    let done = mail.resume(id, ["--approve"]).ends_with(0).json();
    assert_eq!(done["value"], "sent", "{done}");
    assert_eq!(recipients(&mail), ["anna", "ben"]);
    assert_eq!(mail.approvals().len(), 1);
}

/// The next message of a client's server for which `is_it` holds.
fn until(client: &mut Client, is_it: impl Fn(&Value) -> bool) -> Value {
    loop {
        let message = client.next();
        if is_it(&message) {
            return message;
        }
    }
}

#[test]
fn a_client_shows_the_plan_in_a_form_and_its_user_chooses_lines() {
    let mail = Mail::with(BALANCED);
    let mut client = Client::silent(
        mail.world
            .command(["serve"])
            .stderr(std::process::Stdio::null()),
    );
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "test", "version": "0"}});
    client.ask(1, "initialize", &hello);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let code = json!({"name": "execute", "arguments": {"code": TWO_LINES}});
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": code}));
    let form = until(&mut client, |message| {
        message["method"] == "elicitation/create"
    });
    let properties = &form["params"]["requestedSchema"]["properties"];
    assert_eq!(
        properties["decision"]["enum"],
        json!(["approve", "deny", "deny and stop"])
    );
    assert_eq!(properties["lines"]["type"], "string");
    let message = form["params"]["message"].as_str().unwrap();
    assert!(message.contains("2. mail.send"), "{message}");
    let content = json!({"decision": "approve", "lines": "1, 2"});
    let answer = json!({"action": "accept", "content": content});
    client.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": answer}));
    until(&mut client, |message| message["id"] == 2);
    assert_eq!(recipients(&mail), ["anna", "ben"]);
    let decision = &mail.approvals()[0]["decisions"][0];
    assert_eq!(
        (&decision["channel"], &decision["lines"]),
        (&json!("client"), &json!([1, 2]))
    );
}

#[test]
fn over_http_lines_are_chosen_and_unknown_ones_refused() {
    let mail = Mail::with(BALANCED);
    let (file, [alice, _]) = tokens(&mail.world);
    let served = Served::start(&mail.world, &["--token-file", &file]);
    let mut client = served.client(&alice);
    let running = std::thread::spawn(move || client.execute(TWO_LINES).unwrap());
    let question = super::channels::asked(served.address, &alice);
    let path = format!("/approvals/{question}");
    let http = |request: &str, body: Option<&Value>| {
        super::channels::http(served.address, &alice, &format!("{request} {path}"), body)
    };
    let (_, shown) = http("GET", None);
    assert_eq!(shown["approval"]["plan_lines"], 2, "{shown}");
    let unknown = json!({"decision": "approve", "lines": [1, 3]});
    let (status, refused) = http("POST", Some(&unknown));
    assert_eq!(status, 403, "{refused}");
    let (status, _) = http("POST", Some(&json!({"decision": "deny", "lines": [1]})));
    assert_eq!(status, 400);
    assert_eq!(mail.calls(), [] as [Value; 0]);
    let chosen = json!({"decision": "approve", "lines": [2, 1]});
    let (status, decided) = http("POST", Some(&chosen));
    assert_eq!(status, 200, "{decided}");
    assert_eq!(decided["approval"]["decisions"][0]["lines"], json!([1, 2]));
    assert_eq!(running.join().unwrap()["value"], "sent");
    assert_eq!(recipients(&mail), ["anna", "ben"]);
}

#[test]
fn at_a_terminal_lines_are_chosen_by_their_numbers() {
    let mail = Mail::with(BALANCED);
    mail.world.file("program.ts", TWO_LINES);
    let steps = [
        ("1,3: these lines", "2\n"),
        ("allow? y: yes", "n\n"),
        ("reason", "\n"),
    ];
    let (code, shown) = on_terminal(&mail, &["run", "program.ts"], &steps);
    assert_eq!(code, 0, "{shown}");
    assert_eq!(recipients(&mail), ["ben"]);
    let (code, shown) = on_terminal(&mail, &["run", "program.ts"], &[("y: all lines", "y\n")]);
    assert_eq!(code, 0, "{shown}");
    assert_eq!(recipients(&mail), ["ben", "anna", "ben"]);
}

#[test]
fn explain_says_that_the_plan_is_asked_about() {
    let mail = Mail::with(BALANCED);
    let explained = mail
        .world
        .limbeck(["policy", "explain", "mail.send", "--json"]);
    let explained = explained.ends_with(0).json();
    assert_eq!(explained["effect"], "ask");
    assert_eq!(
        (&explained["ask"]["unit"], &explained["ask"]["preset"]),
        (&json!("program"), &json!("plan"))
    );
    let mail = Mail::with(super::ASK);
    let explained = mail
        .world
        .limbeck(["policy", "explain", "mail.send", "--json"]);
    let explained = explained.ends_with(0).json();
    assert_eq!(
        (&explained["ask"]["unit"], &explained["ask"]["preset"]),
        (&json!("call"), &Value::Null)
    );
}
