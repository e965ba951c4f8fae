//! Every rule of the conversation, each with a case that it allows.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails with the place"
)]

use limbeck_domain::limits::{
    CALL_ARGS_BYTES_MAX, CALL_HEAD_BYTES_MAX, CALLS_BYTES_MAX, ERASED_BYTES_MAX,
    ERROR_TEXT_BYTES_MAX, GIVEN_UP_MAX, SITES_BYTES_MAX, WARNING_BYTES_MAX, WARNINGS_MAX,
};
use limbeck_domain::{
    CallId, ErasedProgram, ErrorKind, ExecutionLimits, HostCall, HostOp, Layer, ProgramError,
    Sandbox, Tier,
};
use limbeck_wire::protocol::{Conversation, ProtocolError};
use limbeck_wire::{
    CheckRequest, Done, Erased, Fault, FromWorker, Idle, LogLine, LogStream, PROTOCOL_VERSION,
    Ready,
};

const LOG_BYTES: usize = 100;
const VALUE_BYTES: usize = 50;
const CALLS: u32 = 100;

fn limits() -> ExecutionLimits {
    ExecutionLimits {
        log_bytes: LOG_BYTES,
        value_bytes: VALUE_BYTES,
        calls: CALLS,
        ..ExecutionLimits::default()
    }
}

fn ready_with(change: impl FnOnce(&mut Ready)) -> FromWorker {
    let mut ready = Ready {
        protocol: PROTOCOL_VERSION,
        guest_hash: "0123456789abcdef".repeat(4),
        sandbox: Sandbox::of(Layer::ALL.to_vec(), Vec::new()),
    };
    change(&mut ready);
    FromWorker::Ready(ready)
}

fn ready() -> FromWorker {
    ready_with(|_| {})
}

fn call_of(id: u32, head: usize, body: usize) -> FromWorker {
    FromWorker::Call(HostCall {
        id: CallId(id),
        op: HostOp::Servers,
        head: "h".repeat(head),
        body: "b".repeat(body),
    })
}

fn call(id: u32) -> FromWorker {
    call_of(id, 0, 0)
}

fn line(bytes: usize) -> FromWorker {
    FromWorker::Log(LogLine {
        stream: LogStream::Stdout,
        text: "x".repeat(bytes),
    })
}

fn idle() -> FromWorker {
    FromWorker::Idle(Idle { wake_at_us: None })
}

fn done_with(change: impl FnOnce(&mut Done)) -> FromWorker {
    let mut done = Done {
        result: Ok(None),
        written_in: None,
        warnings: Vec::new(),
        given_up: Vec::new(),
        log_bytes_dropped: 0,
        memory_bytes: 0,
    };
    change(&mut done);
    FromWorker::Done(Box::new(done))
}

fn running() -> Conversation {
    let mut conversation = Conversation::default();
    conversation.receive(&ready()).unwrap();
    conversation.started(&limits());
    conversation
}

/// Every kind of frame, all within their bounds.
fn one_of_each() -> [FromWorker; 5] {
    [ready(), call(1), line(1), idle(), done_with(|_| {})]
}

/// `frame` is refused by a running conversation, and so is everything after it.
#[track_caller]
fn refused(mut conversation: Conversation, frame: &FromWorker) -> ProtocolError {
    let error = conversation.receive(frame).unwrap_err();
    for after in one_of_each() {
        assert!(conversation.receive(&after).is_err());
    }
    conversation.started(&limits());
    conversation.delivered();
    assert!(conversation.receive(&idle()).is_err());
    assert!(!conversation.is_idle());
    error
}

#[test]
fn calls_count_up_without_gaps_and_only_while_the_program_runs() {
    let mut conversation = running();
    conversation.receive(&call(1)).unwrap();
    conversation.receive(&call(2)).unwrap();
    assert_eq!(
        refused(conversation, &call(2)),
        ProtocolError::CallId {
            got: CallId(2),
            expected: CallId(3)
        }
    );

    let mut conversation = running();
    conversation.receive(&idle()).unwrap();
    assert!(conversation.is_idle());
    conversation.delivered();
    conversation.receive(&call(1)).unwrap();
    conversation.receive(&idle()).unwrap();
    assert_eq!(
        refused(conversation, &call(2)),
        ProtocolError::OutOfOrder {
            frame: "call",
            state: "idle"
        }
    );
}

