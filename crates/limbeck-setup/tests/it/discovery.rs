//! Which files are found, in which order they count, and how little one bad file matters.

use limbeck_domain::Tier;
use limbeck_setup::{ConfigError, Level, Scope};

use crate::World;

/// One server by the name `n`, started by `command`.
fn one(name: &str, command: &str) -> String {
    format!(r#"{{ "mcpServers": {{ "{name}": {{ "command": "{command}" }} }} }}"#)
}

#[test]
fn nothing_to_find_is_no_servers_and_no_complaint() {
    let found = World::new().load(&[]).unwrap();
    assert!(found.servers.is_empty() && found.notes.is_empty() && found.sources.is_empty());
}

#[test]
fn a_later_source_replaces_an_earlier_one_and_both_are_named() {
    let world = World::new()
        .file(
            "home/.claude.json",
            r#"{ "mcpServers": { "user": { "command": "1" }, "s": { "command": "1" } },
                 "projects": { "$ROOT/project": { "mcpServers": { "s": { "command": "2" } } } } }"#,
        )
        .file("project/.mcp.json", &one("s", "3"))
        .file(
            "home/.config/limbeck/config.toml",
            "[servers.s]\ncommand = '4'",
        )
        .file("project/limbeck.toml", "[servers.s]\ncommand = '5'")
        .file("project/one.json", &one("s", "6"))
        .file("two.json", &one("s", "7"));
    let found = world.load(&["one.json", "../two.json"]).unwrap();
    assert_eq!(
        world.origins(&found),
        [
            "user $ROOT/home/.claude.json:1",
            "s $ROOT/project/../two.json:1"
        ]
    );
    insta::assert_snapshot!(world.notes(&found, Level::Warning).join("\n"), @r"
    $ROOT/home/.claude.json:2:77: `projects.$ROOT/project.mcpServers.s`: replaces the one in $ROOT/home/.claude.json:1
    $ROOT/project/.mcp.json:1:19: `mcpServers.s`: replaces the one in $ROOT/home/.claude.json:2 (project $ROOT/project)
    $ROOT/home/.config/limbeck/config.toml:1:10: `servers.s`: replaces the one in $ROOT/project/.mcp.json:1 (repository)
    $ROOT/project/limbeck.toml:1:10: `servers.s`: replaces the one in $ROOT/home/.config/limbeck/config.toml:1
    ");
    // Whoever names a file means it to replace.
    assert_eq!(world.notes(&found, Level::Info).len(), 2);
    assert_eq!(found.sources.len(), 6);
}

#[test]
fn the_same_definition_twice_is_no_conflict() {
    let world = World::new()
        .file("home/.claude.json", &one("s", "x"))
        .file("project/.mcp.json", &one("s", "x"));
    let found = world.load(&[".mcp.json"]).unwrap();
    assert_eq!(world.origins(&found), ["s $ROOT/project/.mcp.json:1"]);
    assert_eq!(found.notes, []);
}

#[test]
fn without_discovery_only_named_files_are_read() {
    let world = World::new()
        .file("home/.claude.json", &one("user", "x"))
        .file("given.json", &one("given", "x"));
    let found = crate::given(&[&world.path("given.json")]).unwrap();
    assert_eq!(world.origins(&found), ["given $ROOT/given.json:1"]);
}

#[test]
fn the_project_entry_of_the_nearest_directory_counts() {
    let world = World::new().file(
        "home/.claude.json",
        r#"{ "projects": {
             "$ROOT": { "mcpServers": { "above": { "command": "x" } } },
             "$ROOT/proj": { "mcpServers": { "sibling": { "command": "x" } } },
             "$ROOT/project/sub": { "mcpServers": { "below": { "command": "x" } } } } }"#,
    );
    let found = world.load(&[]).unwrap();
    assert_eq!(
        world.origins(&found),
        ["above $ROOT/home/.claude.json:2 (project $ROOT)"]
    );
    assert_eq!(
        found.servers[0].origin.scope,
        Scope::Project(world.root.path().to_owned())
    );
}

