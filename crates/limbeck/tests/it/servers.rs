//! `tools`, `search` and `call` with the sample server.

use serde_json::json;

use crate::world::{CommandOutcome, LIMBECK, World, processes_in};

#[test]
fn tools_lists_servers_with_their_origin_and_leaves_none_running() {
    let world = World::with_shop();
    let text = world.limbeck(["tools"]).ends_with(0);
    let row = text.stdout.lines().nth(1).unwrap();
    for part in ["shop", "ready", "3", ".mcp.json:1"] {
        assert!(row.contains(part), "{part}: {row}");
    }
    let one = world.limbeck(["tools", "shop"]).ends_with(0);
    assert!(
        one.stdout
            .contains("\nget_customer  read  Get one customer by id."),
        "{}",
        one.stdout
    );

    let json = world.limbeck(["tools", "--json"]).ends_with(0).json();
    let server = &json["servers"][0];
    assert_eq!(
        (&server["name"], &server["state"]),
        (&json!("shop"), &json!("ready"))
    );
    assert!(server["source"].as_str().unwrap().contains(".mcp.json:1"));
    let names: Vec<_> = server["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(names, ["list_customers", "list_orders", "get_customer"]);
    for field in ["call", "signature", "description", "effect"] {
        assert!(server["tools"][0][field].is_string(), "{field}: {server}");
    }
    assert_eq!(processes_in(&world.work()), [] as [u32; 0]);
}

#[test]
fn a_search_names_each_server_that_fails_once_and_not_one_that_is_disabled() {
    let world = World::empty();
    let servers = json!({"mcpServers": {
        "shop": {"command": LIMBECK, "args": ["demo-upstream"]},
        "retired": {"command": "sh", "disabled": true},
        // The control.
        "broken": {"command": "sh", "args": ["-c", "exit 3"]},
        "failing": {"command": "sh", "args": ["-c", "exit 4"]},
    }});
    world.file(".mcp.json", &servers.to_string());
    let search = world.limbeck(["search", "list customers"]).ends_with(0);
    assert!(search.stdout.contains("list_customers"), "{search:?}");
    for (server, code) in [("broken", 3), ("failing", 4)] {
        let named =
            format!("\n  {server}: the server ended while starting (exit status: {code})\n");
        assert_eq!(search.stderr.matches(&named).count(), 1, "{search:?}");
        assert_eq!(search.stderr.matches(server).count(), 1, "{search:?}");
    }
    assert!(!search.stderr.contains("retired"), "{search:?}");
}

#[test]
fn a_server_that_fails_is_listed_with_its_words_and_the_others_work() {
    let world = World::empty();
    let servers = json!({"mcpServers": {
        "shop": {"command": LIMBECK, "args": ["demo-upstream"]},
        "broken": {"command": "sh", "args": ["-c", "echo 'license expired' >&2; exit 3"]},
        "absent": {"command": "no-such-program-anywhere"},
        "remote": {"type": "http", "url": "http://127.0.0.1:1/mcp"},
        "off": {"command": "sh", "disabled": true},
    }});
    world.file(".mcp.json", &servers.to_string());
    // A script can use the exit code: some server failed.
    let outcome = world.limbeck(["tools"]).ends_with(1);
    for (name, state) in [
        ("shop", "ready"),
        ("absent", "failed"),
        ("remote", "backing_off"),
        ("off", "disabled"),
    ] {
        let row = outcome
            .stdout
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap();
        assert!(row.contains(state), "{row}");
    }
    assert!(
        outcome.stderr.contains("server `broken`"),
        "{}",
        outcome.stderr
    );
    assert_eq!(
        outcome.stderr.matches("license expired").count(),
        1,
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("no-such-program-anywhere"),
        "{}",
        outcome.stderr
    );

    // The error of a call names the server in its first line, as the list does.
    for server in ["broken", "absent"] {
        let call = world.limbeck(["call", server, "anything"]).ends_with(1);
        let begins = format!("error: server `{server}`: ");
        assert!(call.stderr.starts_with(&begins), "{call:?}");
    }
    let call = world.limbeck(["call", "remote", "anything"]).ends_with(1);
    assert!(call.stderr.contains("cannot be reached"), "{call:?}");
    world
        .limbeck(["call", "shop", "get_customer", "{\"id\": \"cus_0001\"}"])
        .ends_with(0);
}

#[test]
fn our_own_entry_is_skipped_and_only_doctor_says_so() {
    let world = World::empty();
    let servers = json!({"mcpServers": {
        "limbeck": {"command": LIMBECK, "args": ["serve"]},
        "shop": {"command": LIMBECK, "args": ["demo-upstream"]},
    }});
    world.file(".mcp.json", &servers.to_string());
    let outcome = world.limbeck(["tools"]).ends_with(0);
    assert!(outcome.stdout.contains("shop"), "{outcome:?}");
    assert!(!outcome.stdout.contains("limbeck "), "{outcome:?}");
    // It is right to be there, so it is no news at every command.
    let said = "is Limbeck itself and is skipped";
    assert!(!outcome.stderr.contains(said), "{outcome:?}");
    let doctor = world.limbeck(["doctor", "--json"]).json();
    let notes = doctor["configuration"]["notes"].to_string();
    assert!(notes.contains(said), "{doctor}");
}

#[test]
fn named_files_and_the_clients_file_are_read_and_no_discover_stops_the_latter() {
    let world = World::empty();
    let shop = json!({"command": LIMBECK, "args": ["demo-upstream"]});
    let client = json!({"mcpServers": {"everywhere": shop}, "projects": {world.work().to_str().unwrap(): {"mcpServers": {"here": shop}}}});
    std::fs::write(world.home().join(".claude.json"), client.to_string()).unwrap();
    world.file(
        "limbeck.toml",
        &format!("[servers.ours]\ncommand = {LIMBECK:?}\nargs = [\"demo-upstream\"]\n"),
    );
    world.file(
        "named.json",
        &json!({"mcpServers": {"named": shop}}).to_string(),
    );
    let names = |arguments: &[&str]| -> Vec<String> {
        let output = world.command(arguments).output().unwrap();
        let json = crate::world::CommandOutcome::of(output).ends_with(0).json();
        let servers = json["servers"].as_array().unwrap().iter();
        let mut names: Vec<String> = servers
            .map(|server| server["name"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        names(&["tools", "--json", "--config", "named.json"]),
        ["everywhere", "here", "named", "ours"]
    );
    assert_eq!(
        names(&["tools", "--json", "--config", "named.json", "--no-discover"]),
        ["named"]
    );
}

#[test]
fn a_named_file_is_never_forgotten_in_silence() {
    let world = World::with_shop();
    let before = world.limbeck(["--config", ".mcp.json", "tools", "--json"]);
    let behind = world.limbeck(["tools", "--config=.mcp.json", "--json"]);
    assert_eq!(before.ends_with(0).json(), behind.ends_with(0).json());
    let both = ["--config", ".mcp.json", "tools", "--config", ".mcp.json"];
    let both = world.limbeck(both).ends_with(2);
    assert!(
        both.stderr.contains("before and after the command"),
        "{both:?}"
    );
}

#[test]
fn search_prints_calls_and_signatures_and_the_documented_json() {
    let world = World::with_shop();
    let text = world.limbeck(["search", "list orders"]).ends_with(0);
    assert!(
        text.stdout.starts_with("shop.list_orders  read  "),
        "{}",
        text.stdout
    );
    assert!(
        text.stdout.contains("tools.shop.list_orders("),
        "{}",
        text.stdout
    );

    let json = world
        .limbeck([
            "search",
            "list orders",
            "one customer",
            "--json",
            "--limit",
            "1",
        ])
        .ends_with(0)
        .json();
    let queries = json["queries"].as_array().unwrap();
    assert_eq!(queries.len(), 2);
    let tool = &queries[0]["tools"][0];
    assert_eq!(queries[0]["query"], "list orders");
    assert_eq!(queries[0]["tools"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&tool["server"], &tool["tool"], &tool["effect"]),
        (&json!("shop"), &json!("list_orders"), &json!("read"))
    );
    assert!(tool["score"].as_f64().unwrap() > 0.0);
    assert!(
        tool["call"]
            .as_str()
            .unwrap()
            .contains("tools.shop.list_orders")
    );
    assert!(tool["signature"].as_str().unwrap().contains("page_size"));

    let unknown = world
        .limbeck(["search", "orders", "--server", "shpo"])
        .ends_with(2);
    assert!(unknown.stderr.contains("shop"), "{unknown:?}");
}

#[test]
fn a_server_that_is_not_configured_is_refused_in_one_sentence_by_every_command() {
    let world = World::with_shop();
    let commands: [&[&str]; 6] = [
        &["tools", "shpo"],
        &["types", "shpo"],
        &["call", "shpo", "get_customer"],
        &["search", "customers", "--server", "shpo"],
        &["auth", "status", "shpo"],
        &["auth", "logout", "shpo"],
    ];
    for command in commands {
        let output = world.command(command).output().unwrap();
        let refused = CommandOutcome::of(output).ends_with(2);
        let first = refused.stderr.lines().next();
        assert_eq!(
            first,
            Some("error: no server is called `shpo`"),
            "{command:?}"
        );
        assert!(refused.stderr.contains("\nhint: "), "{refused:?}");
    }
}

#[test]
fn call_prints_the_value_and_fails_with_the_tools_own_words() {
    let world = World::with_shop();
    let found = world
        .limbeck(["call", "shop", "get_customer", "{\"id\": \"cus_0001\"}"])
        .ends_with(0);
    let customer: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(customer["id"], "cus_0001");

    let raw = world
        .limbeck([
            "call",
            "shop",
            "get_customer",
            "{\"id\": \"cus_0001\"}",
            "--json",
        ])
        .ends_with(0);
    let result: serde_json::Value = serde_json::from_str(&raw.stdout).unwrap();
    assert_eq!(result["structuredContent"], customer);

    let failed = world
        .limbeck(["call", "shop", "get_customer", "{\"id\": \"cus_9999\"}"])
        .ends_with(1);
    assert_eq!(failed.stdout, "");
    assert!(
        failed.stderr.contains("there is no customer cus_9999"),
        "{failed:?}"
    );

    let tool = world.limbeck(["call", "shop", "get_custmer"]).ends_with(2);
    assert!(tool.stderr.contains("get_customer"), "{tool:?}");
    let arguments = world
        .limbeck(["call", "shop", "get_customer", "{\"id\": 7}"])
        .ends_with(2);
    assert!(arguments.stderr.contains("id"), "{arguments:?}");
    let no_json = world
        .limbeck(["call", "shop", "get_customer", "id=7"])
        .ends_with(2);
    assert!(no_json.stderr.contains("not a JSON object"), "{no_json:?}");
}
