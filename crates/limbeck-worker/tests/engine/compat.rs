//! Host calls that the functions of earlier systems make.

use limbeck_domain::HostOp;
use serde_json::{Value, json};

use crate::gateway::{Outcome, Run};

/// What was asked of the gateway, in order.
fn asked(outcome: &Outcome) -> Vec<(HostOp, Value)> {
    let calls = outcome.calls.iter();
    calls
        .map(|call| (call.op, serde_json::from_str(&call.body).unwrap()))
        .collect()
}

fn value(outcome: &Outcome) -> Value {
    serde_json::from_str(outcome.value()).unwrap()
}

#[test]
fn list_servers_says_what_each_server_is_and_connects_none() {
    let mut run = Run::new("return listServers()");
    run.start.servers = json!([
        {"name": "up", "tools": ["a", "b"], "state": "ready"},
        {"name": "listed", "tools": ["c"], "state": "configured"},
        {"name": "off", "tools": ["d"], "state": "disabled"},
        {"name": "foreign", "tools": 3, "state": "untrusted"},
        {"name": "broken", "tools": [], "state": "failed"},
    ])
    .to_string();
    let outcome = run.go();

    assert_eq!(
        value(&outcome),
        json!({
            "connected": [{"name": "up", "status": "connected", "toolCount": 2, "tools": ["a", "b"]}],
            "available": ["up", "listed"],
            "all": ["up", "listed", "off", "foreign", "broken"],
        })
    );
    assert!(outcome.calls.is_empty(), "{:?}", outcome.calls);
}

#[test]
fn a_server_whose_list_was_cut_says_so_where_its_tools_are_listed() {
    let cut = "2 tools are known; the server offers more than 2 tools: the rest was left out";
    let ended = |program: &str, servers: Value| {
        let mut run = Run::new(program);
        run.start.servers = servers.to_string();
        let outcome = run.go();
        (value(&outcome), outcome.done.unwrap().warnings)
    };
    let servers = |cut: Option<&str>| {
        let mut up = json!({"name": "up", "tools": ["a", "b"], "state": "ready"});
        if let Some(cut) = cut {
            up["incomplete"] = cut.into();
        }
        json!([up, {"name": "whole", "tools": ["c"], "state": "ready"}])
    };
    let warning = format!("not all tools of server `up` are listed: {cut}");
    for (program, listed) in [
        (
            "return listServers().connected.map((s) => s.incomplete ?? null)",
            json!([cut, null]),
        ),
        ("return Object.keys(tools.up)", json!(["a", "b"])),
        ("return 'c' in tools.up", json!(false)),
    ] {
        let (value, warnings) = ended(program, servers(Some(cut)));
        assert_eq!(value, listed);
        assert_eq!(warnings, [warning.as_str()], "{program}");
        // The control: a list that is whole.
        assert_eq!(ended(program, servers(None)).1, [""; 0], "{program}");
    }
    // Another server's list says nothing of it.
    let (_, warnings) = ended("return Object.keys(tools.whole)", servers(Some(cut)));
    assert_eq!(warnings, [""; 0]);
}

#[test]
fn search_tools_keeps_the_order_of_the_gateway_and_lists_no_server() {
    let tool = |server, tool| json!({"server": server, "tool": tool, "description": "reads", "inputSchema": {}});
    // Neither the order of the servers nor that of the alphabet, and the words are in no name.
    let found = json!([
        tool("test", "z"),
        tool("other", "b"),
        tool("test", "a"),
        tool("other", "c")
    ]);
    let mut run = Run::new(
        "const found = await searchTools('two words', 4); return found.map(({ name }) => name)",
    );
    run.found = found.to_string();
    let outcome = run.go();

    assert_eq!(
        value(&outcome),
        json!([
            "mcp__test__z",
            "mcp__other__b",
            "mcp__test__a",
            "mcp__other__c"
        ])
    );
    assert_eq!(
        asked(&outcome),
        [(HostOp::Search, json!({"query": "two words", "limit": 4}))]
    );
}

#[test]
fn a_full_name_is_left_whole_because_the_gateway_knows_where_its_server_ends() {
    let full = "mcp__has__under__UPPER__double";
    let described =
        json!({"server": "has__under", "tool": "UPPER__double", "inputSchema": {"type": "object"}});
    for (program, body) in [
        (
            format!("return await getToolSchema('{full}')"),
            json!({"tool": full}),
        ),
        // The control names both parts.
        (
            "return await getToolSchema('has__under', 'UPPER__double')".to_owned(),
            json!({"server": "has__under", "tool": "UPPER__double"}),
        ),
    ] {
        let mut run = Run::new(&program);
        run.described = described.to_string();
        let outcome = run.go();

        assert_eq!(asked(&outcome), [(HostOp::Describe, body)], "{program}");
        let schema = value(&outcome);
        assert_eq!(schema["name"], full, "{program}");
        assert_eq!(schema["parameters"], json!({"type": "object"}), "{program}");
    }
    let mut run = Run::python(&format!("get_tool_schema('{full}')"));
    run.described = described.to_string();
    let outcome = run.go();
    assert_eq!(asked(&outcome), [(HostOp::Describe, json!({"tool": full}))]);
}
