//! `add`, `import` and the hints of a user who starts with Limbeck.

use serde_json::json;

use crate::world::{CommandOutcome, LIMBECK, World};

fn own_file(world: &World) -> std::path::PathBuf {
    world.home().join(".config/limbeck/config.toml")
}

#[test]
fn an_argument_that_would_be_the_home_directory_is_refused() {
    let world = World::empty();
    for argument in [".", "..", "--root=."] {
        let refused = world
            .limbeck(["add", "here", "--", "sh", argument])
            .ends_with(2);
        assert!(refused.stderr.contains("`--cwd .`"), "{refused:?}");
        assert!(!own_file(&world).exists(), "{argument}");
    }
    // The control: with a directory the argument means that one.
    let here = world
        .limbeck(["add", "here", "--cwd", ".", "--", "sh", "."])
        .ends_with(0);
    assert!(!here.stderr.contains("warning: "), "{here:?}");
}

#[test]
fn arguments_that_are_paths_are_named_with_the_directory_in_which_they_are_looked_for() {
    let world = World::empty();
    world.file("server.py", "");
    let add = |arguments: &[&str]| {
        let words = [&["add", "one", "--replace", "--"][..], arguments].concat();
        let output = world.command(words).output().unwrap();
        CommandOutcome::of(output).ends_with(0).stderr
    };
    for argument in ["./server.js", "../server.js", "--file=./x", "server.py"] {
        let stderr = add(&["sh", argument]);
        let named = format!("warning: server `one`: `{argument}` is looked for in ");
        assert!(stderr.contains(&named), "{stderr}");
        assert!(stderr.contains("`--cwd .`"), "{stderr}");
    }
    // The control: a word that names no file.
    let stderr = add(&["sh", "other.py"]);
    assert!(!stderr.contains("warning: "), "{stderr}");
}

#[test]
fn an_imported_entry_of_the_user_with_a_relative_argument_is_a_warning() {
    let world = World::empty();
    let servers = json!({"mcpServers": {
        "here": {"command": LIMBECK, "args": ["demo-upstream", "."]},
        "there": {"command": LIMBECK, "args": ["demo-upstream", "/srv"]},
    }});
    let file = world.home().join("clients.json");
    std::fs::write(&file, servers.to_string()).unwrap();
    let file = file.display().to_string();
    let done = world.limbeck(["import", &file]).ends_with(0).stderr;
    assert!(
        done.contains("server `here`: its argument `.` is looked for in the home directory"),
        "{done}"
    );
    assert!(!done.contains("server `there`"), "{done}");
}

#[test]
fn where_no_server_is_configured_each_command_names_the_files_of_clients_and_how_to_add_one() {
    let world = World::empty();
    let none = world.limbeck(["import"]).ends_with(2).stderr;
    assert!(none.contains("no file with servers was found"), "{none}");
    let servers = |key: &str| json!({key: {"a": {"command": "sh"}}}).to_string();
    for (file, key) in [
        (".config/Claude/claude_desktop_config.json", "mcpServers"),
        (".config/zed/settings.json", "context_servers"),
        (
            "Library/Application Support/Claude/claude_desktop_config.json",
            "mcpServers",
        ),
    ] {
        let file = world.home().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, servers(key)).unwrap();
    }
    world.file("program.ts", "return await tools.shop.get({})");
    for (arguments, code) in [
        (&["import"][..], 2),
        (&["tools"][..], 0),
        (&["doctor"][..], 0),
        (&["run", "program.ts"][..], 1),
    ] {
        let outcome = CommandOutcome::of(world.command(arguments).output().unwrap());
        let stderr = outcome.ends_with(code).stderr;
        for part in [
            "`limbeck import ~/.config/Claude/claude_desktop_config.json`",
            "`limbeck import ~/.config/zed/settings.json`",
            "`limbeck import ~/'Library/Application Support/Claude/claude_desktop_config.json'`",
        ] {
            assert!(stderr.contains(part), "{arguments:?}: {stderr}");
        }
    }
    for command in ["tools", "doctor"] {
        let stderr = world.limbeck([command]).ends_with(0).stderr;
        assert!(stderr.contains("`limbeck add`"), "{stderr}");
        assert!(stderr.contains("`limbeck import FILE`"), "{stderr}");
        assert!(stderr.contains("`limbeck setup`"), "{stderr}");
    }
}

#[test]
fn an_address_without_its_scheme_is_answered_with_the_whole_address() {
    let world = World::empty();
    let address = world
        .limbeck(["add", "t7", "example.com/mcp"])
        .ends_with(2)
        .stderr;
    assert!(
        address.contains("limbeck add t7 ") && address.contains("https://example.com/mcp"),
        "{address}"
    );
    // The control: a program.
    let program = world.limbeck(["add", "t7", "./server"]).ends_with(2).stderr;
    assert!(
        program.contains("`limbeck add t7 -- ./server`"),
        "{program}"
    );
}

