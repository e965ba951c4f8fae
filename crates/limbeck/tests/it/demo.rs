//! `limbeck demo`.

use crate::world::{World, processes_in};

#[test]
fn the_demo_shows_program_table_calls_and_ledger_and_leaves_nothing_behind() {
    let world = World::empty();
    let demo = world.limbeck(["demo"]).ends_with(0);
    assert_eq!(demo.stderr, "");
    let parts = [
        "1 | // Who are the five best customers",
        "  customer  ",
        "EUR ",
        "shop.list_customers      4",
        "shop.list_orders         6",
        "definitions of 3 tools",
        "results of 10 calls",
        "computed",
        "measured",
        "times fewer tokens",
    ];
    for part in parts {
        assert!(demo.stdout.contains(part), "{part}: {}", demo.stdout);
    }
    let state = world.home().join(".local");
    assert!(!state.exists(), "{state:?}");
    assert_eq!(std::fs::read_dir(world.work()).unwrap().count(), 0);
    assert_eq!(processes_in(&world.work()), [] as [u32; 0]);
}

#[test]
fn the_demo_gives_the_same_result_every_time() {
    let world = World::empty();
    let result = |text: String| -> String {
        let start = text.find("The value it returned").unwrap();
        let end = text.find("The calls it made").unwrap();
        text[start..end].to_owned()
    };
    let first = result(world.limbeck(["demo"]).ends_with(0).stdout);
    let second = result(world.limbeck(["demo"]).ends_with(0).stdout);
    assert_eq!(first, second);
}
