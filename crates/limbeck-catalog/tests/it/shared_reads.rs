//! Reads of names that have results of several tools in turn, and comparisons of numbers with texts.

use limbeck_catalog::{Catalog, CheckOptions, FindingKind};
use limbeck_domain::{Language, Mode, Sites, ToolId};
use serde_json::{Value, json};

use crate::common::server;

/// A server `s` whose tools `a` and `b` declare what they give, and whose `t` and `u` declare nothing.
fn catalog() -> Catalog {
    let closed = |properties: Value| json!({"type": "object", "properties": properties});
    let a = closed(json!({"items": {"type": "array"}, "count": {"type": "integer"}}));
    let b = closed(json!({"title": {"type": "string"}, "done": {"type": ["boolean", "null"]}}));
    let list = json!({"tools": [
        {"name": "a", "inputSchema": {}, "outputSchema": a},
        {"name": "b", "inputSchema": {}, "outputSchema": b},
        {"name": "t", "inputSchema": {}},
        {"name": "u", "inputSchema": {}},
    ]});
    Catalog::new(vec![server("s", &list.to_string())])
}

fn site(line: u32, tool: &str, more: Value) -> Value {
    let mut site =
        json!({"line": line, "column": 1, "server": "s", "tool": tool, "complete": true});
    for (name, value) in more.as_object().into_iter().flatten() {
        site[name] = value.clone();
    }
    site
}

fn reading(line: u32, tool: &str, name: &str) -> Value {
    let read = json!({"line": 9, "column": 3, "path": [name], "certain": true});
    site(line, tool, json!({ "reads": [read] }))
}

fn messages(language: Language, mode: Mode, sites: &[Value]) -> Vec<String> {
    let sites = Sites::parse(&json!({ "sites": sites }).to_string())
        .expect("the sites of a test can be read");
    let options = CheckOptions {
        language,
        mode,
        refuses: &|_| None,
    };
    let findings = catalog().check(&sites, &options);
    let found = findings.errors.iter().chain(&findings.warnings);
    let found = found.filter(|finding| finding.kind == FindingKind::Result);
    found.map(|finding| finding.line()).collect()
}

#[test]
fn a_read_that_calls_share_is_absent_where_no_result_has_the_part() {
    let said = |sites: &[Value]| messages(Language::Typescript, Mode::Check, sites).len();
    assert_eq!(
        said(&[reading(1, "a", "titel"), reading(2, "b", "titel")]),
        2
    );
    assert_eq!(
        said(&[reading(1, "a", "titel"), reading(2, "a", "titel")]),
        1
    );
    // The controls: the other result has it, or may have it.
    assert_eq!(
        said(&[reading(1, "a", "title"), reading(2, "b", "title")]),
        0
    );
    assert_eq!(
        said(&[reading(1, "a", "title"), reading(2, "t", "title")]),
        0
    );
    assert_eq!(
        said(&[reading(1, "a", "title"), reading(2, "nope", "title")]),
        0
    );
}

#[test]
fn a_read_that_calls_share_is_looked_up_in_the_results_of_all() {
    let warned = |seen: &[(&str, Value)]| {
        let sites = json!({"sites": [reading(1, "t", "name"), reading(2, "u", "name")]});
        let sites = Sites::parse(&sites.to_string()).unwrap();
        let mut reads = catalog().result_reads(&sites, Language::Typescript);
        for (tool, result) in seen {
            reads.see(&ToolId::new("s", *tool), &result.to_string());
        }
        reads.warnings().len()
    };
    let (without, with) = (json!({"title": 1}), json!({"name": 1}));
    assert_eq!(warned(&[("t", without.clone()), ("u", without.clone())]), 2);
    assert_eq!(warned(&[("t", without.clone()), ("u", with)]), 0);
    // Nothing is known of a result that was not seen.
    assert_eq!(warned(&[("t", without)]), 0);
}

#[test]
fn a_number_or_a_truth_value_that_is_compared_with_a_text_is_a_warning() {
    let said = |language, tool: &str, path: &str, value: &str| {
        let compared = json!({"line": 9, "column": 3, "path": [path], "values": [value]});
        messages(
            language,
            Mode::Run,
            &[site(1, tool, json!({ "compared": [compared] }))],
        )
    };
    assert_eq!(
        said(Language::Typescript, "b", "done", "true"),
        [
            "line 9: `done` of the result of `tools.s.b` is of type boolean and never the text \"true\"; compare it with `true` or `false`, without quotes"
        ]
    );
    assert_eq!(
        said(Language::Python, "a", "count", "3"),
        [
            "line 9: `count` of the result of `tools.s.a` is of type integer and never the text \"3\"; compare it with a number, without quotes"
        ]
    );
    // The controls: a text, the empty text, and a tool that declares nothing.
    for (tool, path, value) in [
        ("b", "title", "true"),
        ("a", "count", ""),
        ("t", "done", "true"),
    ] {
        assert_eq!(
            said(Language::Python, tool, path, value),
            [""; 0],
            "{tool} {path}"
        );
    }
}
