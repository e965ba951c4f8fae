//! Fuzz target of the conversation: any sequence of frames of a worker and events of its gateway.
//!
//! [`Conversation`] keeps counts and a state. Here the same rules are written a second time without either: they are
//! derived from the list of all earlier events. The two must agree on every frame, and after a refusal no frame may be
//! accepted.
//!
//! The input has three bytes for the limits, then the events, each with a byte for its kind and the bytes it needs.
//! Missing bytes count as zero.

use limbeck_domain::limits::{
    CALL_ARGS_BYTES_MAX, CALL_HEAD_BYTES_MAX, CALLS_BYTES_MAX, ERASED_BYTES_MAX,
    ERROR_TEXT_BYTES_MAX, SITES_BYTES_MAX, WARNING_BYTES_MAX, WARNINGS_MAX,
};
use limbeck_domain::sandbox::REASON_BYTES_MAX;
use limbeck_domain::{
    CallId, ErasedProgram, ErrorKind, ExecutionLimits, HostCall, HostOp, Layer, MissingLayer,
    Sandbox, Tier,
};
use limbeck_wire::protocol::Conversation;
use limbeck_wire::{
    CheckRequest, Done, Erased, Fault, FromWorker, Idle, LogLine, LogStream, PROTOCOL_VERSION,
    Ready, decode_from_worker,
};

/// Most events of one input, so that a long input does not take long.
const ACTS_MAX: usize = 512;
/// Size of a large text, which takes long to create.
const LARGE_BYTES: usize = 64 << 10;
/// Most large texts of one input.
const LARGE_TEXTS_MAX: usize = 2;

/// Runs `input` and compares the accepted frames with those that the rules allow.
///
/// # Panics
///
/// When the two differ.
pub(crate) fn check(input: &[u8]) {
    let mut bytes = Bytes(input, LARGE_TEXTS_MAX);
    let limits = ExecutionLimits {
        calls: u32::from(bytes.next()),
        log_bytes: usize::from(bytes.next()),
        value_bytes: usize::from(bytes.next()),
        ..ExecutionLimits::default()
    };
    let mut conversation = Conversation::default();
    let mut past = Past {
        events: Vec::new(),
        limits,
    };
    for _ in 0..ACTS_MAX {
        let Some(act) = bytes.act(&past) else { break };
        match act {
            Act::Start => {
                conversation.started(&limits);
                past.gateway(Event::Start);
            }
            Act::Deliver => {
                conversation.delivered();
                past.gateway(Event::Deliver);
            }
            Act::Verdict => {
                conversation.verdict_sent();
                past.gateway(Event::Verdict);
            }
            Act::Frame(frame) => {
                let allowed = past.allows(&frame);
                let accepted = conversation.receive(&frame).is_ok();
                assert_eq!(accepted, allowed, "{}: {past:?}", frame.name());
                past.worker(&frame, accepted);
            }
        }
        assert_eq!(conversation.is_idle(), past.last() == Some(Event::Idle));
        let blocked = matches!(past.last(), Some(Event::Idle | Event::Check));
        assert_eq!(conversation.is_blocked(), blocked);
    }
}

enum Act {
    Start,
    Deliver,
    Verdict,
    Frame(FromWorker),
}

/// One event, with the sizes that count towards a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Ready,
    Start,
    Call { bytes: usize },
    Log { bytes: usize },
    Idle,
    Deliver,
    Erased,
    Check,
    Verdict,
    Done,
    Refused,
}

/// All events so far. They determine what is allowed.
#[derive(Debug)]
struct Past {
    events: Vec<Event>,
    limits: ExecutionLimits,
}

impl Past {
    /// The last event that changes which side may send.
    fn last(&self) -> Option<Event> {
        let says_nothing = |event: &Event| {
            matches!(
                event,
                Event::Call { .. } | Event::Log { .. } | Event::Erased
            )
        };
        let mut turns = self.events.iter().rev().copied();
        turns.find(|event| !says_nothing(event))
    }

    fn calls(&self) -> impl Iterator<Item = usize> {
        self.events.iter().filter_map(|event| match event {
            Event::Call { bytes } => Some(*bytes),
            _ => None,
        })
    }

    fn printed(&self) -> usize {
        let lines = self.events.iter().filter_map(|event| match event {
            Event::Log { bytes } => Some(bytes + 1),
            _ => None,
        });
        lines.sum()
    }

