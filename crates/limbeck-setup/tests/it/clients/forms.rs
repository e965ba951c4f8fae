//! Every client in every form: comments, line ends, numbers, marks, minified files.

use limbeck_setup::{OperatingSystem, SetupSteps};

use super::Machine;

/// One file of each client with one server, as the client writes it.
const FIXTURES: &[(&str, &str, &str)] = &[
    ("claude-code", ".claude.json", STANDARD),
    (
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        STANDARD,
    ),
    ("cursor", ".cursor/mcp.json", STANDARD),
    ("vscode", ".config/Code/User/mcp.json", SERVERS),
    ("devin", ".config/devin/mcp_config.json", STANDARD),
    ("windsurf", ".codeium/windsurf/mcp_config.json", STANDARD),
    ("zed", ".config/zed/settings.json", ZED),
    ("codex", ".codex/config.toml", CODEX),
    ("gemini", ".gemini/settings.json", STANDARD),
    ("antigravity", ".gemini/config/mcp_config.json", STANDARD),
    ("qwen", ".qwen/settings.json", STANDARD),
    ("opencode", ".config/opencode/opencode.json", OPENCODE),
    ("opencode", ".config/opencode/opencode.jsonc", OPENCODE_2),
    ("kilo", ".config/kilo/kilo.json", OPENCODE),
    (
        "cline",
        ".cline/data/settings/cline_mcp_settings.json",
        STANDARD,
    ),
    (
        "roo",
        ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        STANDARD,
    ),
    ("amp", ".config/amp/settings.json", AMP),
    ("kiro", ".kiro/settings/mcp.json", STANDARD),
    ("copilot", ".copilot/mcp-config.json", STANDARD),
    ("junie", ".junie/mcp/mcp.json", STANDARD),
    ("lm-studio", ".lmstudio/mcp.json", STANDARD),
    ("droid", ".factory/mcp.json", STANDARD),
    ("crush", ".config/crush/crush.json", CRUSH),
    ("warp", ".warp/.mcp.json", STANDARD),
    ("kimi", ".kimi-code/mcp.json", STANDARD),
    ("grok", ".grok/config.toml", CODEX),
    ("trae", ".config/Trae/User/mcp.json", STANDARD),
    ("qoder", ".qoder/mcp.json", STANDARD),
    ("fx", ".fx/mcp.json", CRUSH),
    ("pi", ".pi/agent/mcp.json", STANDARD),
    ("mastracode", ".mastracode/mcp.json", STANDARD),
    ("mcporter", ".mcporter/mcporter.json", STANDARD),
];

const STANDARD: &str = r#"{"other": [1.0, 9007199254740993], "mcpServers": {"git": {"command": "uvx", "args": ["git"], "env": {"A": "b"}}}}"#;
const SERVERS: &str = r#"{"inputs": [], "servers": {"git": {"type": "stdio", "command": "uvx", "args": ["git"], "env": {"A": "b"}}}}"#;
const ZED: &str = r#"{"theme": "x", "context_servers": {"git": {"source": "custom", "command": "uvx", "args": ["git"], "env": {"A": "b"}}}}"#;
const AMP: &str = r#"{"amp.url": "x", "amp.mcpServers": {"git": {"command": "uvx", "args": ["git"], "env": {"A": "b"}}}}"#;
const CRUSH: &str =
    r#"{"options": {}, "mcp": {"git": {"command": "uvx", "args": ["git"], "env": {"A": "b"}}}}"#;
const OPENCODE: &str = r#"{"model": "m", "mcp": {"git": {"type": "local", "command": ["uvx", "git"], "environment": {"A": "b"}}}}"#;
const OPENCODE_2: &str = r#"{"model": "m", "mcp": {"timeout": 5, "servers": {"git": {"type": "local", "command": ["uvx", "git"], "environment": {"A": "b"}}}}}"#;
const CODEX: &str = "model = \"m\"\n\n[mcp_servers.git]\ncommand = \"uvx\"\nargs = [\"git\"]\nenv = { A = \"b\" }\n\n[tui]\nx = 1\n";

#[test]
fn the_server_of_every_client_moves_as_it_is_and_comes_back() {
    for (id, path, content) in FIXTURES {
        let machine = Machine::new();
        machine.write(path, content);
        let before = machine.files();
        let plan = machine.plan();
        assert_eq!(plan.clients.len(), 1, "{id} {path}");
        assert_eq!(plan.clients[0].id, *id);
        let done = machine.setup();
        assert!(done.failed.is_empty(), "{id}: {done:?}");
        let imported = machine.imported();
        let (_, definition) = imported.split_once(")\n").unwrap();
        assert_eq!(
            definition, "command = \"uvx\"\nargs = [\"git\"]\nenv = { A = \"b\" }\n",
            "{id}"
        );
        let written = machine.read(path);
        assert!(
            written.contains("limbeck") && !written.contains("uvx"),
            "{id}: {written}"
        );
        let others = [
            "9007199254740993",
            "1.0",
            "\"amp.url\": \"x\"",
            "[tui]\nx = 1\n",
            "\"timeout\": 5",
        ];
        for other in others.iter().filter(|other| content.contains(**other)) {
            assert!(written.contains(other), "{id}: {written}");
        }
        // Then it is the client's only server.
        assert_eq!(machine.actions().1, [format!("unchanged {id}")]);
        machine.setups().undo(None).unwrap();
        assert_eq!(machine.files(), before, "{id}");
    }
}

