//! Sync: drift is found, a lost entry is put back once, and what the user decided stays.

use std::fs::{File, FileTimes};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use limbeck_setup::{
    Adoption, Clock, DriftAction, DriftKind, OperatingSystem, SetupSteps, SyncDone, SyncPlan,
    SyncRequest, UndoneState, schedule,
};

use super::{Machine, TWO};

const HOUR_US: u64 = 3_600_000_000;

impl Machine {
    fn drift(&self) -> SyncPlan {
        self.setups().drift(&SyncRequest::default()).unwrap()
    }

    fn sync(&self) -> SyncDone {
        self.setups().repair(&SyncRequest::default()).unwrap()
    }

    fn in_background(&self) -> SyncDone {
        let request = SyncRequest {
            is_background: true,
            ..SyncRequest::default()
        };
        self.setups().repair(&request).unwrap()
    }

    /// A clock that the test moves.
    fn clock(&mut self) -> Arc<AtomicU64> {
        let now_us = Arc::new(AtomicU64::new(1_795_392_000_000_000));
        self.world.clock = Clock::Manual(Arc::clone(&now_us));
        now_us
    }
}

fn words(plan: &SyncPlan) -> Vec<String> {
    let drift = plan.drift.iter();
    let words =
        drift.map(|drift| format!("{} {} {}", drift.id, drift.kind.word(), drift.action.word()));
    words.collect()
}

#[test]
fn after_a_setup_nothing_has_drifted_and_sync_writes_nothing() {
    let machine = Machine::new();
    assert!(!machine.drift().has_setup);
    machine.write(".cursor/mcp.json", TWO);
    machine.write(".codex/config.toml", "[mcp_servers.c]\ncommand = 'c'\n");
    machine.setup();
    let before = machine.files();
    assert_eq!(words(&machine.drift()), [""; 0]);
    let done = machine.sync();
    assert!(done.plan.has_setup && done.plan.is_clean() && done.written.is_empty());
    assert_eq!(machine.files(), before);
    // After the undo there is nothing to compare with.
    machine.setups().undo(None).unwrap();
    assert!(!machine.drift().has_setup);
}

#[test]
fn a_wiped_file_is_repaired_once_and_a_second_wipe_within_a_day_stops() {
    for wiped in [
        "",
        "{}",
        "{\"theme\": \"dark\"}",
        "{\"mcpServers\": {}, \"other\": 1}",
    ] {
        let mut machine = Machine::new();
        let now_us = machine.clock();
        machine.write(".cursor/mcp.json", TWO);
        machine.setup();
        machine.write(".cursor/mcp.json", wiped);
        assert_eq!(words(&machine.drift()), ["cursor wiped repair"], "{wiped}");
        // A comparison alone writes nothing.
        assert_eq!(machine.read(".cursor/mcp.json"), wiped);
        let done = machine.sync();
        assert_eq!(done.written.len(), 1, "{wiped}: {done:?}");
        let repaired = machine.read(".cursor/mcp.json");
        assert!(
            repaired.contains("\"limbeck\": {\"command\": \"limbeck\", \"args\": [\"serve\"]}")
        );
        assert_eq!(repaired.contains("theme"), wiped.contains("theme"));
        assert_eq!(words(&machine.drift()), [""; 0]);
        machine.write(".cursor/mcp.json", wiped);
        now_us.fetch_add(HOUR_US, Ordering::Relaxed);
        let done = machine.sync();
        assert_eq!(words(&done.plan), ["cursor wiped stop"]);
        assert!(done.plan.drift[0].finding.contains("another program owns"));
        assert_eq!(machine.read(".cursor/mcp.json"), wiped);
        // It stays so, also a day later: the war has ended.
        now_us.fetch_add(30 * HOUR_US, Ordering::Relaxed);
        assert_eq!(words(&machine.sync().plan), ["cursor wiped stop"]);
        assert_eq!(machine.read(".cursor/mcp.json"), wiped);
    }
}

#[test]
fn a_second_wipe_a_day_later_is_repaired() {
    let mut machine = Machine::new();
    let now_us = machine.clock();
    machine.write(".cursor/mcp.json", TWO);
    machine.setup();
    for _ in 0..3 {
        machine.write(".cursor/mcp.json", "{}");
        assert_eq!(machine.sync().written.len(), 1);
        now_us.fetch_add(25 * HOUR_US, Ordering::Relaxed);
    }
}

