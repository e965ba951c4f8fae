use serde_json::json;

use super::*;

fn truth(condition: &Value, value: &Value) -> Truth {
    Condition::from_value(condition).unwrap().truth(Some(value))
}

#[test]
fn operators_are_true_false_or_unknown() {
    let rows = [
        // condition, true, false, unknown
        (json!("a*c"), json!("abc"), json!("ab"), json!(3)),
        (
            json!({ "not_glob": "*@example.com" }),
            json!("a@x.org"),
            json!("a@example.com"),
            json!([]),
        ),
        (json!({ "eq": 3 }), json!(3.0), json!(4), json!("3")),
        (json!({ "eq": "x" }), json!("x"), json!("y"), json!(1)),
        (
            json!({ "eq": true }),
            json!(true),
            json!(false),
            json!("true"),
        ),
        (
            json!({ "in": ["a", "b"] }),
            json!("b"),
            json!("c"),
            json!(1),
        ),
        (
            json!({ "not_in": ["a", "b"] }),
            json!("c"),
            json!("a"),
            json!({}),
        ),
        (
            json!({ "regex": "^v[0-9]+$" }),
            json!("v12"),
            json!("w1"),
            json!(12),
        ),
        (json!({ "lt": 5 }), json!(4.9), json!(5), json!("4")),
        (json!({ "le": 5 }), json!(5), json!(5.1), json!(null)),
        (
            json!({ "gt": 100, "le": 200 }),
            json!(150),
            json!(201),
            json!("150"),
        ),
        (json!({ "ge": -1 }), json!(-1), json!(-2), json!(true)),
        (json!({ "len_le": 2 }), json!("äö"), json!("abc"), json!(2)),
        (
            json!({ "len_le": 1 }),
            json!([1]),
            json!([1, 2]),
            json!(null),
        ),
        (
            json!({ "host": "*.example.com" }),
            json!("https://a.example.com/x"),
            json!("https://example.com"),
            json!("a.example.com"),
        ),
        (
            json!({ "under": "/srv/data" }),
            json!("/srv/data/x"),
            json!("/srv/database"),
            json!("srv/data"),
        ),
    ];
    for (of, yes, no) in [
        ("text", json!("x"), json!(["x"])),
        ("number", json!(1.5), json!("1.5")),
        ("boolean", json!(false), json!(0)),
        ("list", json!([]), json!("x")),
        ("object", json!({}), json!(null)),
    ] {
        let condition = json!({ "type": of });
        assert_eq!(truth(&condition, &yes), Truth::True, "{condition} {yes}");
        assert_eq!(truth(&condition, &no), Truth::False, "{condition} {no}");
        let condition = Condition::from_value(&condition).unwrap();
        assert_eq!(condition.truth(None), Truth::Unknown);
    }
    for (condition, yes, no, unknown) in rows {
        assert_eq!(truth(&condition, &yes), Truth::True, "{condition} {yes}");
        assert_eq!(truth(&condition, &no), Truth::False, "{condition} {no}");
        assert_eq!(
            truth(&condition, &unknown),
            Truth::Unknown,
            "{condition} {unknown}"
        );
        let missing = Condition::from_value(&condition).unwrap().truth(None);
        assert_eq!(missing, Truth::Unknown, "{condition}");
    }
    let present = Condition::from_value(&json!({ "present": true })).unwrap();
    let absent = Condition::from_value(&json!({ "absent": true })).unwrap();
    for (value, is_present) in [
        (Some(json!(0)), true),
        (Some(json!(null)), false),
        (None, false),
    ] {
        assert_eq!(present.truth(value.as_ref()), is_present.into());
        assert_eq!(absent.truth(value.as_ref()), (!is_present).into());
    }
    let missing = Condition::from_value(&json!({ "missing": true })).unwrap();
    assert_eq!(missing.truth(Some(&json!(null))), Truth::False);
    assert_eq!(missing.truth(None), Truth::True);
}

