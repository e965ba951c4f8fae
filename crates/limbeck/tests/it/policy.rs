//! Rules of configuration files, over the command line and over MCP.

mod backtest;
mod export;
mod presets;
mod suggest;

use serde_json::json;

use crate::serve::Client;
use crate::world::{LIMBECK, World};

const RULES: &str = r#"
[policy]
preset = "observe"

[[policy.rule]]
id = "no-details"
effect = "deny"
tools = ["shop.get_customer"]
args = { id = "cus_0001" }
reason = "the first customer is private"
"#;

fn world_with(rules: &str) -> World {
    let world = World::with_shop();
    let directory = world.home().join(".config/limbeck");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("config.toml"), rules).unwrap();
    world
}

#[test]
fn a_rule_holds_for_programs_and_for_direct_calls() {
    let world = world_with(RULES);
    let denied =
        "`shop.get_customer` is denied by rule `no-details`: the first customer is private";
    let call = |id: &str| {
        let arguments = format!("{{\"id\":\"{id}\"}}");
        world.limbeck(["call", "shop", "get_customer", &arguments])
    };
    assert!(call("cus_0001").ends_with(1).stderr.contains(denied));
    call("cus_0002").ends_with(0);
    let envelope = world.envelope("return (await tools.shop.get_customer({ id: 'cus_0001' })).id");
    assert_eq!(envelope["error"]["code"], "denied", "{envelope}");
    let envelope = world.envelope("return (await tools.shop.get_customer({ id: 'cus_0002' })).id");
    assert_eq!(envelope["value"], "cus_0002", "{envelope}");
}

#[test]
fn a_rule_holds_for_tools_that_the_client_sees() {
    let world = world_with(&format!(
        "{RULES}\n[servers.own]\ncommand = 'true'\ndisabled = true"
    ));
    let entry =
        json!({"command": crate::world::LIMBECK, "args": ["demo-upstream"], "expose": "direct"});
    world.file(
        ".mcp.json",
        &json!({"mcpServers": {"shop": entry}}).to_string(),
    );
    // So that the tool list is cached.
    world.limbeck(["tools"]).ends_with(0);
    let mut client = Client::connect(&world, &["serve"]);
    let call = |client: &mut Client, number: u32, id: &str| {
        let params = json!({"name": "get_customer", "arguments": {"id": id}});
        client.ask(number, "tools/call", &params)
    };
    let refused = call(&mut client, 2, "cus_0001");
    assert!(
        refused.to_string().contains("denied by rule `no-details`"),
        "{refused}"
    );
    let answered = call(&mut client, 3, "cus_0002");
    assert_eq!(
        answered["result"]["structuredContent"]["id"], "cus_0002",
        "{answered}"
    );
}

#[test]
fn a_broken_rule_stops_calls_and_says_where_it_is() {
    let world = world_with(&RULES.replace("effect = \"deny\"", "effect = \"dney\""));
    let envelope = world.envelope("return (await tools.shop.get_customer({ id: 'cus_0002' })).id");
    let message = envelope["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("config.toml:7:10") && message.contains("`deny`"),
        "{message}"
    );
    let hint = envelope["error"]["hint"].as_str().unwrap();
    assert!(hint.starts_with("do not try it again"), "{hint}");
    // A user of the command line reads what names the mistake.
    let call = world.limbeck(["call", "shop", "get_customer", "{\"id\":\"cus_0002\"}"]);
    let call = call.ends_with(1);
    assert!(call.stderr.contains("`limbeck policy check`"), "{call:?}");
    let explained = world.limbeck(["policy", "explain", "shop.get_customer", "--json"]);
    assert_eq!(explained.ends_with(0).json()["effect"], "deny");
    let check = world.limbeck(["policy", "check"]).ends_with(1);
    assert!(check.stderr.contains("config.toml:7:10"), "{check:?}");
}

