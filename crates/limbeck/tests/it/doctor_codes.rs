//! Findings of `doctor` about the machine: each is made by a fixture, and gone after its remedy.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::doctor::start_without_landlock;
use crate::serve::Client;
use crate::world::{CommandOutcome, LIMBECK, World};

fn config(world: &World, text: &str) {
    let directory = world.home().join(".config/limbeck");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("config.toml"), text).unwrap();
}

fn of(report: &CommandOutcome, code: &str) -> Option<Value> {
    let findings = report.json()["findings"].as_array().unwrap().clone();
    findings.into_iter().find(|finding| finding["code"] == code)
}

fn found(world: &World, code: &str) -> Option<Value> {
    of(&world.limbeck(["doctor", "--json"]), code)
}

#[test]
fn a_variable_that_is_not_set_is_found_until_a_file_has_its_value() {
    let world = World::empty();
    let entry = |value: &str| {
        format!(
            "[servers.shop]\ncommand = '{LIMBECK}'\nargs = ['demo-upstream']\nenv = {{ SHOP = '{value}' }}\n"
        )
    };
    config(&world, &entry("${NOT_SET_ANYWHERE}"));
    let finding = found(&world, "E01").unwrap();
    assert!(finding["finding"].as_str().unwrap().contains("`shop`"));
    assert!(finding["remedy"].as_str().unwrap().contains("`file:PATH`"));
    let file = world.path().join("value");
    std::fs::write(&file, "a value").unwrap();
    config(&world, &entry(&format!("file:{}", file.display())));
    assert_eq!(found(&world, "E01"), None);
}

#[test]
fn a_disk_below_its_floor_is_found_until_the_floor_is_lower() {
    let world = World::empty();
    config(&world, "[limits]\ndisk_free_mib = 1073741824\n");
    let finding = found(&world, "D01").unwrap();
    assert!(
        finding["remedy"]
            .as_str()
            .unwrap()
            .contains("`disk_free_mib`")
    );
    config(&world, "[limits]\ndisk_free_mib = 1\n");
    assert_eq!(found(&world, "D01"), None);
}

#[test]
fn programs_of_windows_are_found_under_wsl() {
    let world = World::empty();
    let under_wsl = |entry: &str| {
        config(&world, entry);
        let mut doctor = world.command(["doctor", "--json"]);
        let output = doctor.env("WSL_DISTRO_NAME", "Debian").output().unwrap();
        of(&CommandOutcome::of(output), "P04")
    };
    let windows = "[servers.notes]\ncommand = '/mnt/c/notes/server.exe'\n";
    let finding = under_wsl(windows).unwrap();
    assert!(finding["finding"].as_str().unwrap().contains("`notes`"));
    // The controls: the same without WSL, and a program of Linux.
    assert_eq!(found(&world, "P04"), None);
    assert_eq!(
        under_wsl("[servers.notes]\ncommand = '/usr/bin/notes'\n"),
        None
    );
}

#[test]
fn a_missing_layer_has_its_cause_and_a_step() {
    let world = World::empty();
    config(&world, "[sandbox]\nminimum_tier = 'wasm'\n");
    let child = start_without_landlock(world.command(["doctor", "--json"]));
    let without = CommandOutcome::of(child.wait_with_output().unwrap());
    let finding = of(&without, "B01").unwrap();
    assert!(finding["finding"].as_str().unwrap().contains("landlock"));
    assert_ne!(finding["remedy"], "");
    assert_eq!(found(&world, "B01"), None);
}

#[test]
fn required_layers_are_a_floor_between_the_tiers() {
    let world = World::empty();
    let run = |layers: &str| {
        config(&world, &format!("[sandbox]\nrequire_layers = {layers}\n"));
        let mut command = world.command(["run", "-", "--json"]);
        let program = world.file("program.ts", "return 1");
        command.stdin(std::fs::File::open(program).unwrap());
        let child = start_without_landlock(command);
        CommandOutcome::of(child.wait_with_output().unwrap())
    };
    let ran = run("['seccomp', 'empty_root']").ends_with(0);
    assert_eq!(ran.json()["value"], 1);
    assert!(
        ran.json()["warnings"][0]
            .as_str()
            .unwrap()
            .contains("landlock")
    );
    let refused = run("['seccomp', 'landlock']").ends_with(4);
    let message = refused.json()["error"]["message"].clone();
    assert!(
        message.as_str().unwrap().contains("`require_layers`"),
        "{message}"
    );
    // A section that cannot be read counts as the strictest.
    let wrong = run("['locks']").ends_with(4);
    assert!(
        wrong.stderr.contains("expected one of environment"),
        "{wrong:?}"
    );
    // A repository adds to the user's floor and lowers nothing.
    world.file("limbeck.toml", "[sandbox]\nrequire_layers = ['landlock']\n");
    run("['seccomp']").ends_with(4);
}

#[test]
fn a_gateway_whose_executable_was_replaced_is_found_until_it_ends() {
    let world = World::empty();
    let copy = world.path().join("limbeck");
    std::fs::copy(LIMBECK, &copy).unwrap();
    let client = Client::start(world.command_of(&copy, ["serve"]));
    assert_eq!(found(&world, "U02"), None);
    // An upgrade puts another file in its place.
    let new = world.path().join("new");
    std::fs::copy(LIMBECK, &new).unwrap();
    std::fs::rename(&new, &copy).unwrap();
    let finding = found(&world, "U02").unwrap();
    let pid = client.child.id();
    assert_eq!(finding["remedy"], format!("kill {pid}"));
    Command::new("kill")
        .arg(pid.to_string())
        .stdin(Stdio::null())
        .status()
        .unwrap();
    let mut gateway = client.left();
    assert!(gateway.wait().unwrap().success());
    assert_eq!(found(&world, "U02"), None);
}

#[test]
fn health_is_known_of_every_gateway_and_of_none() {
    let world = World::empty();
    let none = world.limbeck(["health", "--json"]).ends_with(1);
    assert_eq!(none.json()["healthy"], false);
    let client = Client::connect(&world, &["serve"]);
    let second = Client::connect(&world, &["serve"]);
    let some = world.limbeck(["health", "--json"]).ends_with(0).json();
    let gateway = &some["gateways"][0];
    assert_eq!(some["healthy"], true);
    assert_eq!(gateway["pid"], client.child.id());
    assert_eq!(gateway["clients"], 1);
    assert_eq!(gateway["status"], "serving");
    let table = world.limbeck(["health"]).ends_with(0);
    assert!(table.stdout.contains("serving"), "{table:?}");
    for client in [second, client] {
        client.left().wait().unwrap();
    }
    world.limbeck(["health"]).ends_with(1);
    let refused = world.limbeck(["health", "--http", "1"]).ends_with(1);
    assert!(refused.stderr.contains("no gateway serves"), "{refused:?}");
}
