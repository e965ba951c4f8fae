//! Every frame is decoded as it was encoded, and none takes more memory than its own size.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails with the place"
)]

use limbeck_domain::{
    CallId, ErasedProgram, ErrorKind, ExecutionLimits, HostCall, HostOp, Language, Layer,
    MissingLayer, Mode, ProgramStart, Sandbox, Tier,
};
use limbeck_wire::{
    CallResult, CheckRequest, CheckVerdict, Delivery, Done, Erased, Fault, FromWorker, Idle,
    LogLine, LogStream, Ready, RecordedProgram, Start, ToWorker, WireError, decode_from_worker,
    decode_to_worker, encode,
};
use peak_alloc::PeakAlloc;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Bytes of the length prefix.
const HEADER_BYTES: usize = 4;
/// Memory of a frame beside its own bytes: lists double their capacity as they grow.
const CONSTANT_BYTES: usize = 4 << 10;

fn layers() -> impl Strategy<Value = Vec<Layer>> {
    vec(select(Layer::ALL), 0..=Layer::ALL.len())
}

fn sandbox() -> impl Strategy<Value = Sandbox> {
    let missing =
        (select(Layer::ALL), ".{0,20}").prop_map(|(layer, reason)| MissingLayer { layer, reason });
    let tier = select(vec![Tier::Wasm, Tier::Strict]);
    let missing = vec(missing, 0..=Layer::ALL.len());
    (tier, layers(), missing).prop_map(|(tier, held, missing)| Sandbox {
        tier,
        held,
        missing,
    })
}

fn host_op() -> impl Strategy<Value = HostOp> {
    (1..=6_u32).prop_map(|number| HostOp::from_number(number).unwrap())
}

fn fault() -> impl Strategy<Value = Fault> {
    let kind = select(vec![
        ErrorKind::Syntax,
        ErrorKind::Exception,
        ErrorKind::Gateway,
    ]);
    let place = option::of(any::<u32>());
    (kind, ".*", place.clone(), place, option::of(".*")).prop_map(
        |(kind, message, line, column, hint)| Fault {
            kind,
            message,
            line,
            column,
            hint,
        },
    )
}

fn erased() -> impl Strategy<Value = ErasedProgram> {
    (".*", ".*", ".*", vec(".{0,20}", 0..=32)).prop_map(
        |(script, positions, full_names, warnings)| ErasedProgram {
            script,
            positions,
            full_names,
            warnings,
        },
    )
}

fn from_worker() -> impl Strategy<Value = FromWorker> {
    let ready = (any::<u32>(), ".{0,64}", sandbox()).prop_map(|(protocol, guest_hash, sandbox)| {
        FromWorker::Ready(Ready {
            protocol,
            guest_hash,
            sandbox,
        })
    });
    let call = (any::<u32>(), host_op(), ".*", ".*").prop_map(|(id, op, head, body)| {
        FromWorker::Call(HostCall {
            id: CallId(id),
            op,
            head,
            body,
        })
    });
    let stream = select(vec![LogStream::Stdout, LogStream::Stderr]);
    let log = (stream, ".*").prop_map(|(stream, text)| FromWorker::Log(LogLine { stream, text }));
    let idle =
        option::of(any::<u64>()).prop_map(|wake_at_us| FromWorker::Idle(Idle { wake_at_us }));
    let result = prop_oneof![option::of(".*").prop_map(Ok), fault().prop_map(Err)];
    let done = (result, vec(".{0,20}", 0..=32), any::<u64>(), any::<u64>()).prop_map(
        |(result, warnings, log_bytes_dropped, memory_bytes)| {
            FromWorker::Done(Box::new(Done {
                result,
                written_in: None,
                warnings,
                given_up: vec![CallId(1), CallId(7)],
                log_bytes_dropped,
                memory_bytes,
            }))
        },
    );
    let check = ".*".prop_map(|sites| FromWorker::Check(CheckRequest { sites }));
    let erased = erased().prop_map(|program| FromWorker::Erased(Box::new(Erased { program })));
    prop_oneof![ready, erased, check, call, log, idle, done]
}

