//! Users of three earlier gateways keep their files, variables and words.

use limbeck_setup::{
    Configuration, Discovery, EntryScope, OperatingSystem, Severity, TrustPolicy, TrustRecords,
    TrustState, World,
};

use crate::TestProject;

fn servers(names: &[&str]) -> String {
    let entry = |name: &&str| format!("\"{name}\": {{\"command\": \"{name}-program\"}}");
    let entries: Vec<String> = names.iter().map(entry).collect();
    format!("{{\"mcpServers\": {{{}}}}}", entries.join(", "))
}

fn load(project: &TestProject, variables: &[(&str, &str)]) -> Configuration {
    let root = project.path("").display().to_string();
    let root = root.trim_end_matches('/');
    let variables = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.replace("$ROOT", root)));
    let world = World {
        home: Some(project.path("home")),
        ..World::new(
            OperatingSystem::CURRENT,
            project.path("project"),
            variables.collect(),
        )
    };
    let nothing = TrustRecords::default();
    limbeck_setup::load(&Discovery {
        world: &world,
        config_files: &[],
        discover: true,
        managed: None,
        trust_policy: TrustPolicy::Recorded(&nothing),
    })
    .unwrap()
}

/// `name file` of every server.
fn origins(project: &TestProject, found: &Configuration) -> Vec<String> {
    let servers = found.servers.iter();
    let mut origins: Vec<String> = servers
        .map(|server| project.redact(format!("{} {}", server.name, server.origin.file.display())))
        .collect();
    origins.sort();
    origins
}

#[test]
fn the_files_of_earlier_systems_are_read_in_their_order() {
    let project = TestProject::new()
        .file("more.json", &servers(&["more", "folder"]))
        .file("home/MCPs/b.json", &servers(&["folder", "second"]))
        .file("home/MCPs/a.json", &servers(&["folder"]))
        .file("home/MCPs/c.txt", "no file of servers")
        .file(
            "home/.config/claude-code/mcp.json",
            &servers(&["second", "code"]),
        )
        .file("home/.claude/.mcp.json", &servers(&["code", "dot"]))
        .file("home/.claude.json", &servers(&["dot", "state"]))
        .file(
            "settings.json",
            "{\"mcpConfigPath\": \"$ROOT/named.json\", \"securty\": {}}",
        )
        .file("named.json", &servers(&["state", "named"]))
        .file("top.json", &servers(&["named", "top"]))
        .file(
            "home/.config/limbeck/config.toml",
            "[servers.top]\ncommand = 'mine'\n",
        );
    let found = load(
        &project,
        &[
            ("MCP_SERVERS_CONFIG", "$ROOT/more.json"),
            ("CODE_EXECUTOR_CONFIG_PATH", "$ROOT/settings.json"),
            ("MCP_CONFIG_PATH", "$ROOT/top.json"),
        ],
    );
    assert_eq!(
        origins(&project, &found),
        [
            "code $ROOT/home/.claude/.mcp.json",
            "dot $ROOT/home/.claude.json",
            "folder $ROOT/home/MCPs/a.json",
            "more $ROOT/more.json",
            "named $ROOT/top.json",
            "second $ROOT/home/.config/claude-code/mcp.json",
            "state $ROOT/named.json",
            "top $ROOT/home/.config/limbeck/config.toml",
        ]
    );
    assert!(
        found
            .servers
            .iter()
            .all(|server| server.trust == TrustState::Own)
    );
    let warnings = project.messages(&found, Severity::Warning).join("\n");
    assert!(
        warnings.contains("`securty`: unknown key, did you mean `security`?"),
        "{warnings}"
    );
}

