//! Invalid arguments are rejected with an error that names the correction.

use std::time::Instant;

use crate::common::{catalog, tool};
use limbeck_domain::{CallCode, CallError, Language, ToolId, limits};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn refused(schema: Value, arguments: Value) -> CallError {
    let result = tool(schema).validate(&arguments.to_string(), Language::Typescript);
    let error = result.expect_err("the arguments are refused");
    assert_eq!(error.code, CallCode::InvalidArguments);
    error
}

fn issues() -> Value {
    json!({
        "type": "object",
        "properties": {
            "owner": {"type": "string"},
            "repo": {"type": "string"},
            "state": {"type": "string", "enum": ["open", "closed"]},
            "per_page": {"type": "integer", "minimum": 1, "maximum": 100},
            "labels": {"type": "array", "items": {"type": "string"}},
            "since": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "filter": {"$ref": "#/$defs/filter"}
        },
        "required": ["owner", "repo"],
        "additionalProperties": false,
        "$defs": {"filter": {"type": "object", "properties": {"author": {"type": "string"}}, "additionalProperties": false}}
    })
}

#[test]
fn a_schema_that_makes_the_library_panic_is_not_checked() {
    let tool = tool(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": "#/$defs/a",
        "unevaluatedProperties": false,
        "$defs": {"a": {"patternProperties": {"^[ab]$": {"properties": {"a": {"$ref": "#"}}}}}}
    }));
    let arguments = r#"{"a":{"a":null}}"#;
    let sent = tool.validate(arguments, Language::Typescript);
    assert_eq!(sent.unwrap(), arguments);
}

