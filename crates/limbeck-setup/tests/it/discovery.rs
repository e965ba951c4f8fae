//! Discovery: files that are found, their order, and the effect of a wrong one.

use limbeck_domain::Tier;
use limbeck_setup::{
    ConfigError, Discovery, EntryScope, OperatingSystem, Severity, Transport, TrustPolicy, World,
};

use crate::TestProject;

/// A file with one server.
fn one(name: &str, command: &str) -> String {
    format!(r#"{{ "mcpServers": {{ "{name}": {{ "command": "{command}" }} }} }}"#)
}

#[test]
fn without_files_there_are_no_servers_and_no_diagnostics() {
    let found = TestProject::new().load(&[]).unwrap();
    assert!(found.servers.is_empty() && found.diagnostics.is_empty() && found.sources.is_empty());
}

#[test]
fn a_later_source_replaces_an_earlier_one_and_both_are_named() {
    let project = TestProject::new()
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
    let found = project.load(&["one.json", "../two.json"]).unwrap();
    assert_eq!(
        project.origins(&found),
        [
            "user $ROOT/home/.claude.json:1",
            "s $ROOT/project/../two.json:1"
        ]
    );
    insta::assert_snapshot!(project.messages(&found, Severity::Warning).join("\n"), @r"
    $ROOT/home/.claude.json:2:77: `projects.$ROOT/project.mcpServers.s`: replaces the one in $ROOT/home/.claude.json:1
    $ROOT/project/.mcp.json:1:19: `mcpServers.s`: replaces the one in $ROOT/home/.claude.json:2 (project $ROOT/project)
    $ROOT/home/.config/limbeck/config.toml:1:10: `servers.s`: replaces the one in $ROOT/project/.mcp.json:1 (repository)
    $ROOT/project/limbeck.toml:1:10: `servers.s`: replaces the one in $ROOT/home/.config/limbeck/config.toml:1
    ");
    // A named file is meant to replace, so it causes no warning.
    assert_eq!(project.messages(&found, Severity::Info).len(), 2);
    assert_eq!(found.sources.len(), 6);
}

#[test]
fn two_equal_definitions_are_no_conflict() {
    let project = TestProject::new()
        .file("home/.claude.json", &one("s", "x"))
        .file("project/.mcp.json", &one("s", "x"));
    let found = project.load(&[".mcp.json"]).unwrap();
    assert_eq!(project.origins(&found), ["s $ROOT/project/.mcp.json:1"]);
    assert_eq!(found.diagnostics, []);
}

#[test]
fn without_discovery_only_named_files_are_read() {
    let project = TestProject::new()
        .file("home/.claude.json", &one("user", "x"))
        .file("given.json", &one("given", "x"));
    let found = crate::given(&[&project.path("given.json")]).unwrap();
    assert_eq!(project.origins(&found), ["given $ROOT/given.json:1"]);
}

#[test]
fn the_project_entry_of_the_nearest_directory_counts() {
    let project = TestProject::new().file(
        "home/.claude.json",
        r#"{ "projects": {
             "$ROOT": { "mcpServers": { "above": { "command": "x" } } },
             "$ROOT/proj": { "mcpServers": { "sibling": { "command": "x" } } },
             "$ROOT/project/sub": { "mcpServers": { "below": { "command": "x" } } } } }"#,
    );
    let found = project.load(&[]).unwrap();
    assert_eq!(
        project.origins(&found),
        ["above $ROOT/home/.claude.json:2 (project $ROOT)"]
    );
    assert_eq!(
        found.servers[0].origin.scope,
        EntryScope::Project(project.root.path().to_owned())
    );
}

#[test]
fn a_repository_server_that_the_user_rejected_stays_disabled() {
    let project = TestProject::new()
        .file(
            "home/.claude.json",
            r#"{ "projects": { "$ROOT/project": { "disabledMcpjsonServers": ["bad", 7] } } }"#,
        )
        .file(
            "project/.mcp.json",
            r#"{ "mcpServers": { "bad": { "command": "x" }, "good": { "command": "x" } } }"#,
        );
    let found = project.load(&[]).unwrap();
    let off: Vec<_> = found
        .servers
        .iter()
        .map(|s| (s.name.as_str(), s.disabled))
        .collect();
    assert_eq!(off, [("bad", true), ("good", false)]);
    assert_eq!(project.messages(&found, Severity::Info).len(), 1);
}

