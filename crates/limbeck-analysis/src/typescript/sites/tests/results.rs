//! What a program takes a result for, and which reads it surely makes.

use super::*;

#[test]
fn a_read_is_certain_where_no_decision_lies_before_it() {
    let certain = |text: &str| -> Vec<String> {
        let site = only(text);
        let reads = site.reads.iter().filter(|read| read.certain);
        reads.map(|read| read.path.join(".")).collect()
    };
    for (text, reads) in [
        ("const r = await tools.a.b(); return r.x", &["x"][..]),
        ("return (await tools.a.b()).x", &["x"]),
        ("const { x } = await tools.a.b(); return x", &["x"]),
        ("tools.a.b().then(r => f(r.x))", &["x"]),
        (
            "const r = await tools.a.b(); for (const o of r) f(o.x)",
            &["[].x"],
        ),
        (
            "const r = await tools.a.b(); return r.map(o => o.x)",
            &["[].x"],
        ),
        (
            "const show = o => f(o.x); const r = await tools.a.b(); return r.map(show)",
            &["[].x"],
        ),
        (
            "async function main() { const r = await tools.a.b(); return r.x } return main()",
            &["x"],
        ),
        // The decision is before the call, or around it as well.
        (
            "if (ok) return 1; const r = await tools.a.b(); return r.x",
            &["x"],
        ),
        ("if (ok) { const r = await tools.a.b(); f(r.x) }", &["x"]),
        (
            "try { const r = await tools.a.b(); f(r.x) } catch { f() }",
            &["x"],
        ),
        (
            "for (;;) { const r = await tools.a.b(); f(r.x); if (!r.next) break }",
            &["x"],
        ),
        (
            "let all = 0; const r = await tools.a.b(); all = r.x; return all",
            &["x"],
        ),
        (
            "const r = await tools.a.b(); return r.map(o => ({ id: o.x }))",
            &["[].x"],
        ),
        (
            "export default async () => { const r = await tools.a.b(); return { n: r.x } }",
            &["x"],
        ),
        // It is an error where the check fails and nothing catches it.
        (
            "const r = await tools.a.b(); if (!r.y) throw 1; return r.x",
            &["x"],
        ),
        // The controls: branches, early ends, closures, and what is provided for.
        (
            "const r = await tools.a.b(); if (r.kind === 'a') f(r.x); else f(r.y)",
            &[],
        ),
        ("const r = await tools.a.b(); f(ok ? r.x : r.y)", &[]),
        ("const r = await tools.a.b(); f(ok && r.x)", &[]),
        (
            "const r = await tools.a.b(); switch (r.kind) { case 'a': f(r.x) }",
            &[],
        ),
        (
            "const r = await tools.a.b(); if (r.error) return 1; return r.x",
            &[],
        ),
        (
            "const r = await tools.a.b(); for (const o of r) { if (o.gone) continue; f(o.x) }",
            &[],
        ),
        (
            "const r = await tools.a.b(); return r.map(o => { if (o.gone) return 1; return o.x })",
            &[],
        ),
        ("const r = await tools.a.b(); if (ok) r.map(o => o.x)", &[]),
        (
            "const x = o => o.x; const r = await tools.a.b(); if (ok) f(x(r))",
            &[],
        ),
        (
            "const r = await tools.a.b(); const late = () => r.x; f(late)",
            &[],
        ),
        (
            "const r = await tools.a.b(); try { f(r.x) } catch { f() }",
            &[],
        ),
        (
            "try { const r = await tools.a.b(); if (!r.y) throw 1; f(r.x) } catch { f() }",
            &[],
        ),
        (
            "const r = await tools.a.b(); f(r?.x, r.y ?? 1, 'z' in r)",
            &[],
        ),
        // What is kept for a decision elsewhere.
        (
            "let next; do { const r = await tools.a.b({ next }); next = r.next } while (next)",
            &[],
        ),
        (
            "const r = await tools.a.b(); let next = r.next; while (next) next = g(next)",
            &[],
        ),
        (
            "const page = async () => { const r = await tools.a.b(); return { next: r.next } }; f(page)",
            &[],
        ),
        (
            "async function page() { const r = await tools.a.b(); return r.next } f(page)",
            &[],
        ),
        ("const r = await tools.a.b(); f(r.filter(o => o.gone))", &[]),
        ("const { x = 1 } = await tools.a.b(); return x", &[]),
    ] {
        assert_eq!(certain(text), reads, "{text}");
    }
}

#[test]
fn a_call_is_certain_outside_of_branches_and_functions() {
    for (text, certain) in [
        ("await tools.a.b()", true),
        ("const r = await tools.a.b(); return r", true),
        ("if (ok) await tools.a.b()", false),
        ("if (ok) return 1; await tools.a.b()", false),
        ("const f = () => tools.a.b(); f()", false),
    ] {
        assert_eq!(only(text).certain, certain, "{text}");
    }
}

#[test]
fn an_absent_part_may_mean_that_all_is_well() {
    for (rest, is_well) in [
        ("if (r.ok === false) throw 1", true),
        ("if (r.ok !== false) f()", true),
        ("f(r.ok ?? true)", true),
        ("if (!r.ok) throw 1", false),
        ("if (r.ok !== true) throw 1", false),
        ("f(r.ok ?? false)", false),
    ] {
        let site = only(&format!("const r = await tools.a.b(); {rest}"));
        assert_eq!(site.reads[0].absent_is_well, is_well, "{rest}");
    }
    let site = only("const { ok = true, done = false } = await tools.a.b()");
    let is_well: Vec<bool> = site.reads.iter().map(|read| read.absent_is_well).collect();
    assert_eq!(is_well, [true, false]);
}