fn to_worker() -> impl Strategy<Value = ToWorker> {
    let program = (".*", ".*", any::<[u8; 32]>(), any::<u64>());
    let program = program.prop_map(|(program, input, seed, now_us)| ProgramStart {
        language: Language::Typescript,
        program,
        input,
        servers: "[]".to_owned(),
        seed,
        now_us,
        limits: ExecutionLimits::default(),
        mode: Mode::Run,
        scope: None,
        asks_by_plan: false,
        llm: limbeck_domain::ModelTerms::default(),
        abi: 1,
        release: "1.2.3".to_owned(),
    });
    let recorded = (erased(), option::of(".*"));
    let recorded = recorded.prop_map(|(erased, sites)| RecordedProgram { erased, sites });
    let start = (program, option::of(recorded))
        .prop_map(|(program, recorded)| ToWorker::Start(Box::new(Start { program, recorded })));
    let result = prop_oneof![".*".prop_map(Ok), ".*".prop_map(Err)];
    let result = (any::<u32>(), result).prop_map(|(id, result)| CallResult {
        id: CallId(id),
        result,
    });
    let deliver = (any::<u64>(), vec(result, 0..20))
        .prop_map(|(now_us, results)| ToWorker::Deliver(Delivery { now_us, results }));
    let verdict = ".*".prop_map(|verdict| ToWorker::Verdict(CheckVerdict { verdict }));
    prop_oneof![start, deliver, verdict]
}

/// Decodes one frame and checks the memory that it takes.
fn decode_measured(frame: &[u8]) -> Result<FromWorker, WireError> {
    ALLOCATED.reset_peak_usage();
    let before = ALLOCATED.peak_usage();
    let decoded = decode_from_worker(frame);
    let took = ALLOCATED.peak_usage() - before;
    assert!(
        took <= frame.len() + CONSTANT_BYTES,
        "a frame of {} bytes took {took}",
        frame.len()
    );
    decoded
}

// A single test, because the allocator counts for all threads of the process.
#[test]
fn frames_come_back_and_take_no_more_memory_than_they_have_bytes() {
    let mut runner = proptest::test_runner::TestRunner::default();
    runner
        .run(&from_worker(), |frame| {
            let bytes = encode(&frame, Vec::new()).unwrap();
            prop_assert_eq!(decode_measured(&bytes[HEADER_BYTES..]), Ok(frame));
            Ok(())
        })
        .unwrap();
    runner
        .run(&to_worker(), |frame| {
            let bytes = encode(&frame, Vec::new()).unwrap();
            prop_assert_eq!(decode_to_worker(&bytes[HEADER_BYTES..]), Ok(frame));
            Ok(())
        })
        .unwrap();
    let frames = (16..21_u8, vec(any::<u8>(), 0..256));
    runner
        .run(&frames, |(kind, body)| {
            let _ = decode_measured(&[&[kind], body.as_slice()].concat());
            Ok(())
        })
        .unwrap();
    lists_of_nothing_are_refused_at_their_bound();
}

/// Items that are a byte in the frame and many in memory, in frames as large as their kind allows.
fn lists_of_nothing_are_refused_at_their_bound() {
    let varint = |mut number: u64| {
        let mut bytes = Vec::new();
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    };
    for announced in [33, 20_000, 16 << 20, u64::from(u32::MAX), u64::MAX] {
        // `Done` with no value and this many warnings.
        let mut done = vec![20, 0, 0];
        done.extend(varint(announced));
        done.extend(vec![0; 16 << 20]);
        assert_eq!(decode_measured(&done), Err(WireError::Body));
        // `Ready` with no hash, the lower tier and this many layers.
        let mut ready = vec![16, 2, 0, 0];
        ready.extend(varint(announced));
        ready.extend(vec![0; 20 << 10]);
        assert_eq!(decode_measured(&ready), Err(WireError::Body));
    }
}
