//! `sync`, and the findings of `doctor` with their remedies, as a user runs them.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::world::{CommandOutcome, LIMBECK, World};

const CURSOR: &str = ".cursor/mcp.json";

/// A world after a setup of one client.
fn world_after_setup() -> World {
    let world = World::empty();
    let shop = format!("\"shop\": {{\"command\": {LIMBECK:?}, \"args\": [\"demo-upstream\"]}}");
    write(&world, &format!("{{\"mcpServers\": {{{shop}}}}}\n"));
    world.limbeck(["setup", "--yes", "--no-probe"]).ends_with(0);
    world
}

fn file(world: &World) -> PathBuf {
    world.home().join(CURSOR)
}

fn write(world: &World, text: &str) {
    std::fs::create_dir_all(file(world).parent().unwrap()).unwrap();
    std::fs::write(file(world), text).unwrap();
}

fn read(world: &World) -> String {
    std::fs::read_to_string(file(world)).unwrap()
}

fn codes(world: &World) -> Vec<String> {
    let doctor = CommandOutcome::of(world.command(["doctor", "--json"]).output().unwrap());
    let findings = doctor.json()["findings"].as_array().unwrap().clone();
    let code = |finding: &Value| finding["code"].as_str().unwrap().to_owned();
    // G01 proposes a preset, and is not about clients.
    let codes = findings.iter().map(code).filter(|code| code != "G01");
    codes.collect()
}

#[test]
fn drift_is_reported_with_exit_code_one_and_repaired_with_apply() {
    let world = World::empty();
    let none = world.limbeck(["sync"]).ends_with(0);
    assert!(none.stderr.contains("`limbeck setup`"), "{none:?}");
    assert!(!world.home().join(".local").exists());
    let world = world_after_setup();
    let clean = world.limbeck(["sync", "--json"]).ends_with(0).json();
    assert_eq!(clean["drift"].as_array().unwrap().len(), 0, "{clean}");
    write(&world, "{}");
    for plain in [&["sync", "--json"][..], &["sync", "--dry-run", "--json"]] {
        let found = CommandOutcome::of(world.command(plain).output().unwrap());
        let found = found.ends_with(1).json();
        assert_eq!(found["drift"][0]["kind"], "wiped", "{found}");
        assert_eq!(found["drift"][0]["action"], "repair");
        assert_eq!(found["drift"][0]["done"], false);
        assert_eq!(read(&world), "{}");
    }
    let said = world.limbeck(["sync"]).ends_with(1);
    assert!(
        said.stderr.contains("run `limbeck sync --apply`"),
        "{said:?}"
    );
    let done = world.limbeck(["sync", "--apply", "--json"]).ends_with(0);
    assert_eq!(done.json()["drift"][0]["done"], true);
    assert!(read(&world).contains("\"limbeck\""));
    write(&world, "{}");
    let stopped = world.limbeck(["sync", "--apply"]).ends_with(1);
    assert!(
        stopped.stderr.contains("another program owns this file"),
        "{stopped:?}"
    );
    assert_eq!(read(&world), "{}");
    let unknown = world.limbeck(["sync", "--client", "nano"]).ends_with(2);
    assert!(unknown.stderr.contains("known clients"), "{unknown:?}");
}

#[test]
fn a_removal_is_respected_and_new_servers_move_only_when_asked() {
    let world = world_after_setup();
    write(&world, "{\"mcpServers\": {}}");
    let kept = world.limbeck(["sync", "--apply"]).ends_with(0);
    assert!(kept.stderr.contains("so it stays out"), "{kept:?}");
    assert_eq!(read(&world), "{\"mcpServers\": {}}");
    let late = format!(
        "{{\"mcpServers\": {{\"late\": {{\"command\": {LIMBECK:?}, \"args\": [\"demo-upstream\", \"--\"]}}}}}}"
    );
    write(&world, &late);
    let found = world.limbeck(["sync", "--apply"]).ends_with(1);
    assert!(
        found.stderr.contains("`limbeck setup --client cursor`"),
        "{found:?}"
    );
    assert_eq!(read(&world), late);
    world.limbeck(["sync", "--adopt", "never"]).ends_with(0);
}