#[test]
fn a_broken_discovered_file_is_reported_and_the_others_work() {
    let project = TestProject::new()
        .file("home/.claude.json", "{\n  \"mcpServers\": {\n    oops\n")
        .file(
            "project/.mcp.json",
            r#"{ "mcpServers": { "bad": { "command": "x", "args": "a b" }, "good": { "command": "x" } } }"#,
        )
        .file(
            "project/limbeck.toml",
            "[limit]\nwall_ms = 1\n[servers.mine]\ncommand = 'x'\n[servers.odd]\ncomand = 'x'\n",
        );
    let found = project.load(&[]).unwrap();
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
    insta::assert_snapshot!(project.messages(&found, Severity::Error).join("\n"), @r"
    $ROOT/home/.claude.json:3:5: expected string for object property
    $ROOT/project/.mcp.json:1:52: `mcpServers.bad.args`: expected a list, found a string
    $ROOT/project/limbeck.toml:1:2: `limit`: unknown key, did you mean `limits`?
    $ROOT/project/limbeck.toml:6:10: `servers.odd.comand`: unknown key, did you mean `command`?
    ");
}

#[test]
fn a_named_file_must_exist() {
    let project = TestProject::new();
    let error = project.load(&["missing.json"]).unwrap_err();
    assert!(matches!(error, ConfigError::Missing { .. }));
    assert_eq!(
        project.redact(&error),
        "configuration file $ROOT/project/missing.json does not exist"
    );
}

#[test]
fn a_repository_that_chooses_code_for_a_server_causes_a_warning() {
    let content = r#"{ "mcpServers": { "s": { "command": "x",
        "env": { "LD_PRELOAD": "./x.so", "DYLD_X": "y", "HARMLESS": "z" } } } }"#;
    let project = TestProject::new().file("project/.mcp.json", content);
    let found = project.load(&[]).unwrap();
    assert_eq!(project.messages(&found, Severity::Warning).len(), 2);
    // The control: in a file of the user's own it is the user's business.
    let project = TestProject::new().file("home/.claude.json", content);
    let found = project.load(&[]).unwrap();
    assert_eq!(project.messages(&found, Severity::Warning).len(), 0);
}

#[test]
fn settings_come_from_the_nearest_file_and_carry_their_origin() {
    let project = TestProject::new()
        .file(
            "home/.config/limbeck/config.toml",
            "[limits]\nwall_ms = 2000",
        )
        .file("project/limbeck.toml", "# ours\n[limits]\nwall_ms = 1000");
    let wall_ms = project.load(&[]).unwrap().settings.wall_ms.unwrap();
    assert_eq!(wall_ms.value, 1_000);
    assert_eq!(
        project.redact(&wall_ms.origin),
        "$ROOT/project/limbeck.toml:3 (repository)"
    );
}

#[test]
fn a_repository_cannot_raise_the_time_limit_of_programs() {
    let wall_ms = |of_user: &str, of_repository: &str| {
        let project = TestProject::new()
            .file(OF_USER, of_user)
            .file(OF_REPOSITORY, of_repository);
        let found = project.load(&[]).unwrap();
        let warnings = project.messages(&found, Severity::Warning).len();
        (found.settings.wall_ms.map(|found| found.value), warnings)
    };
    let limit = |ms: u64| format!("[limits]\nwall_ms = {ms}\n");
    // Over the default of 60 s, and over the user's own.
    assert_eq!(wall_ms("", &limit(300_000)), (None, 1));
    assert_eq!(wall_ms(&limit(1_000), &limit(2_000)), (Some(1_000), 1));
    // The controls: the repository may lower it, and the user may raise it.
    assert_eq!(wall_ms("", &limit(5_000)), (Some(5_000), 0));
    assert_eq!(wall_ms(&limit(300_000), ""), (Some(300_000), 0));
}