    fn gateway(&mut self, event: Event) {
        let right = match event {
            Event::Start => Some(Event::Ready),
            Event::Verdict => Some(Event::Check),
            _ => Some(Event::Idle),
        };
        let event = if self.last() == right {
            event
        } else {
            Event::Refused
        };
        self.events.push(event);
    }

    fn worker(&mut self, frame: &FromWorker, accepted: bool) {
        let event = match frame {
            _ if !accepted => Event::Refused,
            FromWorker::Ready(_) => Event::Ready,
            FromWorker::Erased(_) => Event::Erased,
            FromWorker::Check(_) => Event::Check,
            FromWorker::Call(call) => Event::Call {
                bytes: call.head.len() + call.body.len(),
            },
            FromWorker::Log(line) => Event::Log {
                bytes: line.text.len(),
            },
            FromWorker::Idle(_) => Event::Idle,
            FromWorker::Done(_) => Event::Done,
        };
        self.events.push(event);
    }

    fn allows(&self, frame: &FromWorker) -> bool {
        if self.events.contains(&Event::Refused) {
            return false;
        }
        let its_turn = match frame {
            FromWorker::Ready(_) => self.events.is_empty(),
            _ => matches!(
                self.last(),
                Some(Event::Start | Event::Deliver | Event::Verdict)
            ),
        };
        its_turn
            && match frame {
                FromWorker::Ready(ready) => is_ready(ready),
                FromWorker::Erased(erased) => self.is_erased(&erased.program),
                FromWorker::Check(check) => self.is_check(check),
                FromWorker::Call(call) => self.is_call(call),
                FromWorker::Log(line) => self.printed() + line.text.len() < self.limits.log_bytes,
                FromWorker::Idle(_) => true,
                FromWorker::Done(done) => self.is_done(done),
            }
    }

    fn is_erased(&self, program: &ErasedProgram) -> bool {
        let is_first = !self.events.contains(&Event::Erased);
        is_first
            && self.calls().count() == 0
            && program.warnings.len() <= WARNINGS_MAX
            && program.bytes() <= ERASED_BYTES_MAX
    }

    fn is_check(&self, check: &CheckRequest) -> bool {
        let before = [Event::Erased, Event::Check];
        let is_first = !self.events.iter().any(|event| before.contains(event));
        let is_first = is_first && self.calls().count() == 0;
        is_first && check.sites.len() <= SITES_BYTES_MAX
    }

    fn is_call(&self, call: &HostCall) -> bool {
        let before = self.calls().count();
        let bytes = call.head.len() + call.body.len();
        call.id.0 as usize == before + 1
            && before < self.limits.calls as usize
            && call.head.len() <= CALL_HEAD_BYTES_MAX
            && call.body.len() <= CALL_ARGS_BYTES_MAX
            && self.calls().sum::<usize>() + bytes <= CALLS_BYTES_MAX
    }

    fn is_done(&self, done: &Done) -> bool {
        let result = match &done.result {
            Ok(value) => value.as_ref().map_or(0, String::len) <= self.limits.value_bytes,
            Err(fault) => [Some(&fault.message), fault.hint.as_ref()]
                .iter()
                .flatten()
                .all(|text| text.len() <= ERROR_TEXT_BYTES_MAX),
        };
        let warnings = &done.warnings;
        result
            && warnings.len() <= WARNINGS_MAX
            && warnings.iter().all(|text| text.len() <= WARNING_BYTES_MAX)
    }
}

fn is_ready(ready: &Ready) -> bool {
    let hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    let Sandbox {
        tier,
        held,
        missing,
    } = &ready.sandbox;
    let complete = Layer::ALL
        .iter()
        .all(|layer| held.contains(layer) || !layer.required());
    ready.guest_hash.len() == 64
        && ready.guest_hash.chars().all(hex)
        && held.len() <= Layer::ALL.len()
        && missing.len() <= Layer::ALL.len()
        && missing
            .iter()
            .all(|one| one.reason.len() <= REASON_BYTES_MAX)
        && (*tier == Tier::Wasm || complete)
}