#[test]
fn each_remedy_of_a_client_finding_clears_it() {
    let world = world_after_setup();
    assert_eq!(codes(&world), [""; 0]);
    let written = read(&world);
    let nothing = world.limbeck(["doctor", "--fix", "C02"]).ends_with(0);
    assert!(
        nothing.stderr.contains("there is no finding C02"),
        "{nothing:?}"
    );
    // C02: the entry is lost.
    write(&world, "{}");
    assert_eq!(codes(&world), ["C02"]);
    world.limbeck(["doctor", "--fix", "C02"]).ends_with(0);
    assert_eq!(codes(&world), [""; 0]);
    assert!(read(&world).contains("\"limbeck\""));
    // C03: its path is gone.
    let command = format!("\"command\": {LIMBECK:?}");
    let stale = written.replace(&command, "\"command\": \"/opt/gone/limbeck\"");
    assert_ne!(stale, written);
    write(&world, &stale);
    assert_eq!(codes(&world), ["C03"]);
    world
        .limbeck(["doctor", "--fix", "C03", "--client", "kiro"])
        .ends_with(0);
    assert_eq!(codes(&world), ["C03"]);
    world.limbeck(["doctor", "--fix", "c03"]).ends_with(0);
    assert_eq!(codes(&world), [""; 0]);
    assert_eq!(read(&world), written);
    // S02: others can read what setup wrote.
    let own = world.home().join(".config/limbeck/imported.toml");
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(codes(&world), ["S02"]);
    world.limbeck(["doctor", "--fix", "S02"]).ends_with(0);
    assert_eq!(own.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(codes(&world), [""; 0]);
    // C01 is for a person.
    write(&world, "{\"mcpServers\": {\n  oops");
    assert_eq!(codes(&world), ["C01"]);
    let left = world.limbeck(["doctor", "--fix", "C01"]).ends_with(1);
    assert!(left.stderr.contains(": 2:"), "{left:?}");
}

#[test]
fn the_system_is_asked_to_run_sync_and_to_stop() {
    let world = world_after_setup();
    let bin = world.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let log = world.path().join("systemctl.log");
    let script = format!("#!/bin/sh\necho \"$@\" >> {}\n", log.display());
    std::fs::write(bin.join("systemctl"), script).unwrap();
    std::fs::set_permissions(
        bin.join("systemctl"),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    let units = world.home().join(".config/systemd/user");
    let shown = world
        .limbeck(["sync", "--install", "--dry-run"])
        .ends_with(0);
    assert!(shown.stdout.contains("PathChanged=") && shown.stdout.contains(CURSOR));
    assert!(!units.exists());
    let run = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        CommandOutcome::of(command.output().unwrap())
    };
    run(&["sync", "--install"]).ends_with(0);
    let names = |directory: &PathBuf| {
        let mut names: Vec<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        names
    };
    let files = [
        "limbeck-sync.path",
        "limbeck-sync.service",
        "limbeck-sync.timer",
    ];
    assert_eq!(names(&units), files);
    let service = std::fs::read_to_string(units.join("limbeck-sync.service")).unwrap();
    assert!(
        service.contains(&format!(
            "ExecStart=\"{LIMBECK}\" sync --apply --background"
        )),
        "{service}"
    );
    run(&["sync", "--uninstall"]).ends_with(0);
    assert_eq!(names(&units), [""; 0]);
    let asked = std::fs::read_to_string(log).unwrap();
    let asked: Vec<&str> = asked.lines().collect();
    assert_eq!(
        asked,
        [
            "--user daemon-reload",
            "--user enable --now limbeck-sync.timer limbeck-sync.path",
            "--user disable --now limbeck-sync.timer limbeck-sync.path"
        ]
    );
    // Where no service manager answers, the files are written and the command is named.
    std::fs::write(bin.join("systemctl"), "#!/bin/sh\nexit 1\n").unwrap();
    let alone = run(&["sync", "--install"]).ends_with(1);
    assert!(
        alone
            .stderr
            .contains("run `systemctl --user daemon-reload && "),
        "{alone:?}"
    );
}
