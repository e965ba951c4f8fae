//! Observed shapes form a bounded lattice and contain no value of a result.

use crate::common::{tool, tool_with_output};
use limbeck_catalog::{Detail, Observed, Provenance, Shape, Tool};
use limbeck_domain::Language;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Most bytes of a stored shape, far above what its bounds on nodes and names allow in practice.
const STORED_BYTES_MAX: usize = 512 << 10;

fn shape(value: &Value) -> Shape {
    Shape::of_json(&value.to_string()).expect("every value has a shape")
}

fn joined<'s>(shapes: impl IntoIterator<Item = &'s Shape>) -> Shape {
    let mut all = Shape::default();
    for shape in shapes {
        all.join(shape);
    }
    all
}

fn shape_of(values: &[Value]) -> Shape {
    let shapes: Vec<Shape> = values.iter().map(shape).collect();
    joined(&shapes)
}

/// A number in letters, for names that are words.
fn word(mut number: usize) -> String {
    let mut word = String::from("f");
    loop {
        word.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
        if number == 0 {
            return word;
        }
    }
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (0_usize..12).prop_map(word),
        1 => "[a-z0-9@._ -]{1,24}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    const KNOWN: [&str; 12] = [
        "",
        "2026-05-09",
        "2026-05-09T07:29:33Z",
        "a@example.com",
        "https://example.com/a?b=c#d",
        "018f6b2e-7c3a-7b1e-9f00-0123456789ab",
        "10.0.0.1",
        "::1",
        "{\"a\": 1}",
        "[1, null]",
        "[draft] a title",
        "{",
    ];
    prop_oneof![
        proptest::sample::select(&KNOWN[..]).prop_map(str::to_owned),
        ".{0,12}"
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(9, 48, 6, |inner| {
        let object = vec((name(), inner.clone()), 0..6);
        // Wide enough to cross the bounds of inner levels, each property with the same value.
        let wide = (inner.clone(), 1_usize..220, 0_usize..200);
        let wide = wide.prop_map(|(value, count, from)| {
            let names = (from..from + count).map(word);
            names
                .map(|name| (name, value.clone()))
                .collect::<Map<_, _>>()
                .into()
        });
        prop_oneof![
            3 => object.prop_map(|fields| Value::Object(fields.into_iter().collect())),
            1 => wide,
            2 => vec(inner.clone(), 0..5).prop_map(Value::from),
            1 => inner.prop_map(|inner| Value::from(inner.to_string())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn joining_is_commutative_associative_and_idempotent(a in value(), b in value(), c in value()) {
        let [a, b, c] = [shape(&a), shape(&b), shape(&c)];
        let ab = joined([&a, &b]);
        prop_assert_eq!(&ab, &joined([&b, &a]));
        let bc = joined([&b, &c]);
        prop_assert_eq!(joined([&ab, &c]), joined([&a, &bc]));
        prop_assert_eq!(joined([&ab, &ab]), ab.clone());
        prop_assert_eq!(joined([&ab, &a]), ab);
    }

    #[test]
    fn the_order_of_observation_does_not_matter(
        (values, shuffled) in vec(value(), 1..8).prop_flat_map(|values| (Just(values.clone()), Just(values).prop_shuffle())),
        split in 0_usize..8,
    ) {
        let all = shape_of(&values);
        prop_assert_eq!(&all, &shape_of(&shuffled));
        // Two processes that each saw a part.
        let (one, other) = shuffled.split_at(split.min(shuffled.len()));
        prop_assert_eq!(&all, &joined([&shape_of(one), &shape_of(other)]));
    }

    #[test]
    fn a_joined_shape_admits_every_value_that_was_seen(values in vec(value(), 1..8)) {
        let all = shape_of(&values);
        let schema = all.schema();
        let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
        for value in &values {
            prop_assert!(all.admits(&shape(value)), "{value} in {schema}");
            prop_assert!(validator.is_valid(value), "{value} in {schema}");
        }
    }

    #[test]
    fn a_shape_is_bounded_and_is_kept_as_it_is(values in vec(value(), 1..8)) {
        let all = shape_of(&values);
        let stored = serde_json::to_string(&all).unwrap();
        prop_assert!(stored.len() <= STORED_BYTES_MAX);
        prop_assert_eq!(serde_json::from_str::<Shape>(&stored).unwrap(), all);
    }
}

#[test]
fn a_shape_tells_what_may_be_missing_null_or_of_another_kind() {
    let seen = shape_of(&[
        json!({"id": 1, "score": 1, "tags": ["a"], "due": "2026-05-09", "who": null}),
        json!({"id": 2, "score": 0.5, "tags": [1], "due": "tomorrow", "who": {"mail": "a@example.com"}}),
        json!({"id": 3, "score": 2, "tags": [], "due": "2026-05-10"}),
    ]);
    assert_eq!(
        seen.schema(),
        json!({
            "type": "object",
            "properties": {
                "due": {"type": "string"},
                "id": {"type": "integer"},
                "score": {"type": "number"},
                "tags": {"type": "array", "items": {"type": ["string", "integer"]}},
                "who": {
                    "type": ["object", "null"],
                    "properties": {"mail": {"type": "string", "format": "email"}},
                    "required": ["mail"],
                },
            },
            "required": ["due", "id", "score", "tags"],
        })
    );
    assert!(!seen.admits(&shape(&json!({"id": "1"}))));
    assert!(!shape_of(&[json!({"id": 1})]).admits(&shape(&json!({}))));
}

#[test]
fn text_that_is_json_has_a_shape_and_a_number_in_quotes_has_none() {
    let seen = shape_of(&[json!("{\"total\": 3, \"items\": [{\"id\": 1}]}")]);
    let content = json!({
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
            "total": {"type": "integer"},
        },
        "required": ["items", "total"],
    });
    let text =
        json!({"type": "string", "contentMediaType": "application/json", "contentSchema": content});
    assert_eq!(seen.schema(), text);
    let mixed = joined([&seen, &shape(&json!("nothing found"))]);
    assert_eq!(mixed.schema(), json!({"anyOf": [text, {"type": "string"}]}));
    assert_eq!(shape(&json!("12")).schema(), json!({"type": "string"}));
}

#[test]
fn objects_whose_names_are_data_become_maps() {
    let number = json!({"type": "integer"});
    for map in [
        json!({"alice@example.com": 1, "bob": 2}),
        json!({"10001": 1, "10002": 2}),
        json!({"018f6b2e-7c3a-7b1e-9f00-0123456789ab": 1}),
        Value::Object((0..200).map(|at| (word(at), json!(1))).collect()),
    ] {
        let expected = json!({"type": "object", "additionalProperties": number});
        assert_eq!(shape(&map).schema(), expected, "{map}");
    }
    let people = ["alice", "bob", "carol", "dave"];
    let people = people.map(|name| (name.to_owned(), json!({"age": 3, "city": "x"})));
    let people = shape(&Value::Object(people.into_iter().collect())).schema();
    assert_eq!(people.get("properties"), None);
    assert_eq!(
        people["additionalProperties"]["required"],
        json!(["age", "city"])
    );
    // What is learnt later does not bring the names back.
    let mut one = shape_of(&[json!({"alice@example.com": 1})]);
    assert!(!one.join(&shape(&json!({"bob": 2}))));
    // Names beside data stay when they are many.
    let mut issue: Map<String, Value> = (0..12).map(|at| (word(at), json!(1))).collect();
    issue.insert("customfield_10010".into(), json!("x"));
    let issue = shape(&Value::Object(issue)).schema();
    assert_eq!(issue["properties"].as_object().unwrap().len(), 12);
    assert_eq!(issue["additionalProperties"], json!({"type": "string"}));
}

#[test]
fn no_secret_reaches_a_shape_through_a_value_or_a_name() {
    let secrets = [
        "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N",
        "alice@example.com",
        "Alice Smith",
        "+49 170 1234567",
        "4111111111111111",
        "078-05-1120",
        "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3",
        "018f6b2e-7c3a-7b1e-9f00-0123456789ab",
        "https://user:hunter2@example.com/path",
        "192.168.17.4",
        "/home/alice/.ssh/id_rsa",
        "db1.internal.example.com",
        "correct horse battery staple",
        "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA==",
        "PROJ-4711",
    ];
    for secret in secrets {
        let inner = json!({"name": secret, "list": [secret], secret: {"deep": secret, secret: 1}});
        let result =
            json!({"a": secret, secret: inner, "text": inner.to_string(), "b": [{secret: secret}]});
        let observed = Observed::once(&result.to_string()).expect("every value teaches");
        let stored = serde_json::to_string(&observed).unwrap();
        let schema = observed.shape.schema().to_string();
        // The control: what its author named is there.
        assert!(schema.contains("\"list\""), "{schema}");
        let taught = tool(json!({"type": "object"})).with_observations(observed);
        let reported = [
            stored,
            schema,
            taught.declaration(Detail::Full, Language::Typescript),
            taught.declaration(Detail::Full, Language::Python),
            taught.signature(Language::Typescript).to_owned(),
        ];
        for reported in reported {
            assert!(!reported.contains(secret), "{secret} in {reported}");
            for part in secret
                .split([' ', '@', '.', '/', '-', '_'])
                .filter(|part| part.len() > 5)
            {
                assert!(!reported.contains(part), "{part} of {secret} in {reported}");
            }
        }
    }
}

#[test]
fn what_is_too_deep_too_wide_or_no_json_is_bounded() {
    let deep = |levels: usize, open: &str, close: &str| {
        format!("{}1{}", open.repeat(levels), close.repeat(levels))
    };
    let objects = Shape::of_json(&deep(60, "{\"a\":", "}")).unwrap();
    assert!(objects.schema().to_string().matches("properties").count() <= 7);
    let arrays = Shape::of_json(&deep(100, "[", "]")).unwrap();
    assert!(arrays.schema().to_string().matches("items").count() <= 4);
    // Below the last place nothing is looked at, however deep it goes.
    assert_eq!(Shape::of_json(&deep(100_000, "[", "]")).unwrap(), arrays);
    for broken in ["", "{", "1 2", "{\"a\"}", "NaN"] {
        assert!(Shape::of_json(broken).is_err(), "{broken}");
    }
    // As many nodes as there can be: each level as wide as its names may be.
    let mut value = json!(1);
    for _ in 0..4 {
        let names = (0..150).map(|at| {
            (
                format!("{}_long_name_of_a_property", word(at)),
                value.clone(),
            )
        });
        value = Value::Object(
            names
                .take(if value.is_number() { 150 } else { 20 })
                .collect(),
        );
    }
    let stored = serde_json::to_string(&shape(&value)).unwrap();
    assert!(stored.len() < STORED_BYTES_MAX, "{}", stored.len());
}

fn taught(tool: &Tool, results: &[Value]) -> Tool {
    let mut all = Observed::default();
    for result in results {
        all.add(&Observed::once(&result.to_string()).expect("every value teaches"));
    }
    tool.with_observations(all)
}

#[test]
fn a_signature_has_the_observed_type_and_the_number_of_calls() {
    let undeclared = tool(json!({"type": "object"}));
    let one = taught(&undeclared, &[json!({"total": 1})]);
    let signature = one.signature(Language::Typescript);
    assert!(
        signature.ends_with(": Promise<{ total: number }> // observed in 1 call"),
        "{signature}"
    );
    let results = [
        json!("{\"total\": 1, \"next\": null}"),
        json!("{\"total\": 2}"),
    ];
    let text = taught(&undeclared, &results);
    let signature = text.signature(Language::Typescript);
    let reported =
        "Promise<string /* JSON: { next?: null; total: number } */> // observed in 2 calls";
    assert!(signature.ends_with(reported), "{signature}");
    let python = text.signature(Language::Python);
    assert!(
        python.ends_with(
            r#"-> Annotated[str, 'JSON: {"next?": None, "total": int}']  # observed in 2 calls"#
        ),
        "{python}"
    );
    assert_eq!(
        text.output_shape().unwrap().provenance,
        Provenance::Observed { calls: 2 }
    );
    assert_eq!(text.hash(), undeclared.hash());
}

#[test]
fn an_observed_type_never_replaces_a_declared_one() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let declared = tool_with_output(json!({"type": "object"}), schema.clone());
    let same = taught(&declared, &[json!({"b": 1})]);
    assert_eq!(
        same.signature(Language::Typescript),
        declared.signature(Language::Typescript)
    );
    let shape = same.output_shape().unwrap();
    assert_eq!(
        (shape.schema, shape.provenance),
        (&schema, Provenance::Declared)
    );
    // A tool of which only contradictions are known has no observed type.
    let undeclared = tool(json!({"type": "object"})).with_observations(Observed::contradiction());
    assert_eq!(undeclared.output_shape(), None);
}

#[test]
fn an_observed_type_takes_less_of_a_line_than_a_declared_one_may() {
    let wide: Map<String, Value> = (0..100)
        .map(|at| (word(at), json!({"id": 1, "name": "x"})))
        .collect();
    let mut record = json!({"list": [wide.clone()], "other": wide});
    record["plain"] = json!(1);
    let tool = taught(&tool(json!({"type": "object"})), &[record]);
    let signature = tool.signature(Language::Typescript);
    assert!(signature.len() < 1_200, "{}: {signature}", signature.len());
    assert!(signature.contains("list"), "{signature}");
}
