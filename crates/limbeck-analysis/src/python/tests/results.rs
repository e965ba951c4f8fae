//! What a program takes a result for.

use super::*;

fn result(rest: &str) -> Site {
    site(&format!("r = tools.shop.get()\n{rest}"))
}

#[test]
fn a_result_that_is_taken_for_a_list_is_marked_unless_it_is_taken_for_a_text_too() {
    for (rest, counted) in [
        ("len(r)", Some(true)),
        ("for x in r:\n    print(x)", Some(false)),
        ("[x for x in r]", Some(false)),
        ("r[0]", Some(false)),
        ("sorted(r)", Some(false)),
        ("n = len(r)\nlist(r)", Some(false)),
        // The controls: texts, and what is only passed on.
        ("import json\njson.loads(r)\nlen(r)", None),
        ("print(len(r))\nr[:100]", None),
        ("for line in r.splitlines():\n    print(line)", None),
        ("len(r) if isinstance(r, list) else 0", None),
        ("'x' in r and len(r)", None),
        ("print(r)", None),
        ("len(r['items'])", None),
    ] {
        let listed = result(rest).listed.map(|listing| listing.counted);
        assert_eq!(listed, counted, "{rest}");
    }
}

#[test]
fn texts_that_a_part_is_compared_with_are_listed_by_condition() {
    for (rest, comparisons) in [
        ("r['state'] == 'open'", &["state: open"][..]),
        ("[o for o in r if o.state != 'open']", &["[].state: open"]),
        (
            "r.state == 'open' or r.state == 'new'",
            &["state: open new"],
        ),
        ("r.get('state') in ('open', 'new')", &["state: open new"]),
        (
            "match r.state:\n    case 'a' | 'b':\n        pass\n    case 'c':\n        pass",
            &["state: a b c"],
        ),
        ("r.n == 1 or r.state == other", &[]),
        ("r['state'] = 'done'\nr['state'] == 'done'", &[]),
    ] {
        let site = result(rest);
        let shown = site.compared.iter().map(|comparison| {
            format!(
                "{}: {}",
                comparison.path.join("."),
                comparison.values.join(" ")
            )
        });
        assert_eq!(shown.collect::<Vec<_>>(), comparisons, "{rest}");
    }
}

#[test]
fn an_absent_part_may_mean_that_all_is_well() {
    for (rest, is_well) in [
        ("r.get('ok', True)", true),
        ("r.get('ok') is not False", true),
        ("r.get('ok')", false),
        ("r.get('ok', False)", false),
    ] {
        assert_eq!(result(rest).reads[0].absent_is_well, is_well, "{rest}");
    }
}

#[test]
fn a_call_in_a_function_that_nothing_mentions_is_idle() {
    for (program, idle) in [
        ("def load():\n    return tools.shop.get()\n1", true),
        (
            "def load():\n    return tools.shop.get()\nfor i in x:\n    load\n1",
            true,
        ),
        ("def load():\n    return tools.shop.get()\nload()", false),
        (
            "def load():\n    return tools.shop.get()\nx = load\nx()",
            false,
        ),
        ("def main():\n    return tools.shop.get()", false),
        ("@cache\ndef load():\n    return tools.shop.get()\n1", false),
        ("tools.shop.get()", false),
    ] {
        assert_eq!(site(program).idle, idle, "{program}");
    }
}

#[test]
fn uses_of_the_input_are_found_unless_the_program_binds_the_name() {
    let input = |program: &str| sites(program, "[]").unwrap().input;
    assert!(input("for x in input:\n    print(x)").listed.is_some());
    assert!(input("import json\njson.loads(input)['a']").as_text);
    assert!(input("input = [1]\nlen(input)").is_nothing());
}
