//! Secrets of the configuration are in nothing that leaves, in no encoding; programs and the journal have them.
//!
//! The canary is in the settings of a server. A program has it too, as it would from a tool that returns it.

use std::fs;

use serde_json::{Value, json};

use crate::http::Served;
use crate::serve::Client;
use crate::world::{LIMBECK, World};

const CANARY: &str = "canary-of-a-server/2f0c9d";
/// What the program has of it, so that no file has the canary as it is.
const PROGRAM: &str = "
    const c = ['canary-of-a', '-server/2f0c9d'].join('');
    const hex = [...new TextEncoder().encode(c)].map(b => b.toString(16).padStart(2, '0')).join('');
    const forms = [c, btoa(c), btoa('x' + c), btoa('xy' + c), hex, encodeURIComponent(c), JSON.stringify({c})];
    console.log('said', c);
    console.error('warned', btoa(c));
    const order = await tools.shop.get_customer({id: 'cus_0003'});
";
/// The forms, and the part of the three of base64 that the canary alone decides.
const FORMS: &[&str] = &[
    CANARY,
    "Y2FuYXJ5LW9mLWEtc2VydmVyLzJmMGM5Z",
    "NhbmFyeS1vZi1hLXNlcnZlci8yZjBjOW",
    "jYW5hcnktb2YtYS1zZXJ2ZXIvMmYwYzlk",
    "63616e6172792d6f662d612d7365727665722f326630633964",
    "canary-of-a-server%2F2f0c9d",
];

fn world() -> World {
    let world = World::empty();
    let entry =
        json!({"command": LIMBECK, "args": ["demo-upstream"], "env": {"API_TOKEN": CANARY}});
    let servers = json!({"mcpServers": {"shop": entry}});
    world.file(".mcp.json", &servers.to_string());
    world
}

#[track_caller]
fn assert_clean(said: &str) {
    for form in FORMS {
        assert!(!said.contains(form), "{form}: {said}");
    }
}

#[test]
fn no_encoding_of_a_secret_is_printed_answered_or_logged_and_the_journal_has_it() {
    let world = world();
    let returned = format!("{PROGRAM} return {{forms, [c]: order.id}}");
    for arguments in [&["run", "-", "--json"][..], &["run", "-"]] {
        let mut command = world.command(arguments);
        command.args(["--log", "trace"]);
        let input = world.file("returned.ts", &returned);
        command.stdin(fs::File::open(input).unwrap());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let (stdout, stderr) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert_clean(&stdout);
        assert_clean(&stderr);
        // The control: the rest of the answer is there.
        assert!(
            stdout.contains("[redacted]") && stdout.contains("cus_0003"),
            "{stdout}"
        );
        assert!(stdout.contains("said [redacted]"), "{stdout}");
    }
    let thrown = world
        .limbeck_reading(
            ["run", "-"],
            &format!("{PROGRAM} throw new Error('no ' + c)"),
        )
        .ends_with(1);
    assert_clean(&thrown.stderr);
    assert!(thrown.stderr.contains("no [redacted]"), "{thrown:?}");

    let mut client = Client::connect(&world, &["serve"]);
    let call = json!({"name": "execute", "arguments": {"code": returned}});
    let answer = client.ask(2, "tools/call", &call);
    assert_clean(&answer.to_string());
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("[redacted]") && text.contains("cus_0003"),
        "{text}"
    );
    let searched = json!({"name": "search", "arguments": {"queries": [CANARY]}});
    assert_clean(&client.ask(3, "tools/call", &searched).to_string());
    drop(client);

    let id: Value = world.limbeck(["executions", "--json"]).json();
    let id = id["executions"][0]["id"].as_str().unwrap().to_owned();
    let shown = world.limbeck(["executions", &id, "--json"]).ends_with(0);
    assert_clean(&shown.stdout);
    let state = world.home().join(".local/state/limbeck");
    let kept: Vec<u8> = ["state.db", "state.db-wal"]
        .iter()
        .flat_map(|file| fs::read(state.join(file)).unwrap_or_default())
        .collect();
    let is_kept = kept
        .windows(CANARY.len())
        .any(|part| part == CANARY.as_bytes());
    assert!(is_kept, "replay needs the value in the journal");
    let records = world.limbeck(["audit", "export"]).ends_with(0).stdout;
    assert_clean(&records);
    assert!(records.contains("\"event\":\"search\""), "{records}");
}

#[test]
fn a_shape_that_no_server_is_to_get_is_masked_or_its_call_denied() {
    let world = World::with_shop().trusting("shop");
    let settings = world.home().join(".config/limbeck/config.toml");
    let trusting = fs::read_to_string(&settings).unwrap();
    let rule = |action: &str| {
        let rule = format!("[[redaction.rule]]\nshapes = ['email']\nto_servers = '{action}'\n");
        fs::write(&settings, format!("{trusting}{rule}")).unwrap();
    };
    let program = "return await tools.shop.get_customer({id: 'a@b.org'})";
    let said = |world: &World| {
        let envelope = world.envelope(program);
        let error = &envelope["error"];
        (
            error["code"].clone(),
            error["message"].as_str().unwrap().to_owned(),
        )
    };
    // The control: the server says that it has no such customer.
    let (code, message) = said(&world);
    assert_eq!(code, "tool_failed", "{message}");
    rule("mask");
    let (code, message) = said(&world);
    assert_eq!(code, "tool_failed", "{message}");
    assert!(!message.contains("a@b.org"), "{message}");
    rule("block");
    let (code, message) = said(&world);
    assert_eq!(code, "denied", "{message}");
    assert!(message.contains("email"), "{message}");
}

#[test]
fn a_token_of_the_http_face_is_in_no_answer() {
    let world = world();
    let token = "t0ken-of-the-face-that-is-in-no-answer-0001";
    let tokens = world.file("tokens", &format!("alice {token}\n"));
    let served = Served::start(&world, &["--token-file", tokens.to_str().unwrap()]);
    let mut client = served.client(token);
    let code = format!("return ['{}', 'cus' + '_0003', '{CANARY}']", token);
    let answer = client.execute(&code).unwrap();
    let answer = answer.to_string();
    assert!(!answer.contains(token), "{answer}");
    assert_clean(&answer);
    assert!(
        answer.contains("cus_0003") && answer.contains("[redacted]"),
        "{answer}"
    );
}
