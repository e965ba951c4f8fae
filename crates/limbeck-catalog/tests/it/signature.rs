//! Signatures of schemas of all kinds are correct and stay within bounds.

use crate::common::{catalog, named, tool, tool_with_output};
use limbeck_catalog::{Catalog, Detail};
use limbeck_domain::{Language, ServerName, ToolId};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// The type of `args` for a schema of one property `x`.
fn type_of(schema: Value) -> String {
    let signature = tool(json!({"type": "object", "properties": {"x": schema}, "required": ["x"]}))
        .signature(Language::Typescript)
        .to_owned();
    let start = "tools.s.t(args: { x: ";
    let end = " }): Promise<unknown>";
    let at = signature.find(end).unwrap_or_else(|| panic!("{signature}"));
    assert!(signature.starts_with(start), "{signature}");
    signature[start.len()..at].to_owned()
}

#[test]
fn every_kind_of_schema_has_its_type() {
    for (schema, expected) in [
        (json!({"type": "string", "format": "date-time"}), "string"),
        (json!({"type": "integer"}), "number"),
        (json!({"type": ["string", "null"]}), "string | null"),
        (json!({"type": "string", "nullable": true}), "string | null"),
        (
            json!({"enum": ["open", "closed", 1, null, true]}),
            r#""open" | "closed" | 1 | null | true"#,
        ),
        (json!({"const": "a\"b"}), r#""a\"b""#),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            "string[]",
        ),
        (
            json!({"type": "array", "items": {"enum": ["a", "b"]}}),
            r#"("a" | "b")[]"#,
        ),
        (json!({"type": "array"}), "unknown[]"),
        (
            json!({"prefixItems": [{"type": "string"}, {"type": "number"}], "items": false, "minItems": 1}),
            "[string, number?]",
        ),
        (
            json!({"items": [{"type": "string"}], "minItems": 1}),
            "[string, ...unknown[]]",
        ),
        (json!({"type": "object"}), "Record<string, unknown>"),
        (
            json!({"type": "object", "additionalProperties": {"type": "number"}}),
            "Record<string, number>",
        ),
        (
            json!({"type": "object", "properties": {"a-b": {"type": "string"}}}),
            r#"{ "a-b"?: string }"#,
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "number"}}),
            "{ a?: string; [key: string]: unknown /* others: number */ }",
        ),
        (
            json!({"type": "object", "required": ["b"]}),
            "{ b: unknown; [key: string]: unknown }",
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
            "string | string[]",
        ),
        (
            json!({"oneOf": [{"type": "string"}, {"type": "null"}, {"type": "string"}]}),
            "string | null",
        ),
        (json!({"anyOf": [{"type": "string"}, {}]}), "unknown"),
        (
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "object", "properties": {"b": {"type": "number"}}}]}),
            "{ a?: string; b?: number }",
        ),
        (
            json!({"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            "{ a?: unknown } & ({ a: unknown } | { b: unknown })",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "allOf": [{"required": ["a"]}]}),
            "{ a: string }",
        ),
        (json!({"type": "string", "enum": ["a", null]}), r#""a""#),
        (
            json!({"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false}),
            "Record<string, string>",
        ),
        (
            json!({"type": "object", "properties": {}}),
            "Record<string, unknown>",
        ),
        (json!(true), "unknown"),
        (json!(false), "never"),
        (json!({"type": "nonsense"}), "unknown"),
    ] {
        assert_eq!(type_of(schema.clone()), expected, "{schema}");
    }
}

#[test]
fn values_that_only_a_description_names_are_a_comment_of_the_signature() {
    let tool = tool(
        json!({"type": "object", "required": ["kind"], "properties": {
            "kind": {"type": "string", "description": "Either 'local' or 'remote'."},
            "name": {"type": "string", "description": "Its name, e.g. 'main' or 'next'."},
            "sort": {"type": "string", "enum": ["asc", "desc"], "description": "'asc' or 'desc'"}
        }}),
    );
    let signature = |language| tool.signature(language).to_owned();
    assert_eq!(
        signature(Language::Typescript),
        "tools.s.t(args: { kind: string /* such as \"local\", \"remote\" */; name?: string; sort?: \"asc\" | \"desc\" }): \
         Promise<unknown> // usually text"
    );
    assert_eq!(
        signature(Language::Python),
        "tools.s.t(*, kind: Annotated[str, 'such as \"local\", \"remote\"'], name: str = ..., \
         sort: Literal[\"asc\", \"desc\"] = ...) -> Any  # usually text"
    );
    // The whole declaration has the description itself.
    let whole = tool.declaration(Detail::Full, Language::Typescript);
    assert!(!whole.contains("such as"), "{whole}");
}

#[test]
fn references_are_followed_inside_the_schema_and_cut_where_they_recur_or_leave() {
    let schema = json!({
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/Node"}, "far": {"$ref": "https://example.com/x#/Far"}},
        "$defs": {"Node": {"type": "object", "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}}
    });
    assert_eq!(
        tool(schema).signature(Language::Typescript),
        "tools.s.t(args?: { root?: { name?: string; children?: unknown[] /* Node again */ }; far?: unknown /* Far, defined elsewhere */ }): \
         Promise<unknown> // usually text"
    );
}

#[test]
fn a_type_that_contains_itself_has_a_name_in_a_declaration() {
    let schema = json!({
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": {"type": "object", "description": "A place.", "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}}
    });
    let tool = tool_with_output(schema.clone(), schema);
    let declared = tool.declaration(Detail::Full, Language::Typescript);
    let (_, types) = declared.split_once("*/\n").unwrap();
    assert_eq!(
        types,
        "/** A place. */\ntype Node = {\n  name?: string;\n  children?: Node[];\n};\n\
         tools.s.t(args?: {\n  root?: Node;\n}): Promise<{\n  root?: Node;\n}>"
    );
}

#[test]
fn a_reference_that_leads_to_itself_and_nothing_else_is_cut() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "properties": {"x": {"$ref": "#/$defs/a"}}}),
        json!({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "string"}]}}, "properties": {"x": {"$ref": "#/$defs/a"}}}),
    ] {
        let tool = tool_with_output(schema.clone(), schema);
        for text in [
            tool.signature(Language::Typescript).to_owned(),
            tool.declaration(Detail::Full, Language::Typescript),
        ] {
            assert!(text.contains("again */"), "{text}");
        }
    }
}