#[test]
fn a_repository_cannot_choose_how_much_of_the_disk_stays_free() {
    let floor = |of_user: &str, of_repository: &str| {
        let project = TestProject::new()
            .file(OF_USER, of_user)
            .file(OF_REPOSITORY, of_repository);
        let found = project.load(&[]).unwrap();
        let warnings = project.messages(&found, Severity::Warning).len();
        let floor = found.settings.disk_free_mib.map(|found| found.value);
        (floor, warnings)
    };
    let mib = |mib: u64| format!("[limits]\ndisk_free_mib = {mib}\n");
    assert_eq!(floor("", &mib(1)), (None, 1));
    assert_eq!(floor(&mib(1_024), &mib(1 << 30)), (Some(1_024), 1));
    // The control: the user may choose it.
    assert_eq!(floor(&mib(1), ""), (Some(1), 0));
}

#[test]
fn a_server_that_was_disabled_in_the_client_for_the_project_stays_disabled() {
    let state = r#"{ "mcpServers": { "user": { "command": "x" }, "other": { "command": "x" } },
        "projects": { "$ROOT/project": { "disabledMcpServers": ["user", "local", "named"],
            "mcpServers": { "local": { "command": "x" } } } } }"#;
    let project = TestProject::new().file("home/.claude.json", state).file(
        "home/.config/limbeck/config.toml",
        "[servers.named]\ncommand = 'x'",
    );
    let found = project.load(&[]).unwrap();
    let disabled = |name: &str| {
        let mut servers = found.servers.iter();
        servers.find(|s| s.name.as_str() == name).unwrap().disabled
    };
    assert!(disabled("user") && disabled("local"));
    // The controls: a server that is not listed, and one of Limbeck's own file, which the client does not know.
    assert!(!disabled("other") && !disabled("named"));
    // In another directory it is on.
    let elsewhere = state.replace("$ROOT/project", "$ROOT/elsewhere");
    let project = TestProject::new().file("home/.claude.json", &elsewhere);
    let found = project.load(&[]).unwrap();
    assert!(found.servers.iter().all(|server| !server.disabled));
}

#[test]
fn an_earlier_gateway_is_recognized_and_never_started() {
    let project = TestProject::new().file(
        "home/.claude.json",
        r#"{ "mcpServers": {
            "code-executor": { "command": "npx", "args": ["-y", "code-executor-mcp"] },
            "files": { "command": "npx", "args": ["-y", "server-files"] } } }"#,
    );
    let found = project.load(&[]).unwrap();
    assert_eq!(project.origins(&found), ["files $ROOT/home/.claude.json:3"]);
    let notes = project.messages(&found, Severity::Info);
    assert!(notes[0].contains("`code-executor-mcp`"), "{notes:?}");
}

#[test]
fn servers_start_in_a_directory_of_their_user_and_not_in_the_repository() {
    let project = TestProject::new()
        .file(
            "home/.claude.json",
            r#"{ "mcpServers": { "user": { "command": "x" }, "below": { "command": "x", "cwd": "here" },
                 "tilde": { "command": "~/bin/x", "cwd": "~/work" },
                 "folder": { "command": "x", "cwd": "${workspaceFolder}/sub" } },
                 "projects": { "$ROOT": { "mcpServers": { "local": { "command": "x" } } } } }"#,
        )
        .file("home/.config/limbeck/config.toml", "[servers.mine]\ncommand = 'x'")
        .file("elsewhere/given.json", &one("given", "x"))
        .file("project/.mcp.json", &one("shop", "x"));
    let found = project.load(&["../elsewhere/given.json"]).unwrap();
    let shown: Vec<String> = found
        .servers
        .iter()
        .map(|server| {
            let Ok(Transport::Stdio { command, cwd, .. }) = &server.definition else {
                panic!("{server:?}");
            };
            let directory = cwd.as_ref().unwrap_or(&server.start_directory);
            project.redact(format!(
                "{}: {} in {}",
                server.name,
                command.display(),
                directory.display()
            ))
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
    user: x in $ROOT/home
    below: x in $ROOT/home/here
    tilde: $ROOT/home/bin/x in $ROOT/home/work
    folder: x in $ROOT/project/sub
    local: x in $ROOT
    shop: x in $ROOT/project
    mine: x in $ROOT/home
    given: x in $ROOT/project/../elsewhere
    ");
}

#[test]
fn common_mistakes_in_an_entry_are_named_with_what_to_write() {
    let project = TestProject::new()
        .file("home/with space/server", "")
        .file(
            "home/.claude.json",
            r#"{ "mcpServers": {
                "line": { "command": "npx -y @scope/server" },
                "misspelt": { "comand": "x" },
                "spaces": { "command": "$ROOT/home/with space/server" },
                "letters": { "command": "x", "env": { "KEY": "env:NOT_SET", "TAGS": "env:production" } } } }"#,
        );
    let found = project.load(&[]).unwrap();
    insta::assert_snapshot!(project.messages(&found, Severity::Error).join("\n"), @"
    $ROOT/home/.claude.json:2:38: `mcpServers.line.command`: holds arguments as well; keep the program alone and put the rest into `args`
    $ROOT/home/.claude.json:3:29: `mcpServers.misspelt`: has neither `command` nor `url`; `comand` is unknown, did you mean `command`?
    ");
    let warnings = project.messages(&found, Severity::Warning);
    assert_eq!(
        warnings
            .iter()
            .filter(|text| text.contains("env.KEY"))
            .count(),
        1
    );
    assert_eq!(
        warnings.iter().filter(|text| text.contains("TAGS")).count(),
        0
    );
    // The control: a path may have spaces.
    let spaces = found.servers.iter().find(|s| s.name.as_str() == "spaces");
    assert!(spaces.unwrap().definition.is_ok());
}