#[test]
fn arguments_that_fit_are_sent_as_written_but_for_white_space() {
    let tool = tool(issues());
    let sent = tool
        .validate(
            " { \"repo\" : \"r \\\" : {\" , \"owner\":\"o\",\n\"per_page\": 1e1 } ",
            Language::Typescript,
        )
        .unwrap();
    assert_eq!(sent, r#"{"repo":"r \" : {","owner":"o","per_page":1e1}"#);
    assert_eq!(tool.unchecked(), None);
    let any = crate::common::tool(json!({}));
    let precise =
        r#"{"id":123456789012345678901234567890,"x":0.1000000000000000055511151231257827}"#;
    assert_eq!(
        any.validate(precise, Language::Typescript).unwrap(),
        precise
    );
    assert_eq!(any.validate("", Language::Typescript).unwrap(), "{}");
}

#[test]
fn each_finding_names_the_argument_and_what_was_expected() {
    for (arguments, message, hint) in [
        (
            json!({"owner": "o", "repoo": "r"}),
            "unknown argument `repoo`; missing required argument `repo`",
            Some("did you mean `repo` instead of `repoo`?"),
        ),
        (
            json!({"repo": "r"}),
            "missing required argument `owner`",
            Some("call it as `tools.s.t(args: { owner: string; repo: string; "),
        ),
        (
            json!({"owner": "o", "repo": "r", "state": "opne"}),
            "`state` must be one of \"open\", \"closed\", got string \"opne\"",
            Some("did you mean \"open\"?"),
        ),
        (
            json!({"owner": "o", "repo": "r", "per_page": "5"}),
            "`per_page` must be integer, got string \"5\"",
            None,
        ),
        (
            json!({"owner": "o", "repo": "r", "per_page": 500}),
            "`per_page` must be at most 100, got number 500",
            None,
        ),
        (
            json!({"owner": "o", "repo": "r", "labels": ["a", 2]}),
            "`labels[1]` must be string, got number 2",
            None,
        ),
        (
            json!({"owner": "o", "repo": "r", "since": 5}),
            "`since` must be string or null, got number 5",
            None,
        ),
        (
            json!({"owner": "o", "repo": "r", "filter": {"autor": "x"}}),
            "unknown argument `filter.autor`",
            Some("did you mean `author` instead of `autor`?"),
        ),
    ] {
        let error = refused(issues(), arguments);
        let message_of = |error: &CallError| {
            let mut parts = error
                .message
                .split("; ")
                .map(str::to_owned)
                .collect::<Vec<_>>();
            parts.sort();
            parts.join("; ")
        };
        let mut expected = message.split("; ").map(str::to_owned).collect::<Vec<_>>();
        expected.sort();
        assert_eq!(message_of(&error), expected.join("; "));
        if let Some(hint) = hint {
            assert!(
                error.hint.as_deref().unwrap().starts_with(hint),
                "{:?}",
                error.hint
            );
        }
        assert_eq!(
            (error.server.as_deref(), error.tool.as_deref()),
            (Some("s"), Some("t"))
        );
    }
}

#[test]
fn a_name_that_is_not_listed_passes_unless_the_schema_closes_the_object() {
    let open = json!({"type": "object", "properties": {"repo": {"type": "string"}}});
    assert!(
        tool(open)
            .validate(r#"{"repoo": 1}"#, Language::Typescript)
            .is_ok()
    );
    let named =
        json!({"type": "object", "properties": {"repo": {"type": "string"}}, "required": ["repo"]});
    let error = refused(named, json!({"repository": "x"}));
    assert_eq!(
        error.hint.unwrap(),
        "did you mean `repo` instead of `repository`?"
    );
}

#[test]
fn a_required_name_that_is_listed_twice_is_required_once() {
    let schema = json!({"required": ["a", "b", "a"]});
    let both = r#"{"a":1,"b":2}"#;
    let tool = tool(schema.clone());
    assert_eq!(tool.validate(both, Language::Typescript).unwrap(), both);
    assert_eq!(
        refused(schema, json!({"b": 2})).message,
        "missing required argument `a`"
    );
}

#[test]
fn at_most_five_findings_are_listed_and_the_rest_counted() {
    let many = (0..50)
        .map(|n| (format!("k{n}"), json!(1)))
        .collect::<Map<_, _>>();
    let error = refused(
        json!({"type": "object", "additionalProperties": false}),
        Value::Object(many),
    );
    assert_eq!(error.message.matches("unknown argument").count(), 5);
    assert!(
        error.message.ends_with("; and 45 more"),
        "{}",
        error.message
    );
    assert!(error.hint.unwrap().ends_with("`tools.s.t()`"));
}

#[test]
fn the_nearest_alternative_is_described() {
    let schema = json!({"properties": {"block": {"oneOf": [
        {"type": "object", "properties": {"type": {"const": "text"}, "text": {"type": "string"}}, "required": ["type", "text"]},
        {"type": "object", "properties": {"type": {"const": "image"}, "url": {"type": "string"}, "alt": {"type": "string"}}, "required": ["type", "url", "alt"]},
        {"type": "null"}
    ]}}});
    let error = refused(
        schema.clone(),
        json!({"block": {"type": "text", "text": 5}}),
    );
    assert_eq!(error.message, "`block.text` must be string, got number 5");
    let error = refused(schema, json!({"block": "text"}));
    assert_eq!(
        error.message,
        "`block` must be object or null, got string \"text\""
    );
}

#[test]
fn only_one_object_of_json_is_accepted() {
    let tool = tool(json!({}));
    for (arguments, message) in [
        ("[1]", "arguments must be one object, got an array of 1"),
        ("null", "arguments must be one object, got null"),
        (r#"{"a":1,"a":2}"#, "a key is given twice in one object"),
        (
            r#"{"a":{"b":1,"\u0062":2}}"#,
            "a key is given twice in one object",
        ),
    ] {
        assert_eq!(
            tool.validate(arguments, Language::Typescript)
                .unwrap_err()
                .message,
            message
        );
    }
    assert!(
        tool.validate("{", Language::Typescript)
            .unwrap_err()
            .message
            .starts_with("arguments are not JSON: ")
    );
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    assert!(
        tool.validate(&deep, Language::Typescript)
            .unwrap_err()
            .message
            .contains("recursion limit")
    );
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(limits::CALL_ARGS_BYTES_MAX));
    assert_eq!(
        tool.validate(&large, Language::Typescript)
            .unwrap_err()
            .code,
        CallCode::LimitExceeded
    );
}

/// Hostile schemas, each with arguments and whether they are rejected.
#[test]
fn hostile_schemas_cost_little_and_refuse_only_what_they_surely_refuse() {
    let mut doubling = Map::new();
    let mut chain = Map::new();
    for level in 0..2_000 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        doubling.insert(format!("l{level}"), json!({"anyOf": [next, next]}));
        chain.insert(format!("l{level}"), next);
    }
    let patterns = (0..500)
        .map(|n| {
            (
                format!("p{n}"),
                json!({"pattern": format!("(\\w{{1,50}}{n}){{1,20}}")}),
            )
        })
        .collect::<Map<_, _>>();
    let fifty = "a".repeat(50_000) + "!";
    let tree = (0..100).fold(json!({}), |inner, _| json!({"a": inner}));
    for (schema, arguments, is_refused) in [
        (json!({"$ref": "#"}), json!({}), false),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
            json!({}),
            false,
        ),
        (
            json!({"$ref": "http://127.0.0.1:9/x"}),
            json!({"a": 1}),
            false,
        ),
        (
            json!({"$ref": "file:///etc/passwd", "required": ["a"]}),
            json!({}),
            true,
        ),
        (
            json!({"$schema": "http://127.0.0.1:9/meta", "required": ["a"]}),
            json!({}),
            true,
        ),
        (
            json!({"$id": "http://127.0.0.1:9/id", "$ref": "other", "required": ["a"]}),
            json!({}),
            true,
        ),
        (
            json!({"$ref": "#/$defs/l0", "$defs": doubling}),
            json!({}),
            false,
        ),
        (
            json!({"$ref": "#/$defs/l0", "$defs": chain}),
            json!({}),
            false,
        ),
        (
            json!({"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}}),
            tree,
            false,
        ),
        (
            json!({"properties": {"a": {"pattern": "^(a+)+$"}}}),
            json!({"a": fifty}),
            true,
        ),
        (
            json!({"properties": {"a": {"pattern": "^(?=a)(a|a)*\\1$"}}}),
            json!({"a": fifty}),
            false,
        ),
        (
            json!({"properties": {"a": {"pattern": "(((a{1,100}){1,100}){1,100}){1,100}"}}}),
            json!({"a": fifty}),
            false,
        ),
        (json!({"properties": patterns}), json!({"p499": "!"}), false),
        (
            json!({"type": "no such type", "properties": 5, "required": {"a": 1}}),
            json!({}),
            false,
        ),
        (json!("not a schema"), json!({}), false),
        (json!(false), json!({}), true),
        (
            json!({"required": true, "properties": {"n": {"type": "number", "minimum": 0, "exclusiveMinimum": true}}}),
            json!({"n": -1}),
            true,
        ),
        (
            json!({"properties": {"n": {"type": "string", "nullable": true}}}),
            json!({"n": null}),
            false,
        ),
        (
            json!({"properties": {"n": {"enum": vec!["x"; 60_000]}}}),
            json!({"n": "y"}),
            true,
        ),
        (
            json!({"properties": {"n": {"uniqueItems": true}}}),
            json!({"n": (0..20_000).collect::<Vec<_>>()}),
            false,
        ),
    ] {
        let shown = schema.to_string().chars().take(120).collect::<String>();
        let tool = tool(schema);
        let start = Instant::now();
        tool.unchecked();
        let compiled = start.elapsed();
        let arguments = arguments.to_string();
        let start = Instant::now();
        let result = tool.validate(&arguments, Language::Typescript);
        let checked = start.elapsed();
        assert_eq!(result.is_err(), is_refused, "{shown}: {result:?}");
        println!("{compiled:?} {checked:?} {shown}");
        // Far above what it takes, and far below what it would take unbounded.
        assert!(
            compiled.as_millis() < 60_000 && checked.as_millis() < 20_000,
            "{compiled:?} {checked:?} {shown}"
        );
    }
}

#[test]
fn a_large_value_against_a_branching_schema_is_left_to_the_server() {
    let branches = (0..500).map(|n| json!({"const": n})).collect::<Vec<_>>();
    let schema = json!({"properties": {"n": {"items": {"anyOf": branches}}}});
    let numbers = vec![1_000; 100_000];
    let tool = tool(schema);
    let start = Instant::now();
    assert!(
        tool.validate(&json!({"n": numbers}).to_string(), Language::Typescript)
            .is_ok()
    );
    assert!(start.elapsed().as_millis() < 60_000);
    assert!(
        tool.validate(&json!({"n": [1_000]}).to_string(), Language::Typescript)
            .is_err()
    );
}

#[test]
fn every_captured_tool_is_checked() {
    for tool in catalog().tools() {
        assert_eq!(tool.unchecked(), None, "{}", tool.id());
    }
    let catalog = catalog();
    let read = catalog
        .tool(&ToolId::new("filesystem", "read_text_file"))
        .unwrap();
    assert!(
        read.validate(r#"{"path": "/a"}"#, Language::Typescript)
            .is_ok()
    );
    assert_eq!(
        read.validate("{}", Language::Typescript)
            .unwrap_err()
            .message,
        "missing required argument `path`"
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "#",
            "#/a",
            "#/$defs/a",
            "http://x/y",
            "string",
            "object",
            "array",
            "integer",
            "^a*$",
            "(?=x)"
        ])
        .prop_map(Value::from),
    ];
    let keys = prop_oneof![
        prop::sample::select(vec![
            "type",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "prefixItems",
            "anyOf",
            "oneOf",
            "allOf",
            "not",
            "if",
            "then",
            "else",
            "$ref",
            "$defs",
            "enum",
            "const",
            "pattern",
            "patternProperties",
            "propertyNames",
            "minLength",
            "maximum",
            "format",
            "nullable",
            "$id",
            "$schema",
            "$dynamicRef",
            "unevaluatedProperties",
            "contains",
            "dependentSchemas",
            "dependencies",
            "uniqueItems",
            "description",
            "default",
            "a",
        ])
        .prop_map(str::to_owned),
        ".{0,6}",
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_schema_checks_any_arguments(schema in any_json(), arguments in any_json()) {
        let tool = tool(schema);
        if let Err(error) = tool.validate(&arguments.to_string(), Language::Typescript) {
            prop_assert!(error.message.len() < 8_000, "{}", error.message);
            prop_assert!(!error.message.is_empty());
        }
    }
}
