//! The check of a program reports exactly the calls that would be rejected.

use std::time::Instant;

use crate::common::{catalog, named, server, tool};
use limbeck_catalog::{Catalog, CheckOptions, FindingKind, Findings, ServerTools};
use limbeck_domain::limits::FINDINGS_MAX;
use limbeck_domain::{CallCode, CallError, Language, Mode, ServerName, Sites, ToolId, ToolTarget};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn sites(sites: Value) -> Sites {
    let body = json!({ "sites": sites }).to_string();
    Sites::parse(&body).expect("the sites of a test are within bounds")
}

fn judge(catalog: &Catalog, calls: Value) -> Findings {
    judge_for(Mode::Run, catalog, calls)
}

fn judge_for(mode: Mode, catalog: &Catalog, calls: Value) -> Findings {
    let caller = CheckOptions {
        language: Language::Python,
        mode,
        refuses: &|_| None,
    };
    catalog.check(&sites(calls), &caller)
}

fn warnings(findings: &Findings) -> Vec<&str> {
    let warnings = findings.warnings.iter();
    warnings.map(|warning| warning.message.as_str()).collect()
}

/// A call of `server.tool` with constant arguments.
fn call(server: &str, tool: &str, arguments: Value) -> Value {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let arguments: Vec<Value> = arguments
        .into_iter()
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    json!({"line": 3, "column": 7, "server": server, "tool": tool, "arguments": arguments, "complete": true})
}

fn messages(findings: &Findings) -> Vec<&str> {
    let errors = findings.errors.iter();
    errors.map(|error| error.message.as_str()).collect()
}

#[test]
fn a_call_that_would_be_rejected_is_reported_with_the_text_of_the_rejection() {
    let catalog = catalog();
    for (site, message, hint) in [
        (
            call("filesystm", "read_text_file", json!({"path": "a"})),
            "no server is called `filesystm`",
            "servers with a similar name: `filesystem`, try `tools.filesystem.read_text_file`",
        ),
        (
            call("filesystem", "read_txt_file", json!({"path": "a"})),
            "server `filesystem` has no tool `read_txt_file`",
            "try `tools.filesystem.read_text_file`, `tools.filesystem.read_file`, ",
        ),
        (
            call("filesystem", "read_text_file", json!({"head": 3})),
            "tools.filesystem.read_text_file: missing required argument `path`",
            "call it as `tools.filesystem.read_text_file(*, path: str, tail: float = ..., head: float = ...)`",
        ),
        (
            call(
                "filesystem",
                "read_text_file",
                json!({"path": "a", "head": "3"}),
            ),
            "tools.filesystem.read_text_file: `head` must be number, got string \"3\"",
            "call it as ",
        ),
        (
            call(
                "everything",
                "get-annotated-message",
                json!({"messageType": "eror"}),
            ),
            "tools.everything[\"get-annotated-message\"]: `messageType` must be one of \"error\", \"success\", \"debug\", got string \"eror\"",
            "did you mean \"error\"?",
        ),
    ] {
        let findings = judge(&catalog, json!([site]));
        assert_eq!(messages(&findings), [message]);
        let error = &findings.errors[0];
        assert_eq!((error.line, error.column), (3, 7));
        let reported = error.hint.as_deref().unwrap();
        assert!(reported.starts_with(hint), "{reported}");
    }
    let right = call(
        "filesystem",
        "read_text_file",
        json!({"path": "a", "head": 3}),
    );
    assert_eq!(judge(&catalog, json!([right])), Findings::default());
}

#[test]
fn names_are_resolved_as_in_calls() {
    let catalog = catalog();
    let alias = call("Filesystem", "readTextFile", json!({"path": "a"}));
    let mut full = call("", "mcp__filesystem__read_text_file", json!({"path": "a"}));
    full.as_object_mut().unwrap().remove("server");
    let mut missing = full.clone();
    missing["tool"] = json!("mcp__filesystem__read_it");
    let findings = judge(&catalog, json!([alias, full, missing]));
    assert_eq!(
        messages(&findings),
        ["server `filesystem` has no tool `read_it`"]
    );
    assert_eq!(findings.drawn_from, [ServerName::from("filesystem")]);
}