#[test]
fn a_server_of_the_repository_that_the_user_turned_down_stays_off() {
    let world = World::new()
        .file(
            "home/.claude.json",
            r#"{ "projects": { "$ROOT/project": { "disabledMcpjsonServers": ["bad", 7] } } }"#,
        )
        .file(
            "project/.mcp.json",
            r#"{ "mcpServers": { "bad": { "command": "x" }, "good": { "command": "x" } } }"#,
        );
    let found = world.load(&[]).unwrap();
    let off: Vec<_> = found
        .servers
        .iter()
        .map(|s| (s.name.as_str(), s.disabled))
        .collect();
    assert_eq!(off, [("bad", true), ("good", false)]);
    assert_eq!(world.notes(&found, Level::Info).len(), 1);
}

#[test]
fn a_broken_file_that_was_found_is_reported_and_the_others_work() {
    let world = World::new()
        .file("home/.claude.json", "{\n  \"mcpServers\": {\n    oops\n")
        .file(
            "project/.mcp.json",
            r#"{ "mcpServers": { "bad": { "command": "x", "args": "a b" }, "good": { "command": "x" } } }"#,
        )
        .file(
            "project/limbeck.toml",
            "[limit]\nwall_ms = 1\n[servers.mine]\ncommand = 'x'\n[servers.odd]\ncomand = 'x'\n",
        );
    let found = world.load(&[]).unwrap();
    let usable: Vec<_> = found
        .servers
        .iter()
        .map(|server| (server.name.as_str(), server.definition.is_ok()))
        .collect();
    assert_eq!(
        usable,
        [
            ("bad", false),
            ("good", true),
            ("mine", true),
            ("odd", false)
        ]
    );
    insta::assert_snapshot!(world.notes(&found, Level::Error).join("\n"), @r"
    $ROOT/home/.claude.json:3:5: expected string for object property
    $ROOT/project/.mcp.json:1:52: `mcpServers.bad.args`: expected a list, found a string
    $ROOT/project/limbeck.toml:1:2: `limit`: unknown key, did you mean `limits`?
    $ROOT/project/limbeck.toml:6:10: `servers.odd.comand`: unknown key, did you mean `command`?
    ");
}

#[test]
fn a_named_file_must_be_there() {
    let world = World::new();
    let error = world.load(&["missing.json"]).unwrap_err();
    assert!(matches!(error, ConfigError::Missing { .. }));
    assert_eq!(
        world.hide(&error),
        "configuration file $ROOT/project/missing.json does not exist"
    );
}

#[test]
fn a_repository_that_chooses_code_for_a_server_is_pointed_out() {
    let content = r#"{ "mcpServers": { "s": { "command": "x",
        "env": { "LD_PRELOAD": "./x.so", "DYLD_X": "y", "HARMLESS": "z" } } } }"#;
    let world = World::new().file("project/.mcp.json", content);
    let found = world.load(&[]).unwrap();
    assert_eq!(world.notes(&found, Level::Warning).len(), 2);
    // The control: in a file of the user's own it is the user's business.
    let world = World::new().file("home/.claude.json", content);
    let found = world.load(&[]).unwrap();
    assert_eq!(world.notes(&found, Level::Warning).len(), 0);
}

#[test]
fn settings_come_from_the_nearest_file_and_know_where_they_stand() {
    let world = World::new()
        .file(
            "home/.config/limbeck/config.toml",
            "[limits]\nwall_ms = 1000",
        )
        .file("project/limbeck.toml", "# ours\n[limits]\nwall_ms = 2000");
    let wall_ms = world.load(&[]).unwrap().settings.wall_ms.unwrap();
    assert_eq!(wall_ms.value, 2_000);
    assert_eq!(
        world.hide(&wall_ms.origin),
        "$ROOT/project/limbeck.toml:3 (repository)"
    );
}

