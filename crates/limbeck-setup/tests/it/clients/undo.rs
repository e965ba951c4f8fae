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

const KIRO: &str = ".kiro/settings/mcp.json";
const A: &str = r#"{"mcpServers": {"a": {"command": "a", "env": {"A_TOKEN": "t"}}}}"#;
const B: &str = r#"{"mcpServers": {"b": {"command": "b"}}}"#;

/// Two setups, and what the user writes before each: a file and its text.
const TWO_SETUPS: [(&str, [(&str, &str); 2]); 4] = [
    ("other clients", [(".cursor/mcp.json", A), (KIRO, B)]),
    ("the same server", [(".cursor/mcp.json", A), (KIRO, A)]),
    (
        "the same file",
        [(".cursor/mcp.json", A), (".cursor/mcp.json", "+")],
    ),
    (
        "one server of both",
        [
            (".cursor/mcp.json", A),
            (
                KIRO,
                r#"{"mcpServers": {"a": {"command": "a", "env": {"A_TOKEN": "t"}}, "b": {"command": "b"}}}"#,
            ),
        ],
    ),
];

#[test]
fn two_setups_are_undone_exactly_or_the_order_is_named() {
    for (case, steps) in TWO_SETUPS {
        for first_one_first in [true, false] {
            let machine = Machine::new();
            let mut ids = Vec::new();
            let mut users = std::collections::BTreeMap::new();
            for (path, text) in steps {
                let mut users_text = text.to_owned();
                let mut text = text.to_owned();
                if text == "+" {
                    // The user adds a server beside Limbeck's entry.
                    let new = "}, \"new\": {\"command\": \"n\"}}}";
                    text = machine.read(path);
                    text.replace_range(text.len() - 3.., new);
                    users_text = A.to_owned();
                    users_text.replace_range(A.len() - 3.., new);
                }
                let file = machine.write(path, text);
                users.insert(file, users_text.into_bytes());
                ids.extend(machine.setup().id);
            }
            assert_eq!(ids.len(), 2, "{case}");
            let set_up = machine.files();
            if first_one_first {
                match machine.setups().undo(Some(&ids[0])) {
                    Ok(_) => assert_eq!(case, "other clients"),
                    Err(error) => {
                        assert_ne!(case, "other clients");
                        let text = format!("{error}: {}", error.hint().unwrap());
                        assert!(text.contains(&format!("before {}", ids[1])), "{text}");
                        let order = format!(
                            "`limbeck setup --undo {}`, `limbeck setup --undo {}`",
                            ids[1], ids[0]
                        );
                        assert!(text.contains(&order), "{text}");
                        assert_eq!(machine.files(), set_up, "{case}");
                    }
                }
            }
            for id in ids.iter().rev() {
                let (_, files) = machine.setups().undo(Some(id)).unwrap();
                let conflict = files.iter().find(|file| file.state.word() == "conflict");
                assert_eq!(conflict, None, "{case}");
            }
            assert_eq!(
                machine.files(),
                users,
                "{case}, first one first: {first_one_first}"
            );
        }
    }
}

#[test]
fn a_setup_that_was_taken_back_is_not_taken_back_again() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", TWO);
    let one = machine.setup().id.unwrap();
    machine.setups().undo(Some(&one)).unwrap();
    machine.setup();
    let set_up = machine.files();
    let (_, files) = machine.setups().undo(Some(&one)).unwrap();
    assert!(
        files
            .iter()
            .all(|file| file.state == UndoneState::Unchanged),
        "{files:?}"
    );
    assert_eq!(machine.files(), set_up);
    // The control: the second one is.
    machine.setups().undo(None).unwrap();
    assert_eq!(machine.read(".cursor/mcp.json"), TWO);
}

#[test]
fn a_second_setup_of_the_same_plan_writes_nothing_and_its_undo_takes_no_secret() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", A);
    let before = machine.files();
    let (one, two) = (machine.plan(), machine.plan());
    machine.setups().apply(one).unwrap();
    let set_up = machine.files();
    let error = machine.setups().apply(two).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("another setup or program wrote "), "{text}");
    assert_eq!(error.hint().unwrap(), "run setup again");
    assert_eq!(machine.files(), set_up);
    // The control: the first one is taken back whole, with its secret, and there is no second one.
    machine.setups().undo(None).unwrap();
    assert_eq!(machine.files(), before);
    machine.setups().undo(None).unwrap_err();
}

#[test]
fn a_killed_setup_whose_file_is_in_conflict_is_named_before_another_one() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", A);
    let id = machine.setup().id.unwrap();
    let record = machine.state().join("setup").join(&id).join("record.json");
    let text = std::fs::read_to_string(&record).unwrap();
    std::fs::write(&record, text.replace("\"finished\"", "\"started\"")).unwrap();
    let written = machine.read(".cursor/mcp.json");
    machine.write(
        ".cursor/mcp.json",
        written.replace("\"serve\"", "\"serve\", \"--quiet\""),
    );
    let error = machine.setups().recover().unwrap_err();
    assert!(matches!(&error, SetupError::Unrecovered { .. }), "{error}");
    assert_eq!(
        error.hint(),
        Some(format!(
            "correct the file, then run `limbeck setup --undo {id}`"
        ))
    );
    assert!(machine.imported().contains("[servers.a]"));
    // The control: as setup wrote it, it is taken back.
    machine.write(".cursor/mcp.json", written);
    assert_eq!(machine.setups().recover().unwrap(), Some(id));
    assert_eq!(machine.read(".cursor/mcp.json"), A);
}

#[test]
fn keys_that_a_client_adds_to_limbecks_entry_go_with_it() {
    const CODEX: &str = ".codex/config.toml";
    let text = "# mine\nmodel = \"m\"\n\n[mcp_servers.c]\ncommand = 'c'\n";
    for (added, is_undone) in [
        ("default_tools_approval_mode = \"approve\"\n", true),
        (
            "startup_timeout_sec = 20\n\n[mcp_servers.limbeck.tools.execute]\napproval_mode = \"approve\"\n",
            true,
        ),
        // The control: what the user changed of what it does.
        ("env = { A = \"b\" }\n", false),
    ] {
        let machine = Machine::new();
        machine.write(CODEX, text);
        machine.setup();
        let written = machine.read(CODEX);
        let changed = written.replace(
            "args = [\"serve\"]\n",
            &format!("args = [\"serve\"]\n{added}"),
        );
        assert_ne!(written, changed);
        machine.write(CODEX, &changed);
        let (_, files) = machine.setups().undo(None).unwrap();
        if is_undone {
            // Behind the last of two sections a blank line stays.
            let now = machine.read(CODEX);
            assert_eq!(now.trim_end(), text.trim_end(), "{files:?}");
        } else {
            assert_eq!(files[1].state.word(), "conflict", "{files:?}");
            assert_eq!(machine.read(CODEX), changed);
        }
    }
}

#[test]
fn an_unknown_setup_is_answered_with_those_that_can_be_taken_back() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", A);
    let one = machine.setup().id.unwrap();
    machine.write(KIRO, B);
    let two = machine.setup().id.unwrap();
    let hint = || {
        machine
            .setups()
            .undo(Some("20260101-1"))
            .unwrap_err()
            .hint()
    };
    assert_eq!(
        hint(),
        Some(format!("setups that can be taken back: {two}, {one}"))
    );
    machine.setups().undo(None).unwrap();
    assert_eq!(
        hint(),
        Some(format!("setups that can be taken back: {one}"))
    );
    machine.setups().undo(None).unwrap();
    assert_eq!(hint(), None);
}