#[test]
fn a_worker_says_ready_once_and_first_and_nothing_before_its_start() {
    for frame in one_of_each().iter().skip(1) {
        refused(Conversation::default(), frame);
    }
    for frame in one_of_each() {
        let mut conversation = Conversation::default();
        conversation.receive(&ready()).unwrap();
        refused(conversation, &frame);
    }
}

#[test]
fn a_worker_ends_once_and_waits_once_for_each_delivery() {
    for frame in one_of_each() {
        let mut ended = running();
        ended.receive(&done_with(|_| {})).unwrap();
        refused(ended, &frame);

        let mut waiting = running();
        waiting.receive(&idle()).unwrap();
        refused(waiting, &frame);
    }
}

#[test]
fn a_gateway_that_speaks_out_of_turn_ends_the_conversation_too() {
    let mut conversation = running();
    conversation.started(&limits());
    refused(conversation, &idle());
    let mut conversation = running();
    conversation.delivered();
    refused(conversation, &idle());
}

#[test]
fn calls_end_at_their_number_and_at_their_bytes() {
    let mut conversation = running();
    for id in 1..=CALLS {
        conversation.receive(&call(id)).unwrap();
    }
    let limit = CALLS;
    assert_eq!(
        refused(conversation, &call(limit + 1)),
        ProtocolError::Calls { limit }
    );

    let largest = call_of(1, CALL_HEAD_BYTES_MAX, CALL_ARGS_BYTES_MAX);
    running().receive(&largest).unwrap();
    refused(running(), &call_of(1, CALL_HEAD_BYTES_MAX + 1, 0));
    refused(running(), &call_of(1, 0, CALL_ARGS_BYTES_MAX + 1));

    let mut conversation = running();
    let mut next = 1;
    for id in 1..=(CALLS_BYTES_MAX / CALL_ARGS_BYTES_MAX) as u32 {
        conversation
            .receive(&call_of(id, 0, CALL_ARGS_BYTES_MAX))
            .unwrap();
        next = id + 1;
    }
    conversation.receive(&call(next)).unwrap();
    assert!(matches!(
        refused(conversation, &call_of(next + 1, 0, 1)),
        ProtocolError::Bytes { .. }
    ));
}

#[test]
fn printing_costs_a_byte_a_line_and_ends_at_its_bound() {
    let limit = LOG_BYTES;
    let mut conversation = running();
    conversation.receive(&line(limit - 1)).unwrap();
    assert_eq!(
        refused(conversation, &line(0)),
        ProtocolError::Logs { limit }
    );
    let mut conversation = running();
    for _ in 0..limit {
        conversation.receive(&line(0)).unwrap();
    }
    refused(conversation, &line(0));
}

#[test]
fn an_end_is_held_to_the_bounds_of_each_of_its_texts() {
    let value = |bytes: usize| done_with(|done| done.result = Ok(Some("1".repeat(bytes))));
    running().receive(&value(VALUE_BYTES)).unwrap();
    refused(running(), &value(VALUE_BYTES + 1));

    let fault = |message: usize, hint: usize| {
        let fault = Fault {
            kind: ErrorKind::Exception,
            message: "m".repeat(message),
            line: None,
            column: None,
            hint: Some("h".repeat(hint)),
        };
        done_with(|done| done.result = Err(fault))
    };
    let limit = ERROR_TEXT_BYTES_MAX;
    running().receive(&fault(limit, limit)).unwrap();
    refused(running(), &fault(limit + 1, 0));
    refused(running(), &fault(0, limit + 1));

    let warnings = |count: usize, bytes: usize| {
        done_with(|done| done.warnings = vec!["w".repeat(bytes); count])
    };
    let given_up = |count: usize| done_with(|done| done.given_up = vec![CallId(1); count]);
    running().receive(&given_up(GIVEN_UP_MAX)).unwrap();
    refused(running(), &given_up(GIVEN_UP_MAX + 1));
    let most = warnings(WARNINGS_MAX, WARNING_BYTES_MAX);
    running().receive(&most).unwrap();
    refused(running(), &warnings(WARNINGS_MAX + 1, 0));
    refused(running(), &warnings(1, WARNING_BYTES_MAX + 1));
}

#[test]
fn an_error_of_any_size_becomes_a_fault_within_the_bounds() {
    let long = "é".repeat(ERROR_TEXT_BYTES_MAX);
    let error = ProgramError::new(ErrorKind::Exception, format!("a{long}")).with_hint(long);
    let fault = Fault::from(error);
    assert!(fault.message.len() > ERROR_TEXT_BYTES_MAX - 2);
    running()
        .receive(&done_with(|done| done.result = Err(fault)))
        .unwrap();
}

