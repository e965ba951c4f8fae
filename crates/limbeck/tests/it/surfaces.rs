//! Surfaces of earlier systems: how one is chosen, and a program through its tools.

use serde_json::{Value, json};

use crate::serve::Client;
use crate::world::{CommandOutcome, World};

fn names(client: &mut Client) -> Vec<String> {
    let listed = client.ask(2, "tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_program_runs_through_the_tools_of_each_system() {
    let world = World::with_shop();
    let mut client = Client::connect(&world, &["serve", "--compat", "all"]);
    let expected = [
        "executeTypescript",
        "executePython",
        "health",
        "execute_code",
        "search_tools",
        "get_tool_signature",
        "list_servers",
        "run_python",
    ];
    assert_eq!(names(&mut client), expected);
    let mut call = |id: u32, name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        client.ask(id, "tools/call", &params)["result"].clone()
    };
    let s0 = call(
        3,
        "executeTypescript",
        json!({"code": "console.log((await callMCPTool('mcp__shop__get_customer', { id: 'cus_0003' })).id)"}),
    );
    assert_eq!(s0["structuredContent"]["output"], "cus_0003\n", "{s0}");
    assert_eq!(
        s0["structuredContent"]["toolCallsMade"],
        json!(["mcp__shop__get_customer"])
    );
    let s1 = call(
        4,
        "execute_code",
        json!({"code": "return (await callMCPTool('shop', 'get_customer', { id: 'cus_0003' })).id"}),
    );
    let body: Value = serde_json::from_str(s1["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(body["result"], "cus_0003", "{body}");
    let s2 = call(
        5,
        "run_python",
        json!({"code": "print((await mcp_shop.get_customer(id='cus_0003')).id)", "servers": ["shop"]}),
    );
    assert_eq!(s2["content"][0]["text"], "cus_0003", "{s2}");
    // The control: its own tools are not listed, and can be called.
    let own = call(6, "execute", json!({"code": "return 1"}));
    assert_eq!(own["isError"], false, "{own}");
}

#[test]
fn a_variable_that_one_system_read_lists_its_tools_and_is_named() {
    let world = World::empty();
    let with = |name: &str, value: &str, arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.env(name, value);
        CommandOutcome::of(command.output().unwrap())
    };
    let served = with("MCP_BRIDGE_TIMEOUT", "60s", &["serve"]).ends_with(0);
    let note =
        "lists the tools of mcp-server-code-execution-mode, because `MCP_BRIDGE_TIMEOUT` is set";
    assert!(served.stderr.contains(note), "{served:?}");
    let doctor = with("DENO_PATH", "/usr/bin/deno", &["doctor", "--json"]);
    let surfaces = &doctor.json()["surfaces"];
    assert_eq!(
        *surfaces,
        json!({"value": ["s0"], "source": "DENO_PATH is set"})
    );
    let chosen = with("LIMBECK_COMPAT", "none", &["serve"]).ends_with(0);
    // The control: nothing is said of what is listed anyway.
    assert!(!chosen.stderr.contains("lists the tools"), "{chosen:?}");
    let wrong = with("LIMBECK_COMPAT", "s9", &["serve"]).ends_with(2);
    assert!(
        wrong
            .stderr
            .contains("LIMBECK_COMPAT: unknown surface `s9`"),
        "{wrong:?}"
    );
    let wrong = world.limbeck(["serve", "--compat", "s9"]).ends_with(2);
    assert!(wrong.stderr.contains("unknown surface `s9`"), "{wrong:?}");
}
