//! Which servers move: the same one once, another one under its own name, no gateway, no server of a repository.

use limbeck_setup::{SetupRequest, SetupSecrets, SetupSteps};

use super::Machine;

#[test]
fn thirteen_entries_become_eight_servers() {
    let mut machine = Machine::new();
    machine.write(
        ".claude.json",
        r#"{"numStartups": 3, "mcpServers": {
            "github": {"type": "stdio", "command": "gh-mcp", "env": {"GITHUB_TOKEN": "ghp_one"}},
            "files": {"command": "npx", "args": ["-y", "files", "/srv"]},
            "notion": {"type": "http", "url": "https://mcp.notion.com/mcp/"},
            "foo": {"command": "foo"},
            "db": {"command": "db", "env": {"DATABASE_URL": "postgres://me:pw@db/x"}},
            "off": {"command": "off", "disabled": true}
        }}"#,
    );
    machine.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {
            "github": {"command": "gh-mcp", "env": {"GITHUB_TOKEN": "ghp_two"}},
            "fs": {"command": "npx", "args": ["files", "/srv"]},
            "notion": {"url": "https://MCP.notion.com/mcp"},
            "search": {"url": "https://s.example/mcp", "headers": {"Authorization": "Bearer ${env:S}"}}
        }}"#,
    );
    machine.write(
        ".codex/config.toml",
        "[mcp_servers.github]\ncommand = 'gh-mcp'\n[mcp_servers.github.env]\nGITHUB_TOKEN = 'ghp_one'\n[mcp_servers.notion]\nurl = 'https://mcp.notion.com/mcp'\n[mcp_servers.local]\ncommand = 'local'\n",
    );
    machine
        .world
        .variables
        .insert("S".to_owned(), "s".to_owned());
    let problem = Err("`foo` was not found".to_owned());
    machine.outcomes.insert("foo".to_owned(), problem);
    let plan = machine.plan();
    let shown: Vec<String> = plan
        .servers
        .iter()
        .map(|server| {
            format!(
                "{} {} {}",
                server.action.word(),
                server.name,
                server.from.join(",")
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "move github claude-code,codex",
            "move files claude-code,cursor",
            "move notion claude-code,cursor,codex",
            "keep foo claude-code",
            "move db claude-code",
            "move off claude-code",
            "move github2 cursor",
            "move search cursor",
            "move local codex",
        ]
    );
    let kept = plan
        .servers
        .iter()
        .find(|server| server.name == "foo")
        .unwrap();
    assert_eq!(
        kept.reason.as_deref(),
        Some("does not start: `foo` was not found")
    );
    assert_eq!(plan.secrets, 3);
    let done = machine.setup();
    assert!(done.failed.is_empty(), "{done:?}");
    // No secret is in any file but those of secrets, which their owner alone can read.
    let mut holders = Vec::new();
    for (path, content) in machine.files() {
        let text = String::from_utf8(content).unwrap();
        if text.contains("ghp_") || text.contains("me:pw") {
            holders.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    assert_eq!(
        holders,
        [
            "db.DATABASE_URL",
            "github.GITHUB_TOKEN",
            "github2.GITHUB_TOKEN"
        ]
    );
    insta::assert_snapshot!(machine.imported(), @r#"
    [servers.github]
    # from Claude Code (/home/me/.claude.json)
    command = "gh-mcp"
    env = { GITHUB_TOKEN = "file:/home/me/.config/limbeck/secrets/github.GITHUB_TOKEN" }

    [servers.files]
    # from Claude Code (/home/me/.claude.json)
    command = "npx"
    args = ["-y", "files", "/srv"]

    [servers.notion]
    # from Claude Code (/home/me/.claude.json)
    url = "https://mcp.notion.com/mcp/"
    type = "http"

    [servers.db]
    # from Claude Code (/home/me/.claude.json)
    command = "db"
    env = { DATABASE_URL = "file:/home/me/.config/limbeck/secrets/db.DATABASE_URL" }

    [servers.off]
    # from Claude Code (/home/me/.claude.json)
    command = "off"
    disabled = true

    [servers.github2]
    # from Cursor (/home/me/.cursor/mcp.json)
    command = "gh-mcp"
    env = { GITHUB_TOKEN = "file:/home/me/.config/limbeck/secrets/github2.GITHUB_TOKEN" }

    [servers.search]
    # from Cursor (/home/me/.cursor/mcp.json)
    url = "https://s.example/mcp"
    headers = { Authorization = "Bearer ${env:S}" }

    [servers.local]
    # from Codex (/home/me/.codex/config.toml)
    command = "local"
    "#);
    assert!(
        machine
            .read(".claude.json")
            .contains("\"foo\": {\"command\": \"foo\"}")
    );
    // A start with the moved entry gets the value.
    let found = limbeck_setup::load(&limbeck_setup::Discovery {
        world: &machine.world,
        config_files: &[],
        discover: true,
        managed: None,
        trust_policy: limbeck_setup::TrustPolicy::Everything,
    })
    .unwrap();
    let value = |server: &str, variable: &str| {
        let entry = found
            .servers
            .iter()
            .find(|entry| entry.name.as_str() == server);
        let limbeck_setup::Transport::Stdio { env, .. } =
            entry.unwrap().definition.as_ref().unwrap()
        else {
            panic!("{server}");
        };
        env.iter()
            .find(|(name, _)| name == variable)
            .unwrap()
            .1
            .clone()
    };
    assert_eq!(value("github", "GITHUB_TOKEN"), "ghp_one");
    assert_eq!(value("github2", "GITHUB_TOKEN"), "ghp_two");
    assert_eq!(value("db", "DATABASE_URL"), "postgres://me:pw@db/x");
    let off = found
        .servers
        .iter()
        .find(|entry| entry.name.as_str() == "off");
    assert!(off.unwrap().disabled);
}

#[cfg(unix)]
#[test]
fn files_with_secrets_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let machine = Machine::new();
    machine.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"a": {"command": "a", "env": {"TOKEN": "canary"}}}}"#,
    );
    let done = machine.setup();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let secrets = machine.home(".config/limbeck/secrets");
    assert_eq!(mode(&secrets), 0o700);
    assert_eq!(mode(&secrets.join("a.TOKEN")), 0o600);
    assert_eq!(mode(&machine.home(".config/limbeck/imported.toml")), 0o600);
    let record = machine.state().join("setup").join(done.id.unwrap());
    assert_eq!(mode(&record), 0o700);
    for file in std::fs::read_dir(&record).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    let text = std::fs::read_to_string(record.join("record.json")).unwrap();
    assert!(!text.contains("canary"));
}