/// The rest of an input, and how many more of its texts may be large.
struct Bytes<'a>(&'a [u8], usize);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }

    fn act(&mut self, past: &Past) -> Option<Act> {
        if self.0.is_empty() {
            return None;
        }
        Some(match self.next() % 11 {
            0 => Act::Start,
            1 => Act::Deliver,
            2 => Act::Frame(self.ready()),
            3 => Act::Frame(self.call(past)),
            4 => Act::Frame(self.log(past)),
            5 => Act::Frame(FromWorker::Idle(Idle { wake_at_us: None })),
            6 => Act::Frame(self.done(past)),
            7 => Act::Frame(self.raw()?),
            8 => Act::Frame(FromWorker::Check(CheckRequest {
                sites: self.text(SITES_BYTES_MAX),
            })),
            9 => Act::Verdict,
            _ => Act::Frame(self.erased()),
        })
    }

    /// A text of up to 250 bytes, or one about as long as it may be.
    fn text(&mut self, limit: usize) -> String {
        let mut code = self.next();
        if code > 250 && limit > LARGE_BYTES {
            if self.1 == 0 {
                code = 0;
            }
            self.1 = self.1.saturating_sub(1);
        }
        let bytes = match code {
            251 => limit / 2,
            252 => limit.saturating_sub(2),
            253 => limit.saturating_sub(1),
            254 => limit,
            255 => limit + 1,
            bytes => usize::from(bytes),
        };
        "0".repeat(bytes)
    }

    fn ready(&mut self) -> FromWorker {
        let how = self.next();
        let mut sandbox = Sandbox::of(Layer::ALL.to_vec(), Vec::new());
        if how & 1 != 0 {
            sandbox.held.truncate(usize::from(self.next()));
        }
        if how & 2 != 0 {
            sandbox = Sandbox::of(sandbox.held, Vec::new());
        }
        if how & 4 != 0 {
            sandbox.missing.push(MissingLayer {
                layer: Layer::Seccomp,
                reason: self.text(REASON_BYTES_MAX),
            });
        }
        if how & 8 != 0 {
            sandbox.held.push(Layer::Session);
        }
        let mut guest_hash = "a".repeat(64);
        if how & 16 != 0 {
            guest_hash.truncate(63);
            guest_hash.push(char::from(self.next() & 127));
        }
        FromWorker::Ready(Ready {
            protocol: PROTOCOL_VERSION,
            guest_hash,
            sandbox,
        })
    }

    fn erased(&mut self) -> FromWorker {
        let script = self.text(ERASED_BYTES_MAX);
        let warnings = vec![String::new(); usize::from(self.next())];
        let program = ErasedProgram {
            script,
            warnings,
            ..ErasedProgram::default()
        };
        FromWorker::Erased(Box::new(Erased { program }))
    }

    fn call(&mut self, past: &Past) -> FromWorker {
        let next = past.calls().count() as u32 + 1;
        let id = match self.next() {
            off @ 250.. => u32::from(off - 250),
            _ => next,
        };
        FromWorker::Call(HostCall {
            id: CallId(id),
            op: HostOp::Tool,
            head: self.text(CALL_HEAD_BYTES_MAX),
            body: self.text(CALL_ARGS_BYTES_MAX),
        })
    }

    fn log(&mut self, past: &Past) -> FromWorker {
        FromWorker::Log(LogLine {
            stream: LogStream::Stdout,
            text: self.text(past.limits.log_bytes),
        })
    }

    fn done(&mut self, past: &Past) -> FromWorker {
        let how = self.next();
        let result = if how & 1 == 0 {
            Ok((how & 2 == 0).then(|| self.text(past.limits.value_bytes)))
        } else {
            Err(Fault {
                kind: ErrorKind::Exception,
                message: self.text(ERROR_TEXT_BYTES_MAX),
                line: None,
                column: None,
                hint: (how & 2 == 0).then(|| self.text(ERROR_TEXT_BYTES_MAX)),
            })
        };
        let count = usize::from(self.next() & 63);
        let warning = self.text(WARNING_BYTES_MAX);
        FromWorker::Done(Box::new(Done {
            result,
            written_in: None,
            warnings: vec![warning; count],
            given_up: Vec::new(),
            log_bytes_dropped: u64::MAX,
            memory_bytes: u64::MAX,
        }))
    }

    /// A frame in the worker's own bytes, if they are one.
    fn raw(&mut self) -> Option<FromWorker> {
        let length = usize::from(self.next()).min(self.0.len());
        let (frame, rest) = self.0.split_at(length);
        self.0 = rest;
        decode_from_worker(frame).ok()
    }
}
