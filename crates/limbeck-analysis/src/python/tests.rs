use limbeck_domain::{Repeat, Site, Sites};
use serde_json::{Value, json};

use super::{PROGRAM_BYTES_MAX, sites};
use crate::PARSER_STACK_BYTES;

mod acceptance;
mod arguments;
mod assigned;
mod awaits;
mod flow;
mod mutations;
mod reading;
mod results;

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
        assert_eq!(read(program).sites, [], "{program}");
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
    // The same from a file that another system generated, whose class is not followed.
    let generated = site("from mcp_shop import shop_get_order\nawait shop_get_order(id=1)");
    assert_eq!(
        (generated.server.as_deref(), &*generated.tool),
        (Some("shop"), "shop_get_order")
    );
    let class = read("from mcp_shop import ShopClient\nawait ShopClient().get_order(id=1)");
    assert_eq!(class.sites, []);
    assert!(!class.dynamic.is_empty());
    let twice = "from mcp.servers.shop import get_order as one\none = str\none(id=1)";
    for unresolved in [
        twice,
        "from mcp.servers.nope import get_order\nget_order(id=1)",
    ] {
        let found = read(unresolved);
        assert_eq!(found.sites, [], "{unresolved}");
        assert!(!found.dynamic.is_empty(), "{unresolved}");
    }
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

#[test]
fn other_ways_to_name_a_tool_are_seen() {
    for (program, server, tool) in [
        ("tools.echo(a=1)", None, "echo"),
        ("tools.mcp__shop__echo(a=1)", None, "mcp__shop__echo"),
        ("mcp__shop__echo(a=1)", None, "mcp__shop__echo"),
        ("tools['shop.echo'](a=1)", None, "shop.echo"),
        (
            "tools.call_tool('shop', 'echo', {'a': 1})",
            Some("shop"),
            "echo",
        ),
        (
            "tools.call('mcp__shop__echo', arguments={'a': 1})",
            None,
            "mcp__shop__echo",
        ),
        ("t = tools\nt.shop.echo(a=1)", Some("shop"), "echo"),
        ("import tools\ntools.shop.echo(a=1)", Some("shop"), "echo"),
        ("import tools as t\nt.shop.echo(a=1)", Some("shop"), "echo"),
        (
            "from tools import shop as s\ns.echo(a=1)",
            Some("shop"),
            "echo",
        ),
        ("from tools import echo\necho(a=1)", None, "echo"),
        (
            "from limbeck import tools\ntools.shop.echo(a=1)",
            Some("shop"),
            "echo",
        ),
        (
            "import limbeck\nlimbeck.tools.shop.echo(a=1)",
            Some("shop"),
            "echo",
        ),
    ] {
        let found = site(program);
        assert_eq!(
            (found.server.as_deref(), &*found.tool),
            (server, tool),
            "{program}"
        );
        assert_eq!(
            arguments(&found),
            json!([{"name": "a", "value": 1}]),
            "{program}"
        );
        assert_eq!(read(program).dynamic, [], "{program}");
    }
}

#[test]
fn whatever_is_not_followed_is_a_place_where_any_tool_may_be_called() {
    for program in [
        "def go(t):\n    return t.shop.echo()\ngo(tools)",
        "getattr(tools, 'shop').echo()",
        "[f() for f in [tools.shop.echo]]",
        "import importlib\nimportlib.import_module('mcp.servers.shop').echo()",
        "from importlib import import_module\nimport_module('mcp.servers.shop').echo()",
        "eval('tools.shop.echo()')",
        "exec('tools.shop.echo()')",
        "globals()['to' + 'ols'].shop.echo()",
        "import __main__\ngetattr(__main__, 'tools').shop.echo()",
        "import sys\nsys._getframe().f_globals['tools']",
        "import sys\nsys.modules['tools']",
        "import gc\ngc.get_objects()",
        "t = tools\nt = t.shop\nt.echo()",
        "async def f(s=tools.shop):\n    return await s.echo()",
        "x = {'a': tools.shop}\nx['a'].echo()",
        "return tools.shop.echo",
        "from mcp.servers.shop import *\necho()",
        "saved_by_an_earlier_program()",
        "f = call_tool\n[f][0]('shop.echo')",
    ] {
        assert!(!read(program).dynamic.is_empty(), "{program}");
    }
}

#[test]
fn what_only_looks_at_tools_is_no_such_place() {
    for program in [
        "print(tools, dir(tools.shop), 'echo' in tools.shop, [s for s in tools])",
        "describe(tools.shop.echo)",
        "if tools.shop:\n    tools.shop.echo()",
        "s = tools.shop\ns.echo()\ns.other()",
        "def helper(x):\n    return len(x)\nhelper(tools.shop.echo())",
        "import json\njson.dumps(tools.shop.echo())\nsorted([1])\nraise ValueError('x')",
        "import asyncio\nawait asyncio.gather(tools.shop.echo(), tools.shop.echo())",
    ] {
        assert_eq!(read(program).dynamic, [], "{program}");
    }
}

#[test]
fn calls_that_are_too_many_are_counted_from_the_first_on() {
    let program = "tools.shop.echo()\n".repeat(503);
    let unread = read(&program)
        .unread
        .map(|unread| (unread.line, unread.column, unread.count));
    assert_eq!(unread, Some((501, 1, 3)));
    assert_eq!(read("tools.shop.echo()").unread, None);
}
