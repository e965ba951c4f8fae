//! Seeds: what real workers send, and a violation of each kind.

use limbeck_domain::{
    CallId, ErasedProgram, ErrorKind, ExecutionLimits, HostCall, HostOp, Language, Layer, Mode,
    ProgramError, ProgramStart, Sandbox,
};
use limbeck_wire::{
    CallResult, CheckRequest, CheckVerdict, Delivery, Done, Erased, Frame, FromWorker, Idle,
    LogLine, LogStream, PROTOCOL_VERSION, Ready, RecordedProgram, Start, ToWorker, encode,
};

/// One input: its name and its bytes.
pub(crate) type Seed = (&'static str, Vec<u8>);

/// Kind byte of [`FromWorker::Ready`], and of the frames after it.
const READY: u8 = 16;

/// Seeds of the decoder.
pub(crate) fn decoder() -> Vec<Seed> {
    let run = stream(&run());
    let mut cut = run.clone();
    cut.truncate(run.len() - 1);
    let mut trailing = encode(&FromWorker::Idle(Idle { wake_at_us: None }), Vec::new())
        .expect("an idle frame is small");
    trailing.push(0);
    trailing[0] += 1;
    vec![
        ("run", from_worker(0, &run)),
        ("run-by-bytes", from_worker(0, &run)),
        ("run-in-pieces", from_worker(6, &run)),
        ("run-cut-short", from_worker(0, &cut)),
        ("answers", to_worker(&answers())),
        ("verdict", to_worker(&[verdict()])),
        ("weak-sandbox", from_worker(0, &stream(&[weak()]))),
        ("error", from_worker(0, &stream(&[threw()]))),
        ("length-zero", from_worker(0, &announced(0, &[]))),
        ("length-sign", from_worker(0, &announced(1 << 31, &[READY]))),
        (
            "length-all-ones",
            from_worker(0, &announced(u32::MAX, &[READY])),
        ),
        (
            "length-not-sent",
            from_worker(0, &announced(100, &[READY, 2])),
        ),
        ("kind-unknown", from_worker(0, &announced(2, &[99, 0]))),
        (
            "kind-of-the-gateway",
            from_worker(0, &announced(2, &[1, 0])),
        ),
        ("trailing-byte", from_worker(0, &trailing)),
        // A log line whose text is not UTF-8.
        (
            "not-utf8",
            from_worker(0, &announced(5, &[18, 0, 2, 0xc3, 0x28])),
        ),
        // A log line that announces more text than the frame has, and more than there is memory.
        (
            "text-too-long",
            from_worker(
                0,
                &announced(9, &[18, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
            ),
        ),
        // An end with 2^56 warnings, and one with 33 empty ones.
        (
            "list-too-long",
            from_worker(
                0,
                &announced(
                    12,
                    &[20, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0],
                ),
            ),
        ),
        (
            "list-of-nothing",
            from_worker(0, &announced(39, &warnings_of_nothing(33))),
        ),
    ]
}

/// Seeds of the conversation.
pub(crate) fn conversation() -> Vec<Seed> {
    const START: u8 = 0;
    const DELIVER: u8 = 1;
    const READY: u8 = 2;
    const CALL: u8 = 3;
    const LOG: u8 = 4;
    const IDLE: u8 = 5;
    const DONE: u8 = 6;
    const RAW: u8 = 7;
    const CHECK: u8 = 8;
    const VERDICT: u8 = 9;
    const ERASED: u8 = 10;
    // Ten calls, a hundred printed bytes, a value of two hundred; ready, started.
    let begun = |acts: &[u8]| [&[10, 100, 200, READY, 0, START], acts].concat();
    let idle_bytes = encode(&FromWorker::Idle(Idle { wake_at_us: None }), Vec::new())
        .expect("an idle frame is small");
    let idle_frame = &idle_bytes[4..];
    let raw = [&[RAW, idle_frame.len() as u8], idle_frame].concat();
    vec![
        (
            "run",
            begun(&[CALL, 0, 20, 30, LOG, 5, IDLE, DELIVER, DONE, 0, 20, 1, 30]),
        ),
        ("nothing-returned", begun(&[DONE, 2, 0, 0])),
        ("threw", begun(&[DONE, 1, 40, 20, 0, 0])),
        ("many-turns", begun(&[IDLE, DELIVER].repeat(20))),
        ("idle-in-its-own-bytes", begun(&raw)),
        ("not-ready", vec![10, 100, 200, CALL, 0, 1, 1]),
        ("ready-twice", begun(&[READY, 0])),
        (
            "before-its-start",
            vec![10, 100, 200, READY, 0, DONE, 0, 1, 0, 0],
        ),
        ("after-its-end", begun(&[DONE, 0, 1, 0, 0, LOG, 1])),
        ("two-ends", begun(&[DONE, 0, 1, 0, 0, DONE, 0, 1, 0, 0])),
        ("call-while-idle", begun(&[IDLE, CALL, 0, 1, 1])),
        ("call-again", begun(&[CALL, 0, 1, 1, CALL, 251, 1, 1])),
        ("calls-over", begun(&[CALL, 0, 1, 1].repeat(11))),
        ("call-head-over", begun(&[CALL, 0, 255, 1])),
        ("call-body-over", begun(&[CALL, 0, 1, 255])),
        ("log-to-its-bound", begun(&[LOG, 253, LOG, 0])),
        ("log-of-nothing", begun(&[LOG, 0].repeat(101))),
        ("value-over", begun(&[DONE, 0, 255, 0, 0])),
        ("message-over", begun(&[DONE, 1, 255, 0, 0])),
        ("warnings-over", begun(&[DONE, 0, 1, 33, 1])),
        ("warning-over", begun(&[DONE, 0, 1, 1, 255])),
        ("tier-not-held", vec![10, 100, 200, READY, 1, 4]),
        ("tier-lower", vec![10, 100, 200, READY, 3, 4, START, IDLE]),
        ("layers-over", vec![10, 100, 200, READY, 8]),
        ("reason-over", vec![10, 100, 200, READY, 4, 255]),
        ("hash-of-words", vec![10, 100, 200, READY, 16, b'Z']),
        ("started-twice", begun(&[START, IDLE])),
        ("delivered-while-running", begun(&[DELIVER, IDLE])),
        (
            "checked",
            begun(&[CHECK, 9, VERDICT, CALL, 0, 1, 1, IDLE, DELIVER]),
        ),
        ("checked-twice", begun(&[CHECK, 9, VERDICT, CHECK, 9])),
        ("check-after-call", begun(&[CALL, 0, 1, 1, CHECK, 9])),
        ("check-over", begun(&[CHECK, 255])),
        ("call-while-checking", begun(&[CHECK, 9, CALL, 0, 1, 1])),
        (
            "delivered-while-checking",
            begun(&[CHECK, 9, DELIVER, IDLE]),
        ),
        (
            "erased",
            begun(&[CHECK, 9, VERDICT, ERASED, 9, 2, CALL, 0, 1, 1, IDLE]),
        ),
        ("erased-twice", begun(&[ERASED, 9, 0, ERASED, 9, 0])),
        ("check-after-erased", begun(&[ERASED, 9, 0, CHECK, 9])),
        ("erased-after-call", begun(&[CALL, 0, 1, 1, ERASED, 9, 0])),
        ("erased-over", begun(&[ERASED, 255, 0])),
        ("erased-warnings-over", begun(&[ERASED, 9, 33])),
        ("verdict-unasked", begun(&[VERDICT, IDLE])),
    ]
}

fn from_worker(step: u8, stream: &[u8]) -> Vec<u8> {
    [&[0, step], stream].concat()
}

fn to_worker(frames: &[ToWorker]) -> Vec<u8> {
    [&[1, 6], stream(frames).as_slice()].concat()
}

fn stream<F: Frame>(frames: &[F]) -> Vec<u8> {
    frames.iter().fold(Vec::new(), |bytes, frame| {
        encode(frame, bytes)
            .map_err(|(error, _)| error)
            .expect("a seed is in its bounds")
    })
}

fn announced(length: u32, sent: &[u8]) -> Vec<u8> {
    [&length.to_le_bytes(), sent].concat()
}

fn warnings_of_nothing(count: u8) -> Vec<u8> {
    let mut body = vec![20, 0, 0, count];
    body.extend(vec![0; usize::from(count)]);
    body.extend([0, 0]);
    body
}

/// A program that calls, prints, waits and returns.
fn run() -> Vec<FromWorker> {
    vec![
        FromWorker::Ready(Ready {
            protocol: PROTOCOL_VERSION,
            guest_hash: "0123456789abcdef".repeat(4),
            sandbox: Sandbox::of(Layer::ALL.to_vec(), Vec::new()),
        }),
        FromWorker::Check(CheckRequest {
            sites: r#"{"sites":[]}"#.to_owned(),
        }),
        FromWorker::Erased(Box::new(Erased { program: erased() })),
        FromWorker::Call(HostCall {
            id: CallId(1),
            op: HostOp::Tool,
            head: r#"{"server":"git","tool":"log"}"#.to_owned(),
            body: r#"{"limit":3}"#.to_owned(),
        }),
        FromWorker::Log(LogLine {
            stream: LogStream::Stderr,
            text: "zwölf\nBoxkämpfer".to_owned(),
        }),
        FromWorker::Idle(Idle {
            wake_at_us: Some(1_700_000_000_000_000),
        }),
        FromWorker::Done(Box::new(Done {
            result: Ok(Some("[1,2]".to_owned())),
            written_in: None,
            warnings: vec!["2 code blocks".to_owned()],
            given_up: Vec::new(),
            log_bytes_dropped: 0,
            memory_bytes: 4 << 20,
        })),
    ]
}

fn erased() -> ErasedProgram {
    ErasedProgram {
        script: "(async function () {return input})".to_owned(),
        positions: "0;0;AAAA".to_owned(),
        full_names: "mcp__git__log".to_owned(),
        warnings: vec!["2 code blocks".to_owned()],
    }
}

fn weak() -> FromWorker {
    FromWorker::Ready(Ready {
        protocol: PROTOCOL_VERSION,
        guest_hash: "0".repeat(64),
        sandbox: Sandbox::wasm_only("this is not Linux"),
    })
}

fn threw() -> FromWorker {
    let error = ProgramError {
        line: Some(3),
        column: Some(7),
        ..ProgramError::new(ErrorKind::Exception, "TypeError: no").with_hint("say yes")
    };
    FromWorker::Done(Box::new(Done {
        result: Err(error.into()),
        written_in: None,
        warnings: Vec::new(),
        given_up: Vec::new(),
        log_bytes_dropped: 17,
        memory_bytes: 0,
    }))
}

fn verdict() -> ToWorker {
    ToWorker::Verdict(CheckVerdict {
        verdict: r#"{"errors":[],"warnings":["two calls are alike"]}"#.to_owned(),
    })
}

fn answers() -> Vec<ToWorker> {
    let start = ProgramStart {
        language: Language::Typescript,
        program: "return input".to_owned(),
        input: "[1]".to_owned(),
        servers: "[]".to_owned(),
        seed: [7; 32],
        now_us: 1_700_000_000_000_000,
        limits: ExecutionLimits::default(),
        mode: Mode::Run,
        scope: None,
        asks_by_plan: false,
        llm: limbeck_domain::ModelTerms::default(),
        abi: 1,
        release: "1.2.3".to_owned(),
    };
    let recorded = RecordedProgram {
        erased: erased(),
        sites: Some(r#"{"sites":[]}"#.to_owned()),
    };
    let again = Start {
        program: start.clone(),
        recorded: Some(recorded),
    };
    let results = vec![
        CallResult {
            id: CallId(1),
            result: Ok("{}".to_owned()),
        },
        CallResult {
            id: CallId(2),
            result: Err(r#"{"code":"denied","message":"no"}"#.to_owned()),
        },
    ];
    vec![
        ToWorker::Start(Box::new(start.into())),
        ToWorker::Start(Box::new(again)),
        ToWorker::Deliver(Delivery { now_us: 1, results }),
    ]
}
