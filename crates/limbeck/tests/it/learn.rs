//! `limbeck learn`, the setting `observe`, and the learned signatures.

use serde_json::{Value, json};

use crate::world::World;

/// Server of two tools: `report` without an output schema returns JSON as text, and `broken` violates its output schema.
pub(crate) const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"report","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"broken","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}]}' ;;
    *'"report"'*) result='{"content":[{"type":"text","text":"{\"total\": 3}"}]}' ;;
    *'"broken"'*) result='{"content":[],"structuredContent":{"n":"three"}}' ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

fn world(more: &Value) -> World {
    let world = World::empty();
    let mut entry = json!({"command": "sh", "args": ["-c", SERVER]});
    for (key, value) in more.as_object().unwrap() {
        entry[key] = value.clone();
    }
    world.file(
        "servers.json",
        &json!({"mcpServers": {"s": entry}}).to_string(),
    );
    world
}

const CONFIG: [&str; 2] = ["--config", "servers.json"];

fn signature(world: &World) -> String {
    let listed = world.limbeck(["tools", "s", "--json", CONFIG[0], CONFIG[1]]);
    let listed = listed.ends_with(0).json();
    let report = &listed["servers"][0]["tools"][0];
    assert_eq!(report["name"], "report", "{listed}");
    report["signature"].as_str().unwrap().to_owned()
}

#[test]
fn a_call_teaches_what_its_result_looks_like() {
    let world = world(&json!({}));
    assert!(
        signature(&world).contains("usually text"),
        "{}",
        signature(&world)
    );
    let called = world.limbeck(["call", "s", "report", CONFIG[0], CONFIG[1]]);
    assert_eq!(called.ends_with(0).stdout, "{\"total\": 3}\n");
    let expected = "Promise<string /* JSON: { total: number } */> // observed in 1 call";
    assert!(
        signature(&world).ends_with(expected),
        "{}",
        signature(&world)
    );
    let run = ["run", "-", "--json", CONFIG[0], CONFIG[1]];
    let run = world.limbeck_reading(run, "return await tools.s.report({})");
    assert_eq!(run.ends_with(0).json()["value"], "{\"total\": 3}");
    assert!(
        signature(&world).ends_with("observed in 2 calls"),
        "{}",
        signature(&world)
    );
}

#[test]
fn recorded_results_teach_and_what_teaches_nothing_is_named() {
    let world = world(&json!({}));
    let records = [
        json!({"server": "s", "tool": "report", "result": {"content": [{"type": "text", "text": "{\"total\": 1, \"next\": \"x\"}"}]}}),
        json!({"server": "s", "tool": "report", "result": "{\"total\": 2}"}),
        json!({"server": "s", "tool": "report", "result": {"content": [], "isError": true}}),
        json!({"server": "s", "tool": "raport", "result": 1}),
        json!({"server": "s", "tool": "broken", "result": {"n": 1}}),
        json!({"server": "s", "tool": "broken", "result": {"n": "secret"}}),
        json!({"tool": "report"}),
    ];
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    world.file("recorded.jsonl", &lines);
    let learn = ["learn", "recorded.jsonl", "--json", CONFIG[0], CONFIG[1]];
    let learned = world.limbeck(learn).ends_with(0).json();
    let one = &learned["learned"][0];
    assert_eq!(
        (&one["tool"], &one["results"], &one["changed"]),
        (&json!("report"), &json!(2), &json!(true))
    );
    assert_eq!(one["schema"]["contentSchema"]["required"], json!(["total"]));
    let skipped = learned["skipped"].to_string();
    for part in [
        "error of `s.report`",
        "raport",
        "declares its output schema",
        "does not fit",
        "the record has no",
        "recorded.jsonl:7",
    ] {
        assert!(skipped.contains(part), "{part}: {skipped}");
    }
    assert!(!skipped.contains("secret"), "{skipped}");
    assert!(
        signature(&world).ends_with("observed in 2 calls"),
        "{}",
        signature(&world)
    );

    // The same results as a list in a directory, beside a file of another kind.
    std::fs::create_dir(world.work().join("records")).unwrap();
    world.file("records/b.json", &json!(records).to_string());
    world.file("records/a.txt", "no JSON");
    let text = world
        .limbeck(["learn", "records", CONFIG[0], CONFIG[1]])
        .ends_with(0);
    assert!(
        text.stdout.contains("s.report: no change from 2 results"),
        "{text:?}"
    );
    assert!(
        text.stderr
            .contains("skipped 1 record: the result is an error"),
        "{text:?}"
    );
}

