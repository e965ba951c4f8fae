//! Reads of results that no type promises, looked up in the results.

use limbeck_catalog::{Catalog, text_input_warnings};
use limbeck_domain::{Language, Sites, ToolId};
use serde_json::{Value, json};

use crate::common::server;

/// A server `s` whose tool `t` declares nothing, whose `w` writes, and whose `d` declares an open type.
fn catalog() -> Catalog {
    let reads = json!({"readOnlyHint": true});
    let order = json!({"type": "object", "properties": {"id": {}, "note": {"type": "string"}}, "required": ["id"]});
    let list = json!({"tools": [
        {"name": "t", "inputSchema": {}, "annotations": reads},
        {"name": "w", "inputSchema": {}, "annotations": {"readOnlyHint": false}},
        {"name": "d", "inputSchema": {}, "annotations": reads, "outputSchema": order},
    ]});
    Catalog::new(vec![server("s", &list.to_string())])
}

fn read(path: &[&str]) -> Value {
    json!({"line": 2, "column": 3, "path": path})
}

fn certain(path: &[&str]) -> Value {
    json!({"line": 2, "column": 3, "path": path, "certain": true})
}

fn optional(path: &[&str]) -> Value {
    json!({"line": 2, "column": 3, "path": path, "optional": true})
}

fn site(tool: &str, reads: &[Value]) -> Value {
    json!({"line": 1, "column": 1, "server": "s", "tool": tool, "complete": true, "reads": reads})
}

/// Warnings and doubts of a program with these call sites, of which `tool` gave `results`.
fn seen(sites: &[Value], tool: &str, results: &[Value]) -> (Vec<String>, Vec<String>) {
    seen_in(Language::Typescript, sites, tool, results)
}

fn seen_in(
    language: Language,
    sites: &[Value],
    tool: &str,
    results: &[Value],
) -> (Vec<String>, Vec<String>) {
    let sites = Sites::parse(&json!({ "sites": sites }).to_string());
    let sites = sites.expect("the sites of a test can be read");
    let mut reads = catalog().result_reads(&sites, language);
    for result in results {
        reads.see(&ToolId::new("s", tool), &result.to_string());
    }
    (reads.warnings(), reads.doubts())
}

fn warned(sites: &[Value], tool: &str, results: &[Value]) -> Vec<String> {
    seen(sites, tool, results).0
}

const NONE: [&str; 0] = [];

#[test]
fn a_part_that_no_result_has_and_the_program_surely_reads_is_a_warning() {
    let sites = [site("t", &[certain(&["itmes"]), certain(&["total"])])];
    let page = json!({"items": [1], "total": 1});
    assert_eq!(
        warned(&sites, "t", std::slice::from_ref(&page)),
        [
            "line 2: the result of `tools.s.t` has no property `itmes`; available properties: `items`, `total`"
        ]
    );
    let of_items = [site("t", &[certain(&["items", "[]", "amount"])])];
    let list = json!({"items": [{"cents": 5}, {"cents": 6}]});
    assert_eq!(
        warned(&of_items, "t", std::slice::from_ref(&list)),
        [
            "line 2: `items[]` of the result of `tools.s.t` has no property `amount`; available properties: `cents`"
        ]
    );
    // The controls: one result or item has it, the list is empty, the tool gave nothing, and the value is null.
    for (sites, results) in [
        (&sites, vec![page.clone(), json!({"itmes": []})]),
        (&sites, vec![]),
        (
            &of_items,
            vec![json!({"items": [{"cents": 5}, {"amount": null}]})],
        ),
        (&of_items, vec![json!({"items": []})]),
        (&of_items, vec![json!({"items": null})]),
        (&of_items, vec![list, json!({"items": [{"amount": 1}]})]),
    ] {
        assert_eq!(warned(sites, "t", &results), NONE, "{results:?}");
    }
}

#[test]
fn a_declared_type_promises_what_it_lists_and_results_decide_about_the_rest() {
    let sites = [site("d", &[certain(&["note"]), certain(&["state"])])];
    let warnings = warned(&sites, "d", &[json!({"id": 1})]);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("no property `state`"), "{warnings:?}");
    // The control: the type is open, and a result has it.
    assert_eq!(warned(&sites, "d", &[json!({"id": 1, "state": "a"})]), NONE);
}

