use limbeck_wire::domain::{Repeat, Site, Sites};
use serde_json::{Value, json};

use super::{PROGRAM_BYTES_MAX, sites};
use crate::source::STACK_BYTES;

mod acceptance;
mod arguments;
mod awaits;
mod flow;
mod reading;

const SERVERS: &str = r#"[{"name":"shop","tools":6},{"name":"Get-Weird.1","tools":4}]"#;

fn read(program: &str) -> Sites {
    sites(program, SERVERS).unwrap_or_else(|| panic!("not read: {program}"))
}

/// The only site of a program.
fn site(program: &str) -> Site {
    let mut found = read(program).sites;
    let site = found.pop().unwrap_or_else(|| panic!("no site: {program}"));
    assert_eq!(found, [], "{program}");
    site
}

fn arguments(site: &Site) -> Value {
    serde_json::to_value(&site.arguments).unwrap()
}

#[test]
fn every_form_of_a_call_is_seen() {
    for (call, server, tool) in [
        ("tools.shop.echo(a=1)", Some("shop"), "echo"),
        ("tools['shop']['echo'](a=1)", Some("shop"), "echo"),
        ("tools.shop.echo.raw(a=1)", Some("shop"), "echo"),
        ("tools.shop.echo({'a': 1})", Some("shop"), "echo"),
        ("call_tool('shop.echo', {'a': 1})", Some("shop"), "echo"),
        ("acall_tool('shop', 'echo', {'a': 1})", Some("shop"), "echo"),
        ("call_tool('mcp__shop__echo', a=1)", None, "mcp__shop__echo"),
        (
            "call_mcp_tool('mcp__shop__echo', {'a': 1})",
            None,
            "mcp__shop__echo",
        ),
        (
            "call_mcp_tool('mcp__shop__echo', params={'a': 1})",
            None,
            "mcp__shop__echo",
        ),
        (
            "call_mcp_tool('shop', 'echo', {'a': 1})",
            Some("shop"),
            "echo",
        ),
        (
            "call_mcp_tool('shop', 'echo', arguments={'a': 1})",
            Some("shop"),
            "echo",
        ),
        (
            "runtime.call_tool('shop', 'echo', {'a': 1})",
            Some("shop"),
            "echo",
        ),
        (
            "runtime.call_tool('shop', 'echo', arguments={'a': 1})",
            Some("shop"),
            "echo",
        ),
        ("mcp_shop.echo(a=1)", Some("shop"), "echo"),
        ("mcp_get_weird_1.echo(a=1)", Some("Get-Weird.1"), "echo"),
        ("mcp_servers['shop'].echo(a=1)", Some("shop"), "echo"),
    ] {
        for form in [
            call.to_owned(),
            format!("await {call}"),
            format!("from mcp import runtime\nx = {call}"),
        ] {
            let found = site(&form);
            assert_eq!(
                (found.server.as_deref(), &*found.tool),
                (server, tool),
                "{form}"
            );
            assert_eq!(
                arguments(&found),
                json!([{"name": "a", "value": 1}]),
                "{form}"
            );
            assert!(
                found.complete && found.awaited && found.positional == 0,
                "{form}"
            );
        }
    }
}

#[test]
fn calls_through_a_name_are_seen() {
    for program in [
        "s = tools.shop\ns.echo(a=1)",
        "s: object = tools['shop']\nr = await s.echo(a=1)",
        "e = tools.shop.echo\ne(a=1)",
        "t = tools\ns = t.shop\ne = s.echo\ne(a=1)",
        "s = mcp_servers['shop']\ns.echo(a=1)",
        "def f():\n    s = tools.shop\n    return s.echo(a=1)\nf()",
    ] {
        let found = site(program);
        assert_eq!(
            (found.server.as_deref(), &*found.tool),
            (Some("shop"), "echo"),
            "{program}"
        );
        assert_eq!(
            arguments(&found),
            json!([{"name": "a", "value": 1}]),
            "{program}"
        );
    }
}

#[test]
fn names_with_another_meaning_are_not_judged() {
    for program in [
        "s = tools.shop\ns = str\ns.lower('A')",
        "s = tools.shop\nfor s in ['A']:\n    s.lower()",
        "def f(s):\n    return s.lower()\ns = tools.shop\nf('A')",
        "tools = str\ns = tools.lower\ns('A')",
        "a = str\ns = a.lower\ns('A')",
        "tools = None\ndef f():\n    tools.shop.nope()",
        "def f(tools):\n    tools.shop.nope()",
        "from somewhere_else import tools\ntools.shop.nope()",
        "for tools in []:\n    tools.shop.nope()",
        "class A:\n    tools = 1\ntools.shop.nope()",
        "match x:\n    case {**tools}:\n        tools.shop.nope()",
        "try:\n    x\nexcept E as tools:\n    tools.shop.nope()",
        "def call_tool(x):\n    return 1\ncall_tool('shop.nope')",
    ] {
        assert_eq!(read(program), Sites::default(), "{program}");
    }
}

#[test]
fn calls_under_names_that_are_not_known_are_counted() {
    let sites = read(
        "n = 'echo'\ntools.shop[n](a=1)\ncall_tool(f'shop.{n}', {'a': 1})\ntools.shop.echo(a=1)",
    );
    let places = sites.dynamic.iter().map(|place| (place.line, place.column));
    assert_eq!(places.collect::<Vec<_>>(), [(2, 1), (3, 1)]);
    assert_eq!(sites.sites.len(), 1);
}

#[test]
fn imported_functions_are_seen() {
    let found = site("from mcp.servers.shop import get_order as one\nawait one(id=1)");
    assert_eq!(
        (found.server.as_deref(), &*found.tool),
        (Some("shop"), "get_order")
    );
    assert_eq!(arguments(&found), json!([{"name": "id", "value": 1}]));
    let twice = "from mcp.servers.shop import get_order as one\none = str\none(id=1)";
    assert_eq!(read(twice), Sites::default());
    assert_eq!(
        read("from mcp.servers.nope import get_order\nget_order(id=1)"),
        Sites::default()
    );
}

#[test]
fn the_place_is_that_of_the_call_in_characters() {
    let found = site("x = 'ééé'; y = tools.shop.echo(a=1)");
    assert_eq!((found.line, found.column), (1, 16));
}

#[test]
fn many_calls_are_bounded() {
    let program = "tools.shop.echo(a='x')\n".repeat(600);
    assert_eq!(read(&program).sites.len(), 500);
    let program = "tools.shop[n]()\n".repeat(600);
    assert_eq!(read(&program).dynamic.len(), 500);
}
