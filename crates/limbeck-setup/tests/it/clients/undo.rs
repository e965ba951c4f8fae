//! Undo of a file that was changed since, and of several setups.

use limbeck_setup::{SetupError, UndoneState};

use super::{Machine, TWO};

#[test]
fn the_undo_restores_exact_bytes_and_removes_what_setup_created() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", TWO);
    let before = machine.files();
    let done = machine.setup();
    assert_ne!(machine.files(), before);
    let (id, files) = machine.setups().undo(done.id.as_deref()).unwrap();
    assert_eq!(Some(id), done.id);
    assert_eq!(machine.files(), before);
    let states: Vec<&str> = files.iter().map(|file| file.state.word()).collect();
    assert_eq!(states, ["removed", "restored"]);
    let nothing = machine.setups().undo(None).unwrap_err();
    assert!(
        matches!(nothing, SetupError::NothingToUndo { .. }),
        "{nothing}"
    );
}

#[test]
fn what_the_user_changed_since_stays() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", TWO);
    machine.write(
        ".codex/config.toml",
        "[mcp_servers.c]\ncommand = 'c' # mine\n\n[x]\ny = 1\n",
    );
    machine.setup();
    let written = machine.read(".cursor/mcp.json");
    let changed = written.replace("\"dark\"", "\"light\"").replace(
        "      },\n",
        "      \"own\": {\"command\": \"own\"},\n      },\n",
    );
    let changed = changed.replace(
        "    // the first\n",
        "    // the first\n    \"new\": {\"command\": \"new\"},\n",
    );
    assert_ne!(changed, written);
    machine.write(".cursor/mcp.json", changed);
    let codex =
        machine.read(".codex/config.toml") + "z = 2\n\n[mcp_servers.later]\ncommand = 'l'\n";
    machine.write(".codex/config.toml", codex);
    let (_, files) = machine.setups().undo(None).unwrap();
    let merged = files
        .iter()
        .filter(|file| file.state == UndoneState::Merged);
    assert_eq!(merged.count(), 2, "{files:?}");
    let text = machine.read(".cursor/mcp.json");
    for part in [
        "light",
        "\"new\"",
        "\"git\": {\"command\": \"uvx\"",
        "\"files\": {",
        "// runs",
        "// stays",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("limbeck"), "{text}");
    let text = machine.read(".codex/config.toml");
    assert_eq!(
        text,
        "[mcp_servers.c]\ncommand = 'c' # mine\n\n[x]\ny = 1\nz = 2\n\n[mcp_servers.later]\ncommand = 'l'\n"
    );
    assert_eq!(machine.imported(), "");
    assert_eq!(
        machine.actions().0,
        ["move new", "move git", "move files", "move c", "move later"]
    );
}

#[test]
fn a_change_of_the_same_entry_is_a_conflict_and_limbeck_keeps_the_servers() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", TWO);
    machine.write(
        ".kiro/settings/mcp.json",
        r#"{"mcpServers": {"k": {"command": "k"}}}"#,
    );
    machine.setup();
    let imported = machine.imported();
    let written = machine.read(".cursor/mcp.json");
    machine.write(
        ".cursor/mcp.json",
        written.replace("[\"serve\"]", "[\"serve\", \"--log\", \"info\"]"),
    );
    let (_, files) = machine.setups().undo(None).unwrap();
    let states: Vec<&str> = files.iter().map(|file| file.state.word()).collect();
    assert_eq!(states, ["conflict", "conflict", "restored"]);
    assert_eq!(machine.imported(), imported);
    assert!(machine.read(".cursor/mcp.json").contains("--log"));
    // When the conflict is resolved, the rest is undone.
    machine.write(".cursor/mcp.json", written);
    let (_, files) = machine.setups().undo(None).unwrap();
    let states: Vec<&str> = files.iter().map(|file| file.state.word()).collect();
    assert_eq!(states, ["removed", "restored", "unchanged"]);
    assert_eq!(machine.read(".cursor/mcp.json"), TWO);
}

#[test]
fn two_setups_are_undone_in_both_orders() {
    for first_one_first in [true, false] {
        let machine = Machine::new();
        machine.write(".cursor/mcp.json", TWO);
        let cursor = machine.files();
        let one = machine.setup().id.unwrap();
        machine.write(
            ".kiro/settings/mcp.json",
            r#"{"mcpServers": {"k": {"command": "k"}}}"#,
        );
        let two = machine.setup().id.unwrap();
        assert_ne!(one, two);
        let order = if first_one_first {
            [&one, &two]
        } else {
            [&two, &one]
        };
        for id in order {
            machine.setups().undo(Some(id)).unwrap();
        }
        assert_eq!(machine.read(".cursor/mcp.json"), TWO);
        assert!(
            !machine.imported().contains("servers"),
            "{}",
            machine.imported()
        );
        let mut files = machine.files();
        files.retain(|path, _| cursor.contains_key(path));
        assert_eq!(files, cursor);
    }
}
