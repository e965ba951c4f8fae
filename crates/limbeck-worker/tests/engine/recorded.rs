//! Programs that are run again from what an earlier process made of them.

use limbeck_domain::ErrorKind;
use limbeck_wire::RecordedProgram;

use crate::gateway::{Outcome, Run};

/// Runs a program, and gives what came back and what is recorded of it.
fn first(program: &str) -> (Outcome, RecordedProgram) {
    let outcome = Run::new(program).go();
    let recorded = RecordedProgram {
        erased: outcome.erased.clone().expect("a program is reported"),
        sites: outcome.check.clone().map(limbeck_domain::Sites::into_body),
    };
    (outcome, recorded)
}

fn again(program: &str, recorded: RecordedProgram) -> Outcome {
    let mut run = Run::new(program);
    run.recorded = Some(recorded);
    run.go()
}

#[test]
fn a_recorded_script_runs_in_place_of_what_the_program_compiles_to() {
    let program = "const word: string = \"compiled\";\nconst r = await tools.test.echo({ word });\nreturn [word, r];";
    let (outcome, mut recorded) = first(program);
    assert_eq!(outcome.value(), r#"["compiled",{"word":"compiled"}]"#);
    // The control: as it was recorded it does the same, with the same check.
    let repeated = again(program, recorded.clone());
    assert_eq!(repeated.value(), outcome.value());
    assert_eq!(repeated.calls, outcome.calls);
    assert_eq!(repeated.check, outcome.check);
    assert_eq!(repeated.erased, None);
    recorded.erased.script = recorded.erased.script.replace("compiled", "recorded");
    let repeated = again(program, recorded.clone());
    assert_eq!(repeated.value(), r#"["recorded",{"word":"recorded"}]"#);
    // Not even a program that the compiler of today refuses is read.
    let repeated = again("const = ;", recorded);
    assert_eq!(repeated.value(), r#"["recorded",{"word":"recorded"}]"#);
}

#[test]
fn errors_names_and_warnings_of_a_recorded_program_are_those_of_the_first_run() {
    let program = "Some words.\n```ts\ninterface A { b: string }\nmcp__test__echo;\nthrow new Error(\"x\");\n```\n```ts\nreturn 2\n```";
    let (outcome, recorded) = first(program);
    let fault = outcome.fault_of(ErrorKind::Exception);
    assert_eq!(fault.line, Some(5), "{fault:?}");
    assert_eq!(recorded.erased.full_names, "mcp__test__echo");
    let repeated = again(program, recorded.clone());
    assert_eq!(repeated.fault(), fault);
    let warnings = |outcome: &Outcome| outcome.done.as_ref().map(|done| done.warnings.clone());
    assert!(warnings(&outcome).is_some_and(|warnings| !warnings.is_empty()));
    assert_eq!(warnings(&repeated), warnings(&outcome));
    // Damaged places cost the line of the error and nothing else.
    let mut damaged = recorded;
    damaged.erased.positions = "?".to_owned();
    let repeated = again(program, damaged);
    assert_eq!(repeated.fault_of(ErrorKind::Exception).line, None);
}

#[test]
fn a_program_that_its_check_refuses_and_one_of_python_are_not_recorded() {
    let mut run = Run::new("return await tools.test.echo({});");
    run.verdict.errors.push(limbeck_domain::SiteError {
        line: 1,
        column: 1,
        message: "refused".to_owned(),
        hint: None,
    });
    let outcome = run.go();
    outcome.fault_of(ErrorKind::Contract);
    assert_eq!(outcome.erased, None);
    assert_eq!(Run::python("return 1").go().erased, None);
}
