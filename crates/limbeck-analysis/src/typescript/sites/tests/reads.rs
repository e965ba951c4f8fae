//! Reads of results: which parts of a result a program reads, and what it makes itself.

use super::*;

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

#[test]
fn reads_are_followed_into_what_the_program_parses() {
    for (rest, reads) in [
        (
            "f(JSON.parse(r).tickets[0].id)",
            &["().tickets", "().tickets.[].id"][..],
        ),
        (
            "const { total } = JSON.parse(r.content); f(total)",
            &["content.().total", "content"],
        ),
        (
            "const d = typeof r === 'string' ? JSON.parse(r) : r; f(d.items)",
            &["().items?", "items?"],
        ),
        (
            "const copy = JSON.parse(JSON.stringify(r)); f(copy.items)",
            &["items"],
        ),
        // The controls: a text of it, what was parsed twice, and a function of the program.
        ("f(JSON.stringify(r).length)", &[]),
        ("f(JSON.parse(JSON.parse(r).a).b)", &["().a"]),
        ("const JSON = g(); f(JSON.parse(r).a)", &[]),
    ] {
        let mut found = reads_of(&format!("const r = await tools.a.b(); {rest}"));
        found.sort();
        let mut reads = reads.to_vec();
        reads.sort_unstable();
        assert_eq!(found, reads, "{rest}");
    }
}

#[test]
fn reads_are_followed_through_what_the_program_fills_and_maps() {
    let pages = "const rs = await Promise.all(ids.map(id => tools.a.b({ id })));";
    for (rest, reads) in [
        (
            "const all = rs.flatMap(r => r.items); f(all[0].id)",
            &["items", "items.[].id"][..],
        ),
        (
            "const all = rs.map(r => r.items).flat(); f(all[0].id)",
            &["items", "items.[].id"],
        ),
        (
            "const names = rs.map(r => r.owner); f(names[0].name)",
            &["owner", "owner.name"],
        ),
        // The controls: promises, and callbacks that make something of it.
        (
            "const all = rs.map(async r => r.items); f(all[0].id)",
            &["items"],
        ),
        (
            "const all = rs.map(r => g(r.items)); f(all[0].id)",
            &["items"],
        ),
    ] {
        assert_eq!(reads_of(&format!("{pages} {rest}")), reads, "{rest}");
    }
    for (rest, reads) in [
        (
            "const all = []; all.push(...r.items); f(all[0].id)",
            &["items", "items.[].id"][..],
        ),
        (
            "const all = []; all.push(r); for (const x of all) f(x.id)",
            &["id"],
        ),
        (
            "const by = new Map(); for (const x of r.items) by.set(x.id, x); f(by.get(1)?.name)",
            &["items", "items.[].id", "items.[].name?"],
        ),
        (
            "f(Object.groupBy(r.items, x => x.state))",
            &["items", "items.[].state"],
        ),
        // What is put there from elsewhere may have other members.
        (
            "const all = []; all.push(r); all.push(q); f(all[0].id)",
            &["id?"],
        ),
        (
            "const all = []; all.push(r); all[1] = q; f(all[0].id)",
            &["id?"],
        ),
        // The controls: lists that are not empty at first, or get another value.
        ("const all = [q]; all.push(r); f(all[0].id)", &[]),
        ("let all = []; all.push(r); all = g(all); f(all[0].id)", &[]),
        (
            "const by = new Map(); by.set(r.id, 1); f(by.get(1).name)",
            &["id"],
        ),
    ] {
        let found = reads_of(&format!("const r = await tools.a.b(); {rest}"));
        assert_eq!(found, reads, "{rest}");
    }
}

#[test]
fn reads_for_which_the_program_takes_the_whole_or_that_a_failure_has_are_asked() {
    let marks = |rest: &str| -> Vec<(String, bool, bool)> {
        let site = only(&format!("const r = await tools.a.b(); {rest}"));
        let reads = site.reads.iter();
        reads
            .map(|read| (read.path.join("."), read.asked, read.form_asked))
            .collect()
    };
    for (rest, asked) in [
        (
            "f(r?.content?.[0]?.text ? JSON.parse(r.content[0].text) : r)",
            true,
        ),
        ("f(r.content ? r.content : String(r))", true),
        ("if (r.content) f(r.content); else f(r)", true),
        ("if (r.isError) f(r.content[0].text)", true),
        ("f(r.isError ? r.content : 1)", true),
        ("if (r.content) return r.content.text", true),
        // The controls: something else in its place, and what is read beside the whole.
        ("f(r.content ? r.content : 1)", false),
        ("if (ok) f(r, r.content)", false),
        ("f(r.content, r)", false),
    ] {
        let marks = marks(rest);
        let content: Vec<_> = marks
            .iter()
            .filter(|(path, ..)| path.starts_with("content"))
            .collect();
        assert!(!content.is_empty(), "{rest}: {marks:?}");
        assert!(
            content.iter().all(|(_, is, _)| *is == asked),
            "{rest}: {marks:?}"
        );
    }
    assert!(marks("f(typeof r === 'string' ? 1 : r.a)")[0].2);
    assert!(!marks("f(typeof r.a === 'string' ? 1 : r.a.b)")[0].2);
}
