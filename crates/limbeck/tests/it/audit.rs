//! The audit trail as users have it: checkpoints and anchors, erasure, refused requests, retention.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::serve::Client;
use crate::world::World;

const PROGRAM: &str = "return (await tools.shop.get_customer({id: 'cus_0003'})).id";

fn settings(world: &World, text: &str) {
    let directory = world.home().join(".config/limbeck");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("config.toml"), text).unwrap();
}

fn run(world: &World) {
    let envelope = world.envelope(PROGRAM);
    assert_eq!(envelope["value"], "cus_0003", "{envelope}");
}

fn copy(from: &Path, to: &Path) {
    drop(fs::remove_dir_all(to));
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        if entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

fn records(world: &World) -> Vec<Value> {
    let exported = world.limbeck(["audit", "export"]).ends_with(0).stdout;
    let lines = exported.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_state_directory_that_is_set_back_is_found_by_the_anchor() {
    let world = World::with_shop();
    let (key, anchor) = (
        world.path().join("keys/audit.key"),
        world.path().join("anchor"),
    );
    settings(
        &world,
        &format!(
            "[audit]\nkey = '{}'\nanchor = '{}'\n",
            key.display(),
            anchor.display()
        ),
    );
    run(&world);
    let public = format!("{}.pub", key.display());
    let anchor = anchor.display().to_string();
    let state = world.home().join(".local/state/limbeck");
    let earlier = world.path().join("earlier");
    copy(&state, &earlier);
    run(&world);
    let verify = |arguments: &[&str], code: i32| -> Value {
        let mut command = world.command(["audit", "verify", "--json"]);
        let output = command.args(arguments).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {output:?}"
        );
        serde_json::from_slice(&output.stdout).unwrap()
    };
    // The control: nothing was changed.
    let whole = verify(&["--key", &public, "--anchor", &anchor], 0);
    assert_eq!(whole["ok"], true);
    assert_eq!(whole["signed"], whole["records"], "{whole}");
    verify(&["--key", &public], 0);

    copy(&earlier, &state);
    assert_eq!(
        verify(&[], 0)["ok"],
        true,
        "without the anchor it is not found"
    );
    let set_back = verify(&["--key", &public, "--anchor", &anchor], 1);
    assert_eq!(set_back["first_bad"]["kind"], "truncated", "{set_back}");
    // What is written after it is another chain.
    run(&world);
    run(&world);
    let forked = verify(&["--key", &public, "--anchor", &anchor], 1);
    assert_eq!(forked["first_bad"]["kind"], "forked", "{forked}");

    let note = fs::read_to_string(&anchor).unwrap();
    let time = note.lines().find(|line| line.starts_with("time ")).unwrap();
    fs::write(&anchor, note.replacen(time, "time 1", 1)).unwrap();
    let edited = verify(&["--key", &public, "--anchor", &anchor], 1);
    assert_eq!(edited["first_bad"]["kind"], "signature", "{edited}");
    let missing = world.limbeck(["audit", "verify", "--anchor", "/nowhere"]);
    assert_eq!(missing.code, 2, "{missing:?}");
}

#[test]
fn what_was_erased_is_gone_and_the_records_still_verify() {
    let world = World::with_shop();
    run(&world);
    let salts = |world: &World| {
        let state = world.home().join(".local/state/limbeck/state.db");
        let state = rusqlite::Connection::open(state).unwrap();
        let sql = "SELECT count(*) FROM audit WHERE salt IS NOT NULL";
        state
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    let before = salts(&world);
    assert!(before >= 2, "{before}");
    world.limbeck(["audit", "erase"]).ends_with(2);
    let of_another = world.limbeck(["audit", "erase", "--principal", "another", "--json"]);
    assert_eq!(of_another.ends_with(0).json(), json!({"erased": 0}));
    assert_eq!(salts(&world), before);
    let erased = world.limbeck(["audit", "erase", "--principal", "local", "--json"]);
    assert_eq!(erased.ends_with(0).json(), json!({"erased": before}));
    assert_eq!(salts(&world), 0);
    assert_eq!(
        world
            .limbeck(["audit", "verify", "--json"])
            .ends_with(0)
            .json()["ok"],
        true
    );
    let erasures = records(&world);
    let erasures = erasures.iter().filter(|record| record["event"] == "erase");
    assert_eq!(erasures.count(), 2);
}

#[test]
fn refused_requests_and_searches_have_records_in_both_vocabularies_and_verify_alone() {
    let world = World::with_shop();
    let mut client = Client::connect(&world, &["serve"]);
    let mut called = |id, name: &str, arguments: &Value| {
        let call = json!({"name": name, "arguments": arguments});
        client.ask(id, "tools/call", &call)
    };
    called(2, "execute", &json!({"code": PROGRAM}));
    called(3, "execute", &json!({"cod": 1}));
    called(4, "nothing_of_this_name", &json!({}));
    called(5, "search", &json!({"queries": ["a customer by id"]}));
    client.write("this is no message\n");
    assert_eq!(client.next()["error"]["code"], -32_700);
    drop(client);

    let arguments = ["call", "shop", "get_customer", "{\"id\":\"cus_0003\"}"];
    world.limbeck(arguments).ends_with(0);
    let unknown = ["call", "shop", "get_customer", "{\"id\":\"another\"}"];
    assert_ne!(world.limbeck(unknown).code, 0);

    let records = records(&world);
    let of_user = |event: &str| {
        let records = records.iter().filter(|record| record["event"] == event);
        records.filter(|record| record["client"] == "call").count()
    };
    assert_eq!(of_user("start"), 2, "{records:?}");
    let codes: Vec<(&str, &str)> = records
        .iter()
        .filter(|record| record["event"] == "refuse")
        .map(|record| {
            (
                record["operation"].as_str().unwrap(),
                record["code"].as_str().unwrap(),
            )
        })
        .collect();
    assert!(codes.contains(&("execute", "request")), "{codes:?}");
    assert!(
        codes.contains(&("tools/call nothing_of_this_name", "-32602")),
        "{codes:?}"
    );
    assert!(codes.contains(&("message", "malformed")), "{codes:?}");
    let search = records
        .iter()
        .find(|record| record["event"] == "search")
        .unwrap();
    assert!(
        search["arguments"]["bytes"].as_u64().unwrap() > 0,
        "{search}"
    );
    assert!(!search.to_string().contains("customer"), "{search}");

    let start = records
        .iter()
        .find(|record| record["event"] == "start")
        .unwrap();
    assert_eq!(start["codeHash"], start["program_sha256"]);
    assert_eq!(start["executor"], "typescript");
    assert_eq!(
        (&start["clientId"], &start["codeLength"]),
        (&start["principal"], &start["program_bytes"])
    );
    let sent = records
        .iter()
        .find(|record| record["event"] == "intent")
        .unwrap();
    assert_eq!(sent["toolsCalled"], json!(["mcp__shop__get_customer"]));
    let end = records
        .iter()
        .find(|record| record["event"] == "end")
        .unwrap();
    assert_eq!(end["success"], true);
    assert!(
        end["executionTimeMs"].is_u64() && end["timestamp"].is_string(),
        "{end}"
    );

    let exported = world.limbeck(["audit", "export"]).stdout;
    let file = world.file("trail.jsonl", &exported);
    let file = file.to_str().unwrap();
    world.limbeck(["audit", "verify", file]).ends_with(0);
    world.file(
        "trail.jsonl",
        &exported.replacen("\"executor\":\"typescript\"", "\"executor\":\"python\"", 1),
    );
    world.limbeck(["audit", "verify", file]).ends_with(1);
}

#[test]
fn with_fail_closed_nothing_runs_where_no_record_can_be_kept() {
    let world = World::with_shop();
    // A file in the place of the directory.
    let state = world.path().join("state");
    fs::create_dir(&state).unwrap();
    fs::File::create(state.join("state.db"))
        .unwrap()
        .write_all(b"no database")
        .unwrap();
    let state = state.display().to_string();
    let run = || world.limbeck_reading(["--state-dir", &state, "run", "-"], "return 'ran'");
    // The control: a program that reads goes on without a record.
    assert!(run().ends_with(0).stdout.contains("ran"));
    settings(&world, "[audit]\nfail_closed = true\n");
    let refused = run();
    assert_ne!(refused.code, 0);
    assert!(!refused.stdout.contains("ran"), "{refused:?}");
    assert!(refused.stderr.contains("fail_closed"), "{refused:?}");
}

#[test]
fn a_repository_cannot_choose_what_is_kept_or_taken_out() {
    let world = World::with_shop();
    world.file("limbeck.toml", "[audit]\nrecords = 1000\n[retention]\ndays = 1\n[[redaction.rule]]\nshapes = ['email']\nto_model = 'block'\n");
    let outcome = world
        .limbeck_reading(["run", "-"], "return 'a@b.org'")
        .ends_with(0);
    assert_eq!(outcome.stdout.trim(), "a@b.org");
    let ignored = world.limbeck(["doctor"]).stderr;
    assert!(ignored.contains("cannot choose"), "{ignored}");
    // The control: the user can.
    settings(
        &world,
        "[[redaction.rule]]\nshapes = ['email']\nto_model = 'mask'\n",
    );
    let outcome = world
        .limbeck_reading(["run", "-"], "return 'a@b.org'")
        .ends_with(0);
    assert_eq!(outcome.stdout.trim(), "[redacted: email]");
    settings(
        &world,
        "[[redaction.rule]]\nshapes = ['mail']\nto_model = 'mask'\n",
    );
    let wrong = world.limbeck(["doctor"]).stderr;
    assert!(wrong.contains("expected one of"), "{wrong}");
}
