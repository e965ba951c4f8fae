//! Files as they are on disk: links, modes, read-only places, writers at the same time, setups that were killed.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use super::Machine;

const ENTRY: &str = r#"{"mcpServers": {"a": {"command": "a"}}}"#;

#[test]
fn links_stay_links_and_their_target_is_changed() {
    let machine = Machine::new();
    machine.write("dotfiles/mcp.json", ENTRY);
    fs::create_dir_all(machine.home(".cursor")).unwrap();
    symlink("mcp.link", machine.home(".cursor/mcp.json")).unwrap();
    symlink("../dotfiles/mcp.json", machine.home(".cursor/mcp.link")).unwrap();
    machine.setup();
    let link = |name: &str| fs::read_link(machine.home(name)).unwrap();
    assert_eq!(link(".cursor/mcp.json").to_str(), Some("mcp.link"));
    assert_eq!(
        link(".cursor/mcp.link").to_str(),
        Some("../dotfiles/mcp.json")
    );
    assert!(machine.read("dotfiles/mcp.json").contains("limbeck"));
    machine.setups().undo(None).unwrap();
    assert_eq!(machine.read("dotfiles/mcp.json"), ENTRY);
}

#[test]
fn modes_stay_and_a_file_with_two_names_keeps_them() {
    let machine = Machine::new();
    let file = machine.write(".cursor/mcp.json", ENTRY);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let other = machine.write(".kiro/settings/mcp.json", ENTRY);
    fs::hard_link(&other, machine.home("second")).unwrap();
    let inode = other.metadata().unwrap().ino();
    machine.setup();
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o640);
    assert_eq!(other.metadata().unwrap().ino(), inode);
    assert!(machine.read("second").contains("limbeck"));
    machine.setups().undo(None).unwrap();
    assert_eq!(machine.read("second"), ENTRY);
    assert_eq!(other.metadata().unwrap().ino(), inode);
}

#[test]
fn a_read_only_file_stays_and_its_lines_are_shown() {
    let machine = Machine::new();
    let file = machine.write(".cursor/mcp.json", ENTRY);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let plan = machine.plan();
    assert_eq!(plan.clients[0].action.word(), "print");
    assert!(plan.clients[0].added.as_ref().unwrap().contains("serve"));
    assert_eq!(machine.actions().0, ["keep a"]);
    assert_eq!(machine.setup().id, None);
    assert_eq!(machine.read(".cursor/mcp.json"), ENTRY);
    // The control: the same file when it can be written.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(machine.actions().1, ["write cursor"]);
}

#[test]
fn a_file_that_others_can_write_a_directory_and_a_pipe_are_refused() {
    let machine = Machine::new();
    let file = machine.write(".cursor/mcp.json", ENTRY);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    fs::create_dir_all(machine.home(".kiro/settings/mcp.json")).unwrap();
    fs::create_dir_all(machine.home(".qwen")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        machine.home(".qwen/settings.json"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    assert_eq!(
        machine.actions().1,
        ["refuse cursor", "refuse qwen", "refuse kiro"]
    );
}

#[test]
fn a_write_between_plan_and_setup_is_kept() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", ENTRY);
    let plan = machine.plan();
    machine.write(
        ".cursor/mcp.json",
        r#"{"new": 1, "mcpServers": {"a": {"command": "a"}}}"#,
    );
    let done = machine.setups().apply(plan).unwrap();
    assert!(done.failed.is_empty(), "{done:?}");
    let written = machine.read(".cursor/mcp.json");
    assert!(
        written.starts_with(r#"{"new": 1, "mcpServers": {"limbeck""#),
        "{written}"
    );
    machine.setups().undo(None).unwrap();
    let plan = machine.plan();
    // An entry that is another one now is not taken out.
    let other = r#"{"mcpServers": {"a": {"command": "b"}}}"#;
    machine.write(".cursor/mcp.json", other);
    let done = machine.setups().apply(plan).unwrap();
    assert_eq!(done.failed.len(), 1, "{done:?}");
    assert_eq!(machine.read(".cursor/mcp.json"), other);
}

#[test]
fn racing_writers_lose_nothing() {
    let machine = Machine::new();
    let text = |number: u32| {
        format!("{{\"n\": {number}, \"mcpServers\": {{\"a\": {{\"command\": \"a\"}}}}}}")
    };
    let path = machine.write(".cursor/mcp.json", text(0));
    let plan = machine.plan();
    // The other program replaces the file as editors do, and changes only its own number.
    let writer = std::thread::spawn(move || {
        for number in 1..=50_u32 {
            let now = fs::read_to_string(&path).unwrap();
            let next = now.replacen(
                &format!("\"n\": {}", number - 1),
                &format!("\"n\": {number}"),
                1,
            );
            let fresh = path.with_extension("fresh");
            fs::write(&fresh, next).unwrap();
            fs::rename(&fresh, &path).unwrap();
        }
    });
    let done = machine.setups().apply(plan).unwrap();
    writer.join().unwrap();
    // The other program may itself write over the change, which it read before; setup then says so, or a second one heals it.
    assert!(done.failed.is_empty() || !done.failed[0].1.is_empty());
    machine.setup();
    let written = machine.read(".cursor/mcp.json");
    assert!(
        written.contains("\"n\": 50") && written.contains("limbeck"),
        "{written}"
    );
    assert!(machine.imported().contains("[servers.a]"));
}

#[test]
fn no_file_of_a_change_is_left_beside_the_files() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", ENTRY);
    // One that a killed process left: the beginning of the new bytes.
    machine.write(".cursor/.mcp.json.limbeck-setup0", "{\"mcp");
    machine.setup();
    let names: Vec<_> = fs::read_dir(machine.home(".cursor")).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

/// The state that a `kill -9` leaves at each step: some files written, and the record that says `started`.
#[test]
fn after_a_kill_at_any_step_a_second_setup_and_an_undo_are_right() {
    let files = [
        (
            ".cursor/mcp.json",
            r#"{"mcpServers": {"a": {"command": "a", "env": {"T_KEY": "k"}}}}"#,
        ),
        (".kiro/settings/mcp.json", ENTRY),
        (".codex/config.toml", "[mcp_servers.c]\ncommand = 'c'\n"),
    ];
    let steps = 5;
    for killed_after in 0..=steps {
        for undoes in [false, true] {
            let machine = Machine::new();
            for (path, text) in files {
                machine.write(path, text);
            }
            let before = machine.files();
            let done = machine.setup();
            let after = machine.files();
            assert_eq!(done.written.len(), steps);
            // Rolls the files that a killed process had not reached back to their old bytes.
            for path in &done.written[killed_after..] {
                let on_disk = machine.world.on_disk(path);
                match before.get(&on_disk) {
                    Some(bytes) => fs::write(&on_disk, bytes).unwrap(),
                    None => fs::remove_file(&on_disk).unwrap(),
                }
            }
            let record = machine
                .state()
                .join("setup")
                .join(done.id.unwrap())
                .join("record.json");
            let text = fs::read_to_string(&record).unwrap();
            fs::write(&record, text.replace("\"finished\"", "\"started\"")).unwrap();
            assert!(machine.setups().is_unfinished());
            if undoes {
                machine.setups().undo(None).unwrap();
                assert_eq!(machine.files(), before, "killed after {killed_after}");
            } else {
                let again = machine.setup();
                assert!(again.failed.is_empty(), "{again:?}");
                assert_eq!(machine.files(), after, "killed after {killed_after}");
                machine.setups().undo(None).unwrap();
                assert_eq!(machine.files(), before);
            }
        }
    }
}