#[test]
fn unknown_parts_of_a_call_are_never_an_error() {
    let catalog = catalog();
    let of = |arguments: Value, complete: bool| json!([{"line": 1, "column": 1, "server": "filesystem", "tool": "read_text_file", "arguments": arguments, "complete": complete}]);
    for (arguments, complete, is_wrong) in [
        (json!([{"name": "path"}]), true, false),
        (json!([]), false, false),
        (json!([]), true, true),
        (json!([{"name": "head", "value": 3}]), false, false),
        (json!([{"name": "head", "value": "3"}]), false, true),
        (json!([{"name": "path", "value": null}]), true, true),
        (
            json!([{"name": "path", "value": 1}, {"name": "path"}]),
            true,
            false,
        ),
    ] {
        let findings = judge(&catalog, of(arguments.clone(), complete));
        assert_eq!(
            !findings.errors.is_empty(),
            is_wrong,
            "{arguments} {findings:?}"
        );
    }
}

#[test]
fn positional_arguments_and_a_missing_await_are_reported_with_a_correction() {
    let catalog = catalog();
    let mut site = call("filesystem", "read_text_file", json!({}));
    site["positional"] = json!(1);
    site["awaited"] = json!(false);
    let findings = judge(&catalog, json!([site]));
    assert_eq!(
        messages(&findings),
        [
            "tools.filesystem.read_text_file takes named arguments, or one dictionary of them",
            "the call of `tools.filesystem.read_text_file` is not awaited, so its result is not available yet",
        ]
    );
    let hints: Vec<_> = findings
        .errors
        .iter()
        .map(|error| error.hint.as_deref())
        .collect();
    assert_eq!(
        hints,
        [
            Some("write `tools.filesystem.read_text_file(path=value)`"),
            Some("write `await tools.filesystem.read_text_file(…)`"),
        ]
    );
}

#[test]
fn a_tool_the_caller_may_not_use_is_refused_and_never_suggested() {
    let all = Catalog::new(vec![
        named("a", &["read_one", "read_two"]),
        named("b", &["t"]),
    ]);
    let may_call = |id: &ToolId| &*id.tool == "read_two";
    let catalog = all.within(|server| server.as_str() == "a", may_call);
    let caller = CheckOptions {
        language: Language::Python,
        mode: Mode::Run,
        refuses: &|target: &ToolTarget| {
            let is_mine = ["read_two", "read_to"].contains(&target.tool.as_str());
            (!is_mine).then(|| CallError::new(CallCode::Denied, "not yours"))
        },
    };
    let judge = |server: &str, tool: &str| {
        catalog.check(&sites(json!([call(server, tool, json!({}))])), &caller)
    };
    // One that exists, in two spellings, and others that do not.
    for (server, tool) in [
        ("a", "read_one"),
        ("a", "readOne"),
        ("a", "read_none"),
        ("b", "t"),
        ("c", "t"),
    ] {
        let findings = judge(server, tool);
        assert_eq!(messages(&findings), ["not yours"], "{server}.{tool}");
        assert_eq!(findings.errors[0].kind, FindingKind::Denied);
    }
    let unknown = judge("a", "read_to");
    assert_eq!(
        unknown.errors[0].hint.as_deref(),
        Some("try `tools.a.read_two`")
    );
    assert_eq!(judge("a", "read_two"), Findings::default());
}

#[test]
fn calls_of_a_server_without_a_list_are_not_checked_until_it_is_listed() {
    let unlisted = ServerTools::new(ServerName::from("later"), Vec::new(), None);
    let catalog = Catalog::new(vec![named("a", &["t"]), unlisted]);
    let calls = json!([
        call("later", "anything", json!({"x": 1})),
        {"line": 9, "column": 1, "tool": "mcp__later__anything", "complete": true},
        call("a", "t", json!({})),
        call("b", "t", json!({})),
    ]);
    assert_eq!(
        catalog.servers_needed(&sites(calls.clone())),
        [ServerName::from("later")]
    );
    let findings = judge(&catalog, calls);
    assert_eq!(messages(&findings), ["no server is called `b`"]);
    assert_eq!(
        warnings(&findings),
        ["calls of server `later` were not checked: its tools are not known yet"]
    );
}