#[test]
fn a_server_that_limbeck_has_already_only_leaves_its_client() {
    let machine = Machine::new();
    machine.write(
        ".config/limbeck/config.toml",
        "[servers.mine]\ncommand = 'a'\nenv = { T = 'x' }\n\n[servers.taken]\ncommand = 'other'\n",
    );
    machine.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"a": {"command": "a", "env": {"T": "x"}}, "taken": {"command": "b"}}}"#,
    );
    assert_eq!(machine.actions().0, ["merge mine", "move taken2"]);
    machine.setup();
    assert!(machine.imported().starts_with("[servers.taken2]"));
    // A client that gets the same server with its secret again is recognised.
    machine.write(
        ".kiro/settings/mcp.json",
        r#"{"mcpServers": {"t": {"command": "b"}, "s": {"command": "s", "env": {"S_KEY": "v"}}}}"#,
    );
    assert_eq!(
        machine.actions().0,
        ["merge taken2", "move s", "ignore limbeck"]
    );
    machine.setup();
    machine.write(
        ".kiro/settings/mcp.json",
        r#"{"mcpServers": {"s": {"command": "s", "env": {"S_KEY": "v"}}, "z": {"command": "s", "env": {"S_KEY": "w"}}}}"#,
    );
    assert_eq!(machine.actions().0, ["merge s", "move z", "ignore limbeck"]);
}

#[test]
fn an_entry_that_starts_limbeck_under_any_name_stays_and_no_second_one_is_added() {
    let machine = Machine::new();
    machine.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {
            "gate": {"command": "/opt/limbeck", "args": ["serve"]},
            "code-executor": {"command": "npx", "args": ["-y", "code-executor-mcp"]},
            "a": {"command": "a"}
        }}"#,
    );
    assert_eq!(
        machine.actions().0,
        ["move a", "ignore gate", "keep code-executor"]
    );
    machine.setup();
    let written = machine.read(".cursor/mcp.json");
    assert!(
        written.contains("/opt/limbeck") && !written.contains("\"limbeck\""),
        "{written}"
    );
}

#[test]
fn the_entry_of_an_earlier_gateway_becomes_limbecks_with_its_name_and_variables() {
    let machine = Machine::new();
    let before = r#"{"mcpServers": {"a": {"command": "a"},
        "code-executor": {"command": "npx", "args": ["-y", "code-executor-mcp"], "env": {"MCP_CONFIG_PATH": "/x.json"}}}}"#;
    machine.write(".cursor/mcp.json", before);
    assert_eq!(machine.actions().0, ["move a", "merge code-executor"]);
    // No value of a variable is in what is shown.
    assert!(!format!("{:?}", machine.plan()).contains("/x.json"));
    machine.setup();
    let own = r#""code-executor": {"command": "limbeck", "args": ["serve"], "env": {"MCP_CONFIG_PATH": "/x.json"}}"#;
    let written = machine.read(".cursor/mcp.json");
    assert!(
        written.contains(own) && !written.contains("npx"),
        "{written}"
    );
    assert_eq!(machine.actions().1, ["unchanged cursor"]);
    // Undone also when the file changed since.
    machine.write(".cursor/mcp.json", written.replacen('{', "{\"n\": 1, ", 1));
    machine.setups().undo(None).unwrap();
    let undone = machine.read(".cursor/mcp.json");
    for part in ["\"n\": 1", "code-executor-mcp", r#""a": {"command": "a"}"#] {
        assert!(undone.contains(part), "{part}: {undone}");
    }
    assert!(!undone.contains("limbeck"), "{undone}");
}

