//! A gateway small enough to see through: it starts a worker over a real socket pair, checks the
//! order of its frames, and answers every call at once but for those of the tool `hang`, which it never answers.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use limbeck_domain::{
    CallCode, CallError, ErasedProgram, ErrorKind, ExecutionLimits, HostCall, HostOp, Language,
    Mode, ProgramStart, Sandbox, Sites, ToolTarget, Verdict,
};
use limbeck_wire::protocol::Conversation;
use limbeck_wire::{
    CallResult, CheckVerdict, Delivery, Done, Fault, FrameReader, FromWorker, LogStream, Ready,
    RecordedProgram, Start, ToWorker, decode_from_worker, encode,
};
use limbeck_worker::PreparedWorker;

/// Beginning of the error of a program that brought its interpreter down.
pub(crate) const INTERPRETER_ABORTED: &str = "the program made its interpreter abort";

/// Microseconds the clock moves with every delivery.
const STEP_US: u64 = 1_000;

/// A worker in this process, with nothing around it.
pub(crate) fn serve(language: Language, channel: OwnedFd) -> ExitCode {
    let armed = PreparedWorker::load(language)
        .and_then(PreparedWorker::arm)
        .unwrap();
    armed.serve(channel.into(), Sandbox::wasm_only("a test"))
}

/// One program and what it starts from.
pub(crate) struct Run {
    pub(crate) start: ProgramStart,
    /// What was made of the program before, when it is run again.
    pub(crate) recorded: Option<RecordedProgram>,
    /// Result of the tool `big`, as JSON text.
    pub(crate) big: String,
    /// Answer to a search, as JSON text.
    pub(crate) found: String,
    /// Answer to `describe`, as JSON text.
    pub(crate) described: String,
    /// Verdict that the worker gets before the program runs.
    pub(crate) verdict: Verdict,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// `None`: the program waited for something that cannot happen.
    pub(crate) done: Option<Done>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) calls: Vec<HostCall>,
    /// The program without its types.
    pub(crate) erased: Option<ErasedProgram>,
    /// What the worker asked of the program before it ran.
    pub(crate) check: Option<Sites>,
    /// From sending `Start` to reading the end.
    pub(crate) elapsed: Duration,
    pub(crate) ready: Ready,
}

impl Run {
    pub(crate) fn new(program: &str) -> Self {
        Self {
            start: ProgramStart {
                language: Language::Typescript,
                program: program.to_owned(),
                input: r#"{"n":21}"#.to_owned(),
                servers: r#"[{"name":"test","tools":3}]"#.to_owned(),
                seed: [7; 32],
                now_us: 1_700_000_000_000_000,
                limits: ExecutionLimits {
                    wall_ms: 10_000,
                    ..ExecutionLimits::default()
                },
                mode: Mode::Run,
                scope: None,
                asks_by_plan: false,
                llm: limbeck_domain::ModelTerms::default(),
                abi: 0,
                release: String::new(),
            },
            recorded: None,
            big: String::new(),
            found: "[]".to_owned(),
            described: "null".to_owned(),
            verdict: Verdict::default(),
        }
    }

    pub(crate) fn python(program: &str) -> Self {
        let mut run = Self::new(program);
        run.start.language = Language::Python;
        run
    }

    pub(crate) fn limits(mut self, change: impl FnOnce(&mut ExecutionLimits)) -> Self {
        change(&mut self.start.limits);
        self
    }

    pub(crate) fn go(self) -> Outcome {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let language = self.start.language;
        let worker = thread::spawn(move || serve(language, theirs.into()));
        let outcome = Gateway::new(ours).converse(&self);
        worker.join().unwrap();
        outcome
    }
}

impl Outcome {
    pub(crate) fn result(&self) -> Result<Option<&str>, &Fault> {
        match &self.done.as_ref().expect("the program settles").result {
            Ok(value) => Ok(value.as_deref()),
            Err(fault) => Err(fault),
        }
    }

    /// JSON text of the value.
    #[track_caller]
    pub(crate) fn value(&self) -> &str {
        match self.result() {
            Ok(value) => value.unwrap_or("undefined"),
            Err(fault) => panic!("{fault:?}\nstderr: {}", self.stderr),
        }
    }

    #[track_caller]
    pub(crate) fn fault(&self) -> &Fault {
        match self.result() {
            Ok(value) => panic!("returned {value:?}"),
            Err(fault) => fault,
        }
    }

    #[track_caller]
    pub(crate) fn fault_of(&self, kind: ErrorKind) -> &Fault {
        let fault = self.fault();
        assert_eq!(fault.kind, kind, "{fault:?}");
        fault
    }
}

/// JSON text of what a program returns.
#[track_caller]
pub(crate) fn value(program: &str) -> String {
    let outcome = Run::new(program).go();
    match outcome.result() {
        Ok(value) => value.unwrap_or("undefined").to_owned(),
        Err(fault) => panic!("{fault:?}\nprogram: {program}"),
    }
}

/// The other end of a worker's channel.
pub(crate) struct Gateway {
    stream: UnixStream,
    reader: FrameReader,
    conversation: Conversation,
    buffer: Vec<u8>,
}

