use oxc::allocator::Allocator;
use oxc::parser::{ParseOptions, Parser};
use oxc::semantic::SemanticBuilder;
use oxc::span::SourceType;
use serde_json::{Value, json};

use super::*;
use limbeck_domain::Repeat;

mod assigned;
mod reach;
mod reads;
mod results;

fn collected(text: &str) -> Sites {
    let allocator = Allocator::default();
    let options = ParseOptions {
        allow_return_outside_function: true,
        preserve_parens: false,
        ..ParseOptions::default()
    };
    let parsed = Parser::new(&allocator, text, SourceType::ts())
        .with_options(options)
        .parse();
    assert!(parsed.diagnostics.errors().next().is_none(), "{text}");
    let analysed = SemanticBuilder::new_compiler()
        .with_build_nodes(true)
        .build(&parsed.program);
    collect(&analysed.semantic, text, TextOrigin::default())
}

fn sites(text: &str) -> Vec<Site> {
    collected(text).sites
}

fn only(text: &str) -> Site {
    let sites = sites(text);
    assert_eq!(sites.len(), 1, "{text}: {sites:?}");
    sites.into_iter().next().unwrap()
}

fn named(text: &str) -> (Option<String>, String) {
    let site = only(text);
    (site.server, site.tool)
}

/// The arguments as JSON, `"?"` for a value that is not known, and whether they are all.
fn arguments(text: &str) -> (Value, bool, u32) {
    let site = only(&format!("await tools.s.t({text});"));
    let named = site.arguments.into_iter();
    let named = named.map(|one| (one.name, one.value.unwrap_or_else(|| json!("?"))));
    (
        Value::Object(named.collect()),
        site.complete,
        site.positional,
    )
}

#[test]
fn every_way_to_write_a_call_gives_its_names() {
    for (text, server, tool) in [
        ("await tools.a.b()", Some("a"), "b"),
        ("tools['a-b'][\"c d\"]({})", Some("a-b"), "c d"),
        ("(tools as any).a!.b.raw({})", Some("a"), "b"),
        ("globalThis.tools.a.b()", Some("a"), "b"),
        (
            "import { tools } from 'limbeck'; tools.a.b()",
            Some("a"),
            "b",
        ),
        ("callMCPTool('a', 'b', {})", Some("a"), "b"),
        ("callMCPTool('mcp__a__b')", None, "mcp__a__b"),
        ("callMCPTool('mcp__a__b', args)", None, "mcp__a__b"),
        ("callMCPTool('a.b', { c: 1 })", None, "a.b"),
        (
            "async function f() { return () => tools.a.b(); }",
            Some("a"),
            "b",
        ),
    ] {
        assert_eq!(
            named(text),
            (server.map(str::to_owned), tool.to_owned()),
            "{text}"
        );
    }
}

#[test]
fn what_may_be_another_thing_is_no_site() {
    for text in [
        "const tools = f(); tools.a.b()",
        "function f(tools) { return tools.a.b() }",
        "tools[a].b(); tools.a[b]()",
        "tools.a.b.c(); tools.a.b.call(null)",
        "tools.a.toString(); tools.toJSON.b()",
        "other.tools.a.b()",
        "callMCPTool(name, {}); callMCPTool('a', tool); callMCPTool(`a${1}`, 'b')",
        "new tools.a.b()",
        "import { tools } from './other/deep/tools/of.js'; tools.a.b()",
    ] {
        assert_eq!(sites(text), [], "{text}");
    }
}

