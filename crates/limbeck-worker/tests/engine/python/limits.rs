//! Every way to run out of something ends the run with its own kind, in time.

use std::time::Duration;

use limbeck_domain::ErrorKind;

use super::value;
use crate::gateway::{INTERPRETER_ABORTED, Outcome, Run};

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
        "while True: pass",
        "import re\nre.match(r'(a+)+$', 'a' * 50 + 'b')",
        "import re\nre.sub(r'(x+x+)+y', '', 'x' * 60)",
        "sum(iter(int, 1))",
        "10 ** 10 ** 9",
        "str(3 ** 10 ** 7)",
        "int('7' * 4000) ** 100000",
        "list(range(10 ** 6)) * 10 ** 6 if False else max(range(10 ** 12))",
        "try:\n    while True: pass\nfinally:\n    while True: pass",
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "class A:\n    def __del__(self):\n        while True: pass\na = A()\ndel a",
        "import asyncio\nasync def f():\n    while True: await asyncio.sleep(0)\nawait f()",
        "import itertools\nfor _ in itertools.product(range(1000), repeat=10): pass",
        "'a' * 10 ** 7 in ('a' * 5000 + 'b') * 2000 and 0\nx = 'ab' * 10 ** 6\nwhile True: x.find('ba' * 500000 + 'c')",
        "import hashlib\nwhile True: hashlib.sha256(bytes(10 ** 6)).digest()",
    ] {
        let outcome = Run::python(program)
            .limits(|limits| limits.wall_ms = 300)
            .go();
        let fault = outcome.fault_of(ErrorKind::Timeout);
        assert_eq!(
            fault.message, "the program ran longer than 300 ms",
            "{program}"
        );
        ends_in_time(&outcome, 300);
    }
    assert_eq!(value("sum(range(100000))"), "4999950000");
}

#[test]
fn what_was_printed_before_the_end_arrives() {
    let outcome = Run::python("print('before')\nwhile True: pass")
        .limits(|limits| limits.wall_ms = 200)
        .go();
    outcome.fault_of(ErrorKind::Timeout);
    assert_eq!(outcome.stdout, "before\n");
}