#[test]
fn large_whole_numbers_are_compared_by_all_of_their_digits() {
    let two_to_53_plus_1 = json!(9_007_199_254_740_993_u64);
    assert_eq!(
        truth(
            &json!({ "eq": 9_007_199_254_740_992_u64 }),
            &two_to_53_plus_1
        ),
        Truth::False
    );
    assert_eq!(
        truth(
            &json!({ "gt": 9_007_199_254_740_992_u64 }),
            &two_to_53_plus_1
        ),
        Truth::True
    );
    // More digits than 64 bits hold are floating point: they may be any of several numbers.
    let huge: Value = serde_json::from_str("100000000000000000000000").unwrap();
    assert_eq!(
        truth(&json!({ "le": 9_007_199_254_740_993_u64 }), &huge),
        Truth::Unknown
    );
    assert_eq!(truth(&json!({ "le": 100 }), &huge), Truth::False);
}

#[test]
fn a_path_that_could_be_read_in_two_ways_is_not_under_a_directory() {
    let under = json!({ "under": "/srv/data" });
    for path in [
        "/srv/data/../../etc/passwd",
        "/srv/data/..",
        "/srv/data/./x",
        "/srv/data//x",
        "//srv/data/x",
        "/srv/data/x\\..\\y",
        "/srv/data/x\0y",
        "data/x",
        "",
    ] {
        assert_eq!(truth(&under, &json!(path)), Truth::Unknown, "{path:?}");
    }
    for path in ["/srv/data", "/srv/data/", "/srv/data/a/b", "/srv/data/..x"] {
        assert_eq!(truth(&under, &json!(path)), Truth::True, "{path:?}");
    }
    assert_eq!(truth(&under, &json!("/srv")), Truth::False);
    assert_eq!(truth(&json!({ "under": "/" }), &json!("/etc")), Truth::True);
    for directory in ["data", "/srv//data", "/srv/../x", "/srv\\x", ""] {
        assert!(
            Condition::from_value(&json!({ "under": directory })).is_err(),
            "{directory}"
        );
    }
}

#[test]
fn a_host_is_the_one_that_would_be_connected_to() {
    let host = json!({ "host": "example.com" });
    for address in [
        "https://example.com/a",
        "http://EXAMPLE.com:8080",
        "https://example.com./",
    ] {
        assert_eq!(truth(&host, &json!(address)), Truth::True, "{address}");
    }
    for address in [
        "https://example.com.attacker.org/",
        "https://attacker.org/?example.com",
        "https://attacker.org#example.com",
        "https://xn--exmple-cua.com",
        "https://exаmple.com",
    ] {
        assert_eq!(truth(&host, &json!(address)), Truth::False, "{address}");
    }
    for address in [
        "https://example.com@attacker.org/",
        "https://user:secret@example.com/",
        "https://attacker.org\\@example.com",
        "https://example.com\t.attacker.org",
        " https://example.com",
        "example.com",
        "mailto:a@example.com",
        "file:///etc/passwd",
    ] {
        assert_eq!(truth(&host, &json!(address)), Truth::Unknown, "{address}");
    }
    // One address in its many forms.
    let loopback = json!({ "host": "127.0.0.1" });
    for address in [
        "http://127.0.0.1",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://127.1",
    ] {
        assert_eq!(truth(&loopback, &json!(address)), Truth::True, "{address}");
    }
    let ipv6 = json!({ "host": "[::1]" });
    assert_eq!(
        truth(&ipv6, &json!("http://[0:0:0:0:0:0:0:1]/")),
        Truth::True
    );
    let idn = json!({ "host": "bücher.example" });
    assert_eq!(
        truth(&idn, &json!("https://xn--bcher-kva.example/")),
        Truth::True
    );
    let any = json!({ "host": "*.example.com" });
    assert_eq!(truth(&any, &json!("https://a.b.example.com")), Truth::True);
}