#[test]
fn ready_names_a_real_hash_and_no_tier_above_its_layers() {
    let starting = Conversation::default;
    for hash in [
        String::new(),
        "a".repeat(63),
        "a".repeat(65),
        "A".repeat(64),
        "é".repeat(32),
    ] {
        refused(starting(), &ready_with(|ready| ready.guest_hash = hash));
    }
    let weak = Sandbox::wasm_only("not here");
    starting()
        .receive(&ready_with(|ready| ready.sandbox = weak.clone()))
        .unwrap();
    refused(
        starting(),
        &ready_with(|ready| {
            ready.sandbox = Sandbox {
                tier: Tier::Strict,
                ..weak
            };
        }),
    );
    refused(
        starting(),
        &ready_with(|ready| ready.sandbox.held.push(Layer::Seccomp)),
    );
    let wordy = Sandbox::wasm_only(&"r".repeat(257));
    refused(starting(), &ready_with(|ready| ready.sandbox = wordy));
}

#[test]
fn a_worker_has_its_program_checked_once_and_before_the_first_call() {
    let check = |bytes: usize| {
        FromWorker::Check(CheckRequest {
            sites: "s".repeat(bytes),
        })
    };
    let mut conversation = running();
    conversation.receive(&check(SITES_BYTES_MAX)).unwrap();
    assert!(conversation.is_blocked() && !conversation.is_idle());
    conversation.verdict_sent();
    assert!(!conversation.is_blocked());
    conversation.receive(&call(1)).unwrap();

    let checked = || {
        let mut conversation = running();
        conversation.receive(&check(2)).unwrap();
        conversation
    };
    let mut after_verdict = checked();
    after_verdict.verdict_sent();
    let twice = refused(after_verdict, &check(2));
    let mut late = running();
    late.receive(&call(1)).unwrap();
    let late = refused(late, &check(2));
    for error in [twice, late] {
        assert!(matches!(error, ProtocolError::Nonsense(_)), "{error}");
    }
    let waiting = refused(checked(), &call(1));
    assert!(
        matches!(
            waiting,
            ProtocolError::OutOfOrder {
                frame: "call",
                state: "checking"
            }
        ),
        "{waiting}"
    );
    let long = refused(running(), &check(SITES_BYTES_MAX + 1));
    assert!(matches!(long, ProtocolError::Bytes { .. }), "{long}");
}

#[test]
fn a_worker_sends_the_program_without_types_once_after_its_check_and_before_its_calls() {
    let erased = |bytes: usize, warnings: usize| {
        let program = ErasedProgram {
            script: "s".repeat(bytes),
            warnings: vec![String::new(); warnings],
            ..ErasedProgram::default()
        };
        FromWorker::Erased(Box::new(Erased { program }))
    };
    let check = || {
        FromWorker::Check(CheckRequest {
            sites: String::new(),
        })
    };
    let mut conversation = running();
    conversation.receive(&check()).unwrap();
    conversation.verdict_sent();
    conversation
        .receive(&erased(ERASED_BYTES_MAX, WARNINGS_MAX))
        .unwrap();
    conversation.receive(&call(1)).unwrap();

    let mut twice = running();
    twice.receive(&erased(1, 0)).unwrap();
    let mut called = running();
    called.receive(&call(1)).unwrap();
    let mut late_check = running();
    late_check.receive(&erased(1, 0)).unwrap();
    for (conversation, frame) in [
        (twice, erased(1, 0)),
        (called, erased(1, 0)),
        (late_check, check()),
    ] {
        let error = refused(conversation, &frame);
        assert!(matches!(error, ProtocolError::Nonsense(_)), "{error}");
    }
    let long = refused(running(), &erased(ERASED_BYTES_MAX + 1, 0));
    assert!(matches!(long, ProtocolError::Bytes { .. }), "{long}");
    let wordy = refused(running(), &erased(1, WARNINGS_MAX + 1));
    assert!(matches!(wordy, ProtocolError::Items { .. }), "{wordy}");
}

#[test]
fn a_verdict_or_a_delivery_is_sent_only_to_a_worker_that_waits_for_it() {
    let mut unasked = running();
    unasked.verdict_sent();
    refused(unasked, &idle());
    let mut checking = running();
    let sites = String::new();
    checking
        .receive(&FromWorker::Check(CheckRequest { sites }))
        .unwrap();
    checking.delivered();
    refused(checking, &idle());
}
