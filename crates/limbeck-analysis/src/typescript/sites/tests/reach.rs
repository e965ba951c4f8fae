//! Calls that a program which completes has made, and parts that it decides by.

use limbeck_domain::{Decides, Reach};

use super::*;

#[test]
fn a_call_that_no_condition_decides_about_is_always_made() {
    let reach = |text: &str| collected(text).sites[0].reach;
    for text in [
        "const job = async () => { await wait(1200); await tools.a.b() }; job(); return 1",
        "wait(1200).then(() => tools.a.b()); return 1",
        "setTimeout(function () { tools.a.b() }, 2000)",
        "async function* g() { yield await tools.a.b() } await g(); return 1",
    ] {
        assert_eq!(reach(text), Reach::Always, "{text}");
    }
    // The controls: conditions, earlier exits, lists from outside, handlers and functions that are kept beside a branch.
    for text in [
        "if (x) await tools.a.b(); return 1",
        "if (x) return 1; await tools.a.b()",
        "for (const id of input.ids) await tools.a.b({ id })",
        "f().catch(() => tools.a.b())",
        "const o = { save: () => tools.a.b() }; if (x) o.save()",
    ] {
        assert_eq!(reach(text), Reach::Open, "{text}");
    }
}

#[test]
fn tests_by_equality_and_negation_decide_and_tests_of_presence_do_not() {
    let decides = |text: &str| {
        let read = "const o = JSON.parse(await tools.a.b());";
        let sites = collected(&format!("{read} {text}"));
        let reads = sites.sites[0].reads.iter();
        reads.map(|read| read.decides).collect::<Vec<_>>()
    };
    for (text, expected) in [
        (
            "if (o.state === 'paid') await tools.a.c()",
            Decides::Equality,
        ),
        ("if (!o.shipped) await tools.a.c()", Decides::Negation),
        (
            "return o.status === 200 ? 'sent' : 'failed'",
            Decides::Report,
        ),
        ("if (o.note) await tools.a.c()", Decides::Nothing),
        (
            "if (o.note !== undefined) await tools.a.c()",
            Decides::Nothing,
        ),
        ("if (!o.error) await tools.a.c()", Decides::Nothing),
        ("if (!o.shipped) return 1", Decides::Nothing),
    ] {
        assert_eq!(decides(text), [expected], "{text}");
    }
}