#[test]
fn the_tools_that_a_client_restricts_are_restricted_here() {
    let project = TestProject::new().file(
        "clients.json",
        r#"{ "mcpServers": {
            "cursor": { "command": "x", "disabledTools": ["push"] },
            "gemini": { "command": "x", "includeTools": ["log(short)", "push"], "excludeTools": ["push"] },
            "amp": { "command": "x", "includeTools": ["get_*"] },
            "copilot": { "command": "x", "tools": ["*"] },
            "none": { "command": "x", "tools": [] },
            "wrong": { "command": "x", "disabledTools": {"push": true} } } }"#,
    ).file(
        "codex.toml",
        "[mcp_servers.codex]\ncommand = 'x'\nenabled_tools = ['log', 'push']\ndisabled_tools = ['push']\n",
    ).file(
        "own.toml",
        "[servers.own]\ncommand = 'x'\ndisabled_tools = 'push'\n",
    );
    let files = ["../clients.json", "../codex.toml", "../own.toml"];
    let wrong = project.load(&files).unwrap_err().to_string();
    assert!(wrong.contains("wrong.disabledTools"), "{wrong}");
    let text = std::fs::read_to_string(project.path("clients.json")).unwrap();
    std::fs::write(
        project.path("clients.json"),
        text.replace("{\"push\": true}", "[]"),
    )
    .unwrap();
    let found = project.load(&files).unwrap();
    let allowed: Vec<String> = found
        .servers
        .iter()
        .map(|server| {
            let tools = ["log", "push", "get_x"];
            let allowed = tools
                .into_iter()
                .filter(|tool| server.tool_rules.allows(tool));
            format!("{}: {}", server.name, allowed.collect::<Vec<_>>().join(" "))
        })
        .collect();
    insta::assert_snapshot!(allowed.join("\n"), @r"
    cursor: log get_x
    gemini: log
    amp: get_x
    copilot: log push get_x
    none: 
    wrong: log push get_x
    codex: log
    own: log get_x
    ");
    assert_eq!(found.diagnostics, []);
}

const STRICT: &str = "[sandbox]\nminimum_tier = 'strict'\n";
const WASM: &str = "[sandbox]\nminimum_tier = 'wasm'\n";
const OF_USER: &str = "home/.config/limbeck/config.toml";
const OF_REPOSITORY: &str = "project/limbeck.toml";

/// The minimum tier with its origin, and all messages.
fn minimum_tier(project: &TestProject, config: &[&str]) -> (Option<(Tier, String)>, Vec<String>) {
    let found = project.load(config).unwrap();
    let notes = found
        .diagnostics
        .iter()
        .map(|note| project.redact(note))
        .collect();
    let setting = found.settings.minimum_tier;
    let found = setting.map(|setting| (setting.value, project.redact(setting.origin)));
    (found, notes)
}

