//! Reads of names that are declared first and given results later.

use super::read;

#[test]
fn a_name_that_is_given_results_alone_is_followed() {
    for (text, found) in [
        ("r = None\nif c:\n    r = tools.a.b()\nr['x']", &["x"][..]),
        ("r = {}\nr = tools.a.b()\nr.get('x')", &["x"]),
        (
            "r = None\ntry:\n    r = tools.a.b()['y']\nexcept KeyError:\n    raise\nr['x']",
            &["y y.x"],
        ),
        (
            "r = tools.a.b()\nr['x']\nr = tools.a.c()\nr['y']",
            &["x y", "x y"],
        ),
        // Names of functions are their own.
        (
            "def f():\n    r = tools.a.b()\n    return r['x']\ndef g():\n    r = tools.a.c()\n    return r['y']\nf()\ng()",
            &["x", "y"],
        ),
        // The controls: other values, of which nothing is known.
        ("r = tools.a.b()\nr = g(r)\nr['x']", &[""]),
        ("r = {'x': 1}\nr = tools.a.b()\nr['x']", &[""]),
        ("for r in rs:\n    r = tools.a.b()\n    r['x']", &[""]),
        ("r = tools.a.b()\nr += other\nr['x']", &[""]),
    ] {
        let sites = read(text).sites;
        let reads = sites.iter().map(|site| {
            let reads = site.reads.iter().map(|read| read.path.join("."));
            reads.collect::<Vec<_>>().join(" ")
        });
        assert_eq!(reads.collect::<Vec<_>>(), found, "{text}");
    }
}

#[test]
fn a_helper_that_unwraps_a_result_only_asks_for_what_it_unwraps() {
    let empty = |text: &str| -> usize {
        let site = read(&format!("import json\nr = tools.a.b()\n{text}"))
            .sites
            .swap_remove(0);
        site.reads.iter().filter(|read| !read.asked).count()
    };
    for text in [
        "def g():\n    try:\n        return json.loads(r['content'][0]['text'])\n    except KeyError:\n        return r\ng()",
        "d = getattr(r, 'data', None)\nif d is None:\n    d = r\nf(d)",
    ] {
        assert_eq!(empty(text), 0, "{text}");
    }
    // The controls: nothing is there in place of what is absent.
    for text in [
        "try:\n    f(r['content'])\nexcept KeyError:\n    f(None)",
        "d = getattr(r, 'data', None)\nif d is None:\n    d = q\nf(d)",
    ] {
        assert_eq!(empty(text), 1, "{text}");
    }
}
