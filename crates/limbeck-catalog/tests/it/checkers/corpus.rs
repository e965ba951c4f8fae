//! Schemas of the comparison: those of every captured list, and some made to break a declaration.

use limbeck_captures::captures;
use limbeck_captures::values::Rng;
use limbeck_catalog::ServerTools;
use limbeck_domain::{ServerName, ToolAnnotations, ToolDefinition, ToolId};
use serde_json::{Map, Value, json};

/// Number of tools with random schemas.
const RANDOM_SCHEMAS: usize = 400;

/// What would end a literal, a comment, a class or a line, hide a name that declarations need, or give a
/// type checker an order.
const HOSTILE: [&str; 34] = [
    "\"\"\"",
    "'''",
    "*/ }); //",
    "*/",
    "/*",
    "\\",
    "\\\"",
    "`${x}`",
    "a\u{2028}b\u{2029}\u{202e}",
    "a\nb\r\nc",
    "\u{0}\u{7f}",
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "prototype",
    "import",
    "class",
    "self",
    "None",
    "str",
    "list",
    "Any",
    "Tool",
    "Record",
    "Promise",
    "__class__",
    "a-b",
    "a_b",
    "1",
    "",
    "\u{fc}\u{1f600}\u{e0041}",
    "@ts-expect-error",
    "type: ignore",
];

/// Every captured list.
pub(crate) fn catalogs() -> Vec<ServerTools> {
    let captures = captures();
    let servers = captures.iter();
    servers
        .map(|capture| ServerTools::new(capture.name(), capture.definitions(), None))
        .collect()
}

/// Schemas with every keyword of the specification, and names and texts that attackers send.
pub(crate) fn hostile() -> ServerTools {
    let mut tools = Vec::new();
    for (name, schema) in shapes() {
        let is_whole = name == "pointer_names";
        let input = if is_whole {
            schema.clone()
        } else {
            object(schema.clone())
        };
        tools.push(json!({"name": name, "inputSchema": input, "outputSchema": schema}));
    }
    for (at, name) in HOSTILE.iter().enumerate() {
        let properties: Value = HOSTILE.iter().map(|key| ((*key).to_owned(), json!({
            "type": "string", "enum": [name, key], "description": name, "default": name, "title": key
        }))).collect();
        let schema = json!({"type": "object", "description": name, "properties": properties, "$defs": {*name: {"type": "object", "description": name,
            "properties": {*name: {"$ref": format!("#/$defs/{}", name.replace('~', "~0").replace('/', "~1").replace('%', "%25"))}}}},
            "required": [name], "additionalProperties": {"const": name}});
        let tool = if name.chars().any(|c| c.is_control() || !c.is_ascii()) || name.is_empty() {
            format!("hostile {at}")
        } else {
            (*name).to_owned()
        };
        tools.push(json!({"name": tool, "title": name, "description": name, "inputSchema": schema, "outputSchema": schema}));
    }
    server("hostile \"server\" */", &Value::Array(tools))
}

/// Schemas that no value is made of: some have none, and some no validator survives.
pub(crate) fn bombs() -> ServerTools {
    let tools = bomb_schemas().into_iter();
    let tools = tools
        .map(|(name, schema)| json!({"name": name, "inputSchema": schema, "outputSchema": schema}));
    server("bombs", &tools.collect())
}

/// Random schemas, most of them partly meaningful. All of them must have a declaration.
pub(crate) fn random() -> ServerTools {
    let mut random = Rng::new(7);
    let tools = (0..RANDOM_SCHEMAS).map(|number| {
        let [input, output, a, b] = [(); 4].map(|()| any_schema(&mut random, 0));
        let with_definitions = |schema: Value| match schema {
            Value::Object(mut map) => {
                map.insert("$defs".into(), json!({"a": a, "b": b}));
                Value::Object(map)
            }
            other => other,
        };
        json!({
            "name": format!("random_{number}"),
            "inputSchema": with_definitions(input),
            "outputSchema": with_definitions(output),
        })
    });
    server("random", &tools.collect())
}

