//! Everything a worker must not do, by name.

use std::hint::black_box;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use limbeck_wire::domain::{ErrorKind, HostOp, Layer, ProgramStart, Sandbox};
use limbeck_wire::limits::{
    CALL_ARGS_BYTES_MAX, CALL_HEAD_BYTES_MAX, CALLS_MAX, VALUE_BYTES_MAX, WARNINGS_MAX,
};
use limbeck_wire::{Done, Fault, FromWorker, LogLine, LogStream, PROTOCOL_VERSION, Ready, encode};
use serde_json::{Value, json};

use crate::talk::{Talk, done};

/// Plays a program.
pub(crate) type Behaviour = fn(&mut Talk, &ProgramStart) -> ExitCode;

/// Says something and then waits to be killed for it.
type Lie = fn(&mut Talk);

/// Kinds of frames, by the byte that stands for them.
const START: u8 = 1;
const READY: u8 = 16;
const CALL: u8 = 17;
const LOG: u8 = 18;
const DONE: u8 = 20;

/// What the guest's clock will not show in our time.
const NEVER_US: u64 = u64::MAX;

/// Violations of the protocol that need nothing of the program.
const LIES: &[(&str, Lie)] = &[
    ("length-zero", |talk| talk.announce(0, &[])),
    ("length-sign", |talk| talk.announce(1 << 31, &[DONE])),
    ("length-all-ones", |talk| talk.announce(u32::MAX, &[DONE])),
    ("length-over-kind", |talk| {
        talk.announce(CALL_ARGS_BYTES_MAX as u32 * 2, &[CALL]);
    }),
    ("kind-unknown", |talk| talk.body(&[99, 0])),
    ("kind-of-the-gateway", |talk| talk.body(&[START, 0])),
    ("body-missing", |talk| talk.body(&[DONE])),
    ("trailing-byte", |talk| talk.body(&[LOG, 0, 1, b'x', 0])),
    ("log-not-utf8", |talk| talk.body(&[LOG, 0, 2, 0xc3, 0x28])),
    ("head-not-utf8", |talk| talk.body(&[CALL, 1, 0, 1, 0xff, 0])),
    ("value-not-utf8", |talk| {
        talk.body(&[DONE, 0, 1, 1, 0xff, 0, 0, 0])
    }),
    ("text-past-the-frame", |talk| {
        talk.body(&[LOG, 0, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    }),
    ("list-past-the-frame", |talk| {
        talk.body(&[DONE, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    }),
    ("list-of-nothing", |talk| {
        let mut frame = vec![DONE, 0, 0, 0x80, 0x80, 0x80, 0x04];
        frame.resize(8 << 20, 0);
        talk.body(&frame);
    }),
    ("ready-again", |talk| {
        talk.send(&FromWorker::Ready(Ready {
            protocol: PROTOCOL_VERSION,
            guest_hash: "0".repeat(64),
            sandbox: Sandbox::of(Layer::ALL.to_vec(), Vec::new()),
        }));
    }),
    ("idle-twice", |talk| {
        talk.idle(Some(NEVER_US));
        talk.idle(Some(NEVER_US));
    }),
    ("call-while-idle", |talk| {
        talk.idle(Some(NEVER_US));
        talk.tool("echo");
    }),
    ("done-while-idle", |talk| {
        talk.idle(Some(NEVER_US));
        talk.value("1");
    }),
    ("call-zero", |talk| talk.call_as(0, HostOp::Servers, "", "")),
    ("call-skips", |talk| {
        talk.call_as(2, HostOp::Servers, "", "")
    }),
    ("call-again", |talk| {
        talk.tool("echo");
        talk.call_as(1, HostOp::Tool, r#"{"server":"t","tool":"echo"}"#, "{}");
    }),
    ("call-last", |talk| {
        talk.call_as(u32::MAX, HostOp::Servers, "", "")
    }),
    ("calls-over", |talk| {
        for _ in 0..=CALLS_MAX {
            talk.call(HostOp::Servers, "", "");
        }
    }),
    ("head-over", |talk| {
        talk.call(HostOp::Tool, &"x".repeat(CALL_HEAD_BYTES_MAX + 1), "");
    }),
    ("log-flood", |talk| {
        let text = "x".repeat(1_000);
        let frame = FromWorker::Log(LogLine {
            stream: LogStream::Stderr,
            text,
        });
        flood(talk, &frame);
    }),
    ("line-flood", |talk| {
        let frame = FromWorker::Log(LogLine {
            stream: LogStream::Stdout,
            text: String::new(),
        });
        flood(talk, &frame);
    }),
    ("value-over", |talk| {
        talk.value(&"1".repeat(VALUE_BYTES_MAX + 1))
    }),
    ("message-over", |talk| {
        let fault = Fault {
            kind: ErrorKind::Exception,
            message: "x".repeat(60 << 10),
            line: None,
            column: None,
            hint: None,
        };
        talk.send(&with_done(|done| done.result = Err(fault)));
    }),
    ("warnings-over", |talk| {
        talk.send(&with_done(|done| {
            done.warnings = vec![String::new(); WARNINGS_MAX + 1]
        }));
    }),
    ("warning-over", |talk| {
        talk.send(&with_done(|done| done.warnings = vec!["x".repeat(2 << 10)]));
    }),
    ("value-not-json", |talk| talk.value("{")),
    ("value-deep", |talk| {
        let depth = 1_000_000;
        talk.value(&("[".repeat(depth) + &"]".repeat(depth)));
    }),
    ("half-a-frame", |talk| {
        talk.announce(CALL_ARGS_BYTES_MAX as u32, &[CALL, 1, 1]);
    }),
    // Has begun, as its call shows, and says no more.
    ("silent", |talk| talk.tool("echo")),
    ("lie-while-calling", |talk| {
        talk.tool("stuck");
        talk.tool("echo");
        talk.idle(None);
        // The answer of the second says that the first was on its way as well.
        if talk.delivery().is_some() {
            talk.body(&[READY]);
        }
    }),
];

/// Everything else.
const ODDITIES: &[(&str, Behaviour)] = &[
    // The program's input says what is called; the value is what was answered.
    ("call", |talk, start| {
        let input: Value = serde_json::from_str(&start.input).unwrap_or_default();
        let part = |name: &str| input[name].as_str().unwrap_or_default().to_owned();
        talk.call(HostOp::Tool, &part("head"), &part("body"));
        talk.idle(None);
        let delivery = talk.delivery().unwrap_or_default();
        for answer in delivery.results {
            let (Ok(text) | Err(text)) = &answer.result;
            let said: Value = serde_json::from_str(text).unwrap_or_default();
            let told = json!({"ok": answer.result.is_ok(), "said": said});
            talk.value(&told.to_string());
        }
        ExitCode::SUCCESS
    }),
    ("done-twice", |talk, _| {
        talk.value("1");
        talk.value("2");
        talk.log("and more");
        ExitCode::SUCCESS
    }),
    ("claims", |talk, _| {
        talk.send(&with_done(|done| {
            let claims = json!({"truncated": true, "is_error": true, "effects": {"writes": 9}});
            done.result = Ok(Some(claims.to_string()));
            done.log_bytes_dropped = u64::MAX;
            done.memory_bytes = u64::MAX;
        }));
        ExitCode::SUCCESS
    }),
    // A byte at a time, each sooner than anybody gives up on it.
    ("slow", |talk, _| {
        let text = [LOG, 0, 100];
        talk.announce(103, &text);
        while talk.raw(b"x") {
            pause(Duration::from_millis(100));
        }
        ExitCode::SUCCESS
    }),
    // Has a large answer coming, says that it waits for it, and does not read it.
    ("never-reads", |talk, _| {
        talk.tool("big");
        talk.idle(None);
        loop {
            pause(Duration::from_secs(1));
        }
    }),
    // Asks for much and then never comes back for it.
    ("never-takes", |talk, _| {
        for _ in 0..200 {
            talk.tool("big");
        }
        loop {
            pause(Duration::from_secs(1));
        }
    }),
    ("arguments-pile-up", |talk, _| {
        let body = format!(r#"{{"x":"{}"}}"#, "x".repeat(CALL_ARGS_BYTES_MAX - 10));
        for _ in 0..20 {
            talk.call(HostOp::Tool, r#"{"server":"t","tool":"stuck"}"#, &body);
        }
        talk.wait();
        ExitCode::SUCCESS
    }),
    ("always-due", |talk, _| {
        loop {
            talk.idle(Some(0));
            if talk.delivery().is_none() {
                break;
            }
        }
        ExitCode::SUCCESS
    }),
    ("ends-while-calling", |talk, _| {
        talk.tool("stuck");
        talk.tool("echo");
        talk.idle(None);
        talk.delivery();
        talk.idle(None);
        ExitCode::SUCCESS
    }),
    ("exit-zero", |_, _| ExitCode::SUCCESS),
    ("exit-one", |_, _| ExitCode::FAILURE),
    ("panic", |_, _| panic!("as asked")),
    ("stack-overflow", |_, _| {
        black_box(dive(0));
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
    // Says that it waits and takes memory meanwhile, more than a guest may and less than it can.
    ("memory-while-idle", |talk, _| {
        talk.idle(Some(NEVER_US));
        let taken = vec![1_u8; 640 << 20];
        black_box(&taken);
        talk.wait();
        ExitCode::SUCCESS
    }),
];

/// The behaviour of that name; an honest one for any other program.
pub(crate) fn of(program: &str) -> Behaviour {
    if LIES.iter().any(|(name, _)| *name == program) {
        return lie;
    }
    let known = ODDITIES.iter().find(|(name, _)| *name == program);
    known.map_or(honest, |(_, behaviour)| *behaviour)
}

fn lie(talk: &mut Talk, start: &ProgramStart) -> ExitCode {
    if let Some((_, lie)) = LIES.iter().find(|(name, _)| *name == start.program) {
        lie(talk);
    }
    talk.wait();
    ExitCode::SUCCESS
}

fn honest(talk: &mut Talk, _: &ProgramStart) -> ExitCode {
    talk.value("2");
    ExitCode::SUCCESS
}

fn with_done(change: impl FnOnce(&mut Done)) -> FromWorker {
    let mut frame = done("null");
    if let FromWorker::Done(done) = &mut frame {
        change(done);
    }
    frame
}

/// Sends a frame as fast as it goes, until nobody takes it any more.
fn flood(talk: &mut Talk, frame: &FromWorker) {
    let one = encode(frame, Vec::new()).expect("a small frame");
    let many = one.repeat(1_000);
    while talk.raw(&many) {}
}

/// Sleeps without the system call for it, which the filter refuses.
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
fn dive(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    dive(frame[0] + 1) + frame[63]
}