#[test]
fn a_setup_ends_the_stop() {
    let mut machine = Machine::new();
    machine.clock();
    machine.write(".cursor/mcp.json", TWO);
    machine.setup();
    for _ in 0..2 {
        machine.write(".cursor/mcp.json", "{}");
        machine.sync();
    }
    assert_eq!(words(&machine.drift()), ["cursor wiped stop"]);
    machine.request.clients = vec!["cursor".to_owned()];
    machine.request.steps = SetupSteps::InstallOnly;
    machine.setup();
    assert_eq!(words(&machine.drift()), [""; 0]);
    machine.write(".cursor/mcp.json", "{}");
    assert_eq!(machine.sync().written.len(), 1);
}

#[test]
fn a_file_that_is_gone_is_written_again_only_while_its_directory_is_there() {
    let machine = Machine::new();
    let file = machine.write(".cursor/mcp.json", TWO);
    machine.setup();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(machine.sync().written.len(), 1);
    assert!(machine.read(".cursor/mcp.json").contains("limbeck"));
    std::fs::remove_dir_all(machine.home(".cursor")).unwrap();
    let done = machine.sync();
    assert_eq!(words(&done.plan), [""; 0]);
    assert!(!machine.home(".cursor").exists());
}

#[test]
fn a_removal_of_the_entry_alone_is_respected_for_good() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", TWO);
    machine.write(
        ".codex/config.toml",
        "model = 'x'\n\n[mcp_servers.c]\ncommand = 'c'\n",
    );
    machine.setup();
    let text = machine.read(".cursor/mcp.json");
    let entry = "    \"limbeck\": {\"command\": \"limbeck\", \"args\": [\"serve\"]},\n";
    assert!(text.contains(entry), "{text}");
    let without = text.replace(entry, "");
    machine.write(".cursor/mcp.json", &without);
    machine.write(".codex/config.toml", "model = 'x'\n");
    let expected = ["cursor removed respect", "codex removed respect"];
    assert_eq!(words(&machine.drift()), expected);
    let done = machine.sync();
    assert!(done.plan.is_clean() && done.written.is_empty());
    assert_eq!(machine.read(".cursor/mcp.json"), without);
    // Also when the client writes a new file later.
    machine.write(".cursor/mcp.json", "{}");
    assert_eq!(words(&machine.sync().plan), expected);
    assert_eq!(machine.read(".cursor/mcp.json"), "{}");
    // The control: a setup puts it back, and then a wipe is repaired.
    machine.write(".cursor/mcp.json", TWO);
    machine.setup();
    machine.write(".cursor/mcp.json", "{}");
    assert_eq!(machine.sync().written.len(), 1);
}

#[test]
fn new_servers_are_reported_and_not_touched() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", TWO);
    machine.write(
        ".kiro/settings/mcp.json",
        "{\"mcpServers\": {\"bad\": {\"command\": \"bad\"}}}",
    );
    let mut machine = machine;
    let failed = Err("no such program".to_owned());
    machine.outcomes.insert("bad".to_owned(), failed);
    machine.setup();
    // What setup left in a client is not new.
    assert_eq!(words(&machine.drift()), [""; 0]);
    let text = machine.read(".cursor/mcp.json");
    let text = text.replace(
        "\"limbeck\":",
        "\"late\": {\"command\": \"late\"},\n    \"limbeck\":",
    );
    machine.write(".cursor/mcp.json", &text);
    machine.write(
        ".qwen/settings.json",
        "{\"mcpServers\": {\"q\": {\"command\": \"q\"}}}",
    );
    let before = machine.files();
    let done = machine.sync();
    assert_eq!(
        words(&done.plan),
        ["cursor added report", "qwen new_client report"]
    );
    assert_eq!(done.plan.drift[0].servers, ["late"]);
    let remedy = done.plan.drift[0].remedy.as_deref();
    assert_eq!(remedy, Some("limbeck setup --client cursor"));
    assert!(!done.plan.is_clean());
    assert_eq!(machine.files(), before);
    for (adoption, expected) in [(Adoption::Never, 0), (Adoption::Yes, 2)] {
        let request = SyncRequest {
            adoption,
            ..SyncRequest::default()
        };
        let plan = machine.setups().drift(&request).unwrap();
        let adopted = |drift: &&limbeck_setup::Drift| drift.action == DriftAction::Adopt;
        assert_eq!(plan.drift.iter().filter(adopted).count(), expected);
    }
    // The remedy clears it.
    machine.setup();
    assert_eq!(words(&machine.drift()), [""; 0]);
    assert!(machine.imported().contains("[servers.late]"));
}

#[test]
fn clients_that_setup_was_not_asked_about_are_not_new() {
    let mut machine = Machine::new();
    machine.write(".cursor/mcp.json", TWO);
    machine.write(".kiro/settings/mcp.json", TWO);
    machine.request.clients = vec!["cursor".to_owned()];
    machine.setup();
    assert_eq!(words(&machine.drift()), [""; 0]);
    // The control: one that came later.
    machine.write(".qwen/settings.json", TWO);
    assert_eq!(words(&machine.drift()), ["qwen new_client report"]);
}

