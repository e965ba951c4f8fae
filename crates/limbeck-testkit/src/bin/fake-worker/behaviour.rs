//! Misbehaviours of a worker, by name.

use std::hint::black_box;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use limbeck_domain::limits::{
    CALL_ARGS_BYTES_MAX, CALL_HEAD_BYTES_MAX, CALLS_MAX, VALUE_BYTES_MAX, WARNINGS_MAX,
};
use limbeck_domain::{ErrorKind, HostOp, Layer, ProgramStart, Sandbox};
use limbeck_wire::{Done, Fault, FromWorker, LogLine, LogStream, PROTOCOL_VERSION, Ready, encode};
use serde_json::{Value, json};

use crate::raw_channel::{RawChannel, done};

/// Behaviour of the worker in place of a program.
pub(crate) type Behaviour = fn(&mut RawChannel, &ProgramStart) -> ExitCode;

/// Message that violates the protocol; the worker then waits to be killed.
type Violation = fn(&mut RawChannel);

/// Bytes of the frame kinds.
const START: u8 = 1;
const READY: u8 = 16;
const CALL: u8 = 17;
const LOG: u8 = 18;
const DONE: u8 = 20;

/// Wake-up time that is never reached.
const NEVER_US: u64 = u64::MAX;

/// Protocol violations that do not depend on the input of the program.
const VIOLATIONS: &[(&str, Violation)] = &[
    ("length-zero", |channel| channel.announce(0, &[])),
    ("length-sign", |channel| channel.announce(1 << 31, &[DONE])),
    ("length-all-ones", |channel| {
        channel.announce(u32::MAX, &[DONE])
    }),
    ("length-over-kind", |channel| {
        channel.announce(CALL_ARGS_BYTES_MAX as u32 * 2, &[CALL]);
    }),
    ("kind-unknown", |channel| channel.body(&[99, 0])),
    ("kind-of-the-gateway", |channel| channel.body(&[START, 0])),
    ("body-missing", |channel| channel.body(&[DONE])),
    ("trailing-byte", |channel| {
        channel.body(&[LOG, 0, 1, b'x', 0])
    }),
    ("log-not-utf8", |channel| {
        channel.body(&[LOG, 0, 2, 0xc3, 0x28])
    }),
    ("head-not-utf8", |channel| {
        channel.body(&[CALL, 1, 0, 1, 0xff, 0])
    }),
    ("value-not-utf8", |channel| {
        channel.body(&[DONE, 0, 1, 1, 0xff, 0, 0, 0])
    }),
    ("text-past-the-frame", |channel| {
        channel.body(&[LOG, 0, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    }),
    ("list-past-the-frame", |channel| {
        channel.body(&[DONE, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    }),
    ("list-of-nothing", |channel| {
        let mut frame = vec![DONE, 0, 0, 0x80, 0x80, 0x80, 0x04];
        frame.resize(8 << 20, 0);
        channel.body(&frame);
    }),
    ("ready-again", |channel| {
        channel.send(&FromWorker::Ready(Ready {
            protocol: PROTOCOL_VERSION,
            guest_hash: "0".repeat(64),
            sandbox: Sandbox::of(Layer::ALL.to_vec(), Vec::new()),
        }));
    }),
    ("idle-twice", |channel| {
        channel.idle(Some(NEVER_US));
        channel.idle(Some(NEVER_US));
    }),
    ("call-while-idle", |channel| {
        channel.idle(Some(NEVER_US));
        channel.tool("echo");
    }),
    ("done-while-idle", |channel| {
        channel.idle(Some(NEVER_US));
        channel.value("1");
    }),
    ("check-twice", |channel| {
        channel.long_check();
        channel.check();
    }),
    ("check-after-call", |channel| {
        channel.tool("echo");
        channel.check();
    }),
    ("call-while-checking", |channel| {
        channel.long_check();
        channel.tool("echo");
    }),
    ("call-zero", |channel| {
        channel.call_as(0, HostOp::Servers, "", "")
    }),
    ("call-skips", |channel| {
        channel.call_as(2, HostOp::Servers, "", "")
    }),
    ("call-again", |channel| {
        channel.tool("echo");
        channel.call_as(1, HostOp::Tool, r#"{"server":"t","tool":"echo"}"#, "{}");
    }),
    ("call-last", |channel| {
        channel.call_as(u32::MAX, HostOp::Servers, "", "")
    }),
    ("calls-over", |channel| {
        for _ in 0..=CALLS_MAX {
            channel.call(HostOp::Servers, "", "");
        }
    }),
    ("head-over", |channel| {
        channel.call(HostOp::Tool, &"x".repeat(CALL_HEAD_BYTES_MAX + 1), "");
    }),
    ("log-flood", |channel| {
        let text = "x".repeat(1_000);
        let frame = FromWorker::Log(LogLine {
            stream: LogStream::Stderr,
            text,
        });
        flood(channel, &frame);
    }),
    ("line-flood", |channel| {
        let frame = FromWorker::Log(LogLine {
            stream: LogStream::Stdout,
            text: String::new(),
        });
        flood(channel, &frame);
    }),
    ("value-over", |channel| {
        channel.value(&"1".repeat(VALUE_BYTES_MAX + 1))
    }),
    ("message-over", |channel| {
        let fault = Fault {
            kind: ErrorKind::Exception,
            message: "x".repeat(60 << 10),
            line: None,
            column: None,
            hint: None,
        };
        channel.send(&with_done(|done| done.result = Err(fault)));
    }),
    ("warnings-over", |channel| {
        channel.send(&with_done(|done| {
            done.warnings = vec![String::new(); WARNINGS_MAX + 1]
        }));
    }),
    ("warning-over", |channel| {
        channel.send(&with_done(|done| done.warnings = vec!["x".repeat(2 << 10)]));
    }),
    ("value-not-json", |channel| channel.value("{")),
    ("value-deep", |channel| {
        let depth = 1_000_000;
        channel.value(&("[".repeat(depth) + &"]".repeat(depth)));
    }),
    ("half-a-frame", |channel| {
        channel.announce(CALL_ARGS_BYTES_MAX as u32, &[CALL, 1, 1]);
    }),
    // Sends one call, which shows that it runs, and then nothing.
    ("silent", |channel| channel.tool("echo")),
    ("violation-while-calling", |channel| {
        channel.tool("stuck");
        channel.tool("echo");
        channel.idle(None);
        // The answer of the second call shows that the first one was sent as well.
        if channel.delivery().is_some() {
            channel.body(&[READY]);
        }
    }),
];

/// Misbehaviours that depend on the input or are not a single message.
const MISBEHAVIOURS: &[(&str, Behaviour)] = &[
    // The input names the call; the value is its answer.
    ("call", |channel, start| {
        let input: Value = serde_json::from_str(&start.input).unwrap_or_default();
        let part = |name: &str| input[name].as_str().unwrap_or_default().to_owned();
        channel.call(HostOp::Tool, &part("head"), &part("body"));
        channel.idle(None);
        let delivery = channel.delivery().unwrap_or_default();
        for answer in delivery.results {
            let (Ok(text) | Err(text)) = &answer.result;
            let answer_json: Value = serde_json::from_str(text).unwrap_or_default();
            let outcome = json!({"ok": answer.result.is_ok(), "answer": answer_json});
            channel.value(&outcome.to_string());
        }
        ExitCode::SUCCESS
    }),
    ("done-twice", |channel, _| {
        channel.value("1");
        channel.value("2");
        channel.log("and more");
        ExitCode::SUCCESS
    }),
    ("claims", |channel, _| {
        channel.send(&with_done(|done| {
            let claims = json!({"truncated": true, "is_error": true, "effects": {"writes": 9}});
            done.result = Ok(Some(claims.to_string()));
            done.log_bytes_dropped = u64::MAX;
            done.memory_bytes = u64::MAX;
        }));
        ExitCode::SUCCESS
    }),
    // One byte at a time, each before a timeout for silence.
    ("slow", |channel, _| {
        let text = [LOG, 0, 100];
        channel.announce(103, &text);
        while channel.raw(b"x") {
            pause(Duration::from_millis(100));
        }
        ExitCode::SUCCESS
    }),
    // Waits for a large answer and never reads it.
    ("never-reads", |channel, _| {
        channel.tool("big");
        channel.idle(None);
        loop {
            pause(Duration::from_secs(1));
        }
    }),
    // Makes many calls with large answers and never reads them.
    ("never-takes", |channel, _| {
        for _ in 0..200 {
            channel.tool("big");
        }
        loop {
            pause(Duration::from_secs(1));
        }
    }),
    ("arguments-pile-up", |channel, _| {
        let body = format!(r#"{{"x":"{}"}}"#, "x".repeat(CALL_ARGS_BYTES_MAX - 10));
        for _ in 0..20 {
            channel.call(HostOp::Tool, r#"{"server":"t","tool":"stuck"}"#, &body);
        }
        channel.wait();
        ExitCode::SUCCESS
    }),
    ("always-due", |channel, _| {
        loop {
            channel.idle(Some(0));
            if channel.delivery().is_none() {
                break;
            }
        }
        ExitCode::SUCCESS
    }),
    ("ends-while-calling", |channel, _| {
        channel.tool("stuck");
        channel.tool("echo");
        channel.idle(None);
        channel.delivery();
        channel.idle(None);
        ExitCode::SUCCESS
    }),
    ("exit-zero", |_, _| ExitCode::SUCCESS),
    ("exit-one", |_, _| ExitCode::FAILURE),
    ("panic", |_, _| panic!("as asked")),
    ("stack-overflow", |_, _| {
        black_box(recurse(0));
        ExitCode::SUCCESS
    }),
    ("system-call", |_, _| {
        drop(thread::spawn(|| {}));
        ExitCode::SUCCESS
    }),
    ("memory-reserved", |_, _| {
        black_box(vec![1_u8; 64 << 30]);
        ExitCode::SUCCESS
    }),
    // Allocates memory while it claims to wait: more than a guest may use, less than the process can.
    ("memory-while-idle", |channel, _| {
        channel.idle(Some(NEVER_US));
        let taken = vec![1_u8; 640 << 20];
        black_box(&taken);
        channel.wait();
        ExitCode::SUCCESS
    }),
];

/// Behaviour with the name `program`; honest for any other program.
pub(crate) fn of(program: &str) -> Behaviour {
    if VIOLATIONS.iter().any(|(name, _)| *name == program) {
        return violation;
    }
    let known = MISBEHAVIOURS.iter().find(|(name, _)| *name == program);
    known.map_or(honest, |(_, behaviour)| *behaviour)
}

fn violation(channel: &mut RawChannel, start: &ProgramStart) -> ExitCode {
    if let Some((_, violation)) = VIOLATIONS.iter().find(|(name, _)| *name == start.program) {
        violation(channel);
    }
    channel.wait();
    ExitCode::SUCCESS
}

fn honest(channel: &mut RawChannel, _: &ProgramStart) -> ExitCode {
    channel.value("2");
    ExitCode::SUCCESS
}

fn with_done(change: impl FnOnce(&mut Done)) -> FromWorker {
    let mut frame = done("null");
    if let FromWorker::Done(done) = &mut frame {
        change(done);
    }
    frame
}

/// Sends a frame as fast as possible until the channel closes.
fn flood(channel: &mut RawChannel, frame: &FromWorker) {
    let one = encode(frame, Vec::new()).expect("a small frame");
    let many = one.repeat(1_000);
    while channel.raw(&many) {}
}

/// Sleeps without the sleep system call, which the filter denies.
fn pause(time: Duration) {
    let until = Instant::now() + time;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        thread::park_timeout(left);
    }
}

#[expect(
    unconditional_recursion,
    reason = "running out of stack is what is asked for"
)]
fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    recurse(frame[0] + 1) + frame[63]
}
