//! Arguments and names in styles of their own, where their meaning is certain.

use limbeck_catalog::{Catalog, CheckOptions, Findings};
use limbeck_domain::{CallForm, Language, Mode, Sites, ToolTarget};
use serde_json::{Value, json};

use crate::common::{named, server, tool};

const LOG: &str = r#"{"type":"object","properties":{
    "repo_path":{"type":"string"},"max_count":{"type":"integer"},"since":{"type":"string"},
    "until":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["repo_path"]}"#;

fn log() -> Value {
    serde_json::from_str(LOG).expect("the schema above is JSON")
}

/// What is sent for arguments, and the warnings.
fn sent(schema: Value, arguments: &str) -> (String, Vec<String>) {
    let accepted = tool(schema)
        .accept(arguments, Language::Typescript)
        .expect("the schema accepts the arguments");
    (accepted.arguments.to_string(), accepted.notes)
}

#[test]
fn a_name_in_another_style_is_sent_as_it_is_listed() {
    for schema in [
        log(),
        json!({"additionalProperties": false, "properties": log()["properties"]}),
    ] {
        let (arguments, notes) = sent(schema, r#"{"repoPath":"a","maxCount":1.50e1}"#);
        assert_eq!(arguments, r#"{"repo_path":"a","max_count":1.50e1}"#);
        assert_eq!(
            notes,
            [
                "`tools.s.t`: `maxCount` was sent as `max_count`",
                "`tools.s.t`: `repoPath` was sent as `repo_path`"
            ]
        );
    }
}

#[test]
fn a_name_with_two_meanings_or_a_meaning_of_its_own_is_left_alone() {
    let two = json!({"properties": {"max_count": {}, "maxcount": {}}});
    let given = json!({"properties": {"max_count": {}}});
    let open =
        json!({"properties": {"max_count": {}}, "additionalProperties": {"type": "integer"}});
    let other = json!({"properties": {"max_count": {}}, "patternProperties": {"^max": {}}});
    for (schema, arguments) in [
        (two, r#"{"maxCount":1}"#),
        (given.clone(), r#"{"maxCount":1,"max_count":2}"#),
        (given.clone(), r#"{"maxCount":1,"MaxCount":2}"#),
        (given, r#"{"limit":1}"#),
        (open, r#"{"maxCount":1}"#),
        (other, r#"{"maxCount":1}"#),
    ] {
        assert_eq!(sent(schema, arguments).0, arguments);
    }
}

#[test]
fn null_for_an_argument_that_may_be_left_out_is_left_out_unless_it_is_a_value() {
    let (arguments, notes) = sent(
        log(),
        r#"{"repo_path":"a","max_count":null,"since":null,"until":null}"#,
    );
    assert_eq!(arguments, r#"{"repo_path":"a","until":null}"#);
    assert_eq!(notes, Vec::<String>::new());
    let refused = tool(log()).validate(r#"{"repo_path":null}"#, Language::Typescript);
    assert_eq!(
        refused.unwrap_err().message,
        "`repo_path` must be string, got null"
    );
    let nested = json!({"properties": {"a": {"properties": {"b": {"type": "string"}}}}});
    assert!(
        tool(nested)
            .validate(r#"{"a":{"b":null}}"#, Language::Typescript)
            .is_err()
    );
}

#[test]
fn a_name_that_nothing_declares_is_sent_with_a_warning() {
    let (arguments, notes) = sent(log(), r#"{"repo_path":"a","limit":1}"#);
    assert_eq!(arguments, r#"{"repo_path":"a","limit":1}"#);
    assert_eq!(
        notes,
        [
            "`tools.s.t` declares no argument `limit`, which was sent all the same; it has `repo_path`, `max_count`, `since`, `until`"
        ]
    );
    let (_, notes) = sent(log(), r#"{"repo_path":"a","max_cont":1}"#);
    assert!(notes[0].ends_with("did you mean `max_count`?"), "{notes:?}");
    // The controls: listed names, and a schema that takes any name.
    assert_eq!(
        sent(log(), r#"{"repo_path":"a","since":"b"}"#).1,
        Vec::<String>::new()
    );
    let open = json!({"properties": {"a": {}}, "additionalProperties": true});
    assert_eq!(sent(open, r#"{"b":1}"#).1, Vec::<String>::new());
}

fn resolved(catalog: &Catalog, server: Option<&str>, tool: &str) -> Result<String, String> {
    let target = ToolTarget {
        server: server.map(str::to_owned),
        tool: tool.to_owned(),
        form: CallForm::Value,
    };
    let resolved = catalog.resolve(&target);
    resolved
        .map(|found| found.tool.id().to_string())
        .map_err(|error| error.to_string())
}

#[test]
fn a_tool_is_found_without_its_server_when_one_server_has_it() {
    let catalog = Catalog::new(vec![
        named("files", &["read_file", "copy", "both"]),
        named("web", &["fetch", "both"]),
    ]);
    assert_eq!(
        resolved(&catalog, None, "read_file").unwrap(),
        "files.read_file"
    );
    assert_eq!(
        resolved(&catalog, None, "readFile").unwrap(),
        "files.read_file"
    );
    assert_eq!(resolved(&catalog, None, "fetch").unwrap(), "web.fetch");
    for asked in ["both", "nothing_like_it", "files"] {
        assert!(
            resolved(&catalog, None, asked)
                .unwrap_err()
                .contains("is not a tool name"),
            "{asked}"
        );
    }
    // The control: a full name.
    assert_eq!(resolved(&catalog, None, "web.both").unwrap(), "web.both");
}

#[test]
fn names_that_an_earlier_system_numbered_are_found() {
    let catalog = Catalog::new(vec![named("1mcp", &["a.b", "a-b", "A B", "x_2"])]);
    for (asked, tool) in [
        ("a_b_2", "1mcp.a-b"),
        ("a_b_3", "1mcp.A B"),
        ("x_2", "1mcp.x_2"),
    ] {
        assert_eq!(resolved(&catalog, Some("1mcp"), asked).unwrap(), tool);
    }
    for asked in ["a_b_1", "a_b_4", "x_3"] {
        assert!(resolved(&catalog, Some("1mcp"), asked).is_err(), "{asked}");
    }
}

fn checked(tools: &str, site: Value) -> Findings {
    checked_in(Mode::Run, tools, site)
}

fn checked_in(mode: Mode, tools: &str, site: Value) -> Findings {
    let catalog = Catalog::new(vec![server("s", tools)]);
    let body = json!({ "sites": [site] }).to_string();
    let options = CheckOptions {
        language: Language::Typescript,
        mode,
        refuses: &|_| None,
    };
    let sites = Sites::parse(&body).expect("the sites are JSON of this shape");
    catalog.check(&sites, &options)
}

fn reading(path: &[&str], optional: bool) -> Value {
    json!({"line": 1, "column": 1, "server": "s", "tool": "t", "complete": true,
        "reads": [{"line": 2, "column": 3, "path": path, "optional": optional}]})
}

const TEXT: &str = r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#;
const DECLARED: &str = r#"{"tools":[{"name":"t","inputSchema":{"type":"object"},
    "outputSchema":{"type":"object","properties":{"content":{"type":"string"},"date_time":{"type":"string"}}}}]}"#;

#[test]
fn parts_of_the_raw_result_are_known_before_the_program_runs() {
    for path in [
        &["content", "[]", "text"][..],
        &["content"],
        &["structuredContent", "x"],
        &["text"],
        &["result"],
        &["[]", "text"],
    ] {
        for optional in [false, true] {
            let findings = checked_in(Mode::Check, TEXT, reading(path, optional));
            assert_eq!(findings.errors, [], "{path:?}");
            let [warning] = findings.warnings.as_slice() else {
                panic!("{path:?}: {findings:?}")
            };
            assert!(
                warning.hint.as_ref().unwrap().contains("unwrapped already"),
                "{warning:?}"
            );
            // In a run the result itself decides: what declares nothing may have such a part.
            let run = checked(TEXT, reading(path, optional));
            assert_eq!(run, Findings::default(), "{path:?}");
        }
    }
    for path in [&["rows"][..], &["[]", "name"]] {
        assert_eq!(
            checked(TEXT, reading(path, false)),
            Findings::default(),
            "{path:?}"
        );
    }
}

#[test]
fn a_text_that_is_read_as_blocks_is_an_error_and_a_near_name_a_warning() {
    let findings = checked(DECLARED, reading(&["content", "[]", "text"], false));
    assert!(
        findings.errors[0]
            .hint
            .as_ref()
            .unwrap()
            .contains("unwrapped already"),
        "{findings:?}"
    );
    let findings = checked(DECLARED, reading(&["dateTime"], false));
    assert_eq!(
        (findings.errors.len(), findings.warnings.len()),
        (0, 1),
        "{findings:?}"
    );
    for path in [
        &["content"][..],
        &["content", "[]"],
        &["date_time"],
        &["else"],
    ] {
        let findings = checked(DECLARED, reading(path, false));
        assert_eq!(
            (&findings.errors[..], &findings.warnings[..]),
            (&[][..], &[][..]),
            "{path:?}"
        );
        // What the type does not list is no warning of a run, as the type may be incomplete.
        assert_eq!(
            findings.doubts.len(),
            usize::from(path == ["else"]),
            "{path:?}"
        );
    }
}

#[test]
fn an_optional_read_is_a_warning_where_it_surely_means_a_part_that_is_there() {
    let tools = r#"{"tools":[{"name":"t","inputSchema":{},"outputSchema":{"type":"object","properties":{
        "created_at":{},"status":{},"total_cents":{},"line1":{},"order":{}}}}]}"#;
    let warned = |name: &str| checked(tools, reading(&[name], true)).warnings.len();
    for name in ["created", "createdAt", "state", "total", "statsu"] {
        assert_eq!(warned(name), 1, "{name}");
    }
    // The controls: parts that another result may have, and parts that are there.
    for name in ["due_date", "dueDate", "line2", "owner", "note", "status"] {
        assert_eq!(warned(name), 0, "{name}");
    }
}

#[test]
fn a_read_that_has_another_way_to_its_part_and_a_known_form_are_no_warnings() {
    let read = |path: &[&str], form: bool| json!({"line": 2, "column": 3, "path": path, "optional": true, "form_asked": form});
    let found = |reads: &[Value]| {
        let mut site = reading(&["date_time"], false);
        site["reads"] = json!(reads);
        checked(DECLARED, site).warnings.len()
    };
    assert_eq!(found(&[read(&["result"], false)]), 1);
    assert_eq!(found(&[read(&["result"], true)]), 0);
    // `(typeof r === "string" ? JSON.parse(r) : r).result`
    let parsed = read(&["()", "result"], false);
    assert_eq!(found(&[read(&["result"], false), parsed.clone()]), 0);
    assert_eq!(found(&[read(&["text"], false), parsed]), 1);
}

#[test]
fn the_hint_about_a_raw_result_names_what_the_value_has() {
    let tools = r#"{"tools":[{"name":"t","inputSchema":{},"outputSchema":{"type":"object",
        "properties":{"content":{"type":"string"}},"additionalProperties":false}}]}"#;
    for (path, words) in [
        (
            &["text"][..],
            "unwrapped already: available properties: `content`;",
        ),
        (
            &["content", "[]", "text"],
            "unwrapped already: `content` is a text itself;",
        ),
        (&["isError"], "a call that fails throws"),
    ] {
        let findings = checked(tools, reading(path, false));
        let hint = findings.errors[0].hint.as_deref().unwrap();
        assert!(hint.contains(words), "{path:?}: {hint}");
        assert!(hint.contains("gives the CallToolResult"), "{hint}");
    }
}

#[test]
fn a_property_that_is_read_twice_in_a_line_is_named_once() {
    let mut site = reading(&["else"], false);
    let again = json!({"line": 2, "column": 9, "path": ["else"]});
    let below = json!({"line": 3, "column": 9, "path": ["else"]});
    for read in [again, below] {
        site["reads"].as_array_mut().unwrap().push(read);
    }
    let lines: Vec<u32> = checked(DECLARED, site)
        .doubts
        .iter()
        .map(|doubt| doubt.line)
        .collect();
    assert_eq!(lines, [2, 3]);
}

#[test]
fn a_program_that_looks_at_the_types_of_blocks_knows_that_a_result_may_be_a_list_of_them() {
    let mut site = reading(&["[]", "type"], false);
    let text = json!({"line": 3, "column": 9, "path": ["[]", "text"]});
    site["reads"].as_array_mut().unwrap().push(text);
    assert_eq!(checked(TEXT, site), Findings::default());
}

#[test]
fn a_part_that_is_asked_for_or_has_an_alternative_is_no_finding() {
    let read = |path: &[&str], asked: bool, either: u32| json!({"line": 2, "column": 3, "path": path, "optional": true, "asked": asked, "either": either});
    let found = |reads: &[Value]| {
        let mut site = reading(&["date_time"], false);
        site["reads"] = json!(reads);
        let findings = checked(DECLARED, site);
        findings.warnings.len() + findings.doubts.len()
    };
    // `"Atlantis" in r["content"]` reads no property of the text.
    assert_eq!(found(&[read(&["content", "Atlantis"], true, 0)]), 0);
    assert_eq!(found(&[read(&["content", "Atlantis"], false, 0)]), 1);
    assert_eq!(found(&[read(&["else"], true, 0)]), 0);
    // `r.else ?? r.date_time`, and both names in other places.
    let other = |either| {
        [
            read(&["else"], false, 7),
            read(&["date_time"], false, either),
        ]
    };
    assert_eq!(found(&other(7)), 0);
    assert_eq!(found(&other(9)), 1);
    // What leads to another part is not an alternative itself.
    let leads = [
        read(&["content"], false, 7),
        read(&["content", "else"], false, 7),
    ];
    assert_eq!(found(&leads), 1);
    // A guard on a failure, which throws, is right.
    assert_eq!(found(&[read(&["isError"], true, 0)]), 0);
    assert_eq!(found(&[read(&["isError"], false, 0)]), 1);
}

#[test]
fn the_outcome_of_a_write_that_its_result_does_not_have_is_a_warning_of_the_run() {
    let closing = |annotations: &str, output: &str| {
        format!(
            r#"{{"tools":[{{"name":"t","inputSchema":{{}},"annotations":{annotations},"outputSchema":{output}}}]}}"#
        )
    };
    let closed =
        r#"{"type":"object","properties":{"ok":{"type":"boolean"}},"additionalProperties":false}"#;
    let writes = closing(r#"{"readOnlyHint":false}"#, closed);
    let findings = checked(&writes, reading(&["success"], true));
    let [warning] = findings.warnings.as_slice() else {
        panic!("{findings:?}")
    };
    assert!(
        warning.message.contains("has no property `success`"),
        "{warning:?}"
    );
    let hint = warning.hint.as_deref().unwrap();
    assert!(
        hint.starts_with("look at the result") && hint.contains("available properties: `ok`"),
        "{hint}"
    );
    // The controls: what the result has, a property of another meaning, and a tool that only reads.
    for (tools, path) in [
        (&writes, "ok"),
        (&writes, "warning"),
        (&closing(r#"{"readOnlyHint":true}"#, closed), "success"),
    ] {
        let findings = checked(tools, reading(&[path], true));
        assert_eq!(
            (findings.errors, findings.warnings),
            (vec![], vec![]),
            "{path}"
        );
    }
}

#[test]
fn a_positional_argument_is_answered_with_the_name_it_has() {
    let tools = r#"{"tools":[{"name":"t","inputSchema":{"properties":{"head":{},"path":{}},"required":["path"]}}]}"#;
    let site = json!({"line": 1, "column": 1, "server": "s", "tool": "t", "complete": true, "positional": 1});
    let findings = checked(tools, site);
    assert_eq!(
        findings.errors[0].hint.as_deref(),
        Some("write `tools.s.t({ path: value })`")
    );
    let after_object = json!({"line": 1, "column": 1, "server": "s", "tool": "t", "complete": true, "positional": 1,
        "arguments": [{"name": "path", "value": "a"}]});
    let findings = checked(tools, after_object);
    let hint = findings.errors[0].hint.as_deref().unwrap();
    assert!(hint.starts_with("leave out what follows"), "{hint}");
}

#[test]
fn calls_that_were_not_read_are_a_warning() {
    let catalog = Catalog::new(vec![server("s", TEXT)]);
    let options = CheckOptions {
        language: Language::Typescript,
        mode: Mode::Run,
        refuses: &|_| None,
    };
    let sites = Sites::parse(r#"{"sites":[],"unread":{"line":501,"column":1,"count":7}}"#).unwrap();
    let findings = catalog.check(&sites, &options);
    assert_eq!(
        findings.warnings[0].message,
        "7 more calls from here on were not read"
    );
    let plan = catalog.plan(&sites);
    assert_eq!((plan.unread_calls, plan.unknown[0].line), (7, 501));
}

#[test]
fn an_outcome_that_is_a_guard_is_a_warning_unless_its_absence_is_success() {
    let tools = r#"{"tools":[{"name":"t","inputSchema":{},"annotations":{"readOnlyHint":false},
        "outputSchema":{"type":"object","properties":{"id":{}},"additionalProperties":false}}]}"#;
    let guard = |well: bool| {
        let mut site = reading(&["success"], true);
        site["reads"][0]["asked"] = json!(true);
        site["reads"][0]["absent_is_well"] = json!(well);
        checked(tools, site).warnings.len()
    };
    assert_eq!(guard(false), 1);
    assert_eq!(guard(true), 0);
}

#[test]
fn a_comparison_with_a_text_that_the_declared_type_rules_out_is_a_warning() {
    let tools = r##"{"tools":[{"name":"t","inputSchema":{},"outputSchema":{"type":"object","properties":{
        "state":{"enum":["open","closed",null]},"note":{"type":"string"},"kind":{"anyOf":[{"const":"a"},{"type":"string"}]},
        "items":{"type":"array","items":{"$ref":"#/$defs/item"}}},
        "$defs":{"item":{"properties":{"level":{"anyOf":[{"enum":["low","high"]},{"type":"null"}]}}}}}}]}"##;
    let compared = |guarded: bool, path: &[&str], values: &[&str]| {
        let site = json!({"line": 1, "column": 1, "server": "s", "tool": "t", "complete": true, "guarded": guarded,
            "compared": [{"line": 2, "column": 3, "path": path, "values": values}]});
        checked(tools, site).warnings
    };
    for guarded in [false, true] {
        let warnings = compared(guarded, &["state"], &["Open"]);
        let [warning] = warnings.as_slice() else {
            panic!("{warnings:?}")
        };
        assert_eq!(
            warning.message,
            "`state` of the result of `tools.s.t` is never \"Open\""
        );
        assert_eq!(
            warning.hint.as_deref(),
            Some("its values are \"open\", \"closed\"")
        );
    }
    assert_eq!(
        compared(false, &["items", "[]", "level"], &["medium"]).len(),
        1
    );
    // The controls: possible values, one of several, the empty text, and types that allow others.
    // One more than there are does no harm, unless it has one of them in other letters.
    assert_eq!(compared(false, &["state"], &["Open", "closed"]).len(), 1);
    for (path, values) in [
        (&["state"][..], &["open"][..]),
        (&["state"], &["open", "Open"]),
        (&["state"], &["open", "closed", "merged"]),
        (&["state"], &["done", "closed"]),
        (&["state"], &[""]),
        (&["note"], &["x"]),
        (&["kind"], &["b"]),
        (&["other"], &["x"]),
        (&["items", "[]", "level"], &["high"]),
    ] {
        assert_eq!(compared(false, path, values), [], "{path:?} {values:?}");
    }
}