#[test]
fn arguments_are_what_json_makes_of_them() {
    for (text, expected) in [
        ("", json!({})),
        ("undefined", json!({})),
        (
            "{ a: 1, b: 'x', c: null, d: true }",
            json!({"a": 1, "b": "x", "c": null, "d": true}),
        ),
        (
            "{ a: -1.5, b: 1e3, c: -0, d: 9007199254740993 }",
            json!({"a": -1.5, "b": 1000, "c": 0, "d": 9007199254740992_u64}),
        ),
        (
            "{ a: 1e999, b: 10n, c: NaN }",
            json!({"a": "?", "b": "?", "c": "?"}),
        ),
        ("{ a: `x`, b: `x${y}` }", json!({"a": "x", "b": "?"})),
        (
            "{ a: [1, , undefined, { b: undefined, c: 2 }] }",
            json!({"a": [1, null, null, {"c": 2}]}),
        ),
        ("{ a: ['x', y], b: { c: y } }", json!({"a": "?", "b": "?"})),
        (
            "{ a, 'b c': 1 as number, 3: 'x' satisfies string }",
            json!({"a": "?", "b c": 1, "3": "x"}),
        ),
        ("{ a: 1, a: undefined, b: () => 1, c() {} }", json!({})),
        (
            "{ a: 1, ...{ a: 2, b: 3 } } as const",
            json!({"a": 2, "b": 3}),
        ),
        ("{ ['a']: 1, __proto__: {} }", json!({"a": 1})),
    ] {
        assert_eq!(arguments(text), (expected, true, 0), "{text}");
    }
}

#[test]
fn what_a_spread_may_replace_is_not_known() {
    for (text, expected) in [
        ("args", json!({})),
        ("...args", json!({})),
        ("{ a: 1, ...rest, b: 2 }", json!({"a": "?", "b": 2})),
        ("{ a: 1, [key]: 2, b: 2 }", json!({"a": "?", "b": 2})),
        ("{ a: 1, get b() { return 1 } }", json!({"a": 1, "b": "?"})),
        ("{ a: 1, toJSON() { return {} } }", json!({})),
    ] {
        let (found, complete, positional) = arguments(text);
        assert_eq!((found, positional), (expected, 0), "{text}");
        assert_eq!(complete, text.contains("get"), "{text}");
    }
}

#[test]
fn what_is_no_single_object_is_counted() {
    for (text, positional) in [
        ("'a'", 1),
        ("1", 1),
        ("['a']", 1),
        ("null", 1),
        ("() => 1", 1),
        ("{}, {}", 1),
        ("args, 2, 3", 2),
    ] {
        assert_eq!(arguments(text).2, positional, "{text}");
    }
    assert_eq!(only("callMCPTool('a', 'b', null, 5)").positional, 0);
}

#[test]
fn a_result_that_is_taken_apart_without_await_is_a_mistake() {
    for text in [
        "tools.a.b().items",
        "tools.a.b()['items'].length",
        "tools.a.b()[0]",
        "(tools.a.b() as any)?.items",
        "const { items } = tools.a.b()",
        "const [first] = callMCPTool('a', 'b')",
        "let x; ({ x } = tools.a.b())",
        "f(...tools.a.b())",
        "const o = { ...tools.a.b() }",
        "for (const x of tools.a.b()) f(x)",
        "const p = tools.a.b(); f(p.items)",
        "const p = tools.a.b(); const { items } = p",
        "f(`found ${tools.a.b()}`)",
        "const n = tools.a.b() * 2",
        "JSON.stringify(tools.a.b())",
    ] {
        assert!(!only(text).awaited, "{text}");
    }
    for text in [
        "(await tools.a.b()).items",
        "tools.a.b().then(f)",
        "tools.a.b()['catch'](f)",
        "tools.a.b()[key]",
        "const { items } = await tools.a.b()",
        "const all = [tools.a.b()]",
        "const p = tools.a.b(); (await p).items",
        "let p = tools.a.b(); p = await p; p.items",
        "const p = tools.a.b(); p.then(f); f(p)",
        "tools.a.b().done = true",
        "for (const x of await tools.a.b()) f(x)",
        "return tools.a.b()",
    ] {
        assert!(only(text).awaited, "{text}");
    }
}

#[test]
fn places_are_those_of_the_text_and_the_order_too() {
    let found = sites("const é = 1; await tools.a.b({ x: tools.c.d() });\n  tools.e.f();");
    let places: Vec<_> = found
        .iter()
        .map(|site| (site.line, site.column, &*site.tool))
        .collect();
    assert_eq!(places, [(1, 20, "b"), (1, 35, "d"), (2, 3, "f")]);
}

#[test]
fn a_program_of_nothing_but_calls_gives_no_more_than_are_judged() {
    assert_eq!(
        sites(&"tools.a.b();".repeat(SITES_MAX + 1)).len(),
        SITES_MAX
    );
}

