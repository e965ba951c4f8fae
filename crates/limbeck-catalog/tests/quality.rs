//! Search answers the labelled queries as well as it did.

use limbeck_captures::{Capture, Figures, Kind, captures, queries};
use limbeck_catalog::{Catalog, Evidence, SearchQuery, ServerTools};

/// Share of each kind's queries with a right answer among the first five, when search was last changed.
const RECALL_AT_5: [(Kind, f64); 5] = [
    (Kind::Keyword, 1.0),
    (Kind::Product, 1.0),
    (Kind::Typo, 1.0),
    (Kind::Intent, 0.705),
    (Kind::Unseen, 0.641),
];
/// How much may be lost.
const LOSS_MAX: f64 = 0.01;

#[test]
fn recall_is_what_it_was_and_both_kinds_of_evidence_are_better_than_words_alone() {
    let catalog = catalog(&captures());
    let queries = queries();
    let recall = |kind: Kind, evidence: Evidence| {
        let of_kind = queries.iter().filter(|labelled| labelled.kind == kind);
        let figures = Figures::of(of_kind, |query| search(&catalog, query, evidence));
        println!("{evidence:?} {kind:?} {figures:?}");
        figures.recall
    };
    let mut lost = Vec::new();
    for (kind, committed) in RECALL_AT_5 {
        let [_, now, _] = recall(kind, Evidence::Both);
        if now < committed - LOSS_MAX {
            lost.push(format!(
                "{kind:?}: recall@5 is {now:.3}, was {committed:.3}"
            ));
        }
    }
    assert!(lost.is_empty(), "{lost:#?}");
    // What meaning adds shows where words fail.
    let [words, both] =
        [Evidence::Words, Evidence::Both].map(|evidence| recall(Kind::Intent, evidence)[2]);
    assert!(both > words, "{both} {words}");
}

fn catalog(captures: &[Capture]) -> Catalog {
    let servers = captures.iter().map(|capture| {
        ServerTools::new(
            capture.name(),
            capture.definitions(),
            capture.instructions.clone(),
        )
    });
    Catalog::new(servers.collect())
}

fn search(catalog: &Catalog, text: &str, evidence: Evidence) -> Vec<String> {
    let query = SearchQuery {
        evidence,
        limit: 10,
        ..SearchQuery::new(text)
    };
    let answer = catalog.search(&query);
    answer
        .hits
        .iter()
        .map(|hit| hit.tool.id().to_string())
        .collect()
}
