//! A server of a repository is started when its definition was accepted, and not before.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::world::{LIMBECK, Outcome, World};

/// A repository whose server says in a file that it was started.
fn repository() -> World {
    let world = World::empty();
    world.file(".mcp.json", &entry("started"));
    world
}

/// `.mcp.json` with the sample server, which leaves `mark` behind when it is started.
fn entry(mark: &str) -> String {
    let script = format!("touch {mark}; exec \"$0\" demo-upstream");
    let shop = json!({"command": "sh", "args": ["-c", script, LIMBECK]});
    json!({"mcpServers": {"shop": shop}}).to_string()
}

/// Runs a command that trusts nothing by itself.
fn limbeck<const N: usize>(world: &World, arguments: [&str; N]) -> Outcome {
    let mut command = world.command(arguments);
    command.env_remove("LIMBECK_TRUST_PROJECT");
    Outcome::of(command.output().unwrap())
}

fn was_started(world: &World, mark: &str) -> bool {
    world.work().join(mark).exists()
}

fn server(world: &World) -> Value {
    let tools = limbeck(world, ["tools", "--json"]).ends_with(0).json();
    tools["servers"][0].clone()
}

#[test]
fn c20_a_server_of_a_repository_is_listed_and_never_started_until_it_is_trusted() {
    let world = repository();
    let listed = server(&world);
    assert_eq!(listed["state"], "untrusted", "{listed}");
    let next_step = listed["next_step"].as_str().unwrap();
    assert!(next_step.contains("`limbeck trust shop`"), "{next_step}");
    let text = limbeck(&world, ["tools"]).ends_with(0);
    assert!(text.stdout.contains("untrusted"), "{text:?}");
    assert!(text.stderr.contains("`limbeck trust shop`"), "{text:?}");
    let doctor = limbeck(&world, ["doctor", "--json"]).ends_with(0).json();
    assert_eq!(doctor["servers"][0]["state"], "untrusted", "{doctor}");

    let call = limbeck(&world, ["call", "shop", "list_customers"]).ends_with(1);
    assert!(call.stderr.contains("waits for trust"), "{call:?}");
    assert!(call.stderr.contains("`limbeck trust shop`"), "{call:?}");
    world.file("program.ts", "return await tools.shop.list_customers({})");
    let run = limbeck(&world, ["run", "program.ts", "--json"]);
    let envelope = run.ends_with(1).json().to_string();
    assert!(envelope.contains("limbeck trust shop"), "{envelope}");
    limbeck(&world, ["search", "customers"]).ends_with(0);
    limbeck(&world, ["trust"]).ends_with(0);
    assert!(!was_started(&world, "started"));

    // The control: accepted, it starts and answers.
    limbeck(&world, ["trust", "shop"]).ends_with(0);
    assert_eq!(server(&world)["state"], "ready");
    assert!(was_started(&world, "started"));
    limbeck(&world, ["run", "program.ts"]).ends_with(0);
}

#[test]
fn c20_a_changed_definition_waits_again_and_taking_trust_back_stops_it() {
    let world = repository();
    limbeck(&world, ["trust", "--all"]).ends_with(0);
    assert_eq!(server(&world)["state"], "ready");

    world.file(".mcp.json", &entry("changed"));
    let listed = server(&world);
    assert_eq!(listed["state"], "untrusted");
    let error = listed["error"].as_str().unwrap();
    assert!(error.contains("changed since it was trusted"), "{error}");
    assert!(!was_started(&world, "changed"));
    limbeck(&world, ["trust", "shop"]).ends_with(0);
    assert_eq!(server(&world)["state"], "ready");
    assert!(was_started(&world, "changed"));

    limbeck(&world, ["trust", "--revoke", "shop"]).ends_with(0);
    assert_eq!(server(&world)["state"], "untrusted");
}

#[test]
fn c20_what_the_user_names_or_accepted_in_the_client_needs_no_further_word() {
    let states = |arguments: &[&str]| {
        let world = repository();
        let mut command = world.command(arguments);
        command.env_remove("LIMBECK_TRUST_PROJECT");
        let report = Outcome::of(command.output().unwrap()).ends_with(0).json();
        report["servers"][0]["state"].clone()
    };
    assert_eq!(states(&["tools", "--json"]), "untrusted");
    assert_eq!(
        states(&["tools", "--json", "--config", ".mcp.json"]),
        "ready"
    );
    assert_eq!(states(&["tools", "--json", "--trust-project"]), "ready");

    let world = repository();
    let directory = world.work().display().to_string();
    let client = json!({"projects": {directory: {"enabledMcpjsonServers": ["shop"]}}});
    std::fs::write(world.home().join(".claude.json"), client.to_string()).unwrap();
    assert_eq!(server(&world)["state"], "ready");
    // The client goes by the name; here it stands for what it was.
    world.file(".mcp.json", &entry("changed"));
    assert_eq!(server(&world)["state"], "untrusted");
    assert!(!was_started(&world, "changed"));
}

