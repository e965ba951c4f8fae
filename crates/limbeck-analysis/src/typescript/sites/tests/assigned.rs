//! Reads of names that are declared first and given results later.

use super::*;

fn reads(site: &Site) -> String {
    let reads = site.reads.iter().map(|read| read.path.join("."));
    reads.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_name_that_is_given_results_alone_is_followed() {
    for (text, found) in [
        ("let r; r = await tools.a.b(); f(r.x)", &["x"][..]),
        (
            "let r = null; if (c) { r = await tools.a.b() } f(r.x)",
            &["x"],
        ),
        (
            "let r; try { r = (await tools.a.b()).y } catch (e) { throw e } f(r.x)",
            &["y y.x"],
        ),
        (
            "let r; do { r = await tools.a.b(); f(r.x) } while (go())",
            &["x"],
        ),
        (
            "let r; r = JSON.parse(await tools.a.b()); f(r.x)",
            &["().x"],
        ),
        (
            "let r = await tools.a.b(); f(r.x); r = await tools.a.c(); f(r.y)",
            &["x y", "x y"],
        ),
        // The controls: other values, of which nothing is known.
        ("let r = await tools.a.b(); r = g(r); f(r.x)", &[""]),
        ("let r = { x: 1 }; r = await tools.a.b(); f(r.x)", &[""]),
        ("let r; r ??= await tools.a.b(); f(r.x)", &[""]),
        ("for (let r of rs) { r = await tools.a.b(); f(r.x) }", &[""]),
        (
            "function g(r) { f(r.x) } let r; [r] = [await tools.a.b()]",
            &[""],
        ),
    ] {
        let all: Vec<String> = sites(text).iter().map(reads).collect();
        assert_eq!(all, found, "{text}");
    }
}

#[test]
fn a_name_with_results_of_several_tools_is_neither_compared_nor_surely_read() {
    let site = |second: &str| {
        let text = format!(
            "let r = await tools.a.b(); f(r.x, r.s === 'on'); r = await tools.a.{second}(); f(r.x)"
        );
        sites(&text).swap_remove(0)
    };
    let several = site("c");
    assert!(several.compared.is_empty());
    assert!(several.reads.iter().all(|read| !read.certain));
    // The control: both are of one tool.
    let same = site("b");
    assert_eq!(same.compared.len(), 1);
    assert!(same.reads.iter().any(|read| read.certain));
}

#[test]
fn a_helper_that_unwraps_a_result_only_asks_for_what_it_unwraps() {
    let empty = |text: &str| -> Vec<String> {
        let site = only(&format!("const r = await tools.a.b(); {text}"));
        let reads = site.reads.into_iter().filter(|read| !read.asked);
        reads.map(|read| read.path.join(".")).collect()
    };
    for text in [
        "const g = () => { if (r && Array.isArray(r.content)) return JSON.parse(r.content[0].text); return r }; g()",
        "const g = () => { if (typeof r.text === 'string') return r.text; return r }; g()",
        "const g = () => { if (r.result !== undefined) return r.result; return r }; g()",
        "let d = r.structuredContent; if (!d) d = r; f(d)",
    ] {
        assert_eq!(empty(text), [""; 0], "{text}");
    }
    // The controls: a value of the program is empty where these are absent.
    for text in [
        "const g = () => { if (r.total > 5) return 1; return r }; g()",
        "let d = r.data; if (!d) d = q; f(d)",
    ] {
        assert_eq!(empty(text).len(), 1, "{text}");
    }
}