impl Gateway {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            reader: FrameReader::default(),
            conversation: Conversation::default(),
            buffer: vec![0; 1 << 18],
        }
    }

    pub(crate) fn send(&mut self, frame: &ToWorker) {
        let bytes = encode(frame, Vec::new()).unwrap();
        self.stream.write_all(&bytes).unwrap();
    }

    /// The next frame, checked against the protocol; `None` when the worker is gone.
    pub(crate) fn receive(&mut self) -> Option<FromWorker> {
        loop {
            if let Some(frame) = self.reader.next_frame().unwrap() {
                let frame = decode_from_worker(frame).unwrap();
                self.conversation.receive(&frame).unwrap();
                return Some(frame);
            }
            let bytes = self.stream.read(&mut self.buffer).ok()?;
            if bytes == 0 {
                return None;
            }
            self.reader.push(&self.buffer[..bytes]);
        }
    }

    pub(crate) fn ready(&mut self) -> Ready {
        match self.receive() {
            Some(FromWorker::Ready(ready)) => ready,
            other => panic!("expected `Ready`, not {other:?}"),
        }
    }

    pub(crate) fn converse(mut self, run: &Run) -> Outcome {
        let ready = self.ready();
        let begun = Instant::now();
        self.send(&ToWorker::Start(Box::new(Start {
            program: run.start.clone(),
            recorded: run.recorded.clone(),
        })));
        self.conversation.started(&run.start.limits);
        let mut outcome = Outcome {
            done: None,
            stdout: String::new(),
            stderr: String::new(),
            calls: Vec::new(),
            erased: None,
            check: None,
            elapsed: Duration::ZERO,
            ready,
        };
        let mut now_us = run.start.now_us;
        let mut answered = 0;
        loop {
            match self.receive().expect("the worker answers before it ends") {
                FromWorker::Ready(_) => unreachable!("the protocol allows one"),
                FromWorker::Erased(erased) => outcome.erased = Some(erased.program),
                FromWorker::Check(check) => {
                    outcome.check = Some(Sites::parse(&check.sites).unwrap());
                    self.send_verdict(run);
                }
                FromWorker::Call(call) => outcome.calls.push(call),
                FromWorker::Log(line) => {
                    let stream = match line.stream {
                        LogStream::Stdout => &mut outcome.stdout,
                        LogStream::Stderr => &mut outcome.stderr,
                    };
                    stream.push_str(&line.text);
                    stream.push('\n');
                }
                FromWorker::Idle(idle) => {
                    let results = outcome.calls[answered..]
                        .iter()
                        .filter(|call| !call.head.contains(r#""tool":"hang""#))
                        .map(|call| answer(call, run))
                        .collect::<Vec<_>>();
                    answered = outcome.calls.len();
                    now_us = match (results.is_empty(), idle.wake_at_us) {
                        (false, _) => now_us + STEP_US,
                        (true, Some(wake)) => wake.max(now_us),
                        (true, None) => break,
                    };
                    self.send(&ToWorker::Deliver(Delivery { now_us, results }));
                    self.conversation.delivered();
                }
                FromWorker::Done(done) => {
                    outcome.done = Some(*done);
                    break;
                }
            }
        }
        outcome.elapsed = begun.elapsed();
        outcome
    }

    /// Answers the check, which comes before the program runs.
    fn send_verdict(&mut self, run: &Run) {
        let verdict = serde_json::to_string(&run.verdict).unwrap();
        self.send(&ToWorker::Verdict(CheckVerdict { verdict }));
        self.conversation.verdict_sent();
    }
}

/// An artifact of three items, one a page; everything else of it is what was asked.
fn artifact(body: &str) -> Result<String, CallError> {
    let asked: serde_json::Value = serde_json::from_str(body).unwrap();
    Ok(
        match (asked["do"].as_str().unwrap(), asked["from"].as_u64()) {
            ("items", Some(2)) => r#"{"items":["c"]}"#.to_owned(),
            ("items", Some(from)) => {
                let item = ["a", "b"][from as usize];
                format!(r#"{{"items":["{item}"],"next":{}}}"#, from + 1)
            }
            ("base64", _) => r#""AAEC/w==""#.to_owned(),
            _ => body.to_owned(),
        },
    )
}

/// A model that repeats what it is asked in capitals, or gives its length where a schema is asked for.
fn model(body: &str) -> Result<String, CallError> {
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let last = body["messages"].as_array().and_then(|it| it.last());
    let said = last.map_or(&body["prompt"], |last| &last["content"]);
    let said = said.as_str().unwrap();
    if said == "off" {
        let off = CallError::new(CallCode::Unsupported, "no model can be asked");
        return Err(off.with_hint("configure one"));
    }
    let value = serde_json::json!({
        "text": said.to_uppercase(), "value": said.len(), "left": {"rounds": 3, "tokens": 70},
    });
    Ok(value.to_string())
}

fn answer(call: &HostCall, run: &Run) -> CallResult {
    let result = match call.op {
        HostOp::Tool => {
            let target: ToolTarget = serde_json::from_str(&call.head).unwrap();
            match target.tool.as_str() {
                "echo" => Ok(call.body.clone()),
                "big" => Ok(run.big.clone()),
                "fail" => Err(CallError::new(CallCode::ToolFailed, "it failed as asked")
                    .with_target("test", "fail")),
                other => Err(CallError::new(
                    CallCode::UnknownTool,
                    format!("no tool `{other}`"),
                )),
            }
        }
        HostOp::Read => Ok(call.body.clone()),
        HostOp::Search => Ok(run.found.clone()),
        HostOp::Describe => Ok(run.described.clone()),
        HostOp::Servers => Ok("[]".to_owned()),
        HostOp::StoreGet | HostOp::StoreSet | HostOp::Emit | HostOp::Skill | HostOp::Workspace => {
            Ok("null".to_owned())
        }
        HostOp::Artifact => artifact(&call.body),
        HostOp::Llm => model(&call.body),
    };
    CallResult {
        id: call.id,
        result: result.map_err(|error| serde_json::to_string(&error).unwrap()),
    }
}