#[test]
fn memory_ends_at_its_limit() {
    for program in [
        "x = []\nwhile True: x.append(bytes(1 << 20))",
        "x = []\nwhile True: x.append({'a': len(x)})",
        "x = 'a'\nwhile True: x += x",
        "x = bytearray()\nwhile True: x.extend(bytes(1 << 20))",
        "x = set()\ni = 0\nwhile True:\n    x.add(str(i))\n    i += 1",
        "x = []\nwhile True: x = [x, list(range(1000)), x]",
        "[0] * 10 ** 9",
        "bytes(2 ** 31 - 100)",
        "'x' * (1 << 30)",
        "def f():\n    try: return [0] * 10 ** 8 + f()\n    finally: bytes(10 ** 9)\nf()",
    ] {
        let outcome = Run::python(program)
            .limits(|limits| {
                limits.memory_bytes = 96 << 20;
                limits.wall_ms = 10_000;
            })
            .go();
        let fault = outcome.fault_of(ErrorKind::MemoryLimit);
        let expected = "program needed more memory than its limit of 96 MiB";
        assert_eq!(fault.message, expected, "{program}");
        assert!(outcome.done.as_ref().unwrap().memory_bytes <= 96 << 20);
        ends_in_time(&outcome, 10_000);
    }
    assert_eq!(value("len([0] * 10 ** 6)"), "1000000");
    let caught = "try: x = bytes(1 << 30)\nexcept MemoryError: r = 'caught'\nr";
    assert_eq!(value(caught), r#""caught""#);
}

#[test]
fn recursion_goes_deep_and_then_ends() {
    let deep = "def f(n): return 0 if n == 0 else 1 + f(n - 1)\nf(900)";
    assert_eq!(value(deep), "900");
    for program in [
        "def f(): return f()\nf()",
        "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(): return f()\nf()",
        "class A:\n    def __getattr__(self, n): return getattr(self, n + 'x')\nA().x",
        "class A:\n    def __repr__(self): return repr(self)\nrepr(A())",
        "class A:\n    def __eq__(self, o): return self == o\nA() == A()",
        "f = lambda: sorted([2, 1], key=lambda x: f())\nf()",
        "f = lambda: list(map(lambda x: f(), [1]))\nf()",
        "import functools\nf = functools.partial(lambda: f())\nf()",
        "import json\nclass A(dict):\n    def items(self): return json.dumps(A(a=1))\njson.dumps(A(a=1))",
    ] {
        let outcome = Run::python(program)
            .limits(|limits| limits.wall_ms = 5_000)
            .go();
        let fault = outcome.fault();
        assert!(
            matches!(
                fault.kind,
                ErrorKind::StackLimit | ErrorKind::MemoryLimit | ErrorKind::Timeout
            ),
            "{program}: {fault:?}"
        );
        ends_in_time(&outcome, 5_000);
    }
    let caught = "def f(): return f()\ntry: f()\nexcept RecursionError: r = 'caught'\nr";
    assert_eq!(value(caught), r#""caught""#);
}

#[test]
fn depth_bombs_end_as_errors() {
    for program in [
        "import json\njson.loads('[' * 1000000)",
        "import json\njson.loads('{\"a\":' * 100000)",
        "import json\nx = []\nfor _ in range(1000000): x = [x]\njson.dumps(x)",
        "x = []\nfor _ in range(1000000): x = [x]\nreturn x",
        "x = []\nfor _ in range(1000000): x = [x]\nprint(x)\nraise KeyError('went on')",
        "x = []\nfor _ in range(1000000): x = [x]\nx == x[0]\nraise KeyError('went on')",
        "x = []\nfor _ in range(1000000): x = [x]\nimport copy\ncopy.deepcopy(x)",
        "x = []\nfor _ in range(1000000): x = [x]\nimport pickle\npickle.dumps(x)",
        "x = []\nfor _ in range(1000000): x = [x]\ntools.test.echo(x=x)",
        "x = ()\nfor _ in range(1000000): x = (x,)\nhash(x)\nraise KeyError('went on')",
        "eval('(' * 100000)",
        "eval('-' * 100000 + '1')",
        "exec('if 1:\\n' + ''.join(' ' * i + 'if 1:\\n' for i in range(1, 5000)))",
        "import ast\nast.parse('+'.join(['a'] * 100000))\nraise KeyError('went on')",
        "eval('+'.join(['1'] * 100000))\nraise KeyError('went on')",
        "import ast\nast.literal_eval('[' * 5000 + ']' * 5000)",
        "import re\nre.compile('(' * 100000)",
        "import re\nre.compile('(?:' * 50000 + ')' * 50000)",
        "import re\nre.match('(?:a|b)*', 'ab' * 1000000)\nraise KeyError('went on')",
        "import itertools\nx = iter([1])\nfor _ in range(200000): x = itertools.chain(x)\nnext(x)\nraise KeyError('went on')",
        "x = None\nfor _ in range(1000000): x = type('A', (), {'x': x})() if False else [x]\ndel x\nraise KeyError('went on')",
        "import xml.etree.ElementTree as e\ne.fromstring('<a>' * 100000 + '</a>' * 100000)\nraise KeyError('went on')",
        "import functools\nf = lambda x: x\nfor _ in range(100000): f = functools.partial(f)\nf(1)\nraise KeyError('went on')",
    ] {
        let outcome = Run::python(program)
            .limits(|limits| limits.wall_ms = 5_000)
            .go();
        let fault = outcome.fault();
        assert_ne!(fault.kind, ErrorKind::WorkerLost, "{program}: {fault:?}");
        assert!(
            !fault.message.starts_with(INTERPRETER_ABORTED),
            "{program}: {fault:?}"
        );
        ends_in_time(&outcome, 5_000);
    }
}

#[test]
fn a_flood_of_printed_lines_is_cut_and_counted() {
    for print in [
        "print(f'line number {i}')",
        "os.write(1, b'line number %d\\n' % i)",
    ] {
        let program = format!("import os\nfor i in range(20000): {print}\nreturn 'end'");
        let outcome = Run::python(&program)
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
        assert_eq!(done.log_bytes_dropped as usize, printed - passed, "{print}");
    }
    // Both streams share the bound: the beginning of what was printed first, and the end of what was printed last.
    let both = |letters: u32| {
        let program =
            format!("import os\nos.write(2, 'é'.encode() * 10 ** 6)\nprint('x' * 10 ** {letters})");
        let outcome = Run::python(&program)
            .limits(|limits| limits.log_bytes = 100)
            .go();
        assert_eq!(outcome.value(), "undefined");
        assert_eq!(outcome.stderr, format!("{}\n", "é".repeat(24)));
        outcome.stdout
    };
    assert_eq!(both(6), format!("{}\n", "x".repeat(50)));
    assert!(both(7).len() <= 51);
    let alone = Run::python("import os\nos.write(2, 'é'.encode() * 10 ** 6)")
        .limits(|limits| limits.log_bytes = 100)
        .go();
    assert_eq!(
        alone.stderr,
        format!("{}\n{}\n", "é".repeat(24), "é".repeat(25))
    );
}

#[test]
fn calls_and_values_have_their_bounds() {
    let outcome = Run::python("for i in range(11): tools.test.echo()")
        .limits(|limits| limits.calls = 10)
        .go();
    let fault = outcome.fault_of(ErrorKind::CallLimit);
    assert_eq!(fault.message, "program made more than 10 calls");

    let at_once = "import asyncio\nawait asyncio.gather(*[tools.test.echo() for i in range(11)])";
    let outcome = Run::python(at_once)
        .limits(|limits| limits.calls_pending = 10)
        .go();
    let fault = outcome.fault_of(ErrorKind::CallLimit);
    assert!(
        fault.hint.as_ref().unwrap().contains("asyncio.gather"),
        "{fault:?}"
    );

    let outcome = Run::python("tools.test.echo(x='x' * (5 << 20))").go();
    outcome.fault_of(ErrorKind::OutputLimit);

    let outcome = Run::python("'x' * 2000")
        .limits(|limits| limits.value_bytes = 1_000)
        .go();
    let fault = outcome.fault_of(ErrorKind::OutputLimit);
    assert_eq!(
        fault.message,
        "returned value is 2002 bytes, at most 1000 are allowed"
    );
}

#[test]
fn a_program_that_waits_for_nothing_never_settles() {
    let outcome =
        Run::python("import asyncio\nawait asyncio.get_running_loop().create_future()").go();
    outcome.fault_of(ErrorKind::NeverSettles);
}
