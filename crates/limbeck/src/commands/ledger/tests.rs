//! What the report compares.

use limbeck_domain::{LedgerSizes, ServerSizes};

use super::*;

fn entry(id: &str, sizes: LedgerSizes) -> (LedgerRow, TokenUsage) {
    let usage = TokenUsage::from(&sizes);
    let row = LedgerRow {
        id: id.to_owned(),
        created_us: 0,
        origin: "test".to_owned(),
        sizes,
        texts: None,
        usage: None,
    };
    (row, usage)
}

#[test]
fn programs_that_called_a_tool_are_compared_without_searches_that_no_program_followed() {
    let server = ServerSizes {
        calls: 1,
        result_bytes: 4_000,
        ..ServerSizes::default()
    };
    let called = entry(
        "ex_1",
        LedgerSizes {
            rounds: 1,
            searches: 1,
            search_bytes: 400,
            program_bytes: 100,
            servers: BTreeMap::from([(ServerName::from("shop"), server)]),
            ..LedgerSizes::default()
        },
    );
    let idle = entry(
        "ex_2",
        LedgerSizes {
            program_bytes: 100,
            ..LedgerSizes::default()
        },
    );
    let searched = entry(
        "se_1",
        LedgerSizes {
            searches: 1,
            search_bytes: 40_000,
            ..LedgerSizes::default()
        },
    );
    let expected = called.1.limbeck().count;
    let searches = searched.1.limbeck();
    // The control: without such a search.
    let report = LedgerReport::new(0, &[called.clone(), idle.clone()]);
    assert_eq!(report.of_programs_with_calls(), expected);
    assert_eq!(report.without_program.count, 0);
    let report = LedgerReport::new(0, &[called, idle, searched]);
    assert_eq!(report.of_programs_with_calls(), expected);
    assert_eq!(report.without_program, searches);
    assert!(report.limbeck.total.count > expected + searches.count);
}
