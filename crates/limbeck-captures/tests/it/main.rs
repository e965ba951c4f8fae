//! The captured lists are whole.

use std::collections::BTreeSet;

use limbeck_captures::{Capture, LabeledQuery, QueryKind, SearchFigures, Split, captures, queries};

#[test]
fn every_capture_has_its_own_name_and_tools_that_can_be_defined() {
    let captures = captures();
    assert!(
        captures
            .windows(2)
            .all(|pair| pair[0].server < pair[1].server)
    );
    let tools = captures.iter().map(|capture| capture.definitions().len());
    assert_eq!((captures.len(), tools.sum::<usize>()), (41, 1_502));
    let mut definitions = captures.iter().flat_map(Capture::definitions);
    assert!(definitions.all(|tool| !tool.id.tool.is_empty() && tool.input_schema.is_object()));
}

#[test]
fn every_right_answer_is_a_captured_tool_and_no_query_is_there_twice() {
    let mut tools = BTreeSet::new();
    for capture in captures() {
        tools.extend(capture.definitions().iter().map(|tool| tool.id.to_string()));
    }
    let queries = queries();
    let mut texts = BTreeSet::new();
    for labeled in &queries {
        assert!(!labeled.tools.is_empty(), "{labeled:?}");
        assert!(labeled.tools.is_subset(&tools), "{labeled:?}");
        assert!(texts.insert(&labeled.query), "{labeled:?}");
    }
    for kind in QueryKind::ALL {
        let of_kind = queries.iter().filter(|labeled| labeled.kind == kind);
        assert!(of_kind.count() >= 60, "{kind:?}");
    }
}

#[test]
fn figures_count_the_first_right_answer() {
    let labeled = |query: &str, tool: &str| LabeledQuery {
        part: Split::Tune,
        kind: QueryKind::Keyword,
        query: query.to_owned(),
        tools: BTreeSet::from([tool.to_owned()]),
    };
    let queries = [
        labeled("a", "s.a"),
        labeled("b", "s.b"),
        labeled("c", "s.c"),
    ];
    let figures = SearchFigures::of(&queries, |query| match query {
        "a" => vec!["s.a".to_owned()],
        "b" => vec!["s.x".to_owned(), "s.b".to_owned(), "s.b".to_owned()],
        _ => Vec::new(),
    });
    assert_eq!(
        figures.recall.map(|share| (share * 3.0).round()),
        [1.0, 2.0, 2.0]
    );
    assert!((figures.reciprocal_rank - 0.5).abs() < 1e-9, "{figures:?}");
}
