//! Signatures in Python parse, and have the same types as those in TypeScript.

use crate::common::{catalog, tool, tool_with_output};
use limbeck_catalog::Detail;
use limbeck_domain::{Language, ToolId};
use serde_json::{Value, json};

/// The type of `x` for a schema of one property `x`.
fn type_of(schema: Value) -> String {
    let tool = tool(json!({"type": "object", "properties": {"x": schema}, "required": ["x"]}));
    let signature = tool.signature(Language::Python);
    let middle = signature
        .strip_prefix("tools.s.t(*, x: ")
        .and_then(|rest| rest.split_once(") -> Any  # usually text"));
    let (kind, _) = middle.unwrap_or_else(|| panic!("{signature}"));
    kind.to_owned()
}

fn signature(schema: Value) -> String {
    let whole = tool(schema).signature(Language::Python).to_owned();
    let (call, _) = whole
        .split_once(" -> ")
        .unwrap_or_else(|| panic!("{whole}"));
    call.to_owned()
}

#[test]
fn every_kind_of_schema_has_its_type() {
    for (schema, expected) in [
        (json!({"type": "string", "format": "date-time"}), "str"),
        (json!({"type": "integer"}), "int"),
        (json!({"type": ["integer", "number"]}), "float"),
        (
            json!({"type": "integer", "minimum": 1, "maximum": 5}),
            "int",
        ),
        (json!({"type": ["null", "string"]}), "str | None"),
        (json!({"type": "boolean", "nullable": true}), "bool | None"),
        (
            json!({"enum": ["open", 1, null, "closed", true, 1.5]}),
            r#"Literal["open", 1, "closed", True] | float | None"#,
        ),
        (json!({"const": "a\"b"}), r#"Literal["a\"b"]"#),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            "list[str]",
        ),
        (
            json!({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}}),
            "list[str | float]",
        ),
        (json!({"type": "array"}), "list"),
        (
            json!({"prefixItems": [{"type": "string"}, {"type": "number"}], "items": false}),
            "list[str | float]",
        ),
        (
            json!({"items": [{"type": "string"}], "minItems": 1}),
            "list",
        ),
        (json!({"type": "object"}), "dict"),
        (
            json!({"type": "object", "additionalProperties": {"type": "number"}}),
            "dict[str, float]",
        ),
        (
            json!({"type": "object", "properties": {}, "additionalProperties": false}),
            "{}",
        ),
        (
            json!({"type": "object", "properties": {"a-b": {"type": "string"}, "c?": {}}, "required": ["c?"]}),
            r#"{"a-b?": str, "c\x3f": Any}"#,
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "number"}}),
            r#"{"a?": str, ...: float}"#,
        ),
        (
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "object", "properties": {"a": {}, "b": {}}}]}),
            r#"{"a?": str, "b?": Any}"#,
        ),
        (json!(true), "Any"),
        (json!(false), "Never"),
        (json!({"type": "nonsense"}), "Any"),
        (
            json!({"$ref": "https://example.com/x#/Far"}),
            r#"Annotated[Any, "Far, defined elsewhere"]"#,
        ),
    ] {
        assert_eq!(type_of(schema.clone()), expected, "{schema}");
    }
}

#[test]
fn arguments_are_keywords_unless_a_name_cannot_be_one() {
    for (schema, expected) in [
        (json!({"type": "object", "properties": {}}), "tools.s.t()"),
        (json!({"type": "object"}), "tools.s.t(**others: Any)"),
        (
            json!({"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["b"]}),
            "tools.s.t(*, a: str = ..., b: int)",
        ),
        (
            json!({"properties": {"a-b": {"type": "integer"}, "from": {"type": "string"}}, "required": ["a-b"]}),
            r#"tools.s.t(args: {"a-b": int, "from?": str}, /)"#,
        ),
        (
            json!({"properties": {"class": {"type": "string"}}}),
            r#"tools.s.t(args: {"class?": str} = ..., /)"#,
        ),
        (
            json!({"properties": {"a": {}}, "additionalProperties": {"type": "string"}}),
            "tools.s.t(*, a: Any = ..., **others: str)",
        ),
        (
            json!({"oneOf": [{"type": "object", "properties": {"a": {}}, "required": ["a"]}, {"type": "object", "properties": {"b": {}}, "required": ["b"]}]}),
            r#"tools.s.t(args: {"a": Any} | {"b": Any}, /)"#,
        ),
    ] {
        assert_eq!(signature(schema.clone()), expected, "{schema}");
    }
}

#[test]
fn recursion_is_cut_where_it_recurs() {
    let schema = json!({
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}}
    });
    assert_eq!(
        signature(schema),
        r#"tools.s.t(*, root: {"children?": list[Annotated[Any, "Node again"]]} = ...)"#
    );
}

