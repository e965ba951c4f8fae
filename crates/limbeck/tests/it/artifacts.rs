//! Large answers for clients of both protocol generations.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::serve::Client;
use crate::world::World;

const LARGE: &str = "return Array.from({ length: 4000 }, (_, id) => ({ id, name: `row ${id}` }))";

#[test]
fn a_large_answer_is_opened_by_the_next_program_and_read_as_a_resource() {
    let world = World::empty();
    let mut client = Client::connect(&world, &[]);
    let none = client.ask(2, "resources/list", &json!({}));
    // Those that the gateway has of itself.
    let own = none["result"]["resources"].as_array().unwrap();
    let own: Vec<&Value> = own.iter().map(|resource| &resource["uri"]).collect();
    assert_eq!(own, ["limbeck://guide", "limbeck://servers"], "{none}");

    let arguments = json!({"code": LARGE, "max_output_tokens": 1_000});
    let answer = client.ask(
        3,
        "tools/call",
        &json!({"name": "execute", "arguments": arguments}),
    );
    let content = answer["result"]["content"].as_array().unwrap();
    assert_eq!(content.len(), 1);
    assert!(answer["result"].get("structuredContent").is_none());
    let text = content[0]["text"].as_str().unwrap();
    assert!(limbeck_gateway::tokens::count(text) <= 1_000, "{text}");
    let envelope: Value = serde_json::from_str(text).unwrap();
    let artifact = &envelope["artifacts"][0];
    assert_eq!(artifact["counts"]["items"], 4_000);
    let id = artifact["id"].as_str().unwrap();

    let opened = client.execute(
        4,
        &format!("return artifacts.open('{id}').select('$[3999].name')"),
    );
    assert_eq!(opened["value"], json!(["row 3999"]));

    let listed = client.ask(5, "resources/list", &json!({}));
    let resource = &listed["result"]["resources"][0];
    assert_eq!(resource["uri"], format!("limbeck://artifacts/{id}"));
    assert_eq!(resource["mimeType"], "application/json");
    let read = client.ask(6, "resources/read", &json!({"uri": resource["uri"]}));
    let whole: Value =
        serde_json::from_str(read["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(whole.as_array().unwrap().len(), 4_000);
    let unknown = json!({"uri": "limbeck://artifacts/art_00000000000000000000000000000000"});
    let unknown = client.ask(7, "resources/read", &unknown);
    assert_eq!(
        unknown["error"]["message"], "artifact expired or unknown",
        "{unknown}"
    );
}

#[test]
fn a_modern_client_gets_emitted_blocks_behind_the_result_and_reads_artifacts_with_their_time_to_live()
 {
    let world = World::empty();
    let mut client = Client::silent(world.command(["serve"]).stderr(Stdio::null()));
    let mut ask = |id: u32, method: &str, mut params: Value| {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        client.ask(id, method, &params)
    };
    let code = "await emit({ type: 'image', data: 'AAEC', mimeType: 'image/png' });
        const saved = await artifacts.save({ a: 1 }, 'mine'); await emit('done'); return saved.id";
    let answer = ask(
        1,
        "tools/call",
        json!({"name": "execute", "arguments": {"code": code}}),
    );
    let content = &answer["result"]["content"];
    assert_eq!(
        content[1],
        json!({"type": "image", "data": "AAEC", "mimeType": "image/png"})
    );
    assert_eq!(content[2], json!({"type": "text", "text": "done"}));
    let envelope: Value = serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        envelope["emitted"][0],
        json!({"type": "image", "mimeType": "image/png", "bytes": 3})
    );

    let listed = ask(2, "resources/list", json!({}));
    assert_eq!(listed["result"]["resources"][0]["name"], "mine", "{listed}");
    let uri = &listed["result"]["resources"][0]["uri"];
    assert_eq!(
        *uri,
        format!(
            "limbeck://artifacts/{}",
            envelope["value"].as_str().unwrap()
        )
    );
    let read = ask(3, "resources/read", json!({"uri": uri}));
    assert_eq!(read["result"]["contents"][0]["text"], r#"{"a":1}"#);
    let ttl_ms = read["result"]["ttlMs"].as_u64().unwrap();
    assert!((1..=7 * 24 * 3_600_000).contains(&ttl_ms), "{ttl_ms}");
}

#[test]
fn a_person_gets_the_whole_unless_they_ask_for_what_a_model_would_get() {
    let world = World::empty();
    let whole = world.limbeck_reading(["run", "-"], LARGE).ends_with(0);
    assert!(whole.stdout.contains("row 3999") && whole.stdout.contains("row 2001"));
    let arguments = ["run", "-", "--max-output-tokens", "1000"];
    let fitted = world.limbeck_reading(arguments, LARGE).ends_with(0);
    assert!(
        fitted.stdout.contains("left out") && !fitted.stdout.contains("row 2001"),
        "{fitted:?}"
    );
    assert!(fitted.stderr.contains("art_"), "{fitted:?}");
    let wrong = world.limbeck_reading(["run", "-", "--max-output-tokens", "10"], LARGE);
    assert_eq!(wrong.code, 2, "{wrong:?}");
}
