//! The store as its callers use it, with real files, processes and kills.

#![expect(clippy::unwrap_used, reason = "a helper that fails, fails its test")]

mod approvals;
mod artifacts;
mod audit;
mod budgets;
mod durability;
mod executions;
mod files;
mod ledger;
mod lost_tail;
mod observations;
mod pauses;
mod recorded_calls;
mod remembered;
mod retention;
mod skills;
mod state;
mod tool_pins;

use limbeck_domain::{
    CallId, EffectClass, Envelope, ErrorKind, ExecutionId, ExecutionLimits, ExecutionStatus,
    HostCall, HostOp, JournalEntry, Language, Layer, MissingLayer, Mode, ProgramError,
    ProgramStart, Sandbox, ToolId,
};
use limbeck_store::{ExecutionSummary, NewExecution};

const SUMMARY: ExecutionSummary = ExecutionSummary {
    calls: 3,
    took_us: 1_500,
};

fn id(text: &str) -> ExecutionId {
    ExecutionId::new(text)
}

fn new_execution(name: &str, created_us: u64) -> NewExecution {
    NewExecution {
        id: id(name),
        principal: "local".to_owned(),
        start: ProgramStart {
            language: Language::Typescript,
            program: "\n  return 1 + 1;\n// more".to_owned(),
            input: "null".to_owned(),
            servers: "[]".to_owned(),
            seed: [7; 32],
            now_us: created_us,
            limits: ExecutionLimits::default(),
            mode: Mode::Run,
            scope: None,
            asks_by_plan: false,
            llm: limbeck_domain::ModelTerms::default(),
            abi: 0,
            release: String::new(),
        },
        guest_hash: "abc".to_owned(),
        sandbox: sandbox(),
        created_us,
        origin: "test".to_owned(),
    }
}

/// A strict sandbox without one layer that strict does not require.
fn sandbox() -> Sandbox {
    let held = Layer::ALL.iter().copied();
    let held = held.filter(|layer| *layer != Layer::Speculation).collect();
    let missing = MissingLayer {
        layer: Layer::Speculation,
        reason: "the processor has no switch for it".to_owned(),
    };
    Sandbox::of(held, vec![missing])
}

fn call(number: u32, effect: EffectClass, sent: bool) -> JournalEntry {
    JournalEntry::Call {
        call: HostCall {
            id: CallId(number),
            op: HostOp::Tool,
            head: r#"{"server":"github","tool":"create_issue"}"#.to_owned(),
            body: r#"{"title":"é \" \n"}"#.to_owned(),
        },
        tool: Some(ToolId::new("github", "create_issue")),
        arguments_removed: None,
        key: None,
        sent_us: None,
        effect,
        sent,
        plan_line: None,
    }
}

fn outcome(number: u32) -> JournalEntry {
    JournalEntry::Outcome {
        id: CallId(number),
        result: Ok(r#"{"number":1}"#.to_owned()),
        took_us: 10,
        not_sent: false,
    }
}

fn envelope(name: &str, status: ExecutionStatus) -> Envelope {
    let failed = status != ExecutionStatus::Completed;
    Envelope {
        value: (!failed).then(|| {
            serde_json::value::to_raw_value(&serde_json::json!({"a": [1, 2.5, null]})).unwrap()
        }),
        stdout: "out\n\nput".to_owned(),
        error: failed.then(|| ProgramError::new(ErrorKind::Exception, "Error: no")),
        effects: Some(limbeck_domain::Effects {
            reads: 1,
            writes: 2,
        }),
        ..Envelope::new(id(name), status)
    }
}

/// Numbers of the calls in a journal, in order.
fn call_numbers(journal: &[JournalEntry]) -> Vec<u32> {
    journal
        .iter()
        .filter_map(|entry| match entry {
            JournalEntry::Call { call, .. } => Some(call.id.0),
            _ => None,
        })
        .collect()
}