#[test]
fn a_name_that_is_accepted_and_not_listed_is_a_warning() {
    let open = json!({"name": "t", "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}}});
    let list = json!({"tools": [open]}).to_string();
    let catalog = Catalog::new(vec![server("s", &list)]);
    let calls = || json!([call("s", "t", json!({"titel": "x"}))]);
    // In a run the call itself warns.
    assert_eq!(judge(&catalog, calls()), Findings::default());
    let findings = judge_for(Mode::Check, &catalog, calls());
    assert_eq!(findings.errors, []);
    assert_eq!(
        warnings(&findings),
        ["`tools.s.t` declares no argument `titel`; did you mean `title`?"]
    );
}

#[test]
fn findings_come_by_line_and_beyond_a_number_are_counted() {
    let catalog = catalog();
    let wrong = (0..60).rev().map(|line| {
        let mut site = call("filesystem", "no_such_tool", json!({}));
        site["line"] = json!(line + 1);
        site
    });
    let findings = judge(&catalog, wrong.collect());
    assert_eq!(findings.errors.len(), FINDINGS_MAX + 1);
    let lines: Vec<u32> = findings.errors.iter().map(|error| error.line).collect();
    assert_eq!(lines, (1..=21).collect::<Vec<u32>>());
    assert_eq!(
        findings.errors[FINDINGS_MAX].message,
        "40 more calls have errors"
    );
    let text = serde_json::to_string(&findings).unwrap();
    assert!(
        text.starts_with(r#"{"errors":[{"line":1,"column":7,"kind":"unknown_tool","message":""#),
        "{text}"
    );
}

#[test]
fn the_calls_of_a_long_program_are_checked_soon() {
    let catalog = catalog();
    let tools: Vec<_> = catalog.tools().cloned().collect();
    let calls: Vec<Value> = tools
        .iter()
        .cycle()
        .take(100)
        .map(|tool| {
            let id = tool.id();
            let mut site = call(
                id.server.as_str(),
                &id.tool,
                json!({"path": "x", "page": 1}),
            );
            site["complete"] = json!(false);
            site
        })
        .collect();
    let sites = sites(json!(calls));
    let caller = CheckOptions {
        language: Language::Python,
        mode: Mode::Run,
        refuses: &|_| None,
    };
    let mut took = Vec::new();
    for _ in 0..20 {
        let start = Instant::now();
        let findings = catalog.check(&sites, &caller);
        took.push(start.elapsed());
        assert!(findings.errors.len() <= FINDINGS_MAX + 1);
    }
    // The first compiles a hundred schemas, which are kept.
    let first = took[0];
    took.sort();
    println!("100 sites: first {first:?}, median {:?}", took[10]);
    assert!(took[10].as_millis() < 5_000, "{took:?}");
}

#[test]
fn hostile_sites_are_answered_in_few_words() {
    let many = (0..2_000)
        .map(|n| format!("tool_number_{n}"))
        .collect::<Vec<_>>();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let catalog = Catalog::new(vec![named("s", &many), named("t", &many)]);
    let calls = (0..500).map(|n| {
        let arguments = json!({"x".repeat(100): 1, "\u{202e}": "\u{0}"});
        call(
            "s",
            &format!("\u{202e}tol_numbr_{n}{}", "y".repeat(100)),
            arguments,
        )
    });
    let start = Instant::now();
    let findings = judge(&catalog, calls.collect());
    println!("500 unknown tools of 4,000: {:?}", start.elapsed());
    let text = serde_json::to_string(&findings).unwrap();
    assert!(text.len() < 64 << 10, "{}", text.len());
    assert!(!text.contains('\u{202e}'));
    assert!(start.elapsed().as_millis() < 60_000);
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        prop::sample::select(vec![0.5, 1.0, 2.5]).prop_map(Value::from),
        "[ab]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            any_object(inner),
        ]
    })
}