#[test]
fn parts_and_references_inside_one_another_without_end_are_cut() {
    let mut definitions = Map::new();
    for level in 0..32 {
        let mut schema = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        for _ in 0..55 {
            schema = json!({"allOf": [schema, {"type": "object", "properties": {"a": {"type": "string"}}}]});
        }
        definitions.insert(format!("l{level}"), schema);
    }
    definitions.insert("l32".into(), json!({"type": "string"}));
    let schema = json!({"$defs": definitions, "$ref": "#/$defs/l0"});
    let tool = tool_with_output(schema.clone(), schema);
    for language in Language::ALL {
        assert!(tool.signature(language).len() <= 5 << 10);
        assert!(tool.declaration(Detail::Full, language).len() <= 60 << 10);
    }
}

#[test]
fn inherited_members_of_objects_are_not_declared_with_another_type() {
    let kind = type_of(
        json!({"type": "object", "properties": {"toString": {"type": "string"}, "a": {"type": "string"}}}),
    );
    assert_eq!(kind, "{ toString?: unknown /* string */; a?: string }");
}

#[test]
fn a_declared_output_is_promised() {
    let tool = tool_with_output(
        json!({"type": "object", "properties": {}}),
        json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}),
    );
    assert_eq!(
        tool.signature(Language::Typescript),
        "tools.s.t(): Promise<{ ok: boolean }>"
    );
}

#[test]
fn a_captured_tool_reads_as_a_person_would_write_it() {
    let catalog = catalog();
    let tool = catalog
        .tool(&ToolId::new("filesystem", "read_text_file"))
        .unwrap();
    assert_eq!(
        tool.signature(Language::Typescript),
        "tools.filesystem.read_text_file(args: { path: string; tail?: number; head?: number }): Promise<{ content: string }>"
    );
    let full = tool.declaration(Detail::Full, Language::Typescript);
    assert!(
        full.contains(
            "  /** If provided, returns only the last N lines of the file */\n  tail?: number;\n"
        ),
        "{full}"
    );
    assert!(
        tool.declaration(Detail::Brief, Language::Typescript)
            .starts_with("tools.filesystem.read_text_file // ")
    );
}

#[test]
fn every_captured_tool_fits_its_bounds() {
    for tool in catalog().tools() {
        for language in Language::ALL {
            let id = tool.id();
            let signature = tool.signature(language);
            assert!(signature.len() <= 5 << 10, "{id}");
            assert!(!signature.contains('\n'), "{id}");
            let lengths = [Detail::Brief, Detail::Full]
                .map(|detail| tool.declaration(detail, language).len());
            assert!(
                lengths[0] <= 600 && lengths[1] <= 56 << 10,
                "{id}: {lengths:?}"
            );
        }
    }
}

