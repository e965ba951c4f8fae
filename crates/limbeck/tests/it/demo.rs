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
    // What is no code fits into the narrowest common terminal.
    let is_code = |line: &&str| line.contains(" | ");
    for line in demo.stdout.lines().filter(|line| !is_code(line)) {
        assert!(line.chars().count() <= 80, "{line}");
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
    let direct_calls = |text: &str| -> String {
        let start = text.find("direct tool calls").unwrap();
        let end = text.find("through Limbeck").unwrap();
        text[start..end].to_owned()
    };
    let first = world.limbeck(["demo"]).ends_with(0).stdout;
    let second = world.limbeck(["demo"]).ends_with(0).stdout;
    // Whichever answer comes first, a model would have read the first pages in one turn and the others in the next.
    for line in [
        "definitions of 3 tools, in 2 turns",
        "definitions of its tools, in 2 turns",
        "instructions, in 2 turns",
    ] {
        assert!(first.contains(line), "{line}: {first}");
    }
    assert_eq!(direct_calls(&first), direct_calls(&second));
    assert_eq!(result(first), result(second));
}