fn any_object(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-d]", values, 0..4)
        .prop_map(|pairs| Value::Object(pairs.into_iter().collect()))
}

/// Schemas with every keyword that validates, over the same few names and values. References lead to `#/$defs/a` when it
/// exists.
fn any_schema(refers: bool) -> impl Strategy<Value = Value> {
    let reference = if refers {
        json!({"$ref": "#/$defs/a"})
    } else {
        json!({})
    };
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "string", "integer", "number", "boolean", "null", "object", "array"
        ])
        .prop_map(|name| json!({ "type": name })),
        prop::collection::vec(any_value(), 1..4).prop_map(|values| json!({ "enum": values })),
        any_value().prop_map(|value| json!({ "const": value })),
        Just(json!({"pattern": "^a"})),
        Just(json!({"minimum": 0, "exclusiveMaximum": 2})),
        Just(json!({"minLength": 1, "maxItems": 1})),
        Just(reference),
        any::<bool>().prop_map(Value::from),
        Just(json!({"type": "string", "nullable": true})),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let named = prop::collection::btree_map("[a-d]", inner.clone(), 0..4)
            .prop_map(|pairs| Value::Object(pairs.into_iter().collect()));
        let list = prop::collection::vec(inner.clone(), 1..3).prop_map(Value::from);
        let names = prop::collection::btree_set("[a-d]", 0..3).prop_map(|names| json!(names));
        let other = prop_oneof![Just(json!(false)), inner.clone()];
        let keyword = prop_oneof![
            4 => named.clone().prop_map(|value| ("properties", value)),
            2 => names.clone().prop_map(|value| ("required", value)),
            2 => other.prop_map(|value| ("additionalProperties", value)),
            1 => inner.clone().prop_map(|value| ("patternProperties", json!({"^[ab]$": value}))),
            1 => Just(("properties", json!({"a": {"$ref": "#"}, "b": {"type": "string"}}))),
            1 => list.clone().prop_map(|value| ("allOf", value)),
            1 => list.clone().prop_map(|value| ("anyOf", value)),
            1 => list.prop_map(|value| ("oneOf", value)),
            1 => inner.clone().prop_map(|value| ("not", value)),
            1 => inner.clone().prop_map(|value| ("if", value)),
            1 => inner.clone().prop_map(|value| ("then", value)),
            1 => inner.clone().prop_map(|value| ("else", value)),
            1 => named.prop_map(|value| ("dependentSchemas", value)),
            1 => names.prop_map(|value| ("dependentRequired", json!({ "a": value }))),
            1 => Just(("propertyNames", json!({"pattern": "[abc]"}))),
            1 => (0..4).prop_map(|count| ("minProperties", json!(count))),
            1 => (0..3).prop_map(|count| ("maxProperties", json!(count))),
            1 => Just(("unevaluatedProperties", json!(false))),
            1 => inner.clone().prop_map(|value| ("items", value)),
            1 => Just(("type", json!("object"))),
        ];
        prop::collection::vec(keyword, 1..5).prop_map(move |keywords| {
            let keywords = keywords.into_iter();
            keywords
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<Map<String, Value>>()
                .into()
        })
    })
}

/// A schema of arguments with a definition to refer to, in one of the dialects with different rules for references.
fn any_root() -> impl Strategy<Value = Value> {
    let dialect = prop::sample::select(vec![
        None,
        Some("http://json-schema.org/draft-07/schema#"),
        Some("https://json-schema.org/draft/2020-12/schema"),
    ]);
    let parts = (any_schema(true), any_schema(false), dialect, any::<bool>());
    parts.prop_map(|(root, defined, dialect, refers)| {
        let mut root = match root {
            Value::Object(map) => map,
            other => Map::from_iter([("allOf".to_owned(), json!([other]))]),
        };
        root.insert("$defs".into(), json!({ "a": defined }));
        if refers {
            root.insert("$ref".into(), json!("#/$defs/a"));
        }
        if let Some(dialect) = dialect {
            root.insert("$schema".into(), json!(dialect));
        }
        Value::Object(root)
    })
}