#[test]
fn a_file_below_the_working_directory_is_the_repositorys_also_when_a_variable_names_it() {
    let project = TestProject::new()
        .file("project/mine.json", &servers(&["a"]))
        .file(
            "project/.code-executor.json",
            "{\"mcpConfigPath\": \"../outside.json\"}",
        )
        .file("outside.json", &servers(&["b"]));
    let found = load(&project, &[("MCP_CONFIG_PATH", "mine.json")]);
    assert_eq!(origins(&project, &found), ["a $ROOT/project/mine.json"]);
    assert_eq!(found.servers[0].origin.scope, EntryScope::Repository);
    assert_eq!(found.servers[0].trust, TrustState::Waiting);
    let warnings = project.messages(&found, Severity::Warning).join("\n");
    assert!(
        warnings.contains("`mcpConfigPath` is outside of the repository"),
        "{warnings}"
    );
    // The control: the user's own settings may name it.
    let project = project.file("home/own.json", "{\"mcpConfigPath\": \"../outside.json\"}");
    let found = load(&project, &[("CODE_EXECUTOR_CONFIG_PATH", "~/own.json")]);
    assert_eq!(
        origins(&project, &found),
        ["b $ROOT/project/../outside.json"]
    );
    assert_eq!(found.servers[0].trust, TrustState::Own);
}

#[test]
fn a_named_file_that_is_missing_or_wrong_is_a_finding_and_not_an_end() {
    let project = TestProject::new()
        .file("wrong.json", "{")
        .file("home/.claude.json", &servers(&["a"]));
    for (name, value, part) in [
        (
            "MCP_CONFIG_PATH",
            "/none/x.json",
            "/none/x.json: does not exist, although MCP_CONFIG_PATH names it",
        ),
        (
            "MCP_SERVERS_CONFIG",
            "$ROOT/wrong.json",
            "$ROOT/wrong.json:1:",
        ),
        (
            "CODE_EXECUTOR_CONFIG_PATH",
            "$ROOT/wrong.json",
            "$ROOT/wrong.json:",
        ),
    ] {
        let found = load(&project, &[(name, value)]);
        assert_eq!(found.servers.len(), 1, "{name}");
        let shown: Vec<String> = found
            .diagnostics
            .iter()
            .map(|note| project.redact(note))
            .collect();
        assert!(
            shown.iter().any(|note| note.starts_with(part)),
            "{name}: {shown:?}"
        );
    }
}

#[test]
fn a_disabled_server_starts_on_demand_for_users_of_the_second_system_and_a_blocked_one_never() {
    let text = "{\"mcpServers\": {\"later\": {\"command\": \"x\", \"disabled\": true}, \"never\": {\"command\": \"x\", \"blocked\": true}}}";
    let own = "[servers.mine]\ncommand = 'x'\ndisabled = true\n[servers.blocked]\ncommand = 'x'\nblocked = true\n";
    let project = TestProject::new()
        .file("home/.claude.json", text)
        .file("home/.config/limbeck/config.toml", own);
    let disabled = |variables: &[(&str, &str)]| {
        let found = load(&project, variables);
        let disabled = found.servers.iter().filter(|server| server.disabled);
        disabled
            .map(|server| server.name.to_string())
            .collect::<Vec<_>>()
    };
    let all = ["later", "never", "mine", "blocked"];
    assert_eq!(disabled(&[]), all);
    for variables in [("CONNECTED_SERVERS", "a"), ("LIMBECK_COMPAT", "s0, s1")] {
        assert_eq!(disabled(&[variables]), ["never", "mine", "blocked"]);
    }
    // What is said counts more than what is seen.
    assert_eq!(
        disabled(&[("LIMBECK_COMPAT", "none"), ("CONNECTED_SERVERS", "a")]),
        all
    );
}

#[test]
fn entries_of_the_earlier_systems_are_never_started() {
    let project = TestProject::new().file(
        "home/.claude.json",
        r#"{"mcpServers": {
            "s0": {"command": "npx", "args": ["-y", "code-executor-mcp"]},
            "s1": {"command": "node", "args": ["/src/mcp/code-executor/dist/index.js"]},
            "s2": {"command": "uvx", "args": ["mcp-server-code-execution-mode", "run"]},
            "other": {"command": "npx", "args": ["-y", "other"]}
        }}"#,
    );
    let found = load(&project, &[]);
    assert_eq!(origins(&project, &found), ["other $ROOT/home/.claude.json"]);
}
