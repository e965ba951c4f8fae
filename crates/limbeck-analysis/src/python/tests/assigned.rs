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