#[test]
fn a_schema_too_large_for_a_line_is_cut_with_a_note() {
    let wide = (0..3_000)
        .map(|n| (format!("property_{n}"), json!({"type": "string"})))
        .collect::<Map<_, _>>();
    let tool = tool(json!({"type": "object", "properties": wide, "required": ["property_2999"]}));
    let signature = tool.signature(Language::Typescript);
    assert!(signature.len() < 3_000, "{}", signature.len());
    assert!(signature.contains("more */"), "{signature}");
    assert!(signature.starts_with("tools.s.t(args: {"), "{signature}");
    let many = type_of(json!({"enum": (0..500).map(|n| format!("value {n}")).collect::<Vec<_>>()}));
    assert!(many.starts_with("string /* one of 500: "), "{many}");
}

#[test]
fn hostile_names_and_texts_stay_inside_their_quotes_and_comments() {
    let evil = "@ts-ignore */ }); process.exit() /*\n\u{2028}\u{202e}";
    let schema = json!({
        "type": "object",
        "description": evil,
        "properties": {evil: {"description": evil, "default": evil, "enum": [evil]}, "__proto__": {"$ref": evil}, "r": {"$ref": format!("#/{evil}")}},
    });
    let tool = tool_with_output(schema, json!({"properties": {"a": {"const": evil}}}));
    for text in [
        tool.signature(Language::Typescript).to_owned(),
        tool.declaration(Detail::Full, Language::Typescript),
    ] {
        assert!(!text.contains(['\u{2028}', '\u{202e}']), "{text}");
        assert!(!text.contains("/** @ts-"), "{text}");
        let code = without_strings_and_comments(&text);
        assert!(!code.contains("process"), "{text}\n{code}");
    }
}

/// The text without literals and comments.
fn without_strings_and_comments(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("/*") {
            let end = rest.find("*/").map_or(rest.len(), |end| end + 2);
            rest = &rest[end..];
        } else if c == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            rest = &rest[end.map_or(rest.len(), |end| end + 2)..];
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    code
}

#[test]
fn a_server_has_a_line_even_without_instructions() {
    let catalog = Catalog::new(vec![
        named("a", &["one", "two"]),
        named("b", &["1", "2", "3", "4", "5"]),
    ]);
    let lines = catalog
        .servers()
        .map(|server| server.line())
        .collect::<Vec<_>>();
    assert_eq!(lines, ["one, two", "1, 2, 3, 4, …"]);
    // Instructions that do not describe the server tell less than its tools.
    for (instructions, line) in [
        (
            "# Server\n\nAudience: These instructions are written for an LLM.",
            "t",
        ),
        ("Azure MCP server usage rules:\n- Use it.", "t"),
        ("## Configuration\n\n- **Database**: In-memory", "t"),
        ("1. Call `t` first.", "t"),
        ("Follow these instructions.", "t"),
        // The controls.
        (
            "# Server\n\nUse this server to search the Web. More.",
            "Use this server to search the Web.",
        ),
        ("Runs 3 models: small, large", "Runs 3 models: small, large"),
    ] {
        let list =
            json!({"instructions": instructions, "tools": [{"name": "t", "inputSchema": {}}]});
        let server = crate::common::server("s", &list.to_string());
        assert_eq!(server.line(), line, "{instructions}");
    }
    let everything = crate::common::catalog();
    let line = everything
        .server(&ServerName::from("github"))
        .unwrap()
        .line();
    assert!(!line.is_empty() && line.len() < 130, "{line}");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        prop::sample::select(vec![
            "#",
            "#/a",
            "#/properties/a",
            "string",
            "object",
            "array",
            "null"
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
            "$ref",
            "$defs",
            "enum",
            "const",
            "nullable",
            "description",
            "default",
            "minItems",
            "a",
        ])
        .prop_map(str::to_owned),
        ".{0,6}",
    ];
    leaf.prop_recursive(6, 120, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..8)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_as_a_schema_gives_a_bounded_text(input in any_json(), output in any_json(), description in ".{0,40}") {
        let tool = tool_with_output(json!({"allOf": [input.clone()], "description": description, "properties": {"p": input}}), output);
        for language in Language::ALL {
            prop_assert!(tool.signature(language).len() <= 5 << 10);
            prop_assert!(!tool.signature(language).contains('\n'));
            prop_assert!(tool.declaration(Detail::Full, language).len() <= 60 << 10);
        }
        prop_assert_eq!(tool.hash().len(), 64);
    }
}
