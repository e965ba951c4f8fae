//! Every way to run out of something ends the run with its own kind, in time.

use std::time::Duration;

use crate::gateway::{INTERPRETER_ABORTED, Outcome, Run};
use limbeck_domain::ErrorKind;

/// Time beyond the limit after which a program counts as one that does not end.
const HANG: Duration = Duration::from_secs(30);

#[track_caller]
fn ends_in_time(outcome: &Outcome, wall_ms: u64) {
    let limit = Duration::from_millis(wall_ms) + HANG;
    assert!(outcome.elapsed < limit, "took {:?}", outcome.elapsed);
}

#[test]
fn endless_programs_are_stopped_at_the_wall_clock() {
    for program in [
        "while (true) {}",
        "while (true) await null",
        "const f = async () => { await 0; return f() }; await f()",
        "function f() { Promise.resolve().then(f) } f(); await new Promise(() => {})",
        "/^(a+)+$/.test('a'.repeat(50) + 'b')",
        "const a = new Array(2 ** 31).join('x'); while (true) {}",
        "[].sort.call({ length: 2 ** 32 - 1 })",
        "Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)",
        "try { while (true) {} } catch {} finally { while (true) {} }",
        "for (const x of (function* () { while (true) yield 1 })()) {}",
        "JSON.stringify({ toJSON() { while (true) {} } })",
        "return { then() { while (true) {} } }",
        "'x'.repeat(1 << 20).replace(/x/g, () => { while (true) {} })",
    ] {
        let outcome = Run::new(program).limits(|limits| limits.wall_ms = 300).go();
        let fault = outcome.fault();
        assert!(
            matches!(
                fault.kind,
                ErrorKind::Timeout | ErrorKind::MemoryLimit | ErrorKind::Exception
            ),
            "{program}: {fault:?}"
        );
        if fault.kind == ErrorKind::Timeout {
            assert_eq!(fault.message, "the program ran longer than 300 ms");
        }
        ends_in_time(&outcome, 300);
    }
}

#[test]
fn what_was_printed_before_the_end_arrives() {
    let outcome = Run::new("console.log('before'); while (true) {}")
        .limits(|limits| limits.wall_ms = 200)
        .go();
    outcome.fault_of(ErrorKind::Timeout);
    assert_eq!(outcome.stdout, "before\n");
}

#[test]
fn memory_ends_at_its_limit() {
    for program in [
        "const a = []; while (true) a.push({ x: a.length })",
        "let s = 'x'; while (true) s += s",
        "const a = []; while (true) a.push(new Uint8Array(1 << 20).fill(1))",
        "const a = []; while (true) a.push('x'.repeat(1 << 16) + a.length)",
        "const m = new Map(); for (let i = 0; ; i++) m.set(i, [i])",
        "new Uint8Array(2 ** 31 - 1)",
        "const f = (n) => [f, n]; let x = null; while (true) x = [x, x]",
        "try { const a = []; while (true) a.push([1, 2, 3]) } catch (e) { throw e }",
        "return 'x'.repeat(60 * 2 ** 20) + 'y'.repeat(60 * 2 ** 20)",
    ] {
        let outcome = Run::new(program)
            .limits(|limits| {
                limits.memory_bytes = 64 << 20;
                limits.wall_ms = 5_000;
            })
            .go();
        let fault = outcome.fault();
        let expected = fault.message == "program needed more memory than its limit of 64 MiB"
            || fault.message == "InternalError: string too long"
            || fault.message == "RangeError: invalid string length"
            || fault.message == "RangeError: invalid array buffer length";
        assert!(expected, "{program}: {fault:?}");
        assert!(outcome.done.as_ref().unwrap().memory_bytes <= 64 << 20);
        ends_in_time(&outcome, 5_000);
    }
}

#[test]
fn a_program_within_its_memory_runs() {
    let outcome = Run::new("return new Array(1e6).fill(1).reduce((a, b) => a + b)").go();
    assert_eq!(outcome.value(), "1000000");
}

#[test]
fn recursion_goes_deep_and_then_ends() {
    let deep =
        "function f(n: number): number { return n === 0 ? 0 : 1 + f(n - 1) }\nreturn f(9000)";
    assert_eq!(Run::new(deep).go().value(), "9000");
    for program in [
        "function f() { return 1 + f() } f()",
        "const o = {}; o.toJSON = () => JSON.stringify(o); JSON.stringify(o)",
        "class A { get x() { return this.x } } new A().x",
        "const a = []; a[0] = a; const p = new Proxy({}, { get(t, k, r) { return r[k] } }); p.x",
        "const f = () => [1].map(f); f()",
    ] {
        let outcome = Run::new(program)
            .limits(|limits| limits.wall_ms = 3_000)
            .go();
        let fault = outcome.fault();
        assert!(
            matches!(fault.kind, ErrorKind::StackLimit | ErrorKind::Timeout),
            "{program}: {fault:?}"
        );
        ends_in_time(&outcome, 3_000);
    }
    let caught = "function f() { return 1 + f() } try { f() } catch (e) { return e.name }";
    assert_eq!(Run::new(caught).go().value(), "\"RangeError\"");
}