#[test]
fn an_entry_that_starts_something_else_is_written_again_and_a_users_options_stay() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", TWO);
    machine.setup();
    let own = "{\"command\": \"limbeck\", \"args\": [\"serve\"]}";
    let written = machine.read(".cursor/mcp.json");
    for users in [
        "{\"command\": \"limbeck\", \"args\": [\"serve\", \"--log\", \"info\"]}",
        "{\"command\": \"limbeck\", \"args\": [\"serve\"], \"disabled\": true}",
    ] {
        machine.write(".cursor/mcp.json", written.replace(own, users));
        assert_eq!(words(&machine.drift()), [""; 0], "{users}");
    }
    let other = written.replace(own, "{\"command\": \"other\"}");
    machine.write(".cursor/mcp.json", &other);
    assert_eq!(words(&machine.drift()), ["cursor changed repair"]);
    machine.sync();
    assert_eq!(machine.read(".cursor/mcp.json"), written);
    machine.write(".cursor/mcp.json", &other);
    assert_eq!(words(&machine.sync().plan), ["cursor changed stop"]);
    assert_eq!(machine.read(".cursor/mcp.json"), other);
}

#[test]
fn a_path_that_is_gone_is_replaced_by_sync_and_by_setup_and_the_rest_of_the_entry_stays() {
    for by_setup in [false, true] {
        let mut machine = Machine::new();
        machine.write(".cursor/mcp.json", TWO);
        machine.write(".codex/config.toml", "[mcp_servers.c]\ncommand = 'c'\n");
        machine.setup();
        let text = machine.read(".cursor/mcp.json");
        let own = "{\"command\": \"limbeck\", \"args\": [\"serve\"]";
        let gone = "{\"command\": \"/opt/old/limbeck\", \"args\": [\"serve\", \"--log\", \"info\"]";
        machine.write(".cursor/mcp.json", text.replace(own, gone));
        let codex = machine.read(".codex/config.toml");
        let codex = codex.replace("\"limbeck\"", "'/opt/old/limbeck' # mine");
        machine.write(".codex/config.toml", codex);
        let plan = machine.drift();
        assert_eq!(words(&plan), ["cursor stale repair", "codex stale repair"]);
        assert!(
            plan.drift[0]
                .finding
                .contains("/opt/old/limbeck: there is no such file")
        );
        if by_setup {
            machine.request.steps = SetupSteps::InstallOnly;
            machine.setup();
        } else {
            machine.sync();
        }
        let text = machine.read(".cursor/mcp.json");
        let now = "{\"command\": \"limbeck\", \"args\": [\"serve\", \"--log\", \"info\"]";
        assert!(text.contains(now), "{text}");
        let codex = machine.read(".codex/config.toml");
        assert!(codex.contains("command = \"limbeck\" # mine"), "{codex}");
        assert_eq!(words(&machine.drift()), [""; 0]);
    }
}

#[test]
fn the_undo_of_a_setup_takes_its_repairs_back() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", TWO);
    machine.write(".codex/config.toml", "[mcp_servers.c]\ncommand = 'c'\n");
    let setup = machine.setup().id.unwrap();
    machine.write(".cursor/mcp.json", "{\"new\": 1}\n");
    let codex = machine.read(".codex/config.toml");
    let codex = codex.replace("\"limbeck\"", "\"/opt/old/limbeck\"");
    machine.write(".codex/config.toml", codex);
    assert_eq!(machine.sync().written.len(), 2);
    // Without an id it is the setup, and not its repair.
    let (id, files) = machine.setups().undo(None).unwrap();
    assert_eq!(id, setup);
    assert!(
        files
            .iter()
            .all(|file| !matches!(file.state, UndoneState::Conflict(_))),
        "{files:?}"
    );
    let text = machine.read(".cursor/mcp.json");
    assert!(
        text.contains("\"git\"") && text.contains("\"new\": 1"),
        "{text}"
    );
    assert!(!text.contains("limbeck"), "{text}");
    let codex = machine.read(".codex/config.toml");
    assert_eq!(codex, "[mcp_servers.c]\ncommand = 'c'\n");
}