#[test]
fn parts_that_the_program_provides_for_are_doubts_and_no_warnings() {
    let either = |path: &[&str]| json!({"line": 2, "column": 3, "path": path, "optional": true, "either": 9});
    let asked = json!({"line": 2, "column": 3, "path": ["error"], "optional": true, "asked": true});
    let result = [json!({"assignees": [], "line1": "a"})];
    for read in [optional(&["assignee"]), optional(&["line2"]), read(&["x"])] {
        let (warnings, doubts) = seen(&[site("t", std::slice::from_ref(&read))], "t", &result);
        assert_eq!((warnings.len(), doubts.len()), (0, 1), "{read}");
    }
    for reads in [
        vec![asked],
        vec![either(&["items"]), either(&["assignees"])],
        vec![optional(&["line1"]), certain(&["line1", "length"])],
    ] {
        let (warnings, doubts) = seen(&[site("t", &reads)], "t", &result);
        assert_eq!((warnings.len(), doubts.len()), (0, 0), "{reads:?}");
    }
    // The Python guest explains empty values itself.
    let sites = [site("t", &[optional(&["assignee"])])];
    let (_, doubts) = seen_in(Language::Python, &sites, "t", &result);
    assert_eq!(doubts, NONE);
}

#[test]
fn a_listed_alternative_that_a_result_has_provides_for_the_parts_beside_it() {
    let either = |name: &str, number: u32| json!({"line": 2, "column": 3, "path": [name], "optional": true, "either": number});
    let result = [json!({"id": 1, "note": "a"})];
    let seen_of = |reads: &[Value], result: &[Value]| seen(&[site("d", reads)], "d", result);
    for reads in [
        vec![either("notes", 9), either("note", 9), either("data", 9)],
        vec![either("note", 9), either("notes", 9)],
    ] {
        let (warnings, doubts) = seen_of(&reads, &result);
        assert_eq!((warnings.len(), doubts.len()), (0, 0), "{reads:?}");
    }
    // The controls: none is listed, the listed part is no alternative of it or is absent itself, which is no doubt.
    for (reads, result) in [
        (vec![either("data", 9)], json!({"id": 1, "note": "a"})),
        (
            vec![either("data", 9), either("note", 8), optional(&["note"])],
            json!({"id": 1, "note": "a"}),
        ),
        (vec![either("data", 9), either("note", 9)], json!({"id": 1})),
    ] {
        let (warnings, doubts) = seen_of(&reads, &[result]);
        assert_eq!(warnings, NONE, "{reads:?}");
        assert_eq!(doubts.len(), 1, "{reads:?}");
        assert!(doubts[0].contains("no property `data`"), "{doubts:?}");
    }
}

#[test]
fn another_writing_of_a_name_is_a_warning_also_where_the_program_provides_for_its_absence() {
    let result = [json!({"created_at": 1, "items": [], "tag": 1})];
    for name in ["createdAt", "CreatedAt", "itmes"] {
        let sites = [site("t", &[optional(&[name])])];
        assert_eq!(warned(&sites, "t", &result).len(), 1, "{name}");
    }
    // The controls: names that objects may have beside it.
    for name in ["updated_at", "item", "tags", "tab"] {
        let sites = [site("t", &[optional(&[name])])];
        assert_eq!(warned(&sites, "t", &result), NONE, "{name}");
    }
}

#[test]
fn results_of_other_places_do_not_speak_for_a_call_that_may_not_be_made() {
    let mut other = site("t", &[certain(&["b"])]);
    let sites = [site("t", &[certain(&["a"])]), other.clone()];
    assert_eq!(warned(&sites, "t", &[json!({"a": 1})]), NONE);
    // The control: the program surely makes the call.
    other["certain"] = json!(true);
    let sites = [site("t", &[certain(&["a"])]), other];
    assert_eq!(warned(&sites, "t", &[json!({"a": 1})]).len(), 1);
}

#[test]
fn a_text_that_holds_json_is_named_where_the_program_reads_a_part_of_what_it_holds() {
    let held = json!(json!({"tickets": [{"id": 1}]}).to_string());
    let list = json!(" [{\"id\": 1}]");
    for (read, result) in [
        (optional(&["tickets"]), &held),
        (certain(&["tickets"]), &held),
        (certain(&["[]", "id"]), &list),
    ] {
        let warnings = warned(
            &[site("t", std::slice::from_ref(&read))],
            "t",
            std::slice::from_ref(result),
        );
        assert_eq!(warnings.len(), 1, "{read}: {warnings:?}");
        assert!(
            warnings[0].contains("is a text") && warnings[0].contains("`JSON.parse(result)` gives"),
            "{warnings:?}"
        );
    }
    let sites = [site("t", &[optional(&["tickets"])])];
    let (warnings, _) = seen_in(Language::Python, &sites, "t", std::slice::from_ref(&held));
    assert!(warnings[0].contains("`json.loads(result)`"), "{warnings:?}");
    // The controls: a program that parses too, a text without JSON, and JSON without the part.
    let mut parsed = site("t", &[optional(&["tickets"])]);
    parsed["as_text"] = json!(true);
    assert_eq!(warned(&[parsed], "t", &[held]), NONE);
    for result in [json!("tickets: none"), json!("{\"rows\": 1}"), json!("{")] {
        assert_eq!(
            warned(&sites, "t", std::slice::from_ref(&result)),
            NONE,
            "{result}"
        );
    }
}