#[test]
fn names_are_followed_through_constants_and_destructuring() {
    for (text, server, tool) in [
        ("const S = 'a'; tools[S]['b']()", Some("a"), "b"),
        ("const t = tools; const s = t.a; s.b()", Some("a"), "b"),
        ("const { a } = tools; a.b()", Some("a"), "b"),
        ("const { a: { b: call } } = tools; call()", Some("a"), "b"),
        ("const f = tools.a.b.raw; f()", Some("a"), "b"),
        (
            "const n = 'mcp__a__b'; callMCPTool(n, {})",
            None,
            "mcp__a__b",
        ),
        ("import { a } from './mcp-wrappers'; a.b()", Some("a"), "b"),
        ("import { b } from './servers/a'; b({})", Some("a"), "b"),
        ("import * as a from './servers/a'; a.b({})", Some("a"), "b"),
        (
            "import { tools as t } from 'limbeck'; t.a.b()",
            Some("a"),
            "b",
        ),
        ("tools.b({})", None, "b"),
        ("tools.mcp__a__b({})", None, "mcp__a__b"),
        ("mcp__a__b({})", None, "mcp__a__b"),
        ("tools['a.b']({})", None, "a.b"),
        ("tools.call('a', 'b', {})", Some("a"), "b"),
        ("callTool('a.b', {})", None, "a.b"),
        ("export default ({ tools }) => tools.a.b()", Some("a"), "b"),
        (
            "export default async function main({ tools: t, input }) { return t.a.b() }",
            Some("a"),
            "b",
        ),
        ("export default ({ tools: { a } }) => a.b()", Some("a"), "b"),
    ] {
        assert_eq!(
            named(text),
            (server.map(str::to_owned), tool.to_owned()),
            "{text}"
        );
    }
    for text in [
        "let s = tools.a; s = tools.c; s.b()",
        "const k = f(); tools[k].b()",
        "f(tools.a)",
        "const all = [tools.a.b]",
        "callMCPTool(name, {})",
        "callTool(name, {})",
        "eval('tools.a.b()')",
        "new Function('return tools')()",
        "globalThis['to' + 'ols'].a.b()",
        "Reflect.get(globalThis, k)",
        "(() => {}).constructor('return tools')()",
        "const go = (t) => t.a.b(); go(tools)",
        "export default ({ tools, ...rest }) => rest.x",
    ] {
        assert_eq!(sites(text), [], "{text}");
        assert!(!collected(text).dynamic.is_empty(), "{text}");
    }
    assert!(
        collected("console.log(Object.keys(tools.a)); typeof tools.a.b")
            .dynamic
            .is_empty()
    );
}

#[test]
fn calls_that_are_too_many_are_counted_from_the_first_on() {
    let program = "tools.a.b();\n".repeat(503);
    let unread = collected(&program).unread;
    let unread = unread.map(|unread| (unread.line, unread.column, unread.count));
    assert_eq!(unread, Some((501, 1, 3)));
    assert_eq!(collected("tools.a.b()").unread, None);
}

#[test]
fn constants_have_names_too() {
    let declared = "const owner = 'o'; let page = 1; page = 2; const rest = { q: 1 };";
    let site = only(&format!(
        "{declared} tools.s.t({{ owner, page, ...rest }});"
    ));
    let named: Vec<_> = site
        .arguments
        .into_iter()
        .map(|one| (one.name, one.value))
        .collect();
    assert_eq!(
        named,
        [
            ("owner".to_owned(), Some(json!("o"))),
            ("page".to_owned(), None),
            ("q".to_owned(), Some(json!(1))),
        ]
    );
    assert!(site.complete);
    assert!(!only("const a = { q: 1 }; a.r = 2; tools.s.t(a)").complete);
    assert!(only("const a = { q: 1 }; tools.s.t(a)").complete);
}