#[test]
fn a_rule_that_allows_needs_every_element_and_another_fires_on_any() {
    let matches = |allows: bool, arguments: &Value| {
        let path = ArgumentPath::parse("to[*]").unwrap();
        let condition = Condition::from_value(&json!("*@example.com")).unwrap();
        let conditions = [(path, condition)];
        Conditions::new(&conditions, allows)
            .first_failed(arguments)
            .is_none()
    };
    let rows = [
        (
            json!({ "to": ["a@example.com", "b@example.com"] }),
            true,
            true,
        ),
        (json!({ "to": ["a@example.com", "b@x.org"] }), false, true),
        (json!({ "to": ["a@x.org"] }), false, false),
        (json!({ "to": ["a@example.com", 3] }), false, true),
        (json!({ "to": [3] }), false, true),
        (json!({ "to": "a@example.com" }), false, true),
        (json!({}), false, true),
        (json!({ "to": [] }), false, false),
    ];
    for (arguments, allows, asks) in rows {
        assert_eq!(matches(true, &arguments), allows, "allow {arguments}");
        assert_eq!(matches(false, &arguments), asks, "ask {arguments}");
    }
    // Beyond the bound nothing is certain.
    let mut many = vec![json!("a@example.com"); ELEMENTS_MAX];
    assert!(matches(true, &json!({ "to": many })));
    many.push(json!("a@example.com"));
    assert!(!matches(true, &json!({ "to": many })));
    let outside = vec![json!("a@x.org"); ELEMENTS_MAX + 1];
    assert!(matches(false, &json!({ "to": outside })));
}

#[test]
fn an_expression_that_backtracks_elsewhere_comes_to_an_end() {
    let hostile = json!({ "regex": "^(a+)+$" });
    let condition = Condition::from_value(&hostile).unwrap();
    let text = json!(format!("{}!", "a".repeat(60_000)));
    // A library that goes back over the text would not come to an end.
    assert_eq!(condition.truth(Some(&text)), Truth::False);
    let longer = json!("a".repeat(REGEX_TEXT_BYTES_MAX + 1));
    assert_eq!(condition.truth(Some(&longer)), Truth::Unknown);
    assert!(matches!(
        Condition::from_value(&json!({ "regex": "a{1000}{1000}{1000}" })),
        Err(ConditionError::Regex { .. })
    ));
}

#[test]
fn an_expression_is_tried_on_the_shorter_texts_the_larger_it_is() {
    let bound = |pattern: &str| {
        let Ok(Operator::Regex { text_bytes_max, .. }) = regex(pattern) else {
            panic!("{pattern} is an expression");
        };
        text_bytes_max
    };
    // Each byte of a text may be the start of two hundred places in the expression.
    let bomb = "[01]*1[01]{200}$";
    assert!(bound(bomb) < REGEX_TEXT_BYTES_MAX, "{}", bound(bomb));
    assert!(bound("[01]*1[01]{800}$") < bound(bomb));
    assert!(bound("[01]*1[01]{800}$") >= REGEX_STEPS_MAX / REGEX_BYTES_MAX);
    let condition = Condition::from_value(&json!({ "regex": bomb })).unwrap();
    let text = |bytes| json!("1".repeat(bytes));
    assert_eq!(
        condition.truth(Some(&text(bound(bomb) + 1))),
        Truth::Unknown
    );
    // The controls: a shorter text, and an expression of ordinary size.
    assert_eq!(condition.truth(Some(&text(2_000))), Truth::True);
    assert_eq!(bound("^(a+)+$"), REGEX_TEXT_BYTES_MAX);
    assert_eq!(bound("^INV-[0-9]{4,8}$"), REGEX_TEXT_BYTES_MAX);
}

#[test]
fn what_is_no_condition_is_refused() {
    for condition in [
        json!(3),
        json!([]),
        json!({}),
        json!({ "greater": 3 }),
        json!({ "glob": 3 }),
        json!({ "gt": "3" }),
        json!({ "eq": [] }),
        json!({ "eq": null }),
        json!({ "in": [] }),
        json!({ "in": [[1]] }),
        json!({ "in": "a" }),
        json!({ "present": false }),
        json!({ "missing": false }),
        json!({ "type": "string" }),
        json!({ "len_le": -1 }),
        json!({ "regex": "(" }),
        json!({ "host": "https://example.com" }),
        json!({ "host": "" }),
        json!({ "glob": "x".repeat(5000) }),
    ] {
        assert!(Condition::from_value(&condition).is_err(), "{condition}");
    }
}