#[test]
fn a_result_that_is_taken_for_a_list_is_marked_unless_it_is_taken_for_a_text_too() {
    let listed = |rest: &str| {
        let site = only(&format!("const r = await tools.a.b(); {rest}"));
        site.listed.map(|listing| listing.counted)
    };
    for (rest, counted) in [
        ("return r.length", Some(true)),
        ("for (const x of r) n++", Some(false)),
        ("return [...r]", Some(false)),
        ("return r[0]", Some(false)),
        ("return r.at(-1)", Some(false)),
        ("return Array.from(r)", Some(false)),
        ("return Object.keys(r)", Some(false)),
        ("f(r.length); return r[0]", Some(false)),
        // The controls: texts, and what is only passed on.
        ("return JSON.parse(r).length + r.length", None),
        ("f(r.length); return r.slice(0, 100)", None),
        ("for (const line of r.split(',')) f(line)", None),
        ("return typeof r === 'string' ? 1 : r.length", None),
        ("return Array.isArray(r) ? r.length : 0", None),
        ("return /x/.test(r) ? r.length : 0", None),
        ("console.log(r); return r", None),
        ("return r.items.length", None),
    ] {
        assert_eq!(listed(rest), counted, "{rest}");
    }
    assert!(only("const r = await tools.a.b(); f(r.x ?? JSON.parse(r).x)").as_text);
}

#[test]
fn texts_that_a_part_is_compared_with_are_listed_by_condition() {
    let compared = |rest: &str| -> Vec<String> {
        let site = only(&format!("const r = await tools.a.b(); {rest}"));
        let shown = site.compared.iter().map(|comparison| {
            format!(
                "{}: {}",
                comparison.path.join("."),
                comparison.values.join(" ")
            )
        });
        shown.collect()
    };
    for (rest, comparisons) in [
        ("if (r.state === 'open') f()", &["state: open"][..]),
        ("f(r.filter(o => 'open' !== o.state))", &["[].state: open"]),
        (
            "if (r.state === 'open' || r.state === 'new') f()",
            &["state: open new"],
        ),
        (
            "if (r.state === 'open') f(); else if (r.state === 'new') f()",
            &["state: open", "state: new"],
        ),
        (
            "const s = r.state; if (!(s == 'open' && ok)) f()",
            &["state: open"],
        ),
        ("f(['open', 'new'].includes(r.state))", &["state: open new"]),
        (
            "switch (r.state) { case 'a': case 'b': f(); break; case 'c': f() }",
            &["state: a b c"],
        ),
        (
            "const want = new Set(['a', 'b']); f(r.filter(o => want.has(o.state)))",
            &["[].state: a b"],
        ),
        (
            "const want = ['a']; f(want.includes(r.state))",
            &["state: a"],
        ),
        // The controls: lists that the program fills, and a text that is taken for a number.
        (
            "const want = new Set(['a']); want.add(x); f(want.has(r.state))",
            &[],
        ),
        ("f(r.count == '3', r.state == 'b')", &["state: b"]),
        // The controls: other values, a constant that is one of several, and parts that may be of another value.
        (
            "const want = 'all'; if (want === 'all' || r.state === want) f()",
            &[],
        ),
        (
            "const want = 'new'; if (r.state === want) f()",
            &["state: new"],
        ),
        ("if (r.n === 1 || r.state === other) f()", &[]),
        ("if ((r.state ?? 'open') === 'open') f()", &[]),
        ("r.state = 'done'; if (r.state === 'done') f()", &[]),
    ] {
        assert_eq!(compared(rest), comparisons, "{rest}");
    }
}

#[test]
fn reads_of_the_input_are_found_unless_the_program_declares_the_name() {
    let input = |text: &str| -> Vec<String> {
        let used = collected(text).input;
        used.reads.iter().map(|read| read.path.join(".")).collect()
    };
    assert_eq!(input("return input.a + input.b.c"), ["a", "b", "b.c"]);
    assert_eq!(input("const input = { a: 1 }; return input.a"), [""; 0]);
    assert!(
        collected("for (const x of input) f(x)")
            .input
            .listed
            .is_some()
    );
    assert!(collected("return JSON.parse(input).a").input.as_text);
}

#[test]
fn a_call_in_a_function_that_nothing_mentions_is_idle() {
    for (text, idle) in [
        (
            "async function load() { return tools.a.b() } return 1",
            true,
        ),
        ("const load = async () => tools.a.b(); return 1", true),
        (
            "const load = async () => tools.a.b(); load; await load; return 1",
            true,
        ),
        ("const load = async () => tools.a.b(); return load()", false),
        ("const load = async () => tools.a.b(); return load", false),
        ("async function main() { return tools.a.b() }", false),
        ("export async function load() { return tools.a.b() }", false),
        ("return [1].map(() => tools.a.b())", false),
        ("await tools.a.b()", false),
    ] {
        assert_eq!(only(text).idle, idle, "{text}");
    }
}