#[test]
fn a_call_whose_refusal_may_be_caught_is_marked() {
    for text in [
        "try { await tools.a.b() } catch {}",
        "try { await Promise.all(xs.map(x => tools.a.b(x))) } catch (e) { f(e) }",
        "await tools.a.b().catch(() => null)",
        "await tools.a.b()['catch'](() => null)",
        "tools.a.b().then(f, g)",
        "await Promise.allSettled([tools.a.b()])",
        "await Promise.any([tools.a.b()])",
        "async function f() { await tools.a.b() } try { await f() } catch {}",
        "async function f() { await g() } async function g() { await tools.a.b() } await f().catch(h)",
        "const f = async () => tools.a.b(); await Promise.allSettled([f()])",
        "const p = tools.a.b(); try { await p } catch {}",
        "const ps = []; ps.push(tools.a.b()); await Promise.allSettled(ps)",
        "const attempt = async (f) => { try { await f() } catch {} }; await attempt(() => tools.a.b())",
        "const fs = [() => tools.a.b()]; for (const f of fs) await f().catch(g)",
        "class A { m() { return tools.a.b() } } try { await new A().m() } catch {}",
        "await tools.a.b?.()",
        "const all = servers(); if (all.length) await tools.a.b()",
    ] {
        assert!(only(text).guarded, "{text}");
    }
    for text in [
        "await tools.a.b()",
        "try { f() } catch {} await tools.a.b()",
        "try { f() } catch { await tools.a.b() }",
        "try { await tools.a.b() } finally { f() }",
        "try { f() } catch {} await Promise.all(xs.map(async x => { await tools.a.b(x) }))",
        "async function main() { await tools.a.b() } await main(); g().catch(h)",
        "async function f() { await tools.a.b() } await f(); try { g() } catch {}",
        "export default async () => { await tools.a.b() }; try { g() } catch {}",
        "if (x) await tools.a.b()",
        "const p = tools.a.b(); await p",
        "tools.a.b().then(f)",
    ] {
        assert!(!only(text).guarded, "{text}");
    }
}

#[test]
fn how_often_a_call_is_made_is_what_its_loops_say() {
    for (text, repeat) in [
        ("tools.a.b()", Repeat::Once),
        ("for (const x of ['p', 'q']) tools.a.b()", Repeat::AtMost(2)),
        (
            "for (let i = 0; i < 10; i++) tools.a.b()",
            Repeat::AtMost(10),
        ),
        (
            "for (let i = 1; i <= 3; i++) for (const x of [1, 2]) tools.a.b()",
            Repeat::AtMost(6),
        ),
        (
            "for (let i = 0; i < 10; i++) { i = 0; tools.a.b() }",
            Repeat::Many,
        ),
        ("for (let i = 0; i < n; i++) tools.a.b()", Repeat::Many),
        ("for (const x of xs) tools.a.b()", Repeat::Many),
        ("for (const x of await tools.a.b()) f(x)", Repeat::Once),
        (
            "const xs = [1, 2, 3]; xs.map(x => tools.a.b(x))",
            Repeat::AtMost(3),
        ),
        (
            "const xs = [1]; xs.push(2); xs.map(x => tools.a.b(x))",
            Repeat::Many,
        ),
        (
            "Array.from({ length: 5 }, () => tools.a.b())",
            Repeat::AtMost(5),
        ),
        ("while (true) tools.a.b()", Repeat::Endless),
        ("for (;;) tools.a.b()", Repeat::Endless),
        ("do { tools.a.b() } while (1)", Repeat::Endless),
        ("while (cursor) tools.a.b()", Repeat::Many),
        (
            "async function f() { await tools.a.b() } f(); f()",
            Repeat::AtMost(2),
        ),
        ("async function main() { await tools.a.b() }", Repeat::Once),
        (
            "async function f() { for (;;) await tools.a.b() } f()",
            Repeat::Endless,
        ),
        ("function f() { tools.a.b(); f() } f()", Repeat::Many),
        ("(async () => { await tools.a.b() })()", Repeat::Once),
        ("setInterval(() => tools.a.b(), 5)", Repeat::Endless),
        (
            "const h = setInterval(() => tools.a.b(), 5); clearInterval(h)",
            Repeat::Many,
        ),
        ("g(() => tools.a.b())", Repeat::Many),
    ] {
        assert_eq!(only(text).repeat, repeat, "{text}");
    }
}
