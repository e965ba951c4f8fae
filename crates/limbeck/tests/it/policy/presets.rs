//! The preset where no file names one: by the way in, and by whether the operator wrote a `[policy]`.

use serde_json::{Value, json};

use super::world_with;
use crate::approvals::terminal::on_terminal_of;
use crate::serve::Client;
use crate::world::World;

/// A call of a tool that is not known to read.
const CUSTOMER: &str = "return (await tools.shop.get_customer({ id: 'cus_0001' })).id";

/// A section of the operator that names no preset and is about no call.
const SECTION: &str = "[policy]\ntrust_annotations = ['other']\n";

fn own_file(world: &World, text: &str) {
    std::fs::write(world.home().join(".config/limbeck/config.toml"), text).unwrap();
}

/// The preset of each way, as `policy check` says.
fn presets(world: &World) -> Value {
    let checked = world.limbeck(["policy", "check", "--json"]).json();
    let ways = checked["presets"].as_object().unwrap().iter();
    let ways = ways.map(|(way, shown)| (way.clone(), shown["preset"].clone()));
    Value::Object(ways.collect())
}

/// Whether a client over stdio may have to wait for a person: only then it is offered the tool `resume`.
fn can_pause(world: &World) -> bool {
    let mut client = Client::connect(world, &["serve"]);
    let listed = client.ask(2, "tools/list", &json!({}));
    let mut tools = listed["result"]["tools"].as_array().unwrap().iter();
    tools.any(|tool| tool["name"] == "resume")
}

#[test]
fn without_a_policy_only_a_person_at_a_terminal_is_asked() {
    let world = world_with("");
    // The control: where no person is, the program runs as before.
    assert_eq!(world.envelope(CUSTOMER)["value"], "cus_0001");
    let mut client = Client::connect(&world, &["serve"]);
    assert_eq!(client.execute(2, CUSTOMER)["value"], "cus_0001");
    world.file("customer.ts", CUSTOMER);
    let run = ["run", "customer.ts"];
    let (code, shown) = on_terminal_of(
        &world,
        &run,
        &[
            ("Allow the writes", ""),
            ("allow?", "n\n"),
            ("reason", "\n"),
        ],
    );
    assert_eq!(code, 1, "{shown}");
    assert!(shown.contains("Preset balanced"), "{shown}");
    // What is left open there is answered by a script, under the preset that asked.
    let (code, shown) = on_terminal_of(&world, &run, &[("allow?", "\n")]);
    assert_eq!(code, 3, "{shown}");
    let open = world.limbeck(["approvals", "--json"]).json();
    let execution = open["approvals"][0]["execution_id"].as_str().unwrap();
    let resumed = world.limbeck(["resume", execution, "--approve", "--json"]);
    assert_eq!(resumed.ends_with(0).json()["value"], "cus_0001");
}

#[test]
fn a_policy_of_the_operator_that_names_no_preset_is_the_wish_to_be_asked() {
    let world = world_with("");
    world.limbeck(["tools"]).ends_with(0);
    let observing = json!({
        "terminal": "balanced", "script": "observe", "stdio": "observe", "http": "observe", "compat": "observe",
    });
    assert_eq!(presets(&world), observing);
    // A repository's section tightens, and says nothing for its user.
    world.file("limbeck.toml", "[policy]\n");
    assert_eq!(presets(&world), observing);
    // Neither does an answer that counts for good.
    let answer =
        "[[policy.rule]]\nid = 'always-0123'\neffect = 'allow'\ntools = ['shop.list_orders']\n";
    own_file(&world, answer);
    assert_eq!(presets(&world), observing);

    assert!(!can_pause(&world));

    own_file(&world, SECTION);
    let asking = json!({
        "terminal": "balanced", "script": "unattended", "stdio": "balanced", "http": "balanced", "compat": "observe",
    });
    assert_eq!(presets(&world), asking);
    let denied = world.envelope(CUSTOMER);
    assert_eq!(denied["error"]["code"], "denied", "{denied}");
    let message = denied["error"]["message"].to_string();
    assert!(message.contains("`unattended`"), "{message}");
    let call = world.limbeck(["call", "shop", "get_customer", r#"{"id":"cus_0001"}"#]);
    call.ends_with(3);
    assert!(can_pause(&world));

    let explained = world.limbeck(["policy", "explain", "shop.get_customer", "--json"]);
    let ways = explained.ends_with(0).json()["ways"].clone();
    let expected = json!({"effect": "deny", "preset": "unattended"});
    assert_eq!(
        (&ways["script"], &ways["compat"]["effect"]),
        (&expected, &json!("allow"))
    );

    // A rule that a person wrote is no answer, however it is called, and an answer takes no section back.
    for section in ["", "[policy]\ntrust_annotations = []\n"] {
        own_file(
            &world,
            &format!("{section}{}", answer.replace("0123", "mine")),
        );
        assert_eq!(presets(&world), asking, "{section}");
    }

    // The control: a preset that is named holds on every way.
    own_file(&world, &format!("{SECTION}preset = 'observe'\n"));
    let named = presets(&world);
    assert!(
        named
            .as_object()
            .unwrap()
            .values()
            .all(|preset| preset == "observe"),
        "{named}"
    );
    assert_eq!(world.envelope(CUSTOMER)["value"], "cus_0001");
}
