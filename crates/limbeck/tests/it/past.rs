//! `limbeck executions` and `limbeck replay`.

use serde_json::{Value, json};

use crate::serve::Client;
use crate::world::{CommandOutcome, LIMBECK, World};

const PROGRAM: &str = "const page = await tools.shop.list_customers({page_size: 2});
console.log(Math.random() < 2, Date.now() > 0);
return page.items.map(c => c.id)";

#[test]
fn an_execution_is_listed_and_shown_with_its_calls() {
    let world = World::with_shop().trusting("shop");
    let id = id(&world.envelope(PROGRAM));
    world.envelope("throw new Error('later')");

    let list = world.limbeck(["executions"]).ends_with(0).stdout;
    let rows: Vec<&str> = list.lines().collect();
    assert!(
        rows[1].contains("failed: exception"),
        "newest first: {list}"
    );
    assert!(
        rows[2].starts_with(&id) && rows[2].contains("completed"),
        "{list}"
    );

    let shown = world.limbeck(["executions", &id]).ends_with(0).stdout;
    for part in ["1 | const page", "shop.list_customers", "read", "ok"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let value = world
        .limbeck(["executions", &id, "--value", "--json"])
        .ends_with(0);
    assert_eq!(value.stdout, "[\"cus_0001\",\"cus_0002\"]\n");
    let limited = world
        .limbeck(["executions", "--limit", "1", "--json"])
        .ends_with(0)
        .json();
    assert_eq!(limited["executions"].as_array().unwrap().len(), 1);
}

#[test]
fn the_json_of_an_execution_has_its_program_its_envelope_and_its_calls() {
    let world = World::with_shop().trusting("shop");
    let envelope = world.envelope(PROGRAM);
    let json = world
        .limbeck(["executions", &id(&envelope), "--json"])
        .ends_with(0)
        .json();
    assert_eq!(json["program"], PROGRAM);
    assert_eq!(json["input"], Value::Null);
    assert_eq!(json["envelope"], envelope);
    assert_eq!(json["effects"], json!({"reads": 1, "writes": 0}));
    let call = &json["inner_calls"][0];
    assert_eq!(
        (&call["id"], &call["op"], &call["call"]),
        (&json!(1), &json!("tool"), &json!("shop.list_customers"))
    );
    assert_eq!(call["arguments"], json!({"page_size": 2}));
    assert_eq!(call["result"]["total"], 200);
    assert_eq!(call["sent"], true);
}

#[test]
fn the_list_says_who_asked_and_when_in_utc() {
    let world = World::empty();
    let id = id(&world.envelope("return 1"));
    let list = world.limbeck(["executions"]).ends_with(0).stdout;
    let [header, row] = list.lines().collect::<Vec<_>>()[..] else {
        panic!("{list}")
    };
    assert!(
        header.contains("when (UTC)") && header.contains("asked by"),
        "{list}"
    );
    // The titles that the ledger has.
    assert!(
        header.contains("  Limbeck tokens  direct tokens  "),
        "{list}"
    );
    assert!(row.starts_with(&id) && row.contains("local, run"), "{list}");
    // A pipe has no colors, even where the environment asks for them.
    let mut forced = world.command(["executions"]);
    let forced = forced
        .env("CLICOLOR_FORCE", "1")
        .env("TZ", "XYZ-2")
        .output();
    let forced = CommandOutcome::of(forced.unwrap()).ends_with(0);
    assert_eq!(forced.stdout, list);
    let json = world.limbeck(["executions", "--json"]).ends_with(0).json();
    let at = json["executions"][0]["created_at"].as_str().unwrap();
    assert!(row.contains(&at[..19].replace('T', " ")), "{at}: {list}");
    assert!(
        at.len() == "2026-05-09T07:29:33.000000Z".len() && at.ends_with('Z'),
        "{at}"
    );
    let one = world
        .limbeck(["executions", &id, "--json"])
        .ends_with(0)
        .json();
    assert_eq!(one["created_at"], at);
}

#[test]
fn a_direct_call_is_shown_as_a_call_and_not_as_a_program() {
    let world = World::with_shop();
    let shop = json!({"command": LIMBECK, "args": ["demo-upstream"], "expose": "direct"});
    let config = json!({"mcpServers": {"shop": shop}}).to_string();
    world.file("limbeck.json", &config);
    let serve = ["serve", "--no-discover", "--config", "limbeck.json"];
    // The list of tools is known from here on, so that the client sees them at once.
    world
        .limbeck(["tools", "--no-discover", "--config", "limbeck.json"])
        .ends_with(0);
    let mut client = Client::connect(&world, &serve);
    let listed = client.ask(2, "tools/list", &json!({}));
    let names = listed["result"]["tools"].as_array().unwrap().iter();
    let name = names
        .filter_map(|tool| tool["name"].as_str())
        .find(|name| name.ends_with("get_customer"))
        .unwrap_or_else(|| panic!("{listed}"));
    let call = json!({"name": name, "arguments": {"id": "cus_0003"}});
    let answer = client.ask(3, "tools/call", &call);
    assert_eq!(
        answer["result"]["structuredContent"]["id"], "cus_0003",
        "{answer}"
    );

    let list = world.limbeck(["executions"]).ends_with(0).stdout;
    assert!(
        list.contains("direct call of shop.get_customer\n"),
        "{list}"
    );
    assert!(list.contains("local, mcp direct"), "{list}");
    let json = world.limbeck(["executions", "--json"]).ends_with(0).json();
    let row = &json["executions"][0];
    assert_eq!(
        row["direct_call"],
        json!({"server": "shop", "tool": "get_customer"})
    );
    let shown = world.limbeck(["executions", row["id"].as_str().unwrap()]);
    let shown = shown.ends_with(0).stdout;
    let call =
        "direct call of shop.get_customer with the arguments\n{\n  \"id\": \"cus_0003\"\n}\n";
    assert!(
        shown.contains(call) && !shown.contains("await tools"),
        "{shown}"
    );
    assert!(shown.contains("none: a direct call"), "{shown}");
    let replayed = world.limbeck(["replay", row["id"].as_str().unwrap()]);
    let replayed = replayed.ends_with(2).stderr;
    assert!(
        replayed.starts_with("error: no program ran, so there is nothing to replay\n"),
        "{replayed}"
    );
    // The control: a program with the same text is a program.
    let same = json["executions"][0]["title"].as_str().unwrap();
    world.envelope(same);
    let list = world.limbeck(["executions"]).ends_with(0).stdout;
    assert!(
        list.lines().nth(1).unwrap().contains("await tools["),
        "{list}"
    );
}

#[test]
fn a_call_of_the_user_is_recorded_before_it_is_sent() {
    let world = World::with_shop();
    let call = |arguments: &str| world.limbeck(["call", "shop", "get_customer", arguments]);
    call(r#"{"id": "cus_0003"}"#).ends_with(0);
    // One that is refused by the schema is recorded as not sent.
    call(r#"{"id": 3}"#).ends_with(2);
    let json = world.limbeck(["executions", "--json"]).ends_with(0).json();
    let of = |at: usize, field: &str| json["executions"][at][field].clone();
    assert_eq!(
        (of(1, "origin"), of(1, "status")),
        (json!("call"), json!("completed"))
    );
    assert_eq!(
        of(1, "direct_call"),
        json!({"server": "shop", "tool": "get_customer"})
    );
    assert_eq!(
        (of(0, "origin"), of(0, "status")),
        (json!("call"), json!("failed"))
    );
    let tail = world
        .limbeck(["audit", "tail", "--json"])
        .ends_with(0)
        .stdout;
    let events =
        ["intent", "outcome"].map(|event| tail.matches(&format!("\"event\":\"{event}\"")).count());
    assert_eq!(events, [1, 2], "{tail}");
}

#[test]
fn an_id_that_nobody_has_ends_with_2_and_the_beginning_of_one_is_enough() {
    let world = World::empty();
    let id = id(&world.envelope("return 1"));
    let short = &id[..id.len() - 1];
    world.limbeck(["executions", short]).ends_with(0);
    for arguments in [["executions", "ex_nobody"], ["replay", "ex_nobody"]] {
        let outcome = world.limbeck(arguments).ends_with(2);
        assert!(
            outcome.stderr.contains("no execution `ex_nobody`"),
            "{outcome:?}"
        );
        assert!(outcome.stderr.contains("limbeck executions"), "{outcome:?}");
    }
}

#[test]
fn a_replay_needs_no_server_and_is_identical() {
    let world = World::with_shop();
    let envelope = world.envelope(PROGRAM);
    let id = id(&envelope);
    std::fs::remove_file(world.work().join(".mcp.json")).unwrap();

    let replayed = world.limbeck(["replay", &id]).ends_with(0);
    assert!(replayed.stdout.contains("\"cus_0001\""), "{replayed:?}");
    assert!(
        replayed.stderr.ends_with("replayed 1 call: identical\n"),
        "{replayed:?}"
    );
    let json = world.limbeck(["replay", &id, "--json"]).ends_with(0).json();
    assert_eq!(
        (&json["identical"], &json["calls"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(json["envelope"]["value"], envelope["value"]);
}

#[test]
fn a_program_that_failed_fails_again_and_the_replay_is_identical() {
    let world = World::empty();
    let id = id(&world.envelope("const a = Math.random();\nthrow new Error(`n ${a}`)"));
    let replayed = world.limbeck(["replay", &id]).ends_with(0);
    assert!(replayed.stderr.contains("at program:2:"), "{replayed:?}");
    assert!(
        replayed.stderr.ends_with("replayed 0 calls: identical\n"),
        "{replayed:?}"
    );
}

fn id(envelope: &Value) -> String {
    envelope["execution_id"].as_str().unwrap().to_owned()
}

#[test]
fn the_value_of_an_execution_that_failed_ends_with_1() {
    let world = World::empty();
    let failed = id(&world.envelope("throw new Error('later')"));
    let value = world
        .limbeck(["executions", &failed, "--value"])
        .ends_with(1);
    assert_eq!(
        (value.stdout.as_str(), value.stderr.as_str()),
        (
            "",
            &*format!("execution `{failed}` returned no value; its status is `failed`\n")
        )
    );
    // The control.
    let completed = id(&world.envelope("return 1"));
    let value = world.limbeck(["executions", &completed, "--value"]);
    assert_eq!(value.ends_with(0).stdout, "1\n");
}

#[test]
fn the_audit_trail_is_shown_checked_and_exported_and_a_changed_record_is_named() {
    let world = World::with_shop();
    let id = id(&world.envelope(PROGRAM));
    let tail = world.limbeck(["audit", "tail"]).ends_with(0).stdout;
    for part in ["start", "intent", "shop.list_customers", "end", &id] {
        assert!(tail.contains(part), "{part}: {tail}");
    }
    let verified = world.limbeck(["audit", "verify", "--json"]).ends_with(0);
    let records = verified.json()["records"].as_u64().unwrap();
    assert_eq!(verified.json()["ok"], true);

    let export = world.limbeck(["audit", "export"]).ends_with(0).stdout;
    assert_eq!(export.lines().count() as u64, records);
    assert!(!export.contains("page_size"), "arguments are not shown");
    let file = world.file("trail.jsonl", &export);
    world
        .limbeck(["audit", "verify", file.to_str().unwrap()])
        .ends_with(0);
    // Records that are cut off at an end are missed by who knows how it ended.
    let ends = world.limbeck(["audit", "verify", file.to_str().unwrap(), "--json"]);
    let ends = ends.ends_with(0).json();
    let last = ends["chains"][0]["last"].as_str().unwrap().to_owned();
    let range = format!("1..{records}");
    let verify = |text: &str| {
        let file = world.file("part.jsonl", text);
        let file = file.to_str().unwrap();
        world.limbeck([
            "audit",
            "verify",
            file,
            "--expect-last",
            &last,
            "--expect-seq",
            &range,
        ])
    };
    verify(&export).ends_with(0);
    let (cut, _) = export.trim_end().rsplit_once('\n').unwrap();
    let shown = verify(cut).ends_with(1).stderr;
    assert!(
        shown.contains(&format!("1..{}, not {range}", records - 1)),
        "{shown}"
    );
    assert!(shown.contains(&last), "{shown}");
    let (_, cut) = export.split_once('\n').unwrap();
    let shown = verify(cut).ends_with(1).stderr;
    assert!(
        shown.contains(&format!("2..{records}, not {range}")),
        "{shown}"
    );
    let file = world.file("trail.jsonl", &export.replacen("intent", "intend", 1));
    let changed = world
        .limbeck(["audit", "verify", file.to_str().unwrap(), "--json"])
        .ends_with(1)
        .json();
    assert_eq!(changed["first_bad"]["kind"], "edited");
    let shown = world
        .limbeck(["audit", "verify", file.to_str().unwrap()])
        .ends_with(1)
        .stderr;
    assert!(shown.contains("is edited"), "{shown}");
}
