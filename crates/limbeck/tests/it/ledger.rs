//! `limbeck ledger`: tokens of executions and of direct calls.

use serde_json::Value;

use crate::world::World;

const PAGES: &str = "
    const pages = [];
    for (const page of [1, 2, 3]) pages.push(await tools.shop.list_customers({ page }));
    await Promise.all([1, 2].map(page => tools.shop.list_orders({ page })));
    return pages.length;";

fn count(tokens: &Value) -> u64 {
    assert!(tokens["basis"].is_string(), "{tokens}");
    tokens["count"].as_u64().unwrap()
}

#[test]
fn a_program_that_reads_pages_is_a_gain_with_a_turn_for_each_round_of_direct_calls() {
    let world = World::with_shop();
    let id = world.envelope(PAGES)["execution_id"]
        .as_str()
        .unwrap()
        .to_owned();

    let shown = world
        .limbeck(["executions", &id, "--json"])
        .ends_with(0)
        .json();
    let tokens = &shown["tokens"];
    assert_eq!(
        tokens["rounds"], 4,
        "three after one another, two side by side: {tokens}"
    );
    assert_eq!(tokens["turns"], 1);
    let shop = &tokens["servers"]["shop"];
    assert_eq!(
        (shop["tools"].as_u64(), shop["calls"].as_u64()),
        (Some(3), Some(5))
    );
    let parts =
        4 * count(&shop["definitions"]) + count(&shop["arguments"]) + count(&shop["results"]);
    assert_eq!(count(&tokens["direct"]), parts);
    assert_eq!(tokens["direct"]["basis"], "computed");
    let parts = [
        "definitions",
        "instructions",
        "searches",
        "program",
        "result",
    ];
    let sum: u64 = parts.iter().map(|part| count(&tokens[part])).sum();
    assert_eq!(count(&tokens["limbeck"]), sum);
    assert_eq!(tokens["limbeck"]["basis"], "measured");
    assert!(count(&tokens["direct"]) > 2 * sum, "{tokens}");

    let ledger = world.limbeck(["ledger", "--json"]).ends_with(0).json();
    assert_eq!(
        (&ledger["programs"], &ledger["losses"]),
        (&1.into(), &0.into())
    );
    assert_eq!(ledger["direct"]["total"], tokens["direct"]);
    assert_eq!(ledger["limbeck"]["total"], tokens["limbeck"]);
    assert_eq!(ledger["servers"][0]["name"], "shop");
    assert_eq!(ledger["servers"][0]["direct"], tokens["direct"]);
    let list = world.limbeck(["executions"]).ends_with(0).stdout;
    assert!(!list.contains('~'), "counted by now: {list}");
}

#[test]
fn one_small_call_is_a_loss_and_a_program_without_calls_is_told_apart() {
    let world = World::with_shop();
    world.envelope("return (await tools.shop.list_orders({ page: 999 })).items.length;");
    let idle = world.envelope("return 1 + 1;");
    let list = world.limbeck(["executions"]).ends_with(0).stdout;
    assert!(list.contains('~'), "not counted yet: {list}");

    let ledger = world.limbeck(["ledger"]).ends_with(0);
    for line in [
        "1 of 2 programs called no tool, ",
        "1 of 2 programs cost more than direct calls",
    ] {
        assert!(ledger.stdout.contains(line), "{}", ledger.stdout);
    }
    let headline = ledger
        .stdout
        .lines()
        .find(|line| line.contains("times more tokens"));
    let headline = headline.unwrap_or_else(|| panic!("{}", ledger.stdout));
    assert!(
        headline.starts_with("The program that called a tool took "),
        "{headline}"
    );
    // Every column of numbers has its unit, and the two sides are apart.
    for part in [
        "\n\nthrough Limbeck",
        "direct tokens",
        "Limbeck tokens",
        "cost more\n",
    ] {
        assert!(ledger.stdout.contains(part), "{part}: {}", ledger.stdout);
    }
    let json = world.limbeck(["ledger", "--json"]).ends_with(0).json();
    let lost = json["largest_losses"].as_array().unwrap();
    assert_eq!((lost.len(), &json["losses"]), (1, &1.into()));
    assert_eq!(json["without_calls"]["programs"], 1);
    let spent = count(&json["without_calls"]["limbeck"]) + count(&lost[0]["limbeck"]);
    assert_eq!(spent, count(&json["limbeck"]["total"]));
    // The headline compares the program that called a tool with its calls, and leaves out the other one.
    let digits = |text: &str| text.replace([',', '.'], "").parse::<u64>().unwrap();
    let (ours, direct) = headline
        .split_once(": ")
        .and_then(|(_, numbers)| numbers.split_once(" instead of "))
        .unwrap();
    assert_eq!(digits(ours), count(&lost[0]["limbeck"]), "{headline}");
    assert_eq!(digits(direct), count(&lost[0]["direct"]), "{headline}");
    assert!(
        digits(ours) < count(&json["limbeck"]["total"]),
        "{headline}"
    );
    let account = |id: &str| world.limbeck(["executions", id]).ends_with(0).stdout;
    let called = account(lost[0]["id"].as_str().unwrap());
    assert!(
        called.contains("the program made one small call"),
        "{called}"
    );
    let idle = account(idle["execution_id"].as_str().unwrap());
    assert!(idle.contains("no tool was called"), "{idle}");
}

#[test]
fn since_leaves_out_what_ran_before_and_an_empty_ledger_says_what_fills_it() {
    let world = World::with_shop();
    let empty = world.limbeck(["ledger"]).ends_with(0);
    assert!(
        empty.stderr.contains("no programs are recorded"),
        "{}",
        empty.stderr
    );
    world.envelope("return 1;");
    let programs = |since: &str| {
        let ledger = world.limbeck(["ledger", "--json", "--since", since]);
        ledger.ends_with(0).json()["programs"].as_u64().unwrap()
    };
    assert_eq!(programs("1h"), 1);
    assert_eq!(programs("2100-01-01"), 0);
    world
        .limbeck(["ledger", "--since", "yesterday"])
        .ends_with(2);
}