#[test]
fn a_repository_cannot_lower_the_minimum_tier_and_causes_a_warning() {
    let project = TestProject::new()
        .file(OF_USER, STRICT)
        .file(OF_REPOSITORY, WASM);
    let (tier, notes) = minimum_tier(&project, &[]);
    assert_eq!(tier, Some((Tier::Strict, format!("$ROOT/{OF_USER}:2"))));
    insta::assert_snapshot!(notes.join("\n"), @"$ROOT/project/limbeck.toml:2:16: `sandbox.minimum_tier`: `wasm` is below `strict` ($ROOT/home/.config/limbeck/config.toml:2) and is ignored: a file of the repository can only raise it");

    // Only the repository sets it: it would lower the default.
    let project = TestProject::new().file(OF_REPOSITORY, WASM);
    let (tier, notes) = minimum_tier(&project, &[]);
    if Tier::MINIMUM_DEFAULT == Tier::Strict {
        assert_eq!((tier, notes.len()), (None, 1));
    }

    // The controls: it may raise it, and the user may say what the repository may not.
    let project = TestProject::new()
        .file(OF_USER, WASM)
        .file(OF_REPOSITORY, STRICT);
    let (tier, notes) = minimum_tier(&project, &[]);
    let origin = format!("$ROOT/{OF_REPOSITORY}:2 (repository)");
    assert_eq!((tier, notes), (Some((Tier::Strict, origin)), Vec::new()));
    let project = TestProject::new().file(OF_USER, WASM);
    let (tier, notes) = minimum_tier(&project, &[]);
    let origin = format!("$ROOT/{OF_USER}:2");
    assert_eq!((tier, notes), (Some((Tier::Wasm, origin)), Vec::new()));
}

#[test]
fn a_file_named_on_the_command_line_decides_the_minimum_tier() {
    let project = TestProject::new()
        .file(OF_USER, STRICT)
        .file("named.toml", WASM);
    let (tier, notes) = minimum_tier(&project, &["../named.toml"]);
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
        let project = TestProject::new().file(OF_USER, wrong);
        let (tier, notes) = minimum_tier(&project, &[]);
        assert_eq!(tier.map(|(tier, _)| tier), Some(Tier::Strict), "{wrong}");
        assert_eq!(notes.len(), 1, "{wrong}: {notes:?}");
    }
}

#[test]
fn a_clients_file_cannot_change_the_sandbox() {
    let project = TestProject::new().file(
        "project/.mcp.json",
        r#"{ "mcpServers": {}, "sandbox": { "minimum_tier": "wasm" } }"#,
    );
    assert_eq!(minimum_tier(&project, &[]), (None, Vec::new()));
}

#[test]
fn a_home_directory_of_windows_is_searched_below_the_root_of_its_world() {
    let project = TestProject::new().file(
        "C/Users/me/.claude.json",
        r#"{ "mcpServers": { "a": { "command": "x" } } }"#,
    );
    let variables = [("USERPROFILE".to_owned(), r"C:\Users\me".to_owned())];
    let world = World {
        root: Some(project.path("")),
        ..World::new(
            OperatingSystem::Windows,
            r"C:\project",
            variables.clone().into(),
        )
    };
    let found = limbeck_setup::load(&Discovery {
        world: &world,
        config_files: &[],
        discover: true,
        managed: None,
        trust_policy: TrustPolicy::Everything,
    })
    .unwrap();
    let Ok(Transport::Stdio { env, .. }) = &found.servers[0].definition else {
        panic!("{found:?}");
    };
    assert_eq!(env, &variables, "inherited on Windows alone");
}