fn any_schema(random: &mut Rng, depth: usize) -> Value {
    const NAMES: [&str; 8] = ["a", "b", "c-d", "*/", "\"", "toString", "items", "None"];
    const TYPES: [&str; 8] = [
        "string", "number", "integer", "boolean", "null", "array", "object", "odd",
    ];
    const REFERENCES: [&str; 6] = [
        "#",
        "#/$defs/a",
        "#/$defs/b",
        "#/properties/a",
        "#/properties/a/items",
        "#/elsewhere",
    ];
    let mut schema = Map::new();
    for _ in 0..1 + random.below(3) {
        let some = |random: &mut Rng| -> Vec<Value> {
            (0..random.below(4))
                .map(|_| any_schema(random, depth + 1))
                .collect()
        };
        let named = |random: &mut Rng| -> Value {
            let parts = some(random).into_iter();
            parts
                .map(|part| ((*random.pick(&NAMES)).to_owned(), part))
                .collect()
        };
        let names: Vec<&str> = (0..random.below(3)).map(|_| *random.pick(&NAMES)).collect();
        let is_leaf = depth > 4;
        let (keyword, value) = match random.below(if is_leaf { 6 } else { 16 }) {
            0 | 1 => ("type", json!(random.pick(&TYPES))),
            2 => ("type", json!([random.pick(&TYPES), random.pick(&TYPES)])),
            3 => (
                "enum",
                json!([random.pick(&NAMES), 1, 1.5, null, [1], {"a": 1}]),
            ),
            4 => ("$ref", json!(random.pick(&REFERENCES))),
            5 => ("nullable", json!(true)),
            6 | 7 => ("properties", named(random)),
            8 => ("required", json!(names)),
            9 => ("additionalProperties", any_schema(random, depth + 1)),
            10 => ("patternProperties", named(random)),
            11 => ("items", any_schema(random, depth + 1)),
            12 => ("prefixItems", some(random).into()),
            13 => ("anyOf", some(random).into()),
            14 => ("oneOf", some(random).into()),
            _ => ("allOf", some(random).into()),
        };
        schema.insert(keyword.into(), value);
    }
    if random.below(4) == 0 {
        schema.insert("minItems".into(), random.below(3).into());
    }
    match random.below(20) {
        0 => json!(true),
        1 => json!(false),
        _ => schema.into(),
    }
}

fn object(schema: Value) -> Value {
    let mut root = json!({"type": "object", "properties": {"x": schema}, "required": ["x"]});
    for keyword in ["$defs", "definitions", "$schema"] {
        if let Some(value) = root["properties"]["x"]
            .as_object_mut()
            .and_then(|map| map.remove(keyword))
        {
            root[keyword] = value;
        }
    }
    root
}

