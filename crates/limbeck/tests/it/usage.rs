//! Help, completions, wrong arguments, and commands without configuration.

use std::process::{Command, Stdio};

use crate::world::{CommandOutcome, LIMBECK, World, search_path};

#[test]
fn wrong_arguments_end_with_2_and_say_so_on_standard_error() {
    let world = World::empty();
    let too_many = ["search"].into_iter().chain(["q"; 17]).collect::<Vec<_>>();
    let wrong: [&[&str]; 11] = [
        &too_many,
        &["search", "q", "--limit", "51"],
        &["no-such-command"],
        &["run"],
        &["run", "x.ts", "--timeout-ms", "0"],
        &["run", "x.ts", "--timeout-ms", "300001"],
        &["run", "x.ts", "--language", "cobol"],
        &["search"],
        &["executions", "--value"],
        &["executions", "--limit", "0"],
        &["--log", "loud", "tools"],
    ];
    for arguments in wrong {
        let outcome = CommandOutcome::of(world.command(arguments).output().unwrap()).ends_with(2);
        assert_eq!(outcome.stdout, "", "{arguments:?}");
        assert!(outcome.stderr.starts_with("error: "), "{outcome:?}");
    }
}

#[test]
fn a_file_of_a_client_that_is_not_there_is_not_blamed_on_config() {
    let world = World::empty();
    let import = world.limbeck(["import", "nowhere.json"]).ends_with(2);
    assert_eq!(
        import.stderr,
        "error: file `nowhere.json` does not exist\n\n\
         hint: give the path of a client's file, such as `limbeck import ~/.claude.json`\n"
    );
    // The hint leads to a file that is there, or at least not to the one that is not.
    let state = world.home().join(".claude.json").display().to_string();
    let none = world.limbeck(["import", &state]).ends_with(2).stderr;
    assert!(
        none.ends_with("`~/.cursor/mcp.json` or `.vscode/mcp.json`\n"),
        "{none}"
    );
    std::fs::create_dir(world.home().join(".cursor")).unwrap();
    std::fs::write(
        world.home().join(".cursor/mcp.json"),
        r#"{"mcpServers": {"a": {"command": "sh"}}}"#,
    )
    .unwrap();
    let found = world.limbeck(["import", &state]).ends_with(2).stderr;
    assert!(
        found.ends_with("hint: `limbeck import ~/.cursor/mcp.json` finds servers\n"),
        "{found}"
    );
    // The control: the option has its own words.
    let config = world
        .limbeck(["tools", "--config", "nowhere.json"])
        .ends_with(2);
    assert!(
        config.stderr.contains("hint: `--config` takes"),
        "{config:?}"
    );
}