#[test]
fn a_client_that_is_named_gets_its_entry_into_a_file_without_servers() {
    let mut machine = Machine::new();
    machine.request.steps = SetupSteps::InstallOnly;
    for (id, path, content) in [
        ("cursor", ".cursor/mcp.json", "{}"),
        ("gemini", ".gemini/settings.json", "{\n\t\"a\": 1\n}\n"),
        ("kiro", ".kiro/settings/mcp.json", ""),
        ("zed", ".config/zed/settings.json", "// only words\r\n"),
        (
            "opencode",
            ".config/opencode/opencode.json",
            "{\"mcp\": {}}",
        ),
        ("codex", ".codex/config.toml", "model = 'm'"),
        ("warp", ".warp/.mcp.json", "{\"mcpServers\": {\n}}"),
    ] {
        machine.request.clients = vec![id.to_owned()];
        machine.write(path, content);
        let done = machine.setup();
        assert!(
            done.failed.is_empty() && done.id.is_some(),
            "{id}: {done:?}"
        );
        let written = machine.read(path);
        assert!(written.contains("limbeck"), "{id}: {written}");
        assert_eq!(
            machine.actions().1,
            [format!("unchanged {id}")],
            "{written}"
        );
        machine.setups().undo(None).unwrap();
        assert_eq!(machine.read(path), content, "{id}");
    }
    // The control: a client that has no file gets one, which the undo removes.
    machine.request.clients = vec!["crush".to_owned()];
    machine.setup();
    assert_eq!(
        machine.read(".config/crush/crush.json"),
        "{\"mcp\": {\"limbeck\": {\"type\": \"stdio\", \"command\": \"limbeck\", \"args\": [\"serve\"]}}}\n"
    );
    machine.setups().undo(None).unwrap();
    assert!(!machine.home(".config/crush/crush.json").exists());
}

/// What is outside of the moved entries and between them stays.
#[test]
fn line_ends_marks_indentation_and_commas_stay() {
    let machine = Machine::new();
    let entry = |name: &str| format!("\"{name}\": {{\"command\": \"{name}\"}}");
    let ours = "\"limbeck\": {\"command\": \"limbeck\", \"args\": [\"serve\"]}";
    let cases = [
        // Minified, and with spaces.
        (
            format!("{{\"mcpServers\":{{{},{}}}}}", entry("a"), entry("b")),
            format!("{{\"mcpServers\":{{{ours}}}}}"),
        ),
        (
            format!("{{ \"mcpServers\": {{ {}, {} }} }}", entry("a"), entry("b")),
            format!("{{ \"mcpServers\": {{ {ours} }} }}"),
        ),
        // Tabs, line ends of Windows, a byte order mark, no line end at the end.
        (
            format!(
                "\u{feff}{{\r\n\t\"mcpServers\": {{\r\n\t\t{},\r\n\t\t{}\r\n\t}}\r\n}}",
                entry("a"),
                entry("b")
            ),
            format!("\u{feff}{{\r\n\t\"mcpServers\": {{\r\n\t\t{ours}\r\n\t}}\r\n}}"),
        ),
        // Comments before, between and behind.
        (
            format!(
                "{{\"mcpServers\": {{ /* 1 */ {} /* 2 */ , // 3\n  {} /* 4 */ /* 5 */ }} }}",
                entry("a"),
                entry("b")
            ),
            format!("{{\"mcpServers\": {{ /* 1 */ {ours} /* 2 */  // 3\n  /* 4 */ /* 5 */ }} }}"),
        ),
    ];
    for (before, after) in cases {
        machine.write(".cursor/mcp.json", &before);
        let done = machine.setup();
        assert!(done.failed.is_empty(), "{before}: {done:?}");
        assert_eq!(machine.read(".cursor/mcp.json"), after);
        machine.setups().undo(None).unwrap();
        assert_eq!(machine.read(".cursor/mcp.json"), before);
    }
}

