//! The calls of a program are judged before its first line runs.

use limbeck_domain::{CallId, ErrorKind, Mode, SiteError, Verdict};

use crate::gateway::{Outcome, Run};

pub(crate) fn refused() -> Verdict {
    let error = |line, column, message: &str| SiteError {
        line,
        column,
        message: message.to_owned(),
        hint: Some("write it right".to_owned()),
    };
    Verdict {
        errors: vec![error(2, 7, "no such tool"), error(5, 1, "no such server")],
        warnings: vec!["line 1: odd".to_owned()],
    }
}

fn go(program: &str, verdict: Verdict, mode: Mode) -> Outcome {
    judged(Run::new(program), verdict, mode)
}

/// Runs a program, or only examines it, under a gateway that judges it so.
pub(crate) fn judged(mut run: Run, verdict: Verdict, mode: Mode) -> Outcome {
    run.verdict = verdict;
    run.start.mode = mode;
    run.go()
}

/// The gateway was not asked about the program, which ran.
#[track_caller]
pub(crate) fn assert_not_judged(outcome: &Outcome) {
    assert!(outcome.result().is_ok(), "{:?}", outcome.result());
    assert_eq!(outcome.check, None);
}

/// The worker reported this many calls, and no line of the program ran.
#[track_caller]
pub(crate) fn assert_examined(outcome: &Outcome, sites: usize) {
    assert_eq!(outcome.value(), "undefined");
    assert_eq!(outcome.check.as_ref().unwrap().sites.len(), sites);
    assert_eq!((outcome.stdout.as_str(), outcome.calls.len()), ("", 0));
}

/// Line, column, server and tool of each call that the worker reported.
fn reported(outcome: &Outcome) -> Vec<(u32, u32, String)> {
    let sites = outcome.check.iter().flat_map(|check| &check.sites);
    sites
        .map(|site| (site.line, site.column, site.tool.clone()))
        .collect()
}

#[test]
fn a_program_that_does_not_fit_ends_with_all_findings_and_none_of_it_runs() {
    let program = "console.log('ran');\nawait tools.test.echo({ a: 1 });\nreturn 1";
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

    let outcome = go(program, Verdict::default(), Mode::Run);
    assert_eq!((outcome.value(), outcome.stdout.as_str()), ("1", "ran\n"));
    let ids: Vec<CallId> = outcome.calls.iter().map(|call| call.id).collect();
    assert_eq!(ids, [CallId(1)], "the check counts for nothing");
}

#[test]
fn places_are_those_of_the_text_as_it_was_sent() {
    for (program, line, column) in [
        ("const é = 1; await tools.test.echo({})", 1, 20),
        (
            "Words.\n\n```ts\ntype A = 1;\n  await tools.test.echo({});\n```\n",
            5,
            9,
        ),
        ("{ first: await tools.test.echo({}) }", 1, 16),
        ("{\n  first: await tools.test.echo({}) }", 2, 16),
        ("function () { return tools.test.echo({}) }", 1, 22),
        (
            "interface A {\n  b: string;\n}\nenum B { C }\nexport default async () => tools.test.echo({ a: B.C })",
            5,
            28,
        ),
    ] {
        let outcome = go(program, Verdict::default(), Mode::Run);
        assert!(
            outcome.result().is_ok(),
            "{program}: {:?}",
            outcome.result()
        );
        assert_eq!(
            reported(&outcome),
            [(line, column, "echo".to_owned())],
            "{program}"
        );
    }
}

#[test]
fn nobody_is_asked_about_a_program_that_calls_nothing_or_may_catch_every_refusal() {
    for program in [
        "return 1",
        "return Object.keys(tools)",
        "try { await tools.test.nope({}) } catch {}",
        "return await tools.test.fail({}).catch(() => 1)",
    ] {
        assert_not_judged(&go(program, refused(), Mode::Run));
    }
}

#[test]
fn where_a_person_may_be_asked_about_the_plan_every_call_is_reported() {
    let sites = |run: fn(&str) -> Run, program: &str| {
        let mut run = run(program);
        run.start.asks_by_plan = true;
        let outcome = run.go();
        outcome.check.map_or(0, |check| check.sites.len())
    };
    let caught = "return await tools.test.fail({}).catch(() => 1)";
    assert_eq!(sites(Run::new, caught), 1);
    assert_eq!(sites(Run::new, "return 1"), 0);
    let caught = "try:\n    await tools.test.fail()\nexcept ToolError:\n    pass";
    assert_eq!(sites(Run::python, caught), 1);
    assert_eq!(sites(Run::python, "return 1"), 0);
}

#[test]
fn a_program_that_is_examined_is_told_of_and_does_not_run() {
    for mode in [Mode::Check, Mode::Plan] {
        for (program, sites) in [
            ("console.log('ran'); await tools.test.echo({})", 1),
            (
                "console.log('ran'); try { await tools.test.echo({}) } catch {}",
                1,
            ),
            ("console.log('ran')", 0),
        ] {
            assert_examined(&go(program, Verdict::default(), mode), sites);
        }
    }
    let outcome = go("const = 1", Verdict::default(), Mode::Check);
    outcome.fault_of(ErrorKind::Syntax);
}
