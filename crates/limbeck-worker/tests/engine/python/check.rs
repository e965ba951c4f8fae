//! The calls of a program are judged before its first line runs, and what cannot be read before is the guest's.

use limbeck_domain::{CallId, ErrorKind, Mode, Verdict};

use crate::check::{assert_examined, assert_not_judged, judged, refused};
use crate::gateway::{Outcome, Run};

fn go(program: &str, verdict: Verdict, mode: Mode) -> Outcome {
    judged(Run::python(program), verdict, mode)
}

#[test]
fn a_program_that_does_not_fit_ends_with_the_findings_and_none_of_it_runs() {
    let program = "print('ran')\nawait tools.test.echo(a=1)\nreturn 1";
    let outcome = go(program, refused(), Mode::Run);
    let fault = outcome.fault_of(ErrorKind::Contract);
    assert_eq!(
        fault.message,
        "line 2: no such tool\nline 5: no such server"
    );
    assert_eq!((fault.line, fault.column), (Some(2), Some(7)));
    assert_eq!(fault.hint.as_deref(), Some("write it right"));
    assert_eq!(outcome.done.as_ref().unwrap().warnings, ["line 1: odd"]);
    assert_eq!((outcome.stdout.as_str(), outcome.calls.len()), ("", 0));

    let warned = Verdict {
        errors: Vec::new(),
        ..refused()
    };
    let outcome = go(program, warned, Mode::Run);
    assert_eq!((outcome.value(), outcome.stdout.as_str()), ("1", "ran\n"));
    assert_eq!(outcome.done.as_ref().unwrap().warnings, ["line 1: odd"]);
    let ids: Vec<CallId> = outcome.calls.iter().map(|call| call.id).collect();
    assert_eq!(ids, [CallId(1)], "the check counts for nothing");
}

#[test]
fn nobody_is_asked_about_a_program_that_calls_nothing_or_may_catch_every_refusal() {
    for program in [
        "return 1",
        "try:\n    tools.test.nope()\nexcept ToolError:\n    pass",
    ] {
        assert_not_judged(&go(program, refused(), Mode::Run));
    }
}

#[test]
fn a_program_that_is_examined_is_told_of_and_does_not_run() {
    for mode in [Mode::Check, Mode::Plan] {
        for (program, sites) in [
            ("print('ran')\ntools.test.echo(a=1)", 1),
            ("print('ran')", 0),
        ] {
            assert_examined(&go(program, Verdict::default(), mode), sites);
        }
        let outcome = go("print('ran'", Verdict::default(), mode);
        outcome.fault_of(ErrorKind::Syntax);
        assert_eq!(outcome.check, None);
    }
}

/// The analysis distinguishes these too (`limbeck-analysis`), so that a program is examined without
/// the guest.
#[test]
fn the_guest_refuses_and_accepts_what_the_reader_does() {
    for pair in
        include_str!("../../../../limbeck-analysis/src/python/tests/refused.txt").split("\n====\n")
    {
        let (refused, accepted) = pair.split_once("\n----\n").unwrap();
        go(refused, Verdict::default(), Mode::Check).fault_of(ErrorKind::Syntax);
        // Run, so that the guest sees it; most end with a name that is not defined.
        let outcome = go(accepted, Verdict::default(), Mode::Run);
        let kind = outcome.result().err().map(|fault| fault.kind);
        assert_ne!(kind, Some(ErrorKind::Syntax), "{accepted}");
    }
}

/// Deep enough for the reader to need more stack than it begins with, under everything a worker is under.
#[test]
fn a_program_that_nests_as_deeply_as_python_reads_runs() {
    let nested = format!("return {}1{}", "(".repeat(100), ")".repeat(100));
    assert_eq!(go(&nested, Verdict::default(), Mode::Run).value(), "1");
    let signs = format!("return {}1", "-".repeat(500));
    assert_eq!(go(&signs, Verdict::default(), Mode::Run).value(), "1");
    let outcome = go(
        &format!("return {}1", "-".repeat(200_000)),
        Verdict::default(),
        Mode::Run,
    );
    let fault = outcome.fault_of(ErrorKind::Syntax);
    assert!(fault.message.contains("nested too deeply"), "{fault:?}");
}
