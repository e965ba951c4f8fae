//! `limbeck policy backtest`: recorded calls, and rules that would have decided otherwise.

use serde_json::{Value, json};

use super::{RULES, world_with};
use crate::world::World;

/// Twenty calls, of which the rules of the module above deny the first.
const TWENTY: &str = "for (let n = 1; n <= 20; n++) {
    await tools.shop.get_customer({ id: `cus_${String(n).padStart(4, '0')}` }).catch(() => null);
}
return 'done';";

fn backtest(world: &World, rules: &str) -> Value {
    let file = world.file("other.toml", rules);
    let file = file.to_str().unwrap();
    let tested = world.limbeck(["policy", "backtest", file, "--json"]);
    tested.ends_with(0).json()
}

#[test]
fn rules_are_tried_on_recorded_calls_and_those_of_the_record_change_nothing() {
    let world = world_with(RULES);
    assert_eq!(world.envelope(TWENTY)["value"], "done");
    let same = backtest(&world, RULES);
    assert_eq!(same, json!({"calls": 20, "unknown": 0, "changed": []}));

    let none = backtest(&world, "[policy]\npreset = 'observe'\n");
    let [changed] = none["changed"].as_array().unwrap().as_slice() else {
        panic!("{none}");
    };
    assert_eq!(
        (&changed["from"], &changed["to"]),
        (&json!("deny"), &json!("allow"))
    );
    assert_eq!(
        (&changed["calls"], &changed["preset"]),
        (&json!(1), &json!("observe"))
    );
    assert_eq!(changed["rule"], Value::Null);

    // Fourteen of the calls that were allowed: eleven are asked about and three denied.
    let planted = "[policy]\npreset = 'observe'\n[[policy.rule]]\nid = 'asked'\neffect = 'ask'\ntools = ['shop.get_customer']\n\
         args = { id = 'cus_001*' }\n\
         [[policy.rule]]\nid = 'more'\neffect = 'ask'\ntools = ['shop.get_customer']\nargs = { id = 'cus_0020' }\n\
         [[policy.rule]]\nid = 'denied'\neffect = 'deny'\ntools = ['shop.get_*']\n\
         args = { id = { in = ['cus_0001', 'cus_0002', 'cus_0003', 'cus_0004'] } }\n";
    let found = backtest(&world, planted);
    let rows: Vec<_> = found["changed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["rule"].as_str().unwrap(),
                row["to"].as_str().unwrap(),
                row["calls"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("denied", "deny", 3),
            ("asked", "ask", 10),
            ("more", "ask", 1)
        ]
    );
    let first = &found["changed"][0];
    assert_eq!(first["executions"], 1);
    let calls: Vec<_> = first["examples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["call"].clone())
        .collect();
    assert_eq!(calls, [2, 3, 4]);
    assert_eq!(first["examples"][0]["tool"], "shop.get_customer");

    let printed = world
        .limbeck(["policy", "backtest", "other.toml"])
        .ends_with(0)
        .stdout;
    assert!(
        printed.starts_with("20 recorded calls, 14 would be decided differently\n"),
        "{printed}"
    );
    assert!(printed.contains("rule `denied`"), "{printed}");
    let later = world.limbeck([
        "policy",
        "backtest",
        "other.toml",
        "--since",
        "2100-01-01",
        "--json",
    ]);
    assert_eq!(later.ends_with(0).json()["calls"], 0);
}

#[test]
fn a_file_without_rules_or_with_wrong_ones_is_refused() {
    let world = world_with(RULES);
    world.file("empty.toml", "observe = true\n");
    let empty = world
        .limbeck(["policy", "backtest", "empty.toml"])
        .ends_with(2);
    assert!(
        empty.stderr.contains("has no section `[policy]`"),
        "{empty:?}"
    );
    world.file(
        "wrong.toml",
        &RULES.replace("effect = \"deny\"", "effect = \"dney\""),
    );
    let wrong = world
        .limbeck(["policy", "backtest", "wrong.toml"])
        .ends_with(2);
    assert!(wrong.stderr.contains("wrong.toml:7:10"), "{wrong:?}");
    world
        .limbeck(["policy", "backtest", "absent.toml"])
        .ends_with(2);
}