#[test]
fn a_server_does_not_take_the_name_of_another_one_in_a_file_that_is_left_out() {
    let mut machine = Machine::new();
    machine.write(
        ".claude.json",
        r#"{"mcpServers": {"a": {"command": "one"}, "b": {"command": "b"}}}"#,
    );
    machine.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"a": {"command": "two"}, "b": {"command": "b"}}}"#,
    );
    machine.request.clients = vec!["cursor".to_owned()];
    assert_eq!(machine.actions().0, ["move a2", "move b"]);
}

#[test]
fn servers_of_a_repository_are_referenced_and_its_files_are_not_changed() {
    let machine = Machine::new();
    let work = machine.world.on_disk(&machine.world.cwd);
    std::fs::create_dir_all(work.join(".cursor")).unwrap();
    let text = r#"{"mcpServers": {"team": {"command": "team"}}}"#;
    std::fs::write(work.join(".mcp.json"), text).unwrap();
    std::fs::write(work.join(".cursor/mcp.json"), text).unwrap();
    machine.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"a": {"command": "a"}}}"#,
    );
    assert_eq!(machine.actions().0, ["move a", "reference team"]);
    machine.setup();
    for file in [".mcp.json", ".cursor/mcp.json"] {
        assert_eq!(std::fs::read_to_string(work.join(file)).unwrap(), text);
    }
    assert!(!machine.imported().contains("team"));
}

#[test]
fn references_stay_symbolic_and_what_only_looks_like_one_stays_what_it_is() {
    let mut machine = Machine::new();
    machine
        .world
        .variables
        .insert("SET".to_owned(), "value".to_owned());
    machine.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {
            "a": {"command": "a", "env": {"A_KEY": "${SET}", "B": "${env:SET}", "C": "${NONE:-d}", "D": "file:/data/a.db", "E": "file:./b.db"}},
            "unset": {"command": "u", "env": {"X": "${NOT_SET}"}},
            "asked": {"command": "u", "env": {"X": "${input:token}"}}
        }}"#,
    );
    machine.write(
        ".config/opencode/opencode.json",
        r#"{"mcp": {"o": {"type": "remote", "url": "https://o.example", "headers": {"X-Key": "{env:SET}"}}}}"#,
    );
    assert_eq!(
        machine.actions().0,
        ["move a", "move o", "keep unset", "keep asked"]
    );
    machine.setup();
    let imported = machine.imported();
    for part in [
        r#"A_KEY = "${SET}""#,
        r#"B = "${env:SET}""#,
        r#"C = "${NONE:-d}""#,
        r#"D = "file:/home/me/.config/limbeck/secrets/a.D""#,
        r#"E = "file:./b.db""#,
        r#"X-Key = "${SET}""#,
    ] {
        assert!(imported.contains(part), "{part}: {imported}");
    }
}

#[test]
fn only_the_named_clients_and_steps_are_done() {
    let mut machine = Machine::new();
    let cursor = r#"{"mcpServers": {"a": {"command": "a", "env": {"T_KEY": "k"}}}}"#;
    machine.write(".cursor/mcp.json", cursor);
    machine.write(
        ".kiro/settings/mcp.json",
        r#"{"mcpServers": {"k": {"command": "k"}}}"#,
    );
    machine.request = SetupRequest {
        clients: vec!["cursor".to_owned()],
        secrets: SetupSecrets::Keep,
        steps: SetupSteps::ImportOnly,
    };
    assert_eq!(machine.actions().0, ["move a"]);
    machine.setup();
    assert_eq!(machine.read(".cursor/mcp.json"), cursor);
    assert!(machine.imported().contains(r#"T_KEY = "k""#));
    machine.setups().undo(None).unwrap();
    machine.request.steps = SetupSteps::InstallOnly;
    machine.setup();
    assert_eq!(machine.imported(), "");
    let written = machine.read(".cursor/mcp.json");
    assert!(
        written.contains("\"a\"") && written.contains("\"limbeck\""),
        "{written}"
    );
    let unknown = SetupRequest {
        clients: vec!["cursr".to_owned()],
        ..SetupRequest::default()
    };
    let error = limbeck_setup::FoundClients::read(&machine.world, unknown).unwrap_err();
    assert!(error.hint().unwrap().contains("cursor, "), "{error}");
}
