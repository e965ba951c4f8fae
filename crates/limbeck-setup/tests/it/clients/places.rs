//! Paths of every system, found on one.

use limbeck_setup::OperatingSystem;

use super::Machine;

const ENTRY: &str = r#"{"mcpServers": {"a": {"command": "a"}}}"#;

#[test]
fn files_are_found_where_each_system_has_them() {
    use OperatingSystem::{Linux, MacOs, Windows};
    for (system, path, id) in [
        (
            Linux,
            ".config/Claude/claude_desktop_config.json",
            "claude-desktop",
        ),
        (
            MacOs,
            "Library/Application Support/Claude/claude_desktop_config.json",
            "claude-desktop",
        ),
        (
            Windows,
            "AppData/Roaming/Claude/claude_desktop_config.json",
            "claude-desktop",
        ),
        (
            Windows,
            "AppData/Local/Packages/Claude_pzs8/LocalCache/Roaming/Claude/claude_desktop_config.json",
            "claude-desktop",
        ),
        (MacOs, ".config/devin/mcp_config.json", "devin"),
        (Windows, "AppData/Roaming/devin/mcp_config.json", "devin"),
        (Windows, ".cursor/mcp.json", "cursor"),
        (
            Windows,
            "AppData/Roaming/Qoder/SharedClientCache/mcp.json",
            "qoder",
        ),
        (
            MacOs,
            "Library/Application Support/Trae/User/mcp.json",
            "trae",
        ),
        (Windows, ".codeium/windsurf/mcp_config.json", "windsurf"),
    ] {
        let machine = Machine::of(system);
        machine.write(path, ENTRY);
        let (servers, clients) = machine.actions();
        assert_eq!(clients, [format!("write {id}")], "{system:?} {path}");
        assert_eq!(servers, ["move a"]);
        assert!(machine.setup().failed.is_empty());
        assert!(machine.imported().contains("[servers.a]"));
    }
    // The control: the path of another system.
    let machine = Machine::of(Linux);
    machine.write("AppData/Roaming/Claude/claude_desktop_config.json", ENTRY);
    assert!(machine.actions().1.is_empty());
}

#[test]
fn a_variable_names_the_directory_of_a_client() {
    let mut machine = Machine::new();
    let variables = &mut machine.world.variables;
    variables.insert("CODEX_HOME".to_owned(), "/home/me/other".to_owned());
    variables.insert("CLAUDE_CONFIG_DIR".to_owned(), "/home/me/claude".to_owned());
    variables.insert("XDG_CONFIG_HOME".to_owned(), "/home/me/xdg".to_owned());
    machine.write("other/config.toml", "[mcp_servers.c]\ncommand = 'c'\n");
    machine.write("claude/.claude.json", ENTRY);
    machine.write(
        "xdg/amp/settings.json",
        r#"{"amp.mcpServers": {"b": {"command": "b"}}}"#,
    );
    // Not read: these are not the directories of the clients now.
    machine.write(".codex/config.toml", "[mcp_servers.d]\ncommand = 'd'\n");
    machine.write(".claude.json", ENTRY);
    let (servers, _) = machine.actions();
    assert_eq!(servers, ["move a", "move c", "move b"]);
}

#[test]
fn profiles_of_an_editor_are_files_of_their_own() {
    let machine = Machine::new();
    let servers =
        |name: &str| format!("{{\"servers\": {{\"{name}\": {{\"command\": \"{name}\"}}}}}}");
    machine.write(".config/Code/User/profiles/-1a/mcp.json", servers("one"));
    machine.write(".config/Code/User/profiles/-2b/mcp.json", servers("two"));
    let (found, clients) = machine.actions();
    assert_eq!(found, ["move one", "move two"]);
    assert_eq!(clients, ["write vscode", "write vscode"]);
}
