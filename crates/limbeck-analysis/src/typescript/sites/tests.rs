use oxc::allocator::Allocator;
use oxc::parser::{ParseOptions, Parser};
use oxc::semantic::SemanticBuilder;
use oxc::span::SourceType;
use serde_json::{Value, json};

use super::*;
use limbeck_domain::Repeat;

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
        ("g(() => tools.a.b())", Repeat::Many),
    ] {
        assert_eq!(only(text).repeat, repeat, "{text}");
    }
}

#[test]
fn reads_of_a_result_are_followed_in_a_straight_line() {
    for (text, reads) in [
        ("const r = await tools.a.b(); f(r.items)", vec!["items"]),
        (
            "const { items, total = 0 } = await tools.a.b()",
            vec!["items", "total?"],
        ),
        (
            "f((await tools.a.b()).items[0].name)",
            vec!["items", "items.[].name"],
        ),
        (
            "const r = await tools.a.b(); for (const x of r.items) f(x.id, x['name'])",
            vec!["items", "items.[].id", "items.[].name"],
        ),
        (
            "const r = await tools.a.b(); r.items.map(x => x.id)",
            vec!["items", "items.[].id"],
        ),
        (
            "const r = await tools.a.b(); r.filter(x => x.a).map(({ b }) => b)",
            vec!["[].a", "[].b"],
        ),
        (
            "const r = await tools.a.b(); if (r.error) f()",
            vec!["error?"],
        ),
        (
            "const r = await tools.a.b(); f(r?.a, r.b ?? 1, typeof r.c)",
            vec!["a?", "b?", "c?"],
        ),
        ("let r = await tools.a.b(); r = 1; f(r.items)", vec![]),
        ("const r = await tools.a.b.raw(); f(r.items)", vec![]),
        ("const r = tools.a.b(); f(r.items)", vec![]),
        ("const r = await tools.a.b(); f(r[key])", vec![]),
        (
            "const r = await tools.a.b(); r.more = 1; f(r.more)",
            vec!["more?", "more?"],
        ),
        (
            "const r = await tools.a.b(); Object.assign(r, { more: 1 }); f(r.more)",
            vec!["more?"],
        ),
        // An object that the program wrote down itself is not a result, but its members may be.
        (
            "const n = {}; n.x = 1; n['y']++; const r = await tools.a.b(); f(r.items)",
            vec!["items"],
        ),
        (
            "const n = { r: g() }; n.r.x = 1; const r = await tools.a.b(); f(r.items)",
            vec!["items?"],
        ),
        (
            "let n = {}; n = g(); n.x = 1; const r = await tools.a.b(); f(r.items)",
            vec!["items?"],
        ),
        (
            "const [p, r] = await Promise.all([g(), tools.a.b()]); f(r.items, p.x)",
            vec!["items"],
        ),
        (
            "const [{ items }] = await Promise.all([tools.a.b(), g()]); f(items.length)",
            vec!["items", "items.length"],
        ),
        (
            "const [p, r] = await Promise.all([...gs, tools.a.b()]); f(r.items)",
            vec![],
        ),
        (
            "const [p, r] = await Promise.race([g(), tools.a.b()]); f(r.items)",
            vec![],
        ),
        ("tools.a.b().then(r => f(r.items))", vec!["items"]),
        (
            "const rs = await Promise.all(ids.map(id => tools.a.b({ id }))); rs.map(r => r.name)",
            vec!["name"],
        ),
        (
            "const rs = await Promise.all(ids.map(async id => await tools.a.b({ id }))); f(rs.length, rs[0].name)",
            vec!["name"],
        ),
    ] {
        let found: Vec<String> = only(text)
            .reads
            .iter()
            .map(|read| {
                let mark = if read.optional { "?" } else { "" };
                format!("{}{mark}", read.path.join("."))
            })
            .collect();
        assert_eq!(found, reads, "{text}");
    }
}

