//! The tail of a program: what it left running when it returned.

use limbeck_domain::ErrorKind;

use crate::gateway::{Outcome, Run};

const FOR_EACH: &str = "`await` each call; `forEach` awaits nothing";

fn warnings(outcome: &Outcome) -> &[String] {
    &outcome.done.as_ref().unwrap().warnings
}

#[test]
fn what_follows_a_call_that_was_not_awaited_is_run_and_fills_the_value() {
    let body =
        "async n => { await tools.test.echo({ n }); out.push((await tools.test.echo({ n })).n) }";
    let left = Run::new(&format!(
        "const out = []; [1, 2].forEach({body}); return out"
    ))
    .go();
    assert_eq!(left.value(), "[1,2]");
    assert_eq!(left.calls.len(), 4);
    let [warning] = warnings(&left) else {
        panic!("{:?}", warnings(&left))
    };
    assert!(
        warning.starts_with(
            "4 calls were answered after the `return` (`test.echo`); the program ran on"
        ),
        "{warning}"
    );
    assert!(warning.contains(FOR_EACH), "{warning}");
    // The control: a program that awaits the same calls.
    let awaited = Run::new(&format!(
        "const out = []; await Promise.all([1, 2].map({body})); return out"
    ))
    .go();
    assert_eq!((awaited.value(), awaited.calls.len()), ("[1,2]", 4));
    assert_eq!(warnings(&awaited), [""; 0]);
}

#[test]
fn pauses_between_calls_are_waited_for_and_other_timers_are_not() {
    let pause = "const out = []; [1, 2].forEach(async n => { await new Promise(r => setTimeout(r, 100 * n)); \
                 out.push((await tools.test.echo({ n })).n) }); return out";
    let left = Run::new(pause).go();
    assert_eq!((left.value(), left.calls.len()), ("[1,2]", 2));
    // An interval, the limit of a race, the limit of something that has ended, and a timer that sets the next one for ever: in this
    // gateway the clock jumps to the next timer, so a program that waited for them would show it.
    for program in [
        "let n = 0; setInterval(() => { n += 1; console.log('later') }, 10); return n",
        "let n = 0; await Promise.race([tools.test.echo({}), new Promise(r => setTimeout(() => { console.log('later'); r() }, 3000))]); return n",
        "setTimeout(() => console.log('later'), 25000); return 0",
        "AbortSignal.timeout(1000).onabort = () => console.log('later'); return 0",
    ] {
        let outcome = Run::new(program).go();
        assert_eq!(
            (outcome.value(), outcome.stdout.as_str()),
            ("0", ""),
            "{program}"
        );
        assert_eq!(warnings(&outcome), [""; 0], "{program}");
    }
    let endless = "let n = 0; (function again() { n += 1; setTimeout(again, 1000) })(); return n";
    assert_eq!(Run::new(endless).go().value(), "1");
}

#[test]
fn a_call_that_lost_a_race_is_not_waited_for() {
    for program in [
        "return await Promise.race([tools.test.echo({}), 1])",
        "return await Promise.any([tools.test.echo({}), Promise.resolve(1)])",
    ] {
        let outcome = Run::new(program).go();
        assert_eq!(
            (outcome.value(), outcome.calls.len()),
            ("1", 1),
            "{program}"
        );
        assert_eq!(warnings(&outcome), [""; 0], "{program}");
    }
    // Promises that are made of a call's promise.
    for (program, calls) in [
        (
            "return await Promise.race([callMCPTool('test', 'echo', {}), 1])",
            1,
        ),
        ("return await Promise.race([callMCPTool('echo', {}), 1])", 1),
        (
            "return await Promise.race([servers.test.resources.read('file:///a'), 1])",
            1,
        ),
        (
            "const text = await callMCPTool('echo', { content: [{ type: 'text', text: '{\"a\":1}' }] }); \
             return await Promise.race([tools.test.echo({ text }), text.a])",
            2,
        ),
    ] {
        let outcome = Run::new(program).go();
        assert_eq!(
            (outcome.value(), outcome.calls.len()),
            ("1", calls),
            "{program}"
        );
        assert_eq!(warnings(&outcome), [""; 0], "{program}");
    }
    // The controls: the same calls without a race.
    let read = Run::new("servers.test.resources.read('file:///a'); return 1").go();
    assert_eq!(warnings(&read).len(), 1, "{:?}", warnings(&read));
    let outcome = Run::new("tools.test.echo({}); return 1").go();
    assert_eq!(outcome.value(), "1");
    assert_eq!(warnings(&outcome).len(), 1, "{:?}", warnings(&outcome));
}

#[test]
fn errors_after_the_return_are_printed_and_the_value_is_kept() {
    let failed = Run::new("tools.test.fail({}); return 'saved'").go();
    assert_eq!(failed.value(), "\"saved\"");
    assert_eq!(
        failed.stderr,
        "unhandled rejection: ToolError: it failed as asked\n"
    );
    let thrown = Run::new("setTimeout(() => { throw new Error('too late') }, 10); return 1").go();
    assert_eq!(thrown.value(), "1");
    assert_eq!(
        thrown.stderr,
        "unhandled error after the return: Error: too late\n"
    );
}

#[test]
fn a_timer_that_throws_while_promises_of_the_value_are_awaited_fails_no_program_that_has_returned()
{
    let throws = "setTimeout(() => { throw new Error('too late') }, 10);";
    let wait = "new Promise(done => setTimeout(() => done(1), 50))";
    let returned = Run::new(&format!("{throws} return [{wait}]")).go();
    assert_eq!(returned.value(), "[1]");
    assert_eq!(
        returned.stderr,
        "unhandled error after the return: Error: too late\n"
    );
    // The control: a program that has not returned yet.
    let running = Run::new(&format!("{throws} return [await {wait}]")).go();
    let fault = running.fault_of(ErrorKind::Exception);
    assert!(fault.message.contains("too late"), "{fault:?}");
}

#[test]
fn a_tail_without_end_leaves_the_value_of_the_program() {
    // The clock of this gateway moves with each answer and jumps to each timer, up to the time limit.
    let program = "(async () => { for (;;) { await new Promise(r => setTimeout(r, 100)); await tools.test.echo({}) } })(); return 5";
    let outcome = Run::new(program)
        .limits(|limits| limits.wall_ms = 4_000)
        .go();
    assert_eq!(outcome.value(), "5");
    let calls = outcome.calls.len();
    assert!((20..40).contains(&calls), "{calls}");
}
