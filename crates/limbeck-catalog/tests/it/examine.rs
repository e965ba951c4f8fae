//! Warnings, edits and plans of programs.

use crate::common::{catalog, named, server};
use limbeck_catalog::{Catalog, CheckOptions, Edit, FindingKind, Findings};
use limbeck_domain::{Language, Mode, Sites};
use serde_json::{Value, json};

fn sites(sites: Value) -> Sites {
    Sites::parse(&json!({ "sites": sites }).to_string()).expect("within bounds")
}

fn judge(catalog: &Catalog, mode: Mode, calls: Value) -> Findings {
    let caller = CheckOptions {
        language: Language::Typescript,
        mode,
        refuses: &|_| None,
    };
    catalog.check(&sites(calls), &caller)
}

fn messages(findings: &[limbeck_catalog::Finding]) -> Vec<&str> {
    findings
        .iter()
        .map(|finding| finding.message.as_str())
        .collect()
}

/// A server `shop` whose `order` is closed, whose `note` is open, and whose `pay` writes.
fn shop() -> Catalog {
    let order = json!({"type": "object", "additionalProperties": false, "properties": {
        "id": {"type": "integer"}, "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {}}}}}});
    let list = json!({"tools": [
        {"name": "order", "inputSchema": {"type": "object"}, "outputSchema": order, "annotations": {"readOnlyHint": true}},
        {"name": "pay", "inputSchema": {"type": "object", "properties": {"order": {}, "way": {"enum": ["card", "cash"]}}, "required": ["order"]}}
    ]});
    Catalog::new(vec![server("shop", &list.to_string())])
}

#[test]
fn a_likely_correction_is_an_edit() {
    let catalog = catalog();
    for (site, edit) in [
        (
            json!({"server": "filesystm", "tool": "read_text_file", "complete": false}),
            Edit {
                replace: "filesystm".into(),
                with: "filesystem".into(),
            },
        ),
        (
            json!({"server": "filesystem", "tool": "read_txt_file", "complete": false}),
            Edit {
                replace: "read_txt_file".into(),
                with: "read_text_file".into(),
            },
        ),
        (
            json!({"tool": "mcp__filesystem__write_fil", "complete": false}),
            Edit {
                replace: "mcp__filesystem__write_fil".into(),
                with: "mcp__filesystem__write_file".into(),
            },
        ),
        (
            json!({"server": "everything", "tool": "get-annotated-message", "complete": true, "arguments": [{"name": "messageType", "value": "eror"}]}),
            Edit {
                replace: "eror".into(),
                with: "error".into(),
            },
        ),
        (
            json!({"server": "filesystem", "tool": "read_text_file", "complete": true, "arguments": [{"name": "pth", "value": "a"}]}),
            Edit {
                replace: "pth".into(),
                with: "path".into(),
            },
        ),
    ] {
        let mut site = site;
        site["line"] = json!(1);
        site["column"] = json!(1);
        let findings = judge(&catalog, Mode::Check, json!([site]));
        let found = findings
            .errors
            .first()
            .and_then(|finding| finding.edit.clone());
        let nearest = found.as_ref().map(|found| {
            (
                found.replace.as_str(),
                found.with.starts_with(&edit.with[..4]),
            )
        });
        assert_eq!(nearest, Some((edit.replace.as_str(), true)), "{findings:?}");
    }
}

#[test]
fn an_absent_server_is_never_edited_into_another_one_with_such_a_tool() {
    let edit = |servers: &[&str]| {
        let servers = servers.iter().map(|server| named(server, &["read_file"]));
        let catalog = Catalog::new(servers.collect());
        let site = json!({"line": 1, "column": 1, "server": "filesystem", "tool": "read_file", "complete": false});
        let findings = judge(&catalog, Mode::Check, json!([site]));
        assert_eq!(
            messages(&findings.errors),
            ["no server is called `filesystem`"]
        );
        findings.errors[0]
            .edit
            .as_ref()
            .map(|edit| edit.with.clone())
    };
    assert_eq!(edit(&["bad"]), None);
    // The control: a server of a similar name, before one that has such a tool too.
    assert_eq!(
        edit(&["bad", "file-system-2"]).as_deref(),
        Some("file-system-2")
    );
}

#[test]
fn a_rejection_that_the_program_may_catch_stops_no_run_and_is_a_warning_of_a_check() {
    let call = |guarded: bool| json!([{"line": 2, "column": 5, "server": "shop", "tool": "nope", "complete": true, "guarded": guarded}]);
    let catalog = shop();
    assert_eq!(judge(&catalog, Mode::Run, call(true)), Findings::default());
    let checked = judge(&catalog, Mode::Check, call(true));
    assert_eq!(checked.errors, []);
    assert_eq!(
        messages(&checked.warnings),
        ["server `shop` has no tool `nope` (the program may catch this)"]
    );
    for mode in [Mode::Run, Mode::Check] {
        assert_eq!(judge(&catalog, mode, call(false)).errors.len(), 1);
    }
}

#[test]
fn a_part_that_a_result_cannot_have_is_an_error_and_an_unlisted_one_a_warning() {
    let read = |path: &[&str], optional: bool| {
        let read = json!({"line": 4, "column": 9, "path": path, "optional": optional});
        json!([{"line": 1, "column": 1, "server": "shop", "tool": "order", "complete": true, "reads": [read]}])
    };
    let catalog = shop();
    let findings = judge(&catalog, Mode::Run, read(&["lnes"], false));
    let [error] = findings.errors.as_slice() else {
        panic!("{findings:?}")
    };
    assert_eq!(
        (error.line, error.column, error.kind),
        (4, 9, FindingKind::Result)
    );
    assert_eq!(
        error.message,
        "the result of `tools.shop.order` has no property `lnes`"
    );
    assert_eq!(
        error.hint.as_deref(),
        Some("available properties: `lines`, `id`")
    );
    assert_eq!(
        error.edit,
        Some(Edit {
            replace: "lnes".into(),
            with: "lines".into()
        })
    );

    let run = judge(&catalog, Mode::Run, read(&["lines", "[]", "name"], false));
    assert_eq!((run.errors.len(), run.warnings.len()), (0, 0), "{run:?}");
    assert!(
        run.doubts[0].message.contains("no property `name`"),
        "{run:?}"
    );
    let open = judge(&catalog, Mode::Check, read(&["lines", "[]", "name"], false));
    assert_eq!(
        messages(&open.warnings),
        ["`lines[]` of the result of `tools.shop.order` has no property `name`"]
    );
    // A program that expects the part to be missing (`?.`) runs. It has a warning about a name close to a declared one.
    let optional = judge(&catalog, Mode::Run, read(&["lnes"], true));
    assert_eq!(optional.errors, []);
    assert_eq!(
        messages(&optional.warnings),
        ["the result of `tools.shop.order` has no property `lnes`"]
    );
    let unlisted = judge(&catalog, Mode::Run, read(&["discount"], true));
    assert_eq!((unlisted.errors.len(), unlisted.warnings.len()), (0, 0));
    for there in [&["id"][..], &["lines", "[]", "sku"], &["lines", "length"]] {
        assert_eq!(
            judge(&catalog, Mode::Check, read(there, false)),
            Findings::default(),
            "{there:?}"
        );
    }
}

#[test]
fn a_write_in_a_loop_without_bound_is_a_warning_and_a_read_is_not() {
    let call = |tool: &str, repeat: Value| json!([{"line": 1, "column": 1, "server": "shop", "tool": tool, "complete": false, "repeat": repeat}]);
    let catalog = shop();
    let endless = judge(&catalog, Mode::Check, call("pay", json!("endless")));
    assert_eq!(endless.errors, []);
    assert_eq!(endless.warnings[0].kind, FindingKind::EndlessWrite);
    // In a run it explains a program that a limit ended: one that comes to its end has ended its loop.
    let run = judge(&catalog, Mode::Run, call("pay", json!("endless")));
    assert_eq!((run.errors, run.warnings), (vec![], vec![]));
    assert_eq!(run.of_endless, endless.warnings);
    for (tool, repeat) in [
        ("order", json!("endless")),
        ("pay", json!("many")),
        ("pay", json!({"at_most": 3})),
    ] {
        assert_eq!(
            judge(&catalog, Mode::Check, call(tool, repeat)),
            Findings::default()
        );
    }
}

#[test]
fn a_plan_lists_calls_with_their_repetition_and_the_results_passed_to_writes() {
    let catalog = shop();
    let body = json!({
        "sites": [
            {"line": 1, "column": 17, "server": "shop", "tool": "order", "complete": true},
            {"line": 3, "column": 3, "server": "shop", "tool": "pay", "complete": true, "repeat": {"at_most": 2}, "uses": [0],
             "arguments": [{"name": "order"}, {"name": "way", "value": "card"}, {"name": "note", "value": "x".repeat(1_000)}]},
            {"line": 4, "column": 3, "server": "shop", "tool": "nope", "complete": false, "repeat": "endless", "uses": [0, 99]}
        ],
        "dynamic": [{"line": 6, "column": 1, "server": "shop"}]
    });
    let plan = catalog.plan(&Sites::parse(&body.to_string()).unwrap());
    assert_eq!(
        serde_json::to_value(&plan).unwrap(),
        json!({
            "tools": [{"tool": "shop.order", "effect": "read", "calls": 1}, {"tool": "shop.pay", "effect": plan.tools[1].effect, "calls": 1}],
            "calls": [
                {"line": 1, "column": 17, "tool": "shop.order", "effect": "read", "times": "once"},
                {"line": 3, "column": 3, "tool": "shop.pay", "effect": plan.tools[1].effect, "times": "at most 2",
                 "arguments": {"way": "card", "note": "(1002 bytes)"}, "computed": ["order"]},
                {"line": 4, "column": 3, "tool": "shop.nope", "times": "unbounded", "more_arguments": true,
                 "problem": "server `shop` has no tool `nope`"}
            ],
            "flows": [
                {"from": "shop.order (line 1)", "into": "shop.pay (line 3)"},
                {"from": "shop.order (line 1)", "into": "shop.nope (line 4)"}
            ],
            "unknown": [{"line": 6, "column": 1, "server": "shop"}],
            "unknown_total": 1
        })
    );
    assert!(plan.tools[1].effect.may_write());
}