#[test]
fn a_header_with_a_secret_or_a_variable_that_is_not_set_is_a_warning() {
    let world = World::empty();
    let add = |header: &str| {
        let address = "https://a.example/mcp";
        let words = ["add", "far", address, "--replace", "--header", header];
        let output = world.command(words).env("SET_HERE", "x").output().unwrap();
        CommandOutcome::of(output).ends_with(0).stderr
    };
    let unset = add("Authorization: Bearer env:NOT_SET_HERE");
    assert!(
        unset.contains("warning: server `far`: header `Authorization`: the environment variable `NOT_SET_HERE` is not set"),
        "{unset}"
    );
    for header in ["Authorization: Bearer abc", "X-Api-Key: abc"] {
        let literal = add(header);
        assert!(
            literal.contains("warning: ") && literal.contains("`env:NAME`"),
            "{literal}"
        );
        assert!(!literal.contains("abc"), "{literal}");
    }
    // The controls.
    for header in ["Authorization: Bearer env:SET_HERE", "X-Region: eu"] {
        let right = add(header);
        assert!(!right.contains("warning: "), "{right}");
    }
}

#[test]
fn a_broken_file_of_the_users_client_is_an_error_with_the_next_step() {
    let world = World::empty();
    let state = world.home().join(".claude.json");
    std::fs::write(&state, "{\"mcpServers\": {").unwrap();
    let tools = world.limbeck(["tools"]).ends_with(1).stderr;
    assert!(tools.starts_with("error: "), "{tools}");
    let hint = format!("hint: correct {}; ", state.display());
    assert!(tools.contains(&hint), "{tools}");
    // The control.
    std::fs::write(&state, "{\"mcpServers\": {}}").unwrap();
    let tools = world.limbeck(["tools"]).ends_with(0).stderr;
    assert!(!tools.contains("error: "), "{tools}");
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_that_says_what_to_correct() {
    let world = World::empty();
    world.file("bad.json", "{\n\"mcpServers\": {");
    world.file("bad.toml", "x = [");
    for (file, hint) in [
        (".", "hint: give a file\n"),
        ("bad.json", "hint: correct line "),
        ("bad.toml", "hint: correct line 1; "),
    ] {
        let stderr = world.limbeck(["import", file]).ends_with(2).stderr;
        assert!(stderr.contains(hint), "{file}: {stderr}");
    }
    std::fs::write(world.work().join("wide.json"), b"\xff\xfe{\0").unwrap();
    let wide = world.limbeck(["import", "wide.json"]).ends_with(2).stderr;
    assert!(
        wide.contains("UTF-8") && !wide.contains("accepted form"),
        "{wide}"
    );
    // Servers of a file that cannot be read are not known, and `trust` does not say that no file adds one.
    world.file(".mcp.json", "{\"mcpServers\": {");
    world.limbeck(["trust"]).ends_with(1);
    // The control.
    world.file(".mcp.json", "{\"mcpServers\": {}}");
    world.limbeck(["trust"]).ends_with(0);
}

#[test]
fn arguments_of_another_form_are_answered_with_the_right_one() {
    let world = World::with_shop();
    let refused = |arguments: &[&str]| {
        let output = world.command(arguments).output().unwrap();
        CommandOutcome::of(output).ends_with(2).stderr
    };
    let list = refused(&["call", "shop", "get_customer", "[1]"]);
    assert!(list.contains("hint: give an object"), "{list}");
    let dotted = refused(&["call", "shop.get_customer", "{\"id\": \"cus_0001\"}"]);
    assert!(
        dotted.contains("hint: did you mean `limbeck call shop get_customer`"),
        "{dotted}"
    );
    // The control, after which the tools of the server are known.
    world
        .limbeck(["call", "shop", "get_customer", "{\"id\": \"cus_0001\"}"])
        .ends_with(0);
    let similar = refused(&["call", "shpo", "list_customers"]);
    let hint =
        "hint: servers with a similar name: `shop`, try `limbeck call shop list_customers`\n";
    assert!(similar.ends_with(hint), "{similar}");
}

#[test]
fn a_ledger_of_a_time_without_programs_names_the_time() {
    let world = World::empty();
    let ledger = world.limbeck(["ledger", "--since", "2030-01-01"]);
    assert_eq!(
        ledger.ends_with(0).stderr,
        "no programs are recorded since 2030-01-01 00:00:00 UTC\n"
    );
    // The control: of all times the first step is named.
    let ledger = world.limbeck(["ledger"]).ends_with(0).stderr;
    assert!(ledger.contains("`limbeck run FILE`"), "{ledger}");
}

#[test]
fn a_program_that_is_no_server_is_named_as_such() {
    let world = World::empty();
    let servers = json!({"mcpServers": {
        "prints": {"command": "sh", "args": ["-c", "read line; echo hello"]},
        "quiet": {"command": "sh", "args": ["-c", "exit 3"]},
    }});
    world.file(".mcp.json", &servers.to_string());
    let stderr = world.limbeck(["tools"]).ends_with(1).stderr;
    assert!(
        stderr.contains("(exit status: 0, its output was not MCP)"),
        "{stderr}"
    );
    // The control.
    assert!(stderr.contains("(exit status: 3)"), "{stderr}");
}