const STRICT: &str = "[sandbox]\nminimum_tier = 'strict'\n";
const WASM: &str = "[sandbox]\nminimum_tier = 'wasm'\n";
const OF_USER: &str = "home/.config/limbeck/config.toml";
const OF_REPOSITORY: &str = "project/limbeck.toml";

/// The minimum tier and where it stands, with everything that was said on the way.
fn minimum_tier(world: &World, config: &[&str]) -> (Option<(Tier, String)>, Vec<String>) {
    let found = world.load(config).unwrap();
    let notes = found.notes.iter().map(|note| world.hide(note)).collect();
    let setting = found.settings.minimum_tier;
    let told = setting.map(|setting| (setting.value, world.hide(setting.origin)));
    (told, notes)
}

#[test]
fn a_repository_cannot_lower_the_minimum_tier_and_is_told_so() {
    let world = World::new().file(OF_USER, STRICT).file(OF_REPOSITORY, WASM);
    let (tier, notes) = minimum_tier(&world, &[]);
    assert_eq!(tier, Some((Tier::Strict, format!("$ROOT/{OF_USER}:2"))));
    insta::assert_snapshot!(notes.join("\n"), @"$ROOT/project/limbeck.toml:2:16: `sandbox.minimum_tier`: `wasm` is below `strict` ($ROOT/home/.config/limbeck/config.toml:2) and is not used: a file of the repository can only raise it");

    // Nobody but the repository has a word: the default is what it would lower.
    let world = World::new().file(OF_REPOSITORY, WASM);
    let (tier, notes) = minimum_tier(&world, &[]);
    if Tier::MINIMUM_DEFAULT == Tier::Strict {
        assert_eq!((tier, notes.len()), (None, 1));
    }

    // The controls: it may raise it, and the user may say what the repository may not.
    let world = World::new().file(OF_USER, WASM).file(OF_REPOSITORY, STRICT);
    let (tier, notes) = minimum_tier(&world, &[]);
    let origin = format!("$ROOT/{OF_REPOSITORY}:2 (repository)");
    assert_eq!((tier, notes), (Some((Tier::Strict, origin)), Vec::new()));
    let world = World::new().file(OF_USER, WASM);
    let (tier, notes) = minimum_tier(&world, &[]);
    let origin = format!("$ROOT/{OF_USER}:2");
    assert_eq!((tier, notes), (Some((Tier::Wasm, origin)), Vec::new()));
}

#[test]
fn a_file_named_on_the_command_line_has_the_last_word_on_the_minimum_tier() {
    let world = World::new().file(OF_USER, STRICT).file("named.toml", WASM);
    let (tier, notes) = minimum_tier(&world, &["../named.toml"]);
    let origin = "$ROOT/project/../named.toml:2".to_owned();
    assert_eq!((tier, notes), (Some((Tier::Wasm, origin)), Vec::new()));
}

#[test]
fn a_minimum_tier_that_cannot_be_read_counts_as_strict() {
    for wrong in [
        "[sandbox]\nminimum_tier = 'none'\n",
        "[sandbox]\nminimum_teir = 'wasm'\n",
        "[sandbox]\nminimum_tier = 'wasm'\nbypass = true\n",
        "sandbox = 'wasm'\n",
    ] {
        let world = World::new().file(OF_USER, wrong);
        let (tier, notes) = minimum_tier(&world, &[]);
        assert_eq!(tier.map(|(tier, _)| tier), Some(Tier::Strict), "{wrong}");
        assert_eq!(notes.len(), 1, "{wrong}: {notes:?}");
    }
}

#[test]
fn a_clients_file_has_no_say_in_the_sandbox() {
    let world = World::new().file(
        "project/.mcp.json",
        r#"{ "mcpServers": {}, "sandbox": { "minimum_tier": "wasm" } }"#,
    );
    assert_eq!(minimum_tier(&world, &[]), (None, Vec::new()));
}
