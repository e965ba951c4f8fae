//! The tail of a program: what it left running when it returned.

use limbeck_domain::ErrorKind;

use crate::gateway::{Outcome, Run};

const FOR_EACH: &str = "`await` each call; `forEach` awaits nothing";

const PAUSES: &str = "was ended at a pause: pauses have 1 s in all there";

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
    // Pauses have one second in all.
    let calls = outcome.calls.len();
    assert!((9..=10).contains(&calls), "{calls}");
    assert!(
        warnings(&outcome).join("\n").contains(PAUSES),
        "{:?}",
        warnings(&outcome)
    );
    // One that would fail at its limit of calls.
    let outcome = Run::new("(async () => { for (;;) await tools.test.echo({}) })(); return 5")
        .limits(|limits| limits.calls = 20)
        .go();
    assert_eq!((outcome.value(), outcome.calls.len()), ("5", 20));
    let text = warnings(&outcome).join("\n");
    assert!(text.contains("reached its limit of 20 calls"), "{text}");
}

#[test]
fn calls_keep_a_returned_program_for_a_bounded_time() {
    // `hang` is never answered, so the clock jumps to the end of the wait.
    for (program, warning) in [
        (
            "tools.test.hang({}); return 5",
            "calls had no answer when the program ended, 5 s after its `return` (`test.hang`)",
        ),
        (
            "const call = tools.test.hang({}); \
             return await new Promise((done, fail) => { setTimeout(done, 200, 5); call.then(done, fail) })",
            "calls had no answer when the program ended, 5 s after its `return` (`test.hang`)",
        ),
        (
            "(async () => { await tools.test.echo({}); await tools.test.hang({}) })(); return 5",
            "10 s after its `return` the program still made calls (`test.hang`) and was ended",
        ),
    ] {
        let long = Run::new(program)
            .limits(|limits| limits.wall_ms = 60_000)
            .go();
        assert_eq!(long.value(), "5", "{program}");
        let text = warnings(&long).join("\n");
        assert!(text.contains(warning), "{program}: {text}");
        // The value is kept under a limit that is shorter than the wait.
        let short = Run::new(program)
            .limits(|limits| limits.wall_ms = 4_000)
            .go();
        assert_eq!(short.value(), "5", "{program}");
        let text = warnings(&short).join("\n");
        assert!(text.contains(" s after its `return`"), "{program}: {text}");
    }
    // The control: a race that is known, so its loser is no news.
    let raced = "return await Promise.race([tools.test.hang({}), new Promise(done => setTimeout(done, 20, 5))])";
    let raced = Run::new(raced).go();
    assert_eq!(raced.value(), "5");
    assert_eq!(warnings(&raced), [""; 0]);
}

#[test]
fn timers_that_are_due_late_are_dropped_and_said_where_they_would_have_made_calls() {
    let dropped = "1 timer was dropped at the return, due in 6 s: `await` what must be done";
    let stopped =
        "an interval was stopped at the return before it made a call: `await` what must be done";
    for (program, expected) in [
        (
            "setTimeout(() => tools.test.echo({}), 6000); return 5",
            Some(dropped),
        ),
        (
            "setInterval(async () => { await tools.test.echo({}) }, 2000); return 5",
            Some(stopped),
        ),
        // What limited something that has ended.
        (
            "setTimeout(() => console.log('aborting'), 4000); return 5",
            None,
        ),
        (
            "setTimeout(() => { throw new Error('aborting') }, 4000); return 5",
            None,
        ),
        (
            "const call = tools.test.echo({}); await new Promise((done, fail) => { setTimeout(fail, 2000); call.then(done, fail) }); return 5",
            None,
        ),
    ] {
        let outcome = Run::new(program).go();
        assert_eq!(outcome.value(), "5", "{program}");
        assert_eq!(
            (outcome.stdout.as_str(), outcome.stderr.as_str()),
            ("", ""),
            "{program}"
        );
        let expected: Vec<&str> = expected.into_iter().collect();
        assert_eq!(warnings(&outcome), expected, "{program}");
    }
    // A loop of pauses has one second in all, and a promise of a dropped timer takes no value away.
    let again = "await new Promise(done => setTimeout(done, 100));";
    let outcome = Run::new(&format!(
        "(async () => {{ for (;;) {{ {again} console.log('.') }} }})(); return 5"
    ))
    .go();
    assert_eq!(outcome.value(), "5");
    assert!((9..=10).contains(&outcome.stdout.lines().count()));
    let text = warnings(&outcome).join("\n");
    assert!(text.contains(PAUSES), "{text}");
    let filled = "const out = []; (async () => { await tools.test.echo({}); out.push(new Promise(done => setTimeout(done, 3000))) })(); return out";
    assert_eq!(Run::new(filled).go().value(), "[]");
    // A chain that makes a call each time, with a call in flight all the time.
    let beat =
        "const beat = () => { tools.test.hang({}); setTimeout(beat, 300) }; beat(); return 5";
    let outcome = Run::new(beat).limits(|limits| limits.wall_ms = 60_000).go();
    assert_eq!((outcome.value(), outcome.calls.len()), ("5", 4));
}