#[test]
fn reads_of_a_result_are_followed_through_functions_and_collections() {
    let found = |rest: &str| -> Vec<String> {
        let site = only(&format!("const r = await tools.a.b(); {rest}"));
        let found = site.reads.iter().map(|read| {
            let mark = if read.optional { "?" } else { "" };
            format!("{}{mark}", read.path.join("."))
        });
        found.collect()
    };
    for (rest, reads) in [
        ("r.map((x, i) => x.id + i)", &["[].id"][..]),
        ("r.forEach((x, i, all) => f(all[i].id))", &["[].id"]),
        ("r.reduce((acc, x) => acc + x.price, 0)", &["[].price"]),
        ("[...r].sort((a, b) => a.x - b.y)", &["[].x", "[].y"]),
        ("for (let i = 0; i < 3; i++) f(r[i].id)", &["[].id"]),
        (
            "const [first, ...rest] = r; f(first.a, rest[0].b)",
            &["[].a", "[].b"],
        ),
        ("f(r.find(x => x.id === 1).name)", &["[].id?", "[].name"]),
        ("f(r.at(-1)?.name)", &["[].name?"]),
        ("Object.entries(r).map(([k, v]) => v.name)", &["*.name"]),
        (
            "for (const [, { name }] of Object.entries(r)) f(name)",
            &["*.name"],
        ),
        ("f(Object.entries(r)[0][1].name)", &["*.name"]),
        ("Object.values(r).filter(v => v.a).length", &["*.a"]),
        ("Object.entries(r).map(e => e.name)", &[]),
        ("const Object = g(); Object.values(r).map(v => v.a)", &[]),
        ("const name = o => o.name; r.map(name)", &["[].name"]),
        (
            "function name({ name }) { return name } f(name(r))",
            &["name"],
        ),
        // A function that is used twice may get other values.
        (
            "const name = o => o.name; r.map(name); name(q)",
            &["[].name?"],
        ),
        ("let name = o => o.name; name = g; r.map(name)", &[]),
        ("f(...r.map(g))", &[]),
        (
            "(r.items ?? []).map(x => x.id)",
            &["items?", "items.[].id?"],
        ),
        (
            "const { items = [] } = r; items.map(x => x.id)",
            &["items?", "items.[].id?"],
        ),
        ("f((ok ? r : q).name)", &["name?"]),
        ("f(ok && r.items.name)", &["items", "items.name"]),
        // What the program asks for it reads elsewhere only where it is.
        ("if (r.a) f(r.a.b)", &["a?", "a?", "a.b?"]),
        ("if ('a' in r) f(r.a)", &["a?", "a?"]),
        ("if (Object.hasOwn(r, 'a')) f(r.a)", &["a?", "a?"]),
        (
            "r.filter(x => x.hasOwnProperty('a')).map(x => x.a)",
            &["[].a?", "[].a?"],
        ),
        ("f(r.a ?? r.b, r.c)", &["a?", "b?", "c"]),
    ] {
        assert_eq!(found(rest), reads, "{rest}");
    }
}

/// The reads of the result of `tools.a.b()`; `?` marks those that are never errors.
fn reads_of(text: &str) -> Vec<String> {
    let sites = sites(text);
    let site = sites.iter().find(|site| site.tool == "b").unwrap();
    let reads = site.reads.iter().map(|read| {
        let mark = if read.optional { "?" } else { "" };
        format!("{}{mark}", read.path.join("."))
    });
    reads.collect()
}

#[test]
fn members_that_the_program_itself_gives_to_a_result_are_no_errors() {
    for (rest, reads) in [
        ("r.push({ sum: 1 }); r.map(x => x.sum)", &["[].sum?"][..]),
        (
            "r.items.unshift({ sum: 1 }); f(r.items[0].sum)",
            &["items?", "items?", "items.[].sum?"],
        ),
        ("r.splice(0, 0, { sum: 1 }); f(r[0].sum)", &["[].sum?"]),
        ("r.fill({ sum: 1 }); f(r[0].sum)", &["[].sum?"]),
        ("r['push']({ sum: 1 }); f(r[0].sum)", &["push?", "[].sum?"]),
        (
            "Array.prototype.push.apply(r, more); f(r[0].sum)",
            &["[].sum?"],
        ),
        ("Reflect.set(r, 'sum', 1); f(r.sum)", &["sum?"]),
        (
            "const all = [...r]; all.push({ sum: 1 }); f(all[0].sum)",
            &["[].sum?"],
        ),
        (
            "const all = [...r]; all[0] = { sum: 1 }; f(all[0].sum)",
            &["[].sum?"],
        ),
        (
            "const add = list => list.push({ sum: 1 }); add(r); f(r[0].sum)",
            &["[].sum?"],
        ),
        // The controls: lists of the program itself, and what only has the name of such a method.
        (
            "const out = []; r.forEach(x => out.push(x.sum))",
            &["[].sum"],
        ),
        (
            "const by = {}; for (const x of r) (by[x.day] ??= []).push(x.sum)",
            &["[].day", "[].sum"],
        ),
        ("const n = new Array(3).fill(0); f(r.sum, n)", &["sum"]),
        ("const m = new Map(); m.set('a', r.sum)", &["sum"]),
        ("await tools.git.push({ sum: r.sum })", &["sum"]),
    ] {
        let text = format!("const r = await tools.a.b(); {rest}");
        assert_eq!(reads_of(&text), reads, "{rest}");
    }
}

