//! Whole numbers of results that JavaScript cannot hold.

use crate::gateway::Run;

fn warnings(big: &str, program: &str) -> Vec<String> {
    let mut run = Run::new(program);
    run.big = big.to_owned();
    let outcome = run.go();
    outcome.value();
    outcome.done.unwrap().warnings
}

const READ: &str = "const r = await tools.test.big(); return String(r.id)";

#[test]
fn a_number_that_loses_digits_is_a_warning_that_quotes_it() {
    let warnings = warnings(
        r#"{"id":9007199254740993,"other":[-12345678901234567]}"#,
        READ,
    );
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("`9007199254740993`") && warnings[0].contains("`9007199254740992`"),
        "{warnings:?}"
    );
}

#[test]
fn numbers_that_keep_their_digits_and_digits_in_texts_are_none() {
    for big in [
        r#"{"id":9007199254740991}"#,
        r#"{"id":9007199254740992,"n":100000000000000000000}"#,
        r#"{"id":"9007199254740993"}"#,
        r#"{"id":"\"9007199254740993"}"#,
        r#"{"id":0.12345678901234567}"#,
        r#"{"id":9007199254740993e-3}"#,
    ] {
        let warnings = warnings(big, READ);
        assert!(warnings.is_empty(), "{big}: {warnings:?}");
    }
}

#[test]
fn python_keeps_the_digits() {
    let mut run = Run::python("str(tools.test.big()['id'])");
    run.big = r#"{"id":9007199254740993}"#.to_owned();
    let outcome = run.go();
    assert_eq!(outcome.value(), r#""9007199254740993""#);
    assert!(outcome.done.unwrap().warnings.is_empty());
}
