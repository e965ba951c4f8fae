//! What commands print beside their result: findings about files, servers that do not work, the next step.

use serde_json::json;

use crate::world::{CommandOutcome, LIMBECK, World};

/// Writes the user's own configuration.
fn own_file(world: &World, text: &str) {
    let own = world.home().join(".config/limbeck");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("config.toml"), text).unwrap();
}

fn run(world: &World) -> CommandOutcome {
    world.limbeck_reading(["run", "-"], "return 1").ends_with(0)
}

#[test]
fn several_findings_are_one_line_where_the_command_is_about_something_else() {
    let world = World::empty();
    own_file(&world, "[limits]\nwal_ms = 3\n[sandbox]\nfoo = 1\n");
    assert_eq!(
        run(&world).stderr,
        "warning: 2 findings about the configuration in ~/.config/limbeck/config.toml; \
         `limbeck doctor` shows each\n"
    );
    let doctor = world.limbeck(["doctor"]).ends_with(1);
    assert_eq!(
        doctor.stderr.matches(": unknown key").count(),
        2,
        "{doctor:?}"
    );
    // The control: a single finding is as long as its number.
    own_file(&world, "[limits]\nfoo = 1\n");
    let one = run(&world).stderr;
    assert!(one.contains("config.toml:2:1: `limits.foo`: "), "{one}");
}

#[test]
fn the_error_of_an_entry_is_printed_once_beside_its_server() {
    let world = World::empty();
    let servers = |servers: &serde_json::Value| {
        world.file(".mcp.json", &json!({"mcpServers": servers}).to_string());
    };
    // The finding has a hint, which a listing prints behind the error.
    servers(&json!({"far": {"url": "http://a.example/mcp"}}));
    let far = world.limbeck(["tools"]).ends_with(1).stderr;
    assert_eq!(far.matches("unencrypted").count(), 1, "{far}");
    assert!(
        far.starts_with("error: ") && far.contains("hint: "),
        "{far}"
    );
    servers(&json!({"a": {"command": "sh", "env": {"T": "${NOT_SET_ANYWHERE}"}}}));
    let tools = world.limbeck(["tools"]).ends_with(1);
    assert_eq!(tools.stderr.matches(" is not set;").count(), 1, "{tools:?}");
    assert!(tools.stderr.starts_with("error: server `a`: "), "{tools:?}");
    assert!(
        tools.stderr.ends_with("then run `limbeck tools a`\n"),
        "{tools:?}"
    );
    let named = world.limbeck(["tools", "a"]).ends_with(1).stderr;
    assert_eq!(named.matches(" is not set;").count(), 1, "{named}");
    let call = world.limbeck(["call", "a", "x"]).ends_with(1);
    assert!(
        call.stderr.contains("hint: run `limbeck tools a` to see"),
        "{call:?}"
    );
    // The control: a command that lists no server prints the finding.
    let run = run(&world).stderr;
    assert!(
        run.starts_with("warning: ") && run.contains(" is not set;"),
        "{run}"
    );
}

#[test]
fn a_search_names_servers_that_do_not_work_and_logs_nothing() {
    let world = World::empty();
    let servers = json!({"mcpServers": {
        "shop": {"command": LIMBECK, "args": ["demo-upstream"]},
        "absent": {"command": "no-such-program-anywhere"},
    }});
    world.file(".mcp.json", &servers.to_string());
    let search = world.limbeck(["search", "list customers"]).ends_with(0);
    assert!(search.stdout.contains("list_customers"), "{search:?}");
    assert!(
        search.stderr.ends_with(
            "warning: not searched, because it does not work:\n  \
             absent: program `no-such-program-anywhere` was not found in PATH\n\n\
             hint: run `limbeck tools` to see the next step for each\n"
        ),
        "{search:?}"
    );
    assert!(!search.stderr.contains(" WARN "), "{search:?}");
    // The control: who asks for the log gets it.
    let logged = world
        .limbeck(["search", "list customers", "--log", "warn"])
        .ends_with(0);
    assert!(logged.stderr.contains("could not be listed"), "{logged:?}");
}

#[test]
fn a_missing_program_is_looked_for_where_its_command_says() {
    let world = World::empty();
    let servers = json!({"mcpServers": {
        "absolute": {"command": "/nonexistent/server"},
        // The control.
        "name": {"command": "no-such-program-anywhere"},
    }});
    world.file(".mcp.json", &servers.to_string());
    let missing = |server: &str| world.limbeck(["tools", server]).ends_with(1).stderr;
    let absolute = missing("absolute");
    for part in [
        "error: server `absolute`: program `/nonexistent/server` was not found in `/nonexistent`\n",
        "hint: install `/nonexistent/server`, or correct `command` of `absolute`\n",
    ] {
        assert!(absolute.contains(part), "{absolute}");
    }
    let name = missing("name");
    assert!(name.contains(" was not found in PATH\n"), "{name}");
    assert!(
        name.contains("the absolute path of the program\n"),
        "{name}"
    );
}

#[test]
fn no_hint_of_tools_leads_to_the_same_command() {
    let world = World::empty();
    let directory = world.work().display().to_string();
    let servers = json!({"mcpServers": {"d": {"command": directory}}});
    world.file(".mcp.json", &servers.to_string());
    let tools = world.limbeck(["tools", "d"]).ends_with(1);
    assert!(
        tools
            .stderr
            .ends_with("hint: correct its entry, then run `limbeck tools d --log debug`\n"),
        "{tools:?}"
    );
    // The control: elsewhere the same step leads there.
    let call = world.limbeck(["call", "d", "x"]).ends_with(1);
    assert!(call.stderr.contains("`limbeck tools d`"), "{call:?}");
}

