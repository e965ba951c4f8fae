//! Recorded calls with what was decided about each.

use limbeck_domain::{CallCode, CallError, CallId, EffectClass, JournalEntry, RemovedText};
use limbeck_store::{RecordedDecision, Store};

use crate::approvals::approval;
use crate::{call, id, new_execution, outcome};

fn denied(number: u32, code: CallCode) -> JournalEntry {
    JournalEntry::Outcome {
        id: CallId(number),
        result: Err(CallError::new(code, "no")),
        took_us: 1,
        not_sent: true,
    }
}

/// `execution number decision`, and `-` for arguments that are gone.
async fn recorded(store: &Store, since_us: u64) -> Vec<String> {
    store
        .fold_calls(since_us, Vec::new(), |found, call| {
            let decision = match call.decision {
                RecordedDecision::Allowed => "allowed".to_owned(),
                RecordedDecision::Asked => "asked".to_owned(),
                RecordedDecision::Denied(message) => format!("denied: {message}"),
            };
            let gone = if call.arguments.is_none() { " -" } else { "" };
            found.push(format!("{} {} {decision}{gone}", call.execution, call.id.0));
        })
        .await
        .unwrap()
}

#[tokio::test]
async fn each_call_is_read_with_its_decision_and_one_about_which_nothing_was_decided_is_not() {
    let store = Store::in_memory().unwrap();
    for (name, created_us) in [("ex_1", 10), ("ex_2", 20)] {
        store.begin(new_execution(name, created_us)).await.unwrap();
    }
    let append = async |name: &str, entry: JournalEntry| {
        store.append(&id(name), entry).await.unwrap();
    };
    append("ex_1", call(1, EffectClass::Write, true)).await;
    append("ex_2", call(1, EffectClass::Read, true)).await;
    append("ex_1", outcome(1)).await;
    // Denied, and refused for its arguments.
    append("ex_1", call(2, EffectClass::Write, false)).await;
    append("ex_1", denied(2, CallCode::Denied)).await;
    append("ex_1", call(3, EffectClass::Write, false)).await;
    append("ex_1", denied(3, CallCode::InvalidArguments)).await;
    // Asked about and sent, and asked about and left open.
    for number in [4, 5] {
        let (entry, _) = approval(&format!("ap_{number}"), "ex_1", number);
        append("ex_1", entry).await;
    }
    append("ex_1", call(4, EffectClass::Write, true)).await;
    let JournalEntry::Call {
        call: made, tool, ..
    } = call(6, EffectClass::Write, true)
    else {
        unreachable!("`call` makes a call")
    };
    let by_plan = JournalEntry::Call {
        call: made,
        tool,
        arguments_removed: Some(RemovedText {
            bytes: 3,
            sha256: "00".to_owned(),
        }),
        key: None,
        sent_us: None,
        plan_line: Some(1),
        effect: EffectClass::Write,
        sent: true,
    };
    append("ex_2", by_plan).await;
    assert_eq!(
        recorded(&store, 0).await,
        [
            "ex_1 1 allowed",
            "ex_1 2 denied: no",
            "ex_1 5 asked",
            "ex_1 4 asked",
            "ex_2 1 allowed",
            "ex_2 6 asked -",
        ]
    );
    assert_eq!(
        recorded(&store, 20).await,
        ["ex_2 1 allowed", "ex_2 6 asked -"]
    );
}