#[test]
fn depth_bombs_for_parsers_end_as_errors() {
    for program in [
        "JSON.parse('['.repeat(1e6))",
        "JSON.parse('{\"a\":'.repeat(1e5))",
        "let x = []; for (let i = 0; i < 1e6; i++) x = [x]; JSON.stringify(x)",
        "let x = []; for (let i = 0; i < 1e6; i++) x = [x]; return x",
        "new RegExp('('.repeat(1e5))",
        "new Function('('.repeat(1e5))",
        "eval('['.repeat(1e5))",
        "let x = []; for (let i = 0; i < 1e6; i++) x = [x]; structuredClone(x)",
        "let x = []; for (let i = 0; i < 1e6; i++) x = [x]; x.flat(Infinity)",
        "let x = []; for (let i = 0; i < 1e6; i++) x = [x]; String(x)",
        "let x = []; for (let i = 0; i < 1e6; i++) x = [x]; console.log(x); throw new Error('went on')",
        "let x = []; for (let i = 0; i < 1e6; i++) x = [x]; await tools.test.echo(x)",
    ] {
        let outcome = Run::new(program)
            .limits(|limits| limits.wall_ms = 3_000)
            .go();
        let fault = outcome.fault();
        assert_ne!(fault.kind, ErrorKind::WorkerLost, "{program}: {fault:?}");
        assert!(
            !fault.message.starts_with(INTERPRETER_ABORTED),
            "{program}: {fault:?}"
        );
        ends_in_time(&outcome, 3_000);
    }
}

#[test]
fn a_flood_of_printed_lines_is_cut_and_counted() {
    let program = "for (let i = 0; i < 20000; i++) console.log('line number ' + i); return 'end'";
    let outcome = Run::new(program)
        .limits(|limits| limits.log_bytes = 1_000)
        .go();
    assert_eq!(outcome.value(), "\"end\"");
    assert!(outcome.stdout.len() <= 1_000);
    assert!(outcome.stdout.starts_with("line number 0\nline number 1\n"));
    assert!(
        outcome
            .stdout
            .ends_with("line number 19998\nline number 19999\n")
    );
    let done = outcome.done.unwrap();
    let printed: usize = (0..20_000)
        .map(|i| format!("line number {i}\n").len())
        .sum();
    let passed: usize = outcome
        .stdout
        .lines()
        .filter(|line| !line.starts_with('…'))
        .map(|line| line.len() + 1)
        .sum();
    assert_eq!(done.log_bytes_dropped as usize, printed - passed);
}

#[test]
fn empty_lines_are_bounded_too_and_a_huge_line_keeps_its_ends() {
    let outcome = Run::new("for (let i = 0; i < 1e5; i++) console.log('')")
        .limits(|limits| limits.log_bytes = 100)
        .go();
    assert_eq!(outcome.value(), "undefined");
    assert_eq!(outcome.stdout.len(), 100);
    let outcome = Run::new("console.error('é'.repeat(1e6))")
        .limits(|limits| limits.log_bytes = 100)
        .go();
    assert_eq!(outcome.value(), "undefined");
    assert_eq!(
        outcome.stderr,
        format!("{}\n{}\n", "é".repeat(24), "é".repeat(25))
    );
}

#[test]
fn values_end_at_their_bound() {
    let exactly = Run::new("return 'x'.repeat(98)")
        .limits(|limits| limits.value_bytes = 100)
        .go();
    assert_eq!(exactly.value().len(), 100);
    let over = Run::new("return 'x'.repeat(99)")
        .limits(|limits| limits.value_bytes = 100)
        .go();
    let fault = over.fault_of(ErrorKind::OutputLimit);
    assert_eq!(
        fault.message,
        "returned value is 101 bytes, at most 100 are allowed"
    );
}

#[test]
fn calls_end_at_their_bounds() {
    let program = "for (let i = 0; i < 5; i++) await tools.test.echo({ i }); return 'ok'";
    let within = Run::new(program).limits(|limits| limits.calls = 5).go();
    assert_eq!(within.value(), "\"ok\"");
    let over = Run::new(program).limits(|limits| limits.calls = 4).go();
    let fault = over.fault_of(ErrorKind::CallLimit);
    assert_eq!(fault.message, "program made more than 4 calls");
    assert_eq!(over.calls.len(), 4);

    let program = "await Promise.all([1, 2, 3].map(i => tools.test.echo({ i }))); return 'ok'";
    let within = Run::new(program)
        .limits(|limits| limits.calls_pending = 3)
        .go();
    assert_eq!(within.value(), "\"ok\"");
    let over = Run::new(program)
        .limits(|limits| limits.calls_pending = 2)
        .go();
    let fault = over.fault_of(ErrorKind::CallLimit);
    assert!(fault.message.contains("more than 2 calls"), "{fault:?}");
}

#[test]
fn arguments_end_at_their_bound() {
    let program = "return (await tools.test.echo({ s: 'x'.repeat(4 * 2 ** 20 - 8) })).s.length";
    let within = Run::new(program).go();
    assert_eq!(within.value(), "4194296");
    let over = Run::new("await tools.test.echo({ s: 'x'.repeat(4 * 2 ** 20) })").go();
    let fault = over.fault_of(ErrorKind::OutputLimit);
    assert_eq!(
        fault.message,
        "arguments of call 1 are 4194312 bytes, at most 4194304 are allowed"
    );
    assert!(over.calls.is_empty());
}

#[test]
fn a_program_that_waits_for_nothing_says_so_and_leaves_the_verdict_to_the_gateway() {
    let outcome = Run::new("await new Promise(() => {})").go();
    assert!(outcome.done.is_none());
}

#[test]
fn a_value_without_json_form_is_told() {
    for program in ["const a = {}; a.a = a; return a", "return 1n"] {
        let outcome = Run::new(program).go();
        let fault = outcome.fault_of(ErrorKind::Exception);
        assert!(
            fault
                .message
                .starts_with("returned value has no JSON form: "),
            "{fault:?}"
        );
    }
}
