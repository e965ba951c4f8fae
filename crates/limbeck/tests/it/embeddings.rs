//! Embedding endpoint of the configuration: `limbeck search`, `limbeck doctor`, and secrecy of the key.

use std::process::Command;

use limbeck_testkit::{EmbeddingEndpoint, EndpointBehaviour};
use serde_json::Value;

use crate::world::{CommandOutcome, World};

const KEY: &str = "canary-of-the-embeddings-9e1d04";
/// Pairs of words that are similar only to the endpoint; a tool of the sample server has the first one.
const MEANINGS: &[&str] = &["refund zqxvwk", "customers wkjqzx"];

fn world(endpoint: &EmbeddingEndpoint) -> World {
    let world = World::with_shop();
    let directory = world.home().join(".config/limbeck");
    std::fs::create_dir_all(&directory).unwrap();
    let url = endpoint.url();
    let text =
        format!("[search.embeddings]\nurl = \"{url}\"\nmodel = \"words\"\nkey = \"env:KEY\"\n");
    std::fs::write(directory.join("config.toml"), text).unwrap();
    world
}

/// Runs a command with the key in its environment; its output must not contain the key.
fn limbeck<const N: usize>(world: &World, arguments: [&str; N]) -> CommandOutcome {
    let mut command: Command = world.command(arguments);
    let outcome = CommandOutcome::of(command.env("KEY", KEY).output().unwrap());
    let output = format!("{}{}", outcome.stdout, outcome.stderr);
    assert!(!output.contains(KEY), "{outcome:?}");
    outcome
}

/// First result of `search` for the word that only the endpoint knows.
fn found(world: &World) -> Value {
    let outcome = limbeck(world, ["search", "wkjqzx", "--json", "--log", "trace"]);
    outcome.ends_with(0).json()["queries"][0]["tools"][0]["tool"].clone()
}

#[test]
fn search_finds_by_the_endpoint_of_the_users_file_and_sends_the_key_there_alone() {
    let endpoint = EmbeddingEndpoint::start(MEANINGS);
    let world = world(&endpoint);
    // The first commands may end before all vectors arrived; those that arrived are stored.
    let mut tool = Value::Null;
    for _ in 0..20 {
        tool = found(&world);
        if !tool.is_null() {
            break;
        }
    }
    assert!(
        tool.as_str().is_some_and(|tool| tool.contains("customers")),
        "{tool}"
    );
    let asked = endpoint.requests();
    assert!(!asked.is_empty());
    for request in &asked {
        assert_eq!(request.authorization, Some(format!("Bearer {KEY}")));
        assert_eq!(request.path, "/v1/embeddings");
    }
    let usual = endpoint.request_count_for("pay an invoice");
    // Repeated, so that a search meets every state of the task that loads the stored vectors.
    for _ in 0..20 {
        assert_eq!(found(&world), tool);
    }
    assert_eq!(
        endpoint.request_count_for("pay an invoice"),
        usual,
        "asked again after a restart"
    );

    // The control: the same words without the endpoint.
    let state = world.home().join("elsewhere").display().to_string();
    let without = world.limbeck([
        "--no-discover",
        "--config",
        ".mcp.json",
        "--state-dir",
        &state,
        "search",
        "wkjqzx",
        "--json",
    ]);
    let without = without.ends_with(0).json();
    assert_eq!(without["queries"][0]["total"], 0, "{without}");
}

#[test]
fn a_repository_cannot_send_descriptions_anywhere() {
    let endpoint = EmbeddingEndpoint::start(MEANINGS);
    let world = World::with_shop();
    let url = endpoint.url();
    let text =
        format!("[search.embeddings]\nurl = \"{url}\"\nmodel = \"words\"\nkey = \"env:KEY\"\n");
    world.file("limbeck.toml", &text);
    let search = limbeck(&world, ["search", "wkjqzx"]).ends_with(0);
    assert!(
        search.stderr.contains("limbeck.toml:1:") && search.stderr.contains("is ignored"),
        "{search:?}"
    );
    let doctor = limbeck(&world, ["doctor", "--json"]);
    assert_eq!(doctor.json().get("embeddings"), None);
    assert_eq!(endpoint.requests().len(), 0);
}

#[test]
fn doctor_shows_the_endpoint_and_what_to_do_when_it_is_of_no_use() {
    let endpoint = EmbeddingEndpoint::start(MEANINGS);
    let world = world(&endpoint);
    let doctor = limbeck(&world, ["doctor"]).ends_with(0);
    let line = doctor
        .stdout
        .lines()
        .find(|line| line.starts_with("embeddings"));
    let line = line.unwrap_or_else(|| panic!("{doctor:?}"));
    assert!(line.contains("words at http://127.0.0.1:"), "{line}");
    assert!(line.contains("vectors of 24 numbers"), "{line}");
    assert!(line.contains("config.toml:1"), "{line}");
    let report = limbeck(&world, ["doctor", "--json"]).ends_with(0).json();
    assert_eq!(report["embeddings"]["dimensions"], 24);
    assert_eq!(report["ok"], true);

    // The response contains the request headers, including the key.
    endpoint.set_behaviour(EndpointBehaviour::Fails);
    let doctor = limbeck(&world, ["doctor"]).ends_with(1);
    assert!(doctor.stdout.contains("not used"), "{doctor:?}");
    assert!(doctor.stderr.contains("answered HTTP 500"), "{doctor:?}");
    assert!(doctor.stderr.contains("[redacted]"), "{doctor:?}");
    assert!(
        doctor.stderr.contains("hint: correct `model` and `url`"),
        "{doctor:?}"
    );

    // Its key is not set, so nothing is sent.
    let asked = endpoint.requests().len();
    let report = world.limbeck(["doctor", "--json"]).ends_with(1).json();
    let error = report["embeddings"]["error"].as_str().unwrap();
    assert!(error.contains("`KEY` is not set"), "{error}");
    assert_eq!(
        (&report["ok"], endpoint.requests().len()),
        (&false.into(), asked)
    );
}

#[test]
fn an_outage_is_one_warning_and_no_search_fails() {
    let endpoint = EmbeddingEndpoint::start(MEANINGS);
    endpoint.set_behaviour(EndpointBehaviour::Fails);
    let world = world(&endpoint);
    world.file(
        "program.ts",
        "for (let n = 0; n < 5; n++) await search('customers ' + n)\nreturn 'ran'",
    );
    let run = limbeck(&world, ["run", "program.ts", "--log", "warn"]).ends_with(0);
    assert_eq!(run.stdout, "ran\n");
    assert_eq!(
        run.stderr.matches("embedding endpoint").count(),
        1,
        "{run:?}"
    );
}