#[test]
fn a_text_that_holds_a_list_is_named_where_the_program_takes_it_for_one() {
    let taken = |counted: bool| {
        let mut site = site("t", &[]);
        site["listed"] = json!({"line": 4, "column": 1, "counted": counted});
        [site]
    };
    let list = [json!("[1, 2]")];
    let object = [json!("{\"a\": 1}")];
    assert_eq!(
        warned(&taken(true), "t", &list),
        [
            "line 4: the result of `tools.s.t` is a text, and the program counts the characters of it; `JSON.parse(result)` gives the list that it holds"
        ]
    );
    assert_eq!(warned(&taken(false), "t", &list).len(), 1);
    assert_eq!(warned(&taken(false), "t", &object).len(), 1);
    // The controls: the length of a text that holds no list, a list, and a text of words.
    assert_eq!(warned(&taken(true), "t", &object), NONE);
    for result in [json!([1, 2]), json!("some words"), json!("[draft] words")] {
        assert_eq!(warned(&taken(false), "t", &[result]), NONE);
    }
}

#[test]
fn an_outcome_that_no_result_says_is_a_warning_as_a_guard_too() {
    let guard = |path: &str| json!({"line": 2, "column": 3, "path": [path], "optional": true, "asked": true});
    let saved = [json!("saved")];
    for name in ["ok", "success"] {
        let warnings = warned(&[site("w", &[guard(name)])], "w", &saved);
        assert_eq!(warnings.len(), 1, "{name}");
        assert!(
            warnings[0].contains("look at the result before you make the call again"),
            "{warnings:?}"
        );
        let warnings = warned(&[site("t", &[guard(name)])], "t", &saved);
        assert!(
            warnings[0].contains("a call that fails throws"),
            "{warnings:?}"
        );
    }
    // The controls: other guards, a result that says it, and programs for which its absence is success.
    let mut well = guard("ok");
    well["absent_is_well"] = json!(true);
    let mut whole = guard("ok");
    whole["either"] = json!(7);
    for read in [guard("error"), well, whole] {
        assert_eq!(
            warned(&[site("w", std::slice::from_ref(&read))], "w", &saved),
            NONE,
            "{read}"
        );
    }
    assert_eq!(
        warned(&[site("w", &[guard("ok")])], "w", &[json!({"ok": false})]),
        NONE
    );
}

#[test]
fn results_that_are_too_large_to_be_looked_at_are_not_spoken_of() {
    let sites = [site("t", &[certain(&["itmes"])])];
    let large = json!({"items": "x".repeat(300 << 10)});
    let small = json!({"items": "x"});
    assert_eq!(warned(&sites, "t", std::slice::from_ref(&large)), NONE);
    assert_eq!(warned(&sites, "t", &[small.clone(), large]), NONE);
    assert_eq!(warned(&sites, "t", &[small]).len(), 1);
}

#[test]
fn an_input_that_is_a_text_of_json_is_named_where_its_parts_are_read() {
    let used = |used: Value| {
        let sites = json!({"sites": [], "input": used}).to_string();
        Sites::parse(&sites).unwrap().input
    };
    let reads = used(json!({"reads": [read(&["ids"])]}));
    let text = json!("{\"ids\": [1]}").to_string();
    let warnings = text_input_warnings(&reads, &text, Language::Typescript);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("`JSON.parse(input)`"), "{warnings:?}");
    let listed = used(json!({"listed": {"line": 1, "column": 1}}));
    let warnings = text_input_warnings(&listed, "\"[1, 2]\"", Language::Python);
    assert!(warnings[0].contains("`json.loads(input)`"), "{warnings:?}");
    // The controls: an object, words, a text that is parsed, and a part that the text does not hold.
    for (used, input) in [
        (&reads, "{\"ids\":[1]}"),
        (&reads, "\"words\""),
        (
            &used(json!({"reads": [read(&["ids"])], "as_text": true})),
            text.as_str(),
        ),
        (&used(json!({"reads": [read(&["length"])]})), text.as_str()),
        (&listed, "[1]"),
        (&listed, "\"words\""),
    ] {
        assert_eq!(
            text_input_warnings(used, input, Language::Typescript),
            NONE,
            "{input}"
        );
    }
}