#[test]
fn the_calls_of_a_past_execution_teach() {
    let world = world(&json!({"observe": false}));
    let run = ["run", "-", "--json", CONFIG[0], CONFIG[1]];
    let program = "await tools.s.report({}); return (await tools.s.report.raw({})).content.length";
    let id = world.limbeck_reading(run, program).ends_with(0).json()["execution_id"].clone();
    let id = id.as_str().unwrap();
    let shown = world.limbeck(["executions", id, "--json"]).ends_with(0);
    world.file("execution.json", &shown.stdout);
    let learn = ["learn", "execution.json", CONFIG[0], CONFIG[1]];
    let off = world.limbeck(learn).ends_with(1);
    assert!(off.stderr.contains("`observe = false`"), "{off:?}");
    assert!(
        signature(&world).contains("usually text"),
        "{}",
        signature(&world)
    );

    let on = std::fs::read_to_string(world.work().join("servers.json")).unwrap();
    world.file(
        "servers.json",
        &on.replace("\"observe\":false", "\"observe\":true"),
    );
    world.limbeck(learn).ends_with(0);
    assert!(
        signature(&world).ends_with("observed in 2 calls"),
        "{}",
        signature(&world)
    );
    // The global setting overrides the setting of an entry.
    world.file("limbeck.toml", "observe = false\n");
    assert!(
        signature(&world).contains("usually text"),
        "{}",
        signature(&world)
    );
}

#[test]
fn a_file_that_is_missing_empty_or_no_record_ends_with_a_next_step() {
    let world = world(&json!({}));
    world.file("empty.json", "");
    world.file("other.json", "{\"a\": 1}");
    std::fs::create_dir(world.work().join("none")).unwrap();
    for (path, said) in [
        ("missing.json", "cannot be read"),
        ("empty.json", "contains no record"),
        ("other.json", "contains no record"),
        ("none", "contains no file"),
    ] {
        let outcome = world
            .limbeck(["learn", path, CONFIG[0], CONFIG[1]])
            .ends_with(2);
        assert!(outcome.stderr.contains(said), "{outcome:?}");
        assert!(outcome.stderr.contains("hint:"), "{outcome:?}");
    }
}

#[test]
fn a_contradiction_is_told_by_call_run_and_tools() {
    let world = world(&json!({}));
    let called = world
        .limbeck(["call", "s", "broken", CONFIG[0], CONFIG[1]])
        .ends_with(0);
    assert!(called.stdout.contains("three"), "{called:?}");
    assert!(
        called.stderr.contains("does not match the output schema"),
        "{called:?}"
    );
    let run = ["run", "-", "--json", CONFIG[0], CONFIG[1]];
    let run = world
        .limbeck_reading(run, "return await tools.s.broken({})")
        .ends_with(0)
        .json();
    assert_eq!(run["value"], json!({"n": "three"}));
    assert!(run["warnings"].to_string().contains("`s.broken`"), "{run}");
    let tools = world
        .limbeck(["tools", "s", CONFIG[0], CONFIG[1]])
        .ends_with(0);
    assert!(
        tools.stdout.contains("did not match its output schema: 2"),
        "{tools:?}"
    );
    assert!(tools.stderr.contains("broken"), "{tools:?}");
}
