//! Recall of search over the labeled queries does not fall below its last committed value.

use std::sync::Arc;

use limbeck_captures::{Capture, QueryKind, SearchFigures, captures, queries};
use limbeck_catalog::{Catalog, ServerTools};
use limbeck_search::{Evidence, SearchQuery, SearchableCatalog};

/// Share of each kind's queries with a correct answer among the first five, when search was last changed.
const RECALL_AT_5: [(QueryKind, f64); 5] = [
    (QueryKind::Keyword, 1.0),
    (QueryKind::Product, 1.0),
    (QueryKind::Typo, 1.0),
    (QueryKind::Intent, 0.705),
    (QueryKind::Unseen, 0.641),
];
/// Largest loss that is accepted.
const LOSS_MAX: f64 = 0.01;

#[test]
fn recall_is_what_it_was_and_both_kinds_of_evidence_are_better_than_words_alone() {
    let catalog = catalog(&captures());
    let queries = queries();
    let recall = |kind: QueryKind, evidence: Evidence| {
        let of_kind = queries.iter().filter(|labeled| labeled.kind == kind);
        let figures = SearchFigures::of(of_kind, |query| search(&catalog, query, evidence));
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
    // Meaning must add to words where words fail.
    let [words, both] =
        [Evidence::Words, Evidence::Both].map(|evidence| recall(QueryKind::Intent, evidence)[2]);
    assert!(both > words, "{both} {words}");
}

fn catalog(captures: &[Capture]) -> SearchableCatalog {
    let servers = captures.iter().map(|capture| {
        ServerTools::new(
            capture.name(),
            capture.definitions(),
            capture.instructions.clone(),
        )
    });
    SearchableCatalog::new(Arc::new(Catalog::new(servers.collect())))
}

fn search(catalog: &SearchableCatalog, text: &str, evidence: Evidence) -> Vec<String> {
    let query = SearchQuery {
        evidence,
        limit: 10,
        ..SearchQuery::new(text)
    };
    let answer = catalog.search(&query);
    let shown = answer.hits.iter().take(answer.relevant);
    shown.map(|hit| hit.tool.id().to_string()).collect()
}