#[test]
fn help_and_version_are_data() {
    let world = World::empty();
    let help = world.limbeck(["--help"]).ends_with(0);
    for word in [
        "serve",
        "run",
        "search",
        "tools",
        "call",
        "executions",
        "replay",
        "doctor",
        "demo",
    ] {
        assert!(
            help.stdout.contains(&format!("\n  {word} ")),
            "{word}: {}",
            help.stdout
        );
    }
    assert!(!help.stdout.contains("demo-upstream"), "{}", help.stdout);
    assert!(
        !help.stdout.contains('\u{1b}'),
        "colour in a pipe: {}",
        help.stdout
    );
    let version = world.limbeck(["--version"]).ends_with(0);
    assert_eq!(
        version.stdout,
        format!("limbeck {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn completions_name_the_commands_and_keep_the_hidden_one() {
    let world = World::empty();
    for shell in ["bash", "zsh", "fish"] {
        let script = world.limbeck(["completions", shell]).ends_with(0).stdout;
        assert!(script.contains("executions"), "{shell}");
    }
    world.limbeck(["completions", "cmd.exe"]).ends_with(2);
}

#[test]
fn each_command_has_a_manual_page() {
    let world = World::empty();
    let pages = world.path().join("pages");
    std::fs::create_dir(&pages).unwrap();
    world.limbeck(["man", pages.to_str().unwrap()]).ends_with(0);
    for (page, text) in [("limbeck.1", "doctor"), ("limbeck-run.1", "timeout")] {
        let content = std::fs::read_to_string(pages.join(page)).unwrap();
        assert!(content.contains(text), "{page}: {content}");
    }
    let missing = pages.join("missing");
    let refused = world.limbeck(["man", missing.to_str().unwrap()]);
    assert!(refused.ends_with(4).stderr.contains("manual pages"));
}

#[test]
fn no_configuration_is_no_error_and_says_where_it_looked() {
    let world = World::empty();
    let tools = world.limbeck(["tools"]).ends_with(0);
    assert_eq!(tools.stdout, "");
    assert!(
        tools.stderr.contains("no MCP servers are configured"),
        "{tools:?}"
    );
    for place in ["~/.claude.json", "./.mcp.json", "./limbeck.toml"] {
        assert!(tools.stderr.contains(place), "{place}: {tools:?}");
    }
    let json = world.limbeck(["tools", "--json"]).ends_with(0);
    assert_eq!(json.stdout, "{\"servers\":[]}\n");
    let search = world.limbeck(["search", "anything"]).ends_with(0);
    assert!(
        search.stderr.contains("no MCP servers are configured"),
        "{search:?}"
    );
}

#[test]
fn a_broken_file_that_was_named_ends_with_2_and_its_place() {
    let world = World::with_shop();
    world
        .limbeck(["tools", "--config", ".mcp.json"])
        .ends_with(0);

    world.file("broken.json", "{\n  \"mcpServers\": {\"a\": 1}\n}\n");
    let broken = world
        .limbeck(["tools", "--config", "broken.json"])
        .ends_with(2);
    assert_eq!(broken.stdout, "");
    assert!(broken.stderr.starts_with("error: "), "{broken:?}");
    assert!(broken.stderr.contains("broken.json:2:"), "{broken:?}");
    assert!(broken.stderr.contains("mcpServers"), "{broken:?}");
    assert!(broken.stderr.contains("hint: "), "{broken:?}");

    let missing = world
        .limbeck(["tools", "--config", "nowhere.json"])
        .ends_with(2);
    assert!(
        missing.stderr.contains("nowhere.json does not exist"),
        "{missing:?}"
    );
}

#[test]
fn a_state_directory_that_cannot_be_used_is_a_warning_for_what_runs_and_an_error_for_what_looks_back()
 {
    let world = World::empty();
    let taken = world.file("taken", "").display().to_string();
    let run = world.limbeck_reading(["--state-dir", &taken, "run", "-"], "return 2");
    let run = run.ends_with(0);
    assert_eq!(run.stdout, "2\n");
    assert!(
        run.stderr.contains("warning: executions are not recorded"),
        "{run:?}"
    );
    world
        .limbeck(["--state-dir", &taken, "executions"])
        .ends_with(4);
}

#[test]
fn a_call_that_may_write_is_not_sent_where_its_intent_cannot_be_recorded() {
    let world = World::with_shop();
    let state = world.file("taken", "").display().to_string();
    let program = "return (await tools.shop.get_customer({ id: 'cus_0001' })).id";
    let run =
        |state: &str| world.limbeck_reading(["--state-dir", state, "run", "--json", "-"], program);
    let refused = run(&state).ends_with(1);
    let envelope = refused.json();
    assert_eq!(envelope["error"]["code"], "gateway_fault", "{envelope}");
    assert_eq!(
        envelope["effects"]["writes"].as_u64().unwrap_or(0),
        0,
        "{envelope}"
    );
    assert!(
        refused.stderr.contains("calls that may write are refused"),
        "{refused:?}"
    );
    let call = [
        "--state-dir",
        &state,
        "call",
        "shop",
        "get_customer",
        r#"{"id":"cus_0001"}"#,
    ];
    world.limbeck(call).ends_with(1);
    // The controls: a call that only reads goes on, and with a state directory all do.
    let classes = "[policy]\npreset = 'observe'\nclasses = { 'shop.get_customer' = 'read' }\n";
    let good = world.path().join("state").display().to_string();
    assert_eq!(run(&good).ends_with(0).json()["value"], "cus_0001");
    let own = world.home().join(".config/limbeck/config.toml");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    let before = std::fs::read_to_string(&own).unwrap_or_default();
    std::fs::write(&own, format!("{before}\n{classes}")).unwrap();
    assert_eq!(run(&state).ends_with(0).json()["value"], "cus_0001");
}

#[test]
fn without_a_home_everything_runs_and_nothing_is_recorded() {
    let world = World::empty();
    let homeless = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        CommandOutcome::of(command.env_remove("HOME").output().unwrap())
    };
    let tools = homeless(&["tools"]).ends_with(0);
    assert!(tools.stderr.contains("HOME is not set"), "{tools:?}");
    let mut relative = world.command(["tools"]);
    let relative = CommandOutcome::of(relative.env("HOME", "rel").output().unwrap());
    assert!(
        relative.stderr.contains("HOME is not an absolute path"),
        "{relative:?}"
    );
    let past = homeless(&["executions"]).ends_with(2);
    assert!(past.stderr.contains("--state-dir"), "{past:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let world = World::empty();
    world.envelope("return 'a value'");
    // The shell closes the read end before anything is written.
    let script = format!(
        "{LIMBECK} executions | head -0; {LIMBECK} completions bash | head -0; {LIMBECK} --help | head -0"
    );
    let mut command = Command::new("sh");
    command
        .args(["-c", &script])
        .env_clear()
        .env("HOME", world.home())
        .env("PATH", search_path())
        .current_dir(world.work());
    let outcome = CommandOutcome::of(command.output().unwrap()).ends_with(0);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""));
}

#[test]
fn bare_limbeck_without_a_client_ends_and_prints_nothing() {
    let world = World::with_shop();
    for stdin in [Stdio::null(), Stdio::piped()] {
        let child = world
            .command::<[&str; 0], &str>([])
            .stdin(stdin)
            .stdout(Stdio::piped())
            .spawn();
        let outcome = CommandOutcome::of(child.unwrap().wait_with_output().unwrap()).ends_with(0);
        assert_eq!(outcome.stdout, "");
    }
}