#[test]
fn toml_keeps_comments_line_ends_and_other_sections() {
    let machine = Machine::new();
    let before = "# top\r\nmodel = \"m\" # why\r\n\r\n[mcp_servers.\"a b\"] # first\r\ncommand = 'a'\r\n[mcp_servers.\"a b\".env]\r\nX = \"\"\"\r\n[mcp_servers.fake]\r\n\"\"\"\r\n# about the next\r\n[mcp_servers.c]\r\ncommand = 'c'\r\nargs = [\r\n  '[x]', # why\r\n]\r\n\r\n# kept\r\n[profiles.p]\r\nn = 0x10\r\n";
    machine.write(".codex/config.toml", before);
    let done = machine.setup();
    assert!(done.failed.is_empty(), "{done:?}");
    assert_eq!(
        machine.read(".codex/config.toml"),
        "# top\r\nmodel = \"m\" # why\r\n\r\n[mcp_servers.limbeck]\r\ncommand = \"limbeck\"\r\nargs = [\"serve\"]\r\n\r\n# about the next\r\n# kept\r\n[profiles.p]\r\nn = 0x10\r\n"
    );
    machine.setups().undo(None).unwrap();
    assert_eq!(machine.read(".codex/config.toml"), before);
}

#[test]
fn toml_of_another_shape_is_changed_or_refused_whole() {
    let machine = Machine::new();
    let dotted = "mcp_servers.a.command = 'a'\nmcp_servers.a.args = []\nx = 1\n";
    machine.write(".codex/config.toml", dotted);
    assert!(machine.setup().failed.is_empty());
    assert_eq!(
        machine.read(".codex/config.toml"),
        "x = 1\n\n[mcp_servers.limbeck]\ncommand = \"limbeck\"\nargs = [\"serve\"]\n"
    );
    machine.setups().undo(None).unwrap();
    for refused in [
        "mcp_servers = { a = { command = 'a' } }\n",
        "[[mcp_servers]]\nname = 'a'\n",
        "[mcp_servers.a\n",
    ] {
        machine.write(".codex/config.toml", refused);
        assert_eq!(machine.actions().1, ["refuse codex"], "{refused}");
        assert_eq!(machine.setup().id, None);
        assert_eq!(machine.read(".codex/config.toml"), refused);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_refused_with_its_place_and_others_are_written() {
    let machine = Machine::new();
    machine.write(
        ".kiro/settings/mcp.json",
        "{\"mcpServers\": {\"k\": {\"command\": \"k\"}}}",
    );
    for (content, reason) in [
        ("{\"mcpServers\": {\n  \"a\": }", "2:"),
        (
            "{\"mcpServers\": {\"a\": {},\n \"a\": {}}}",
            "2:2: `mcpServers.a`: appears twice, first on line 1",
        ),
        ("{\"mcpServers\": [1]}", "expected an object"),
        ("\u{feff}[]", "expected an object"),
    ] {
        machine.write(".cursor/mcp.json", content);
        let plan = machine.plan();
        let cursor = plan
            .clients
            .iter()
            .find(|client| client.id == "cursor")
            .unwrap();
        assert_eq!(cursor.action.word(), "refuse", "{content}");
        let found = cursor.reason.clone().unwrap();
        assert!(found.contains(reason), "{found}");
        assert!(machine.setup().failed.is_empty());
        assert_eq!(machine.read(".cursor/mcp.json"), content);
        assert!(machine.read(".kiro/settings/mcp.json").contains("limbeck"));
        machine.setups().undo(None).unwrap();
    }
}

#[test]
fn entries_that_stay_keep_their_bytes() {
    let mut machine = Machine::new();
    let before = "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"},\n    \"bad\": { \"command\" : 1 }, // odd\n    \"c\": {\"command\": \"c\"}\n  }\n}\n";
    machine.write(".cursor/mcp.json", before);
    machine
        .outcomes
        .insert("a".to_owned(), Err("ENOENT".to_owned()));
    let (servers, _) = machine.actions();
    assert_eq!(servers, ["keep a", "move c", "keep bad"]);
    machine.setup();
    assert_eq!(
        machine.read(".cursor/mcp.json"),
        "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"},\n    \"bad\": { \"command\" : 1 }, // odd\n    \"limbeck\": {\"command\": \"limbeck\", \"args\": [\"serve\"]}\n  }\n}\n"
    );
}

#[test]
fn a_large_file_is_changed_and_a_larger_one_refused() {
    let machine = Machine::of(OperatingSystem::MacOs);
    let entry = "\"mcpServers\": {\"a\": {\"command\": \"a\"}}";
    let padding = "x".repeat(3 << 20);
    machine.write(
        ".cursor/mcp.json",
        format!("{{\"pad\": \"{padding}\", {entry}}}"),
    );
    assert_eq!(machine.actions().1, ["write cursor"]);
    let padding = "x".repeat(5 << 20);
    machine.write(
        ".cursor/mcp.json",
        format!("{{\"pad\": \"{padding}\", {entry}}}"),
    );
    assert_eq!(machine.actions().1, ["refuse cursor"]);
}