#[test]
fn a_background_run_does_not_open_files_that_look_the_same() {
    let machine = Machine::new();
    let file = machine.write(".cursor/mcp.json", TWO);
    machine.setup();
    // The first run reads what setup wrote.
    assert_eq!(machine.in_background().plan.files_read, 1);
    assert_eq!(machine.in_background().plan.files_read, 0);
    // Other bytes that look the same from outside are not seen, which shows that the file is not opened.
    let modified = file.metadata().unwrap().modified().unwrap();
    let written = machine.read(".cursor/mcp.json");
    std::fs::write(&file, "{}".to_owned() + &" ".repeat(written.len() - 2)).unwrap();
    let open = File::options().append(true).open(&file).unwrap();
    open.set_times(FileTimes::new().set_modified(modified))
        .unwrap();
    assert_eq!(words(&machine.in_background().plan), [""; 0]);
    // The control: with another time it is read, and repaired.
    open.set_times(FileTimes::new().set_modified(modified + std::time::Duration::from_secs(1)))
        .unwrap();
    assert_eq!(machine.in_background().written.len(), 1);
}

#[test]
fn on_macos_a_background_run_opens_no_file_of_another_program() {
    let machine = Machine::of(OperatingSystem::MacOs);
    machine.write(".cursor/mcp.json", TWO);
    machine.setup();
    machine.write(".cursor/mcp.json", "{}");
    assert_eq!(machine.in_background().plan.files_read, 0);
    assert_eq!(machine.sync().plan.drift[0].kind, DriftKind::Wiped);
}

#[test]
fn the_texts_of_every_system_name_the_program_and_the_files() {
    for (system, paths) in [
        (
            OperatingSystem::Linux,
            &[
                "/home/me/.config/systemd/user/limbeck-sync.service",
                "/home/me/.config/systemd/user/limbeck-sync.timer",
                "/home/me/.config/systemd/user/limbeck-sync.path",
            ][..],
        ),
        (
            OperatingSystem::MacOs,
            &["/Users/me/Library/LaunchAgents/limbeck-sync.plist"],
        ),
        (
            OperatingSystem::Windows,
            &[r"C:\Users\me/.config/limbeck/limbeck-sync.xml"],
        ),
    ] {
        let machine = Machine::of(system);
        machine.write(".cursor/mcp.json", TWO);
        let files = schedule(&machine.world).unwrap();
        let found: Vec<String> = files
            .iter()
            .map(|file| file.path.to_string_lossy().into_owned())
            .collect();
        assert_eq!(found, paths, "{system:?}");
        let texts: String = files.iter().map(|file| file.text.as_str()).collect();
        assert!(texts.contains("--background"), "{texts}");
        if system != OperatingSystem::Windows {
            assert!(texts.contains(".cursor/mcp.json"), "{texts}");
        }
    }
}

/// The texts that a machine with one client and a program of an awkward name gets.
fn texts(system: OperatingSystem) -> Vec<String> {
    let machine = Machine::of(system);
    machine.write(".cursor/mcp.json", TWO);
    let files = schedule(&machine.world).unwrap();
    files.into_iter().map(|file| file.text).collect()
}

#[test]
fn the_texts_for_macos_and_windows_are_xml_whose_tags_match() {
    for system in [OperatingSystem::MacOs, OperatingSystem::Windows] {
        let text = texts(system).remove(0);
        let mut open = Vec::new();
        for tag in text.split('<').skip(1) {
            let (tag, _) = tag.split_once('>').unwrap();
            if tag.starts_with(['?', '!']) || tag.ends_with('/') {
                continue;
            }
            match tag.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name), "{text}"),
                None => open.push(tag.split(' ').next().unwrap()),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn systemd_accepts_the_units_where_it_is_installed() {
    use std::os::unix::fs::PermissionsExt as _;

    let root = tempfile::tempdir().unwrap();
    let home = root.path().canonicalize().unwrap().join("a home with 100%");
    std::fs::create_dir_all(home.join(".cursor")).unwrap();
    std::fs::write(home.join(".cursor/mcp.json"), TWO).unwrap();
    let program = home.join("limbeck");
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let variables = [("HOME".to_owned(), home.to_str().unwrap().to_owned())];
    let world = limbeck_setup::World {
        executable: Some(program),
        ..limbeck_setup::World::new(OperatingSystem::Linux, "/", variables.into())
    };
    let mut verify = std::process::Command::new("systemd-analyze");
    verify.args(["verify", "--user", "--man=no"]);
    for file in schedule(&world).unwrap() {
        std::fs::create_dir_all(file.path.parent().unwrap()).unwrap();
        std::fs::write(&file.path, file.text).unwrap();
        verify.arg(file.path);
    }
    // A system without systemd cannot judge its units.
    let Ok(verified) = verify.env("XDG_RUNTIME_DIR", root.path()).output() else {
        return;
    };
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(
        verified.status.success() && !said.contains("limbeck-sync"),
        "{said}"
    );
}