#[test]
fn trust_shows_the_command_and_no_secret_and_says_what_it_does_not_know() {
    let world = World::empty();
    let file = json!({"mcpServers": {
        "shop": {"command": "npx", "args": ["-y", "some shop"], "env": {"KEY": "s3cret"}},
        "far": {"url": "https://shop.example/mcp", "headers": {"Authorization": "s3cret"}},
    }});
    world.file(".mcp.json", &file.to_string());
    let shown = limbeck(&world, ["trust"]).ends_with(0);
    for part in [
        "npx -y 'some shop'",
        "KEY",
        "https://shop.example/mcp",
        "Authorization",
        ".mcp.json:1",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {shown:?}");
    }
    assert!(!shown.stdout.contains("s3cret"), "{shown:?}");
    let json = limbeck(&world, ["trust", "--json"]).ends_with(0).json();
    assert_eq!(json["servers"][0]["trust"], "waiting");
    assert_eq!(json["servers"][0]["definition"]["env"], "KEY");

    let unknown = limbeck(&world, ["trust", "nowhere"]).ends_with(2);
    assert!(unknown.stderr.contains("nowhere"), "{unknown:?}");
    limbeck(&world, ["trust", "--revoke"]).ends_with(2);
    let signed_in = limbeck(&world, ["auth", "login", "far", "--no-browser"]).ends_with(2);
    assert!(
        signed_in.stderr.contains("waits for trust"),
        "{signed_in:?}"
    );
}

#[test]
fn g02_a_damaged_record_of_trust_trusts_nothing_and_says_how_to_go_on() {
    let world = repository();
    limbeck(&world, ["trust", "shop"]).ends_with(0);
    let record = world.home().join(".local/state/limbeck/trust.json");
    let good = std::fs::read(&record).unwrap();
    for bad in [&good[..good.len() - 9], b"{}"] {
        std::fs::write(&record, bad).unwrap();
        let tools = limbeck(&world, ["tools"]).ends_with(0);
        assert!(tools.stdout.contains("untrusted"), "{tools:?}");
        assert!(tools.stderr.contains("trust.json"), "{tools:?}");
        limbeck(&world, ["trust", "shop"]).ends_with(2);
    }
    std::fs::write(&record, &good).unwrap();
    assert_eq!(server(&world)["state"], "ready");
    std::fs::remove_file(&record).unwrap();
    assert_eq!(server(&world)["state"], "untrusted");
}

#[test]
fn d28_a_program_that_was_replaced_since_it_was_trusted_is_said_once_it_is_another() {
    let world = World::empty();
    let script = format!("#!/bin/sh\nexec {LIMBECK} demo-upstream\n");
    world.file("server.sh", &script);
    std::fs::set_permissions(
        world.work().join("server.sh"),
        PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let shop = json!({"mcpServers": {"shop": {"command": "./server.sh"}}});
    world.file(".mcp.json", &shop.to_string());
    limbeck(&world, ["trust", "shop"]).ends_with(0);
    let same = limbeck(&world, ["tools"]).ends_with(0);
    assert!(
        !same.stderr.contains("since the server was trusted"),
        "{same:?}"
    );

    world.file("server.sh", &format!("{script}# more\n"));
    let changed = limbeck(&world, ["tools"]).ends_with(0);
    assert!(
        changed
            .stderr
            .contains("server.sh, was changed since the server was trusted"),
        "{changed:?}"
    );
    assert!(
        changed.stderr.contains("`limbeck trust shop`"),
        "{changed:?}"
    );
    limbeck(&world, ["trust", "shop"]).ends_with(0);
    let accepted = limbeck(&world, ["tools"]).ends_with(0);
    assert!(
        !accepted.stderr.contains("since the server was trusted"),
        "{accepted:?}"
    );
}

#[test]
fn d28_a_package_without_a_version_is_said_before_it_is_trusted() {
    let world = World::empty();
    let of = |package: &str| json!({"command": "npx", "args": ["-y", package]});
    let servers =
        json!({"mcpServers": {"open": of("some-server"), "fixed": of("some-server@1.2.3")}});
    world.file(".mcp.json", &servers.to_string());
    let shown = limbeck(&world, ["trust", "--json"]).ends_with(0).json();
    let versions: Vec<_> = shown["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| {
            (
                server["name"].as_str().unwrap(),
                server["definition"]["version"].as_str(),
            )
        })
        .collect();
    assert_eq!(versions.len(), 2);
    for (name, version) in versions {
        assert_eq!(version.is_some(), name == "open", "{name}: {version:?}");
    }
    let text = limbeck(&world, ["trust"]).ends_with(0).stdout;
    assert!(text.contains("`some-server` is not pinned"), "{text}");
}