#[test]
fn a_captured_tool_reads_as_a_person_would_write_it() {
    let catalog = catalog();
    let tool = catalog
        .tool(&ToolId::new("filesystem", "read_text_file"))
        .unwrap();
    assert_eq!(
        tool.signature(Language::Python),
        r#"tools.filesystem.read_text_file(*, path: str, tail: float = ..., head: float = ...) -> {"content": str}"#
    );
    let full = tool.declaration(Detail::Full, Language::Python);
    assert!(
        full.contains(
            "    # If provided, returns only the last N lines of the file\n    tail: float = ...,\n"
        ),
        "{full}"
    );
    assert!(full.starts_with("# "), "{full}");
    assert!(full.ends_with(") -> {\n    \"content\": str,\n}"), "{full}");
    assert!(
        tool.declaration(Detail::Brief, Language::Python)
            .starts_with("tools.filesystem.read_text_file  # ")
    );
}

#[test]
fn python_costs_no_more_than_typescript() {
    let length = |language| {
        let catalog = catalog();
        let signatures = catalog.tools().map(|tool| tool.signature(language).len());
        signatures.sum::<usize>()
    };
    let (typescript, python) = (length(Language::Typescript), length(Language::Python));
    println!("{typescript} bytes of TypeScript, {python} of Python");
    assert!(python <= typescript);
}

#[test]
fn the_brackets_of_every_captured_tool_match() {
    for tool in catalog().tools() {
        for text in [
            tool.signature(Language::Python).to_owned(),
            tool.declaration(Detail::Full, Language::Python),
        ] {
            let mut open = Vec::new();
            for c in without_strings_and_comments(&text).chars() {
                match c {
                    '(' => open.push(')'),
                    '[' => open.push(']'),
                    '{' => open.push('}'),
                    ')' | ']' | '}' => assert_eq!(open.pop(), Some(c), "{text}"),
                    _ => {}
                }
            }
            assert!(open.is_empty(), "{text}");
        }
    }
}

#[test]
fn hostile_names_and_texts_stay_inside_their_quotes_and_comments() {
    let evil = "\"\"\" \\\n'); __import__('os') #\u{2028}\u{202e}\r\u{e0041}";
    let schema = json!({
        "type": "object",
        "description": evil,
        "properties": {evil: {"description": evil, "default": evil, "enum": [evil]}, "__proto__": {"$ref": evil}, "r": {"$ref": format!("#/{evil}")}},
    });
    let tool = tool_with_output(schema, json!({"properties": {"a": {"const": evil}}}));
    for text in [
        tool.signature(Language::Python).to_owned(),
        tool.declaration(Detail::Full, Language::Python),
    ] {
        assert!(
            !text.contains(['\u{2028}', '\u{202e}', '\r', '\u{e0041}']),
            "{text}"
        );
        let code = without_strings_and_comments(&text);
        assert!(!code.contains("import"), "{text}\n{code}");
    }
}

/// The text without literals and comments. No literal here has three quotes.
fn without_strings_and_comments(text: &str) -> String {
    let mut code = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '#' => {
                chars.find(|c| *c == '\n');
            }
            '"' | '\'' => loop {
                match chars.next() {
                    Some('\\') => {
                        chars.next();
                    }
                    Some(end) if end == c => break,
                    Some(_) => {}
                    None => panic!("a literal without an end: {text}"),
                }
            },
            c => code.push(c),
        }
    }
    code
}
