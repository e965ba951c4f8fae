//! Arguments of a call.

use super::*;

#[test]
fn arguments_that_are_surely_not_named_are_counted() {
    for (given, positional) in [
        ("'x'", 1),
        ("5", 1),
        ("[1]", 1),
        ("f'{x}'", 1),
        ("'x', 2", 2),
        ("x, 2", 1),
        ("x", 0),
        ("None", 0),
        ("{'a': 1}", 0),
        ("*x", 0),
    ] {
        let found = site(&format!("x = {{}}\ntools.shop.echo({given})"));
        assert_eq!(found.positional, positional, "{given}");
    }
}

#[test]
fn constants_are_told_and_what_is_not_known_is_not() {
    for (given, expected, complete) in [
        (
            "a=x, b=[1, {'c': None}]",
            json!([{"name": "a"}, {"name": "b", "value": [1, {"c": null}]}]),
            true,
        ),
        ("**x", json!([]), false),
        ("{'a': 1, **x}", json!([{"name": "a"}]), false),
        (
            "{'a': 1, x: 2, 'b': 3}",
            json!([{"name": "a"}, {"name": "b", "value": 3}]),
            false,
        ),
        ("{'a': 1, 'a': 2}", json!([{"name": "a", "value": 2}]), true),
        ("a=1, **x", json!([{"name": "a", "value": 1}]), false),
        (
            "a=1, **{'a': 2, 'b': x}",
            json!([{"name": "a", "value": 2}, {"name": "b"}]),
            true,
        ),
        ("x", json!([]), false),
        ("{**{'a': 1}}", json!([{"name": "a", "value": 1}]), true),
        ("from_=-1.5", json!([{"name": "from", "value": -1.5}]), true),
        (
            "a=f'{x}', b=(1, 2), c='é'",
            json!([{"name": "a"}, {"name": "b", "value": [1, 2]}, {"name": "c", "value": "é"}]),
            true,
        ),
        (
            "a='b' 'c', b=True, c=0x10, d=1_000",
            json!([{"name": "a", "value": "bc"}, {"name": "b", "value": true}, {"name": "c", "value": 16}, {"name": "d", "value": 1000}]),
            true,
        ),
        (
            "a=18446744073709551615, b=-9223372036854775808",
            json!([{"name": "a", "value": u64::MAX}, {"name": "b", "value": i64::MIN}]),
            true,
        ),
        (
            "a=18446744073709551616, b=1e999, c=1j, d={1}, e=not 1, f=...",
            json!([{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}, {"name": "e"}, {"name": "f"}]),
            true,
        ),
        ("", json!([]), true),
        ("None", json!([]), true),
    ] {
        let found = site(&format!("x = {{'z': 1}}\ntools.shop.echo({given})"));
        assert_eq!(
            (arguments(&found), found.complete),
            (expected, complete),
            "{given}"
        );
    }
}