#[test]
fn the_hint_of_a_wrong_setting_is_of_its_section_and_not_of_a_server() {
    let hint = |name: &str, text: &str| {
        let project = TestProject::new().file(name, text);
        project.load(&[&format!("../{name}")]).unwrap_err().hint()
    };
    for (text, expected) in [
        ("[policy]\nallow = []\n", "[limits], [sandbox]"),
        (
            "[sever.a]\ncommand = 'x'\n",
            "[servers.NAME], [policy], [[budget]], [llm], [notify], [limits]",
        ),
        ("[limits]\nwall_ms = 'long'\n", "[limits] wall_ms = 60000"),
        ("[sandbox]\ntier = 'strict'\n", "[sandbox] minimum_tier"),
        ("observe = 1\n", "`observe = false`"),
        ("[search]\nurl = 'x'\n", "[search.embeddings] url"),
        // The controls: servers.
        ("[servers.a]\ncommand = 1\n", "[servers.NAME] command"),
        ("[servers.a]\nurl = 'ftp://x'\n", "[servers.NAME] url"),
    ] {
        let found = hint("x.toml", text);
        assert!(found.contains(expected), "{text}: {found}");
    }
    let of_json = hint("x.json", r#"{"limits": {}}"#);
    assert!(of_json.contains("mcpServers"), "{of_json}");
}

#[test]
fn an_unencrypted_url_has_its_own_hint_and_the_other_servers_of_its_file_work() {
    let project = TestProject::new()
        .file(
            "clear.json",
            r#"{ "mcpServers": { "before": { "command": "x" }, "clear": { "url": "http://example.com/mcp" },
                 "after": { "command": "x" } } }"#,
        )
        .file(
            "clear.toml",
            "[servers.own]\nurl = 'http://example.com/mcp'\n[servers.mine]\ncommand = 'x'\n",
        );
    let found = project.load(&["../clear.json", "../clear.toml"]).unwrap();
    let usable = |name: &str| {
        let mut servers = found.servers.iter();
        let server = servers.find(|server| server.name.as_str() == name);
        server.unwrap().definition.as_ref().map(|_| ())
    };
    for name in ["before", "after", "mine"] {
        assert_eq!(usable(name), Ok(()), "{name}");
    }
    for (name, hint) in [
        ("clear", "\"allow_http\": true"),
        ("own", "allow_http = true"),
    ] {
        let refused = usable(name).unwrap_err();
        assert!(refused.hint().unwrap().contains(hint), "{refused:?}");
    }
}

#[test]
fn a_variable_of_a_server_may_refer_to_one_of_the_gateway_and_in_an_own_file_to_a_file() {
    let own = "[servers.own]\ncommand = 'x'\nenv = { A = 'env:TOKEN', B = 'file:$ROOT/home/secret', C = 'file:~/secret', D = 'file:./x.db', E = 'file:///x.db' }\n[servers.missing]\ncommand = 'x'\nenv = { A = 'file:$ROOT/home/none' }\n[servers.unset]\ncommand = 'x'\nenv = { A = 'env:NOT_SET' }\n";
    let project = TestProject::new()
        .file("home/secret", "from a file\n")
        .file("home/.config/limbeck/config.toml", own)
        .file("project/limbeck.toml", "[servers.repository]\ncommand = 'x'\nenv = { A = 'file:$ROOT/home/secret' }\n")
        .file(
            "home/.claude.json",
            r#"{"mcpServers": {"client": {"command": "x", "env": {"A": "env:TOKEN", "B": "file:$ROOT/home/secret"}}}}"#,
        );
    let found = project.load(&[]).unwrap();
    let value = |server: &str, name: &str| {
        let mut servers = found.servers.iter();
        let server = servers.find(|entry| entry.name.as_str() == server).unwrap();
        match &server.definition {
            Ok(limbeck_setup::Transport::Stdio { env, .. }) => {
                let found = env.iter().find(|(found, _)| found == name);
                project.redact(&found.unwrap().1)
            }
            Ok(limbeck_setup::Transport::Http { .. }) => unreachable!(),
            Err(error) => project.redact(error),
        }
    };
    for (server, name, expected) in [
        ("own", "A", "s3cret"),
        ("own", "B", "from a file"),
        ("own", "C", "from a file"),
        ("own", "D", "file:./x.db"),
        ("own", "E", "file:///x.db"),
        ("client", "A", "s3cret"),
        // The words of another program, and what a stranger wrote, are no references to files.
        ("client", "B", "file:$ROOT/home/secret"),
        ("repository", "A", "file:$ROOT/home/secret"),
        (
            "missing",
            "A",
            "`servers.missing.env.A`: `$ROOT/home/none` does not exist",
        ),
        (
            "unset",
            "A",
            "`servers.unset.env.A`: the environment variable `NOT_SET` is not set",
        ),
    ] {
        assert_eq!(value(server, name), expected, "{server} {name}");
    }
}