#[test]
fn explain_names_what_decides_and_what_each_other_rule_lacks() {
    let world = world_with(RULES);
    world.limbeck(["tools"]).ends_with(0);
    let explain = |arguments: &str| {
        let explained = world.limbeck([
            "policy",
            "explain",
            "shop.get_customer",
            "--args",
            arguments,
            "--json",
        ]);
        explained.ends_with(0).json()
    };
    let denied = explain(r#"{"id":"cus_0001"}"#);
    assert_eq!(denied["effect"], "deny");
    assert_eq!(denied["rule"], "no-details");
    assert_eq!(denied["layer"], "user");
    assert_eq!(denied["class"], "unknown");
    let allowed = explain(r#"{"id":"cus_0002"}"#);
    assert_eq!(
        (&allowed["effect"], &allowed["preset"]),
        (&json!("allow"), &json!("observe"))
    );
    assert_eq!(allowed["others"][0]["rule"], "no-details");
    assert_eq!(
        allowed["others"][0]["failed"],
        "its condition on `id` does not hold"
    );
    let text = world
        .limbeck(["policy", "explain", "shop.get_customer"])
        .ends_with(0)
        .stdout;
    assert!(
        text.contains("deny: rule `no-details`"),
        "a missing argument fires: {text}"
    );
    world
        .limbeck(["policy", "explain", "nonsense"])
        .ends_with(2);
}

#[test]
fn check_finds_rules_that_never_decide() {
    let world = world_with(&format!(
        "{RULES}\n
[[policy.rule]]\nid = 'hidden'\neffect = 'ask'\ntools = ['shop.list_orders']
[[policy.rule]]\nid = 'all'\neffect = 'deny'\ntools = ['shop.list_*']
[[policy.rule]]\nid = 'nowhere'\neffect = 'deny'\ntools = ['shp.*']
[[policy.rule]]\nid = 'dead'\neffect = 'deny'\ntools = ['shop.nothing']
[[policy.rule]]\nid = 'misspelt'\neffect = 'allow'\ntools = ['shop.get_*']\nargs = {{ ide = 'x' }}
[[policy.rule]]\nid = 'some'\neffect = 'ask'\ntools = ['shop.*']\nargs = {{ id = 'x' }}
"
    ));
    world.limbeck(["tools"]).ends_with(0);
    let found = world
        .limbeck(["policy", "check", "--json"])
        .ends_with(1)
        .json();
    let findings = found["findings"].as_array().unwrap();
    let of = |id: &str| {
        let finding = findings.iter().find(|finding| finding["rule"] == id);
        finding.map(|finding| finding["finding"].as_str().unwrap().to_owned())
    };
    assert!(of("hidden").unwrap().contains("rule `all`"));
    assert_eq!(
        of("nowhere").unwrap(),
        "is about no server of the configuration"
    );
    assert_eq!(of("dead").unwrap(), "matches no tool of its servers");
    assert_eq!(
        of("misspelt").unwrap(),
        "has a condition on `ide`, which no tool of it has as an argument"
    );
    // One of its tools has the argument.
    assert_eq!(of("some"), None);
    assert_eq!((of("all"), of("no-details")), (None, None));
    let fine = world_with(RULES);
    fine.limbeck(["tools"]).ends_with(0);
    fine.limbeck(["policy", "check"]).ends_with(0);
}

#[test]
fn a_pattern_that_can_mean_two_servers_denies_both_and_allows_neither_and_check_says_so() {
    let world = World::empty();
    let server = |name: &str| {
        format!("[servers.\"{name}\"]\ncommand = \"{LIMBECK}\"\nargs = [\"demo-upstream\"]\n")
    };
    let servers = ["shop", "shop.eu", "io.acme/bank"].map(server).concat();
    let directory = world.home().join(".config/limbeck");
    std::fs::create_dir_all(&directory).unwrap();
    let with = |policy: &str| {
        std::fs::write(directory.join("config.toml"), format!("{servers}{policy}")).unwrap();
    };
    let exit = |server: &str| {
        let call = ["call", server, "list_orders", "{}"];
        world.command(call).output().unwrap().status.code()
    };
    with("");
    world.limbeck(["tools"]).ends_with(0);
    // A server is denied by its name, also where the name has a dot.
    with(
        "[policy]\npreset = 'observe'\n[[policy.rule]]\nid = 'r'\neffect = 'deny'\ntools = ['io.acme/bank']\n",
    );
    assert_eq!((exit("io.acme/bank"), exit("shop")), (Some(1), Some(0)));
    world.limbeck(["policy", "check"]).ends_with(0);
    // `shop.eu.list_orders` may be the tool `eu.list_orders` of `shop`.
    let allow = |pattern: &str| {
        with(&format!(
            "[policy]\npreset = 'readonly'\n[[policy.rule]]\nid = 'r'\neffect = 'allow'\ntools = ['{pattern}']\n"
        ));
    };
    allow("shop.eu.list_orders");
    assert_eq!(exit("shop.eu"), Some(1));
    let found = world
        .limbeck(["policy", "check", "--json"])
        .ends_with(1)
        .json();
    assert_eq!(
        found["findings"][0]["finding"],
        "has the pattern `shop.eu.list_orders`, which can mean `mcp__shop__eu.list_orders` or `mcp__shop.eu__list_orders`, and allows none of them: write the one that is meant"
    );
    allow("mcp__shop.eu__list_orders");
    assert_eq!((exit("shop.eu"), exit("shop")), (Some(0), Some(1)));
    world.limbeck(["policy", "check"]).ends_with(0);
    with("[policy]\npreset = 'readonly'\n[policy.classes]\n'shop.eu.list_orders' = 'read'\n");
    assert_eq!(exit("shop.eu"), Some(1));
    let found = world
        .limbeck(["policy", "check", "--json"])
        .ends_with(1)
        .json();
    assert_eq!(found["findings"][0]["class_of"], "shop.eu.list_orders");
}

#[test]
fn explain_says_how_a_person_is_asked() {
    let world = world_with(
        "[policy]\npreset = 'observe'\n[[policy.rule]]\nid = 'customers'\neffect = 'ask'\ntools = ['shop.get_customer']\n\
         ask = { approvers = ['group:leads'], quorum = 2, channels = ['browser'], expires = '90s' }",
    );
    world.limbeck(["tools"]).ends_with(0);
    let explain = |tool: &str| {
        let explained = world.limbeck(["policy", "explain", tool, "--json"]);
        explained.ends_with(0).json()
    };
    let asked = explain("shop.get_customer");
    assert_eq!(
        (&asked["effect"], &asked["rule"]),
        (&json!("ask"), &json!("customers"))
    );
    let expected = json!({
        "unit": "call", "preset": null, "approvers": [["group:leads"]], "quorum": 2, "not_requester": false,
        "channels": ["browser"], "expires_s": 90, "on_expiry": "cancel", "remember": "none", "edit": [],
        "view_arguments": [],
    });
    assert_eq!(asked["ask"], expected);
    // The control: a call that is not asked about.
    assert_eq!(explain("shop.list_orders").get("ask"), None);
}

#[test]
fn classes_are_suggested_by_verb_and_written_only_when_they_are_confirmed() {
    let world = world_with(
        "# mine\n[policy.classes]\n\"shop.list_orders\" = \"write\"\n\n[[policy.rule]]\nid = 'none'\neffect = 'deny'\ntools = ['shop.nothing']\n",
    );
    world.limbeck(["tools"]).ends_with(0);
    let file = world.home().join(".config/limbeck/config.toml");
    let before = std::fs::read_to_string(&file).unwrap();
    let listed = || {
        let listed = world.limbeck(["policy", "classes", "--json"]).ends_with(0);
        listed.json()["classes"].as_array().unwrap().clone()
    };
    let of = |rows: &[serde_json::Value], tool: &str| {
        let mut rows = rows.iter();
        rows.find(|row| row["tool"] == tool).unwrap().clone()
    };
    let rows = listed();
    assert_eq!(
        of(&rows, "shop.list_orders"),
        json!({"tool": "shop.list_orders", "class": "write", "class_from": "operator", "suggestion": null})
    );
    let read = of(&rows, "shop.get_customer");
    assert_eq!(
        (&read["class"], &read["suggestion"]),
        (&json!("unknown"), &json!("read"))
    );
    // Without a terminal no person confirms it.
    let refused = world.limbeck(["policy", "classes", "--write"]).ends_with(2);
    assert!(refused.stderr.contains("nothing is written"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    let chosen = ["policy", "classes", "shop.get_*", "--write", "--yes"];
    world.limbeck(chosen).ends_with(0);
    let after = std::fs::read_to_string(&file).unwrap();
    assert!(
        after.starts_with("# mine\n[policy.classes]\n\"shop.list_orders\" = \"write\"\n"),
        "{after}"
    );
    assert!(
        after.contains("\"shop.get_customer\" = \"read\"\n"),
        "{after}"
    );
    assert!(after.contains("[[policy.rule]]\nid = 'none'"), "{after}");
    let rows = listed();
    let read = of(&rows, "shop.get_customer");
    assert_eq!(
        (&read["class"], &read["class_from"], &read["suggestion"]),
        (&json!("read"), &json!("operator"), &json!(null))
    );
    // What was not chosen is as it was, and what the file says already is not written again.
    let others = rows.iter().filter(|row| !row["suggestion"].is_null());
    assert!(others.count() > 0);
    world.limbeck(chosen).ends_with(0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), after);
}

#[test]
fn classes_are_written_into_a_file_that_has_no_policy() {
    let world = World::with_shop();
    world.limbeck(["tools"]).ends_with(0);
    let chosen = ["policy", "classes", "shop.get_customer", "--write", "--yes"];
    world.limbeck(chosen).ends_with(0);
    let file = world.home().join(".config/limbeck/config.toml");
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        "[policy.classes]\n\"shop.get_customer\" = \"read\"\n"
    );
}

#[test]
fn doctor_proposes_a_preset_to_users_who_named_none() {
    let world = world_with("");
    let proposal = |world: &World| {
        let report = world.limbeck(["doctor", "--json"]).json();
        let findings = report["findings"].as_array().unwrap().clone();
        findings.into_iter().find(|it| it["code"] == "G01")
    };
    let proposed = proposal(&world).unwrap();
    let remedy = proposed["remedy"].as_str().unwrap();
    assert!(
        remedy.contains("`preset = \"balanced\"`")
            && remedy.contains("~/.config/limbeck/config.toml"),
        "{remedy}"
    );
    let text = world.limbeck(["doctor"]);
    assert!(text.stderr.contains("no file names a preset"), "{text:?}");
    let by_way = "`observe` for `run` without a terminal, clients over stdio";
    assert!(text.stderr.contains(by_way), "{text:?}");
    // A repository's preset is not the user's choice.
    world.file("limbeck.toml", "[policy]\npreset = 'balanced'\n");
    assert!(proposal(&world).is_some());
    // The controls: a preset was chosen, also the one that is in force without; and there is nothing to ask about.
    let directory = world.home().join(".config/limbeck");
    std::fs::write(
        directory.join("config.toml"),
        "[policy]\npreset = 'observe'\n",
    )
    .unwrap();
    assert_eq!(proposal(&world), None);
    assert_eq!(proposal(&World::empty()), None);
}