#[test]
fn what_the_program_asks_of_a_result_is_no_error_where_it_reads_it() {
    for (rest, reads) in [
        ("f(r.a || r.b)", &["a?", "b?"][..]),
        ("const a = r.a; f(a ?? r.b)", &["a?", "b?"]),
        (
            "const a = r.a; for (const x of a || []) f(x.b)",
            &["a?", "a.[].b?"],
        ),
        ("const a = r.a; if (a) f(a.b)", &["a?", "a.b?"]),
        ("const a = r.a; f(a?.b)", &["a?", "a.b?"]),
        ("f(Boolean(r.a))", &["a?"]),
        ("switch (r.a) { case 1: f(r.a.b) }", &["a?", "a?", "a.b?"]),
        ("f('a' in r ? r.a : r.b)", &["a?", "a?", "b?"]),
        ("if (r.a) { f(r.a) } else { f(r.b) }", &["a?", "a?", "b?"]),
        (
            "const rows = Array.isArray(r) ? r : r.items; f(rows)",
            &["items?"],
        ),
        (
            "const rows = Array.isArray(r.a) ? r.a : []; f(rows[0].b)",
            &["a?", "a?", "a.[].b?"],
        ),
        ("f(typeof r === 'string' ? r : r.text)", &["text?"]),
        ("if (r instanceof Array) f(r.a)", &["a?"]),
        ("if (Object.keys(r).includes('a')) f(r.a)", &["a?"]),
        ("for (const k in r) if (k === 'a') f(r.a)", &["a?"]),
        // The controls: a test of something else, of an item, and what a test has let through.
        ("if (r[0]) f(r[0].b)", &["[].b"]),
        ("f(ok ? 1 : r.b)", &["b"]),
        ("if (r.kind === 'x') f(r.b)", &["kind?", "b"]),
        ("f(ok && r.b)", &["b"]),
        ("const a = r.a; f(a.b)", &["a", "a.b"]),
    ] {
        let text = format!("const r = await tools.a.b(); {rest}");
        assert_eq!(reads_of(&text), reads, "{rest}");
    }
}

#[test]
fn values_of_other_shapes_are_not_taken_for_results() {
    for (text, reads) in [
        (
            "const r = (await tools.a.b()) ?? { sum: 0 }; f(r.sum)",
            &["sum?"][..],
        ),
        // A name that gets another value.
        (
            "let r; if (ok) r = await tools.a.b(); else r = { sum: 0 }; f(r.sum)",
            &[],
        ),
        (
            "let r = await tools.a.b(); if (!r) r = { sum: 0 }; f(r.sum)",
            &[],
        ),
        (
            "var r = await tools.a.b(); var r = { sum: 0 }; f(r.sum)",
            &[],
        ),
        ("let r = await tools.a.b(); r ||= { sum: 0 }; f(r.sum)", &[]),
        (
            "const r = await tools.a.b(); { const r = { sum: 0 }; f(r.sum) }",
            &[],
        ),
        ("const r = await tools.a.b(); xs.map(r => r.sum)", &[]),
        // Objects and lists that are made of it.
        (
            "const r = await tools.a.b(); const n = { ...r, sum: 0 }; f(n.sum)",
            &[],
        ),
        (
            "const r = await tools.a.b(); const n = [...r, { sum: 0 }]; f(n[0].sum)",
            &[],
        ),
        (
            "const r = await tools.a.b(); const n = r.map(x => ({ ...x, sum: 0 })); f(n[0].sum)",
            &[],
        ),
        (
            "const r = await tools.a.b(); const n = r.concat([{ sum: 0 }]); f(n[0].sum)",
            &[],
        ),
        (
            "const r = await tools.a.b(); const n = Object.groupBy(r, x => g(x)); f(n.sum)",
            &[],
        ),
        (
            "const r = await tools.a.b(); const n = structuredClone(r); n.sum = 0; f(n.sum)",
            &[],
        ),
        ("const { a, ...n } = await tools.a.b(); f(n.sum)", &["a"]),
        // Functions with other values.
        (
            "const r = await tools.a.b(); const g = (x = { sum: 0 }) => x.sum; f(g(r))",
            &["sum?"],
        ),
        (
            "const r = await tools.a.b(); const g = x => x.sum; f(g(r), g({ sum: 0 }))",
            &["sum?"],
        ),
        (
            "const r = await tools.a.b(); const g = x => x.sum; f(g(r), g(await tools.c.d()))",
            &["sum?"],
        ),
        (
            "const r = await tools.a.b(); (function g(x) { f(x.sum); ok || g({ sum: 1 }) })(r)",
            &["sum?"],
        ),
        (
            "const g = async () => { try { return await tools.a.b() } catch { return { sum: 0 } } }; f((await g()).sum)",
            &[],
        ),
        (
            "const r = await tools.a.b().catch(() => ({ sum: 0 })); f(r.sum)",
            &[],
        ),
        // The control.
        (
            "const r = await tools.a.b(); const n = r.toSorted(); f(n[0].sum)",
            &["[].sum"],
        ),
    ] {
        assert_eq!(reads_of(text), reads, "{text}");
    }
}