/// The call site of a call with `arguments`, without the values of those in `hidden` and without the names of those in
/// `unseen`.
fn seen(arguments: &Map<String, Value>, hidden: u8, unseen: u8, complete: bool) -> Value {
    let bit = |mask: u8, at: usize| mask & (1 << (at % 8)) != 0;
    let given: Vec<Value> = arguments
        .iter()
        .enumerate()
        .filter(|(at, _)| complete || !bit(unseen, *at))
        .map(|(at, (name, value))| match bit(hidden, at) {
            true => json!({ "name": name }),
            false => json!({ "name": name, "value": value }),
        })
        .collect();
    json!([{"line": 1, "column": 1, "server": "s", "tool": "t", "arguments": given, "complete": complete}])
}

#[test]
fn a_schema_on_which_the_library_panicked_is_judged_as_its_calls_are() {
    // `a` and `b` have this schema again. With the rule about all other names the library panicked on the first value.
    let schema = json!({
        "$ref": "#/$defs/a",
        "unevaluatedProperties": false,
        "$defs": {"a": {"additionalProperties": false, "patternProperties": {"^[ab]$": {"properties": {
            "a": {"$ref": "#"}, "b": {"type": "string"},
        }}}}}
    });
    let list = json!({"tools": [{"name": "t", "inputSchema": schema}]}).to_string();
    let catalog = Catalog::new(vec![server("s", &list)]);
    for (arguments, is_accepted) in [
        (json!({"a": null, "b": {"a": null}, "c": null}), false),
        (json!({"a": null, "b": {"a": null}}), true),
    ] {
        let sent = tool(schema.clone()).validate(&arguments.to_string(), Language::Python);
        assert_eq!(sent.is_ok(), is_accepted, "{sent:?}");
        let arguments = arguments.as_object().unwrap();
        // All of the call, and a call with more names, of one of which the value is not known.
        for site in [seen(arguments, 0, 0, true), seen(arguments, 2, 0, false)] {
            let findings = judge(&catalog, site);
            assert_eq!(findings.errors.is_empty(), is_accepted, "{findings:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, max_global_rejects: 30_000, ..ProptestConfig::default() })]

    #[test]
    fn constants_are_judged_exactly_as_the_call_would_be(schema in any_root(), arguments in any_object(any_value())) {
        let tool = tool(schema.clone());
        let list = json!({"tools": [{"name": "t", "inputSchema": schema}]}).to_string();
        let catalog = Catalog::new(vec![server("s", &list)]);
        let findings = judge(&catalog, json!([call("s", "t", arguments.clone())]));
        match tool.validate(&arguments.to_string(), Language::Python) {
            Ok(_) => prop_assert_eq!(findings.errors, []),
            Err(error) => {
                prop_assert_eq!(findings.errors.len(), 1);
                let message = &findings.errors[0].message;
                let reported = message.strip_prefix("tools.s.t: ").unwrap_or(message);
                prop_assert!(error.message.starts_with(reported.trim_end_matches('…')), "{}\n{}", reported, error.message);
            }
        }
    }

    #[test]
    fn a_call_that_would_be_accepted_is_never_an_error(
        schema in any_root(), arguments in any_object(any_value()), hidden in any::<u8>(), unseen in any::<u8>(), complete in any::<bool>(),
    ) {
        let tool = tool(schema.clone());
        prop_assume!(tool.validate(&arguments.to_string(), Language::Python).is_ok());
        let list = json!({"tools": [{"name": "t", "inputSchema": schema}]}).to_string();
        let catalog = Catalog::new(vec![server("s", &list)]);
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let findings = judge(&catalog, seen(&arguments, hidden, unseen, complete));
        prop_assert_eq!(findings.errors, []);
    }
}