/// A result that is a text of JSON.
fn text_of(value: &Value) -> Value {
    json!(value.to_string())
}

#[test]
fn parts_of_what_the_program_parses_are_looked_up_in_it() {
    let sites = [site("t", &[certain(&["()", "tickets", "[]", "status"])])];
    let page = json!({"tickets": [{"id": 1, "state": "open"}]});
    assert_eq!(
        warned(&sites, "t", &[text_of(&page)]),
        [
            "line 2: `tickets[]` of the result of `tools.s.t` has no property `status`; available properties: `state`, `id`"
        ]
    );
    // A text in a result.
    let inside = [site("t", &[certain(&["content", "()", "verison"])])];
    let holds = json!({"content": "{\"version\":1}"});
    assert!(warned(&inside, "t", &[holds])[0].contains("has no property `verison`"));
    // The controls: parts that are there, what is no JSON, and what is parsed already.
    let right = [site("t", &[certain(&["()", "tickets", "[]", "state"])])];
    for result in [
        text_of(&page),
        page.clone(),
        json!("no JSON"),
        json!(7),
        json!(null),
    ] {
        assert_eq!(warned(&right, "t", &[result]), NONE);
    }
    assert_eq!(warned(&sites, "t", &[page]), NONE);
}

#[test]
fn a_read_with_two_ways_to_its_part_is_absent_where_neither_finds_it() {
    // `(typeof r === "string" ? JSON.parse(r) : r).createdAt`
    let sites = |name: &str| [site("t", &[optional(&["()", name]), optional(&[name])])];
    let ticket = json!({"created_at": 1});
    for result in [ticket.clone(), text_of(&ticket)] {
        let result = std::slice::from_ref(&result);
        assert_eq!(warned(&sites("created_at"), "t", result), NONE);
        let warnings = warned(&sites("createdAt"), "t", result);
        assert!(
            warnings[0].contains("has no property `createdAt`"),
            "{warnings:?}"
        );
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }
}

#[test]
fn a_part_of_the_raw_result_is_a_warning_where_the_result_has_none() {
    for path in [&["result"][..], &["content", "[]", "text"], &["text"]] {
        let sites = [site("t", &[optional(path), optional(&path[..1])])];
        let [warning] = &warned(&sites, "t", &[json!("5 tickets")])[..] else {
            panic!("{path:?}")
        };
        assert!(
            warning.contains("the value is unwrapped already"),
            "{warning}"
        );
    }
    // The controls: parts that the results have, a guard, and a program that asks what the result is.
    let rows = json!({"result": [1], "content": [{"text": "a"}], "text": "b"});
    for path in [&["result"][..], &["content", "[]", "text"], &["text"]] {
        let sites = [site("t", &[optional(path)])];
        assert_eq!(warned(&sites, "t", std::slice::from_ref(&rows)), NONE);
    }
    for mark in ["asked", "form_asked"] {
        let mut read = optional(&["result"]);
        read[mark] = json!(true);
        assert_eq!(warned(&[site("t", &[read])], "t", &[json!("a")]), NONE);
    }
    // A program that failed by such a read has the warning too.
    let sites = json!({"sites": [site("t", &[certain(&["content"]), certain(&["rows"])])]});
    let sites = Sites::parse(&sites.to_string()).unwrap();
    let mut reads = catalog().result_reads(&sites, Language::Typescript);
    reads.see(&ToolId::new("s", "t"), "\"a\"");
    assert_eq!(reads.raw_reads().len(), 1, "{:?}", reads.raw_reads());
}

#[test]
fn a_program_that_asks_for_pages_by_another_name_is_warned_where_results_say_that_there_are_more() {
    let mut more = optional(&["has_more"]);
    more["asked"] = json!(true);
    let sites = [site("t", &[more])];
    let first = json!({"items": [1, 2], "page": 1, "pages": 2, "total": 3});
    let [warning] = &warned(&sites, "t", std::slice::from_ref(&first))[..] else {
        panic!("no warning")
    };
    assert!(
        warning.contains("has no property `has_more`; the results say that there are 3 and list 2"),
        "{warning}"
    );
    // The controls: all was read, the results say nothing of pages, and they have the part.
    let last = json!({"items": [3], "page": 2, "pages": 2, "total": 3});
    assert_eq!(warned(&sites, "t", &[first.clone(), last]), NONE);
    assert_eq!(warned(&sites, "t", &[json!({"items": [1]})]), NONE);
    let mut says = first;
    says["has_more"] = json!(true);
    assert_eq!(warned(&sites, "t", &[says]), NONE);
}