#[test]
fn the_next_step_of_a_call_is_a_command() {
    let world = World::with_shop();
    let refused = |arguments: &[&str]| {
        let output = world.command(arguments).output().unwrap();
        CommandOutcome::of(output).ends_with(2).stderr
    };
    for (arguments, hint) in [
        (
            &["call", "shop", "get_custmer"][..],
            "hint: try `limbeck call shop get_customer`, ",
        ),
        (
            &["call", "shop", "get_customer", "{\"id\": 7}"][..],
            "hint: call it as `limbeck call shop get_customer JSON` with JSON of the type `{ id: string }`\n",
        ),
        (
            &["call", "shop.get_customer"][..],
            "hint: did you mean `limbeck call shop get_customer`?\n",
        ),
    ] {
        let stderr = refused(arguments);
        assert!(stderr.contains(hint), "{stderr}");
        assert!(!stderr.contains("tools."), "{stderr}");
    }
    // The control: in a program the call is an expression.
    let program = world.limbeck_reading(["run", "-"], "return await tools.shop.get_custmer({})");
    let program = program.ends_with(1).stderr;
    assert!(
        program.contains("try `tools.shop.get_customer`"),
        "{program}"
    );
}

#[test]
fn the_list_of_servers_has_short_paths_and_no_number_that_is_not_known() {
    let world = World::with_shop();
    own_file(
        &world,
        "[servers.absent]\ncommand = \"no-such-program-anywhere\"\n",
    );
    let tools = world.limbeck(["tools"]).ends_with(1).stdout;
    let rows: Vec<Vec<&str>> = tools
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        rows[1],
        [
            "absent",
            "failed",
            "stdio",
            "-",
            "-",
            "~/.config/limbeck/config.toml:1"
        ]
    );
    assert_eq!(rows[2][..2], ["shop", "ready"], "{tools}");
    assert_eq!(rows[2][4..6], ["3", "./.mcp.json:1"], "{tools}");
    // The JSON has the whole path.
    let json = world.limbeck(["tools", "--json"]).ends_with(1).json();
    let source = json["servers"][0]["source"].as_str().unwrap();
    assert!(source.starts_with('/'), "{json}");
    let doctor = world.limbeck(["doctor"]).ends_with(1).stdout;
    assert!(doctor.contains("60 s (default)\n"), "{doctor}");
}

#[test]
fn all_of_no_servers_is_no_question() {
    let world = World::empty();
    let none = world.limbeck(["trust", "--all"]).ends_with(0);
    assert_eq!(none.stderr, "no file of this repository adds a server\n");
    // The control: a server that waits needs an answer, and there is no terminal.
    let shop = json!({"mcpServers": {"s": {"command": "sh"}}});
    world.file(".mcp.json", &shop.to_string());
    let mut waiting = world.command(["trust", "--all"]);
    let waiting = waiting.env_remove("LIMBECK_TRUST_PROJECT").output();
    CommandOutcome::of(waiting.unwrap()).ends_with(2);
}

#[test]
fn the_hint_of_require_names_what_calls_a_tool_by_its_full_name() {
    let world = World::empty();
    let required = world.limbeck_reading(["run", "-"], "const fs = require('fs'); return fs");
    let required = required.ends_with(1).stderr;
    let hint = required.lines().find(|line| line.starts_with("hint: "));
    assert!(hint.unwrap().contains("callMCPTool"), "{required}");
    // The control: a name that exists needs no hint.
    let known = world.limbeck_reading(["run", "-"], "return typeof callMCPTool");
    assert_eq!(known.ends_with(0).stdout, "function\n");
}

#[test]
fn what_cannot_be_added_says_what_can() {
    let world = World::empty();
    let words = world
        .limbeck(["add", "git", "--", "uvx mcp-server-git"])
        .ends_with(2);
    assert!(
        words.stderr.ends_with(
            "hint: give the words one by one: `limbeck add git -- uvx mcp-server-git`\n"
        ),
        "{words:?}"
    );
    let itself = world
        .limbeck(["add", "me", "--", LIMBECK, "serve"])
        .ends_with(2);
    assert!(
        itself.stderr.contains("`me`: it is Limbeck itself"),
        "{itself:?}"
    );
    assert!(!world.home().join(".config/limbeck/config.toml").exists());
    // The control: another command of the same executable is a server.
    world
        .limbeck(["add", "shop", "--", LIMBECK, "demo-upstream"])
        .ends_with(0);
    let cursor = world
        .limbeck(["search", "orders", "--cursor", "x"])
        .ends_with(2);
    assert_eq!(
        cursor.stderr,
        "error: unknown `--cursor`: pass the `--cursor` of an earlier answer, unchanged\n\n\
         hint: search again without `--cursor`\n"
    );
}

#[test]
fn where_no_server_is_configured_the_hint_adds_one() {
    let world = World::empty();
    world.file("program.ts", "return await tools.shop.get({})");
    for (arguments, code) in [
        (&["run", "program.ts"][..], 1),
        (&["run", "program.ts", "--check"][..], 1),
        (&["call", "shop", "get"][..], 2),
    ] {
        let outcome = CommandOutcome::of(world.command(arguments).output().unwrap());
        let stderr = outcome.ends_with(code).stderr;
        assert!(stderr.contains("no servers are configured"), "{stderr}");
        assert!(
            stderr.contains("`limbeck add`") && stderr.contains("`limbeck import FILE`"),
            "{stderr}"
        );
        assert!(!stderr.contains("`limbeck tools`"), "{stderr}");
    }
}