#[test]
fn reads_that_are_asked_for_made_or_one_of_several_are_marked() {
    let found = |rest: &str| -> Vec<String> {
        let site = only(&format!("const r = await tools.a.b(); {rest}"));
        let found = site.reads.iter().map(|read| {
            let asked = if read.asked { "?" } else { "" };
            let either = if read.either > 0 { "|" } else { "" };
            format!("{}{asked}{either}", read.path.join("."))
        });
        found.collect()
    };
    for (rest, reads) in [
        ("if ('a' in r) f(r.b)", &["a?", "b"][..]),
        (
            "if (r.a || r.b) throw new Error(r.c)",
            &["a?|", "b?|", "c?"],
        ),
        ("if (r.a) { f(1); throw 1 }", &["a?"]),
        // What is not there ends it.
        ("if (!r.a) throw 1", &["a"]),
        ("if (r.a) f(1)", &["a"]),
        (
            "for (const o of r) o.sum = o.cents / 100; f(r[0].sum)",
            &["[].sum?", "[].cents", "[].sum?"],
        ),
        (
            "Object.assign(r, { sum: 1 }); f(r.sum, r.b)",
            &["sum?", "b"],
        ),
        // The program's own object.
        ("const o = {}; o.sum = r.sum; f(o)", &["sum"]),
        ("f(r.a ?? r.b?.c ?? [])", &["a|", "b|", "b.c|"]),
        ("f(r.a ?? r)", &["a?|"]),
        ("f(r.a, r.b && r.c)", &["a", "b", "c"]),
    ] {
        assert_eq!(found(rest), reads, "{rest}");
    }
    let site = only("const r = await tools.a.b(); f(r.a ?? r.b); f(r.c || r.d)");
    let numbers: Vec<u32> = site.reads.iter().map(|read| read.either).collect();
    assert!(
        numbers[0] == numbers[1] && numbers[2] == numbers[3],
        "{numbers:?}"
    );
    assert_ne!(numbers[0], numbers[2]);
}

#[test]
fn the_reads_of_helpers_that_call_each_other_are_bounded() {
    let program = "const r = await tools.a.b(); const f = o => g(o.x); const g = o => f(o.y); f(r)";
    assert!(only(program).reads.len() <= 8);
    let names: String = (0..1_000).map(|n| format!("f(r.p{n});")).collect();
    let program = format!("const r = await tools.a.b(); {names}");
    assert_eq!(only(&program).reads.len(), 32);
}

#[test]
fn a_result_goes_with_its_names_into_arguments() {
    for (text, uses) in [
        (
            "const r = await tools.a.b(); await tools.c.d({ x: r.id })",
            vec![0],
        ),
        ("await tools.c.d(await tools.a.b())", vec![1]),
        (
            "const r = await tools.a.b(); await Promise.all(r.filter(f).map(x => tools.c.d({ x })))",
            vec![0],
        ),
        (
            "const r = await tools.a.b(); const out = []; for (const x of r) out.push(x.id); await tools.c.d({ out })",
            vec![0],
        ),
        (
            "async function get() { if (z) { return await tools.a.b() } } const r = await get(); tools.c.d({ r })",
            vec![0],
        ),
        (
            "async function put(y) { await tools.c.d({ y }) } put(await tools.a.b())",
            vec![1],
        ),
        (
            "const r = await tools.a.b(); if (r.ok) await tools.c.d({ x: 1 })",
            vec![],
        ),
        (
            "const r = await tools.a.b(); await tools.c.d({ x: r.ok ? 1 : 2 })",
            vec![],
        ),
    ] {
        let site = sites(text)
            .into_iter()
            .find(|site| site.tool == "d")
            .unwrap();
        assert_eq!(site.uses, uses, "{text}");
    }
}