/// Schemas with every keyword of the specification, one each.
fn shapes() -> Vec<(&'static str, Value)> {
    let node = json!({"type": "object", "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}, "required": ["name"], "additionalProperties": false});
    vec![
        ("nullable", json!({"type": "string", "nullable": true})),
        ("type_list", json!({"type": ["string", "integer", "null"]})),
        (
            "nullable_object",
            json!({"type": ["object", "null"], "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}),
        ),
        (
            "enum_of_type",
            json!({"type": "string", "enum": ["a", "b", null]}),
        ),
        (
            "enum_mixed",
            json!({"enum": ["a", 1, 1.5, true, null, {"k": 1}, [1]]}),
        ),
        ("const_object", json!({"const": {"a": 1}})),
        (
            "tuple",
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "minItems": 1, "items": false}),
        ),
        (
            "tuple_rest",
            json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "number"}, "minItems": 1}),
        ),
        (
            "tuple_full",
            json!({"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "minItems": 2, "maxItems": 2}),
        ),
        (
            "tuple_draft7",
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": [{"type": "string"}, {"enum": ["a", "b"]}], "additionalItems": {"type": "boolean"}, "minItems": 2}),
        ),
        (
            "siblings_draft7",
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "string"}}, "$ref": "#/definitions/a", "type": "number"}),
        ),
        (
            "siblings",
            json!({"$defs": {"a": {"type": "object", "properties": {"a": {"type": "string"}}}}, "$ref": "#/$defs/a", "required": ["a"]}),
        ),
        (
            "record",
            json!({"type": "object", "additionalProperties": {"type": "number"}}),
        ),
        (
            "record_of_records",
            json!({"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}}),
        ),
        (
            "open",
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": true}),
        ),
        (
            "open_typed",
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "number"}}),
        ),
        (
            "closed",
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}),
        ),
        (
            "closed_empty",
            json!({"type": "object", "additionalProperties": false}),
        ),
        (
            "empty_properties",
            json!({"type": "object", "properties": {}}),
        ),
        (
            "patterns",
            json!({"type": "object", "patternProperties": {"^x-[a-z]{2}$": {"type": "string"}, "^n[0-9]$": {"type": "number"}}, "additionalProperties": false}),
        ),
        (
            "patterns_named",
            json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "patternProperties": {"^x-[a-z]{2}$": {"type": "string"}}, "additionalProperties": false}),
        ),
        (
            "names",
            json!({"type": "object", "propertyNames": {"enum": ["a", "b"]}, "additionalProperties": {"type": "string"}}),
        ),
        (
            "either",
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "additionalProperties": false}),
        ),
        (
            "either_one",
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        ),
        (
            "required_elsewhere",
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "allOf": [{"required": ["a"]}]}),
        ),
        (
            "union_tagged",
            json!({"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["kind", "x"], "additionalProperties": false}, {"type": "object", "properties": {"kind": {"const": "b"}, "y": {"type": "number"}}, "required": ["kind", "y"], "additionalProperties": false}]}),
        ),
        (
            "union_scalar",
            json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "null"}]}),
        ),
        (
            "all_of",
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"type": "object", "properties": {"b": {"type": "number"}}, "required": ["b"]}]}),
        ),
        (
            "all_of_overlap",
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}, "c": {"type": "boolean"}}}, {"type": "object", "properties": {"a": {"enum": ["x", "y"]}, "b": {"type": "number"}}, "required": ["a"]}]}),
        ),
        (
            "base_and_union",
            json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"], "anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"type": "number"}}, "required": ["b"]}]}),
        ),
        (
            "not_and_if",
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "not": {"required": ["b"]}, "if": {"required": ["a"]}, "then": {"minProperties": 1}}),
        ),
        (
            "tree",
            json!({"$defs": {"Node": node.clone()}, "$ref": "#/$defs/Node"}),
        ),
        (
            "forest",
            json!({"$defs": {"Node": node}, "type": "array", "items": {"$ref": "#/$defs/Node"}}),
        ),
        (
            "json",
            json!({"$defs": {"Json": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/Json"}}, {"type": "object", "additionalProperties": {"$ref": "#/$defs/Json"}}]}}, "type": "object", "properties": {"value": {"$ref": "#/$defs/Json"}}, "required": ["value"]}),
        ),
        (
            "mutual",
            json!({"$defs": {"Even": {"type": "object", "properties": {"odd": {"$ref": "#/$defs/Odd"}}, "additionalProperties": false}, "Odd": {"type": "object", "properties": {"even": {"$ref": "#/$defs/Even"}}, "required": ["even"], "additionalProperties": false}}, "type": "object", "properties": {"even": {"$ref": "#/$defs/Even"}, "odd": {"$ref": "#/$defs/Odd"}}}),
        ),
        (
            "linked",
            json!({"type": "object", "properties": {"value": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/Link"}, {"type": "null"}]}}, "$defs": {"Link": {"type": "object", "properties": {"value": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/Link"}, {"type": "null"}]}}, "required": ["value"]}}}),
        ),
        (
            "tuple_recursive",
            json!({"$defs": {"Cons": {"type": "array", "prefixItems": [{"type": "number"}, {"anyOf": [{"$ref": "#/$defs/Cons"}, {"type": "null"}]}], "minItems": 2, "items": false}}, "type": "object", "properties": {"list": {"$ref": "#/$defs/Cons"}}}),
        ),
        (
            "shared",
            json!({"$defs": {"Point": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x", "y"]}}, "type": "object", "properties": {"from": {"$ref": "#/$defs/Point"}, "to": {"$ref": "#/$defs/Point"}}, "required": ["from"]}),
        ),
        (
            "alias_of_alias",
            json!({"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"type": "array", "items": {"$ref": "#/$defs/A"}}}, "type": "object", "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/$defs/B"}}}),
        ),
        (
            "pointer_names",
            json!({"type": "object", "properties": {"a/b": {"type": "object", "properties": {"~c%": {"type": "array", "items": {"type": "object", "properties": {"d": {"type": "integer"}}}}}}, "e": {"$ref": "#/properties/a~1b/properties/~0c%25/items"}}}),
        ),
        (
            "booleans",
            json!({"type": "object", "properties": {"anything": true, "nothing": false}}),
        ),
        (
            "numbers",
            json!({"type": "object", "properties": {"x": {"type": "number", "multipleOf": 0.5, "minimum": -2, "exclusiveMaximum": 2}, "i": {"type": "integer", "enum": [-1, 0, 18446744073709551615_u64]}}}),
        ),
        (
            "inherited",
            json!({"type": "object", "properties": {"toString": {"type": "string"}, "constructor": {"type": "object", "properties": {"a": {"type": "string"}}}, "valueOf": {"type": "integer"}, "__proto__": {"type": "string"}}}),
        ),
        (
            "methods",
            json!({"type": "object", "properties": {"items": {"type": "array", "items": {"type": "string"}}, "keys": {"type": "string"}, "get": {"type": "integer"}}, "required": ["items"]}),
        ),
    ]
}

/// Schemas that attackers send, within the limits of a schema.
fn bomb_schemas() -> Vec<(&'static str, Value)> {
    let mut exponential = json!({"type": "object", "$defs": {"l0": {"type": "string"}}, "properties": {"x": {"$ref": "#/$defs/l39"}}});
    let mut wide = json!({"type": "object", "$defs": {"l0": {"type": "object", "properties": {"s": {"type": "string"}}}}, "properties": {"x": {"$ref": "#/$defs/l39"}}});
    for level in 1..40 {
        let below = json!({"$ref": format!("#/$defs/l{}", level - 1)});
        exponential["$defs"][format!("l{level}")] = json!({"anyOf": [below, below, below, below]});
        wide["$defs"][format!("l{level}")] = json!({"type": "object", "properties": {"a": below, "b": below, "c": below, "d": below}});
    }
    let mut deep = json!({"type": "string"});
    let mut lists = json!({"type": "string"});
    for _ in 0..60 {
        deep = json!({"type": "object", "properties": {"a": deep}});
        lists = json!({"type": "array", "items": lists});
    }
    let many: Value = (0..2_500)
        .map(|n| (format!("p{n}"), json!({"type": "string"})))
        .collect();
    let names: Vec<String> = (0..9_000).map(|n| format!("value number {n}")).collect();
    vec![
        ("self_ref", json!({"$ref": "#"})),
        (
            "ref_loop",
            json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}}),
        ),
        (
            "ref_loop_in_union",
            json!({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "string"}]}}, "type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}}),
        ),
        (
            "remote",
            json!({"type": "object", "properties": {"x": {"$ref": "http://127.0.0.1:9/schema.json"}, "y": {"$ref": "file:///etc/passwd"}}}),
        ),
        (
            "dynamic",
            json!({"$dynamicAnchor": "n", "type": "object", "properties": {"c": {"$dynamicRef": "#n"}}}),
        ),
        (
            "root_ref",
            json!({"type": "object", "properties": {"again": {"$ref": "#"}, "leaf": {"type": "string"}}, "additionalProperties": false}),
        ),
        ("exponential", exponential),
        ("wide", wide),
        ("deep", deep),
        (
            "lists",
            json!({"type": "object", "properties": {"x": lists}}),
        ),
        (
            "bad_regex",
            json!({"type": "object", "properties": {"x": {"pattern": "("}}}),
        ),
        (
            "huge_enum",
            json!({"type": "object", "properties": {"x": {"enum": names}}}),
        ),
        (
            "many_properties",
            json!({"type": "object", "properties": many, "required": ["p2499"]}),
        ),
        (
            "combinatoric",
            json!({"type": "object", "allOf": (0..60).map(|_| json!({"oneOf": (0..30).map(|n| json!({"required": [format!("k{n}")]})).collect::<Vec<_>>()})).collect::<Vec<_>>()}),
        ),
        (
            "odd_numbers",
            json!({"type": "object", "properties": {"x": {"multipleOf": 1e-300, "minimum": 1e308, "enum": [1e308, -0.0, 1e-7]}}}),
        ),
        ("nothing", json!(false)),
        ("everything", json!(true)),
        ("no_schema", json!("object")),
        ("no_schema_either", json!([])),
        ("null", Value::Null),
        ("no_object", json!({"type": "string"})),
        ("odd_type", json!({"type": "frobnicate"})),
        ("type_twice", json!({"type": ["object", "null", "object"]})),
        (
            "odd_keywords",
            json!({"type": 5, "properties": [], "required": "a", "enum": {}, "anyOf": {}, "items": 3, "$ref": 7, "additionalProperties": "x", "patternProperties": 1}),
        ),
        (
            "odd_required",
            json!({"type": "object", "required": ["a", "a", 5, null]}),
        ),
        (
            "empty_lists",
            json!({"type": "object", "properties": {"x": {"enum": []}, "y": {"anyOf": []}, "z": {"type": []}, "w": {"prefixItems": []}}}),
        ),
        (
            "long_texts",
            json!({"type": "object", "description": "*/".repeat(9_000), "properties": {"x": {"const": "y".repeat(5_000), "description": "\"\"\"".repeat(5_000)}}}),
        ),
    ]
}

fn server(name: &str, tools: &Value) -> ServerTools {
    let definitions = tools
        .as_array()
        .expect("a list of tools")
        .iter()
        .map(|tool| {
            let text = |key: &str| tool[key].as_str().map(str::to_owned);
            ToolDefinition {
                id: ToolId::new(name, tool["name"].as_str().expect("a tool has a name")),
                title: text("title"),
                description: text("description"),
                input_schema: tool["inputSchema"].clone(),
                output_schema: tool.get("outputSchema").cloned(),
                annotations: ToolAnnotations::default(),
            }
        });
    ServerTools::new(ServerName::from(name), definitions.collect(), None)
}
