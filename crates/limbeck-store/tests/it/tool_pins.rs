//! Pins of tools: written by several processes, and with their records in the audit trail.

use limbeck_domain::{PinDecision, PinFacts};
use limbeck_store::{AuditFilter, PinEvent, Store, ToolPin};
use serde_json::Value;

fn pin(tool: &str, text: &str) -> ToolPin {
    ToolPin {
        tool: tool.to_owned(),
        version: 0,
        event: PinEvent::Baseline,
        pinned_sha256: Some(format!("hash of {text}")),
        pinned: Some(text.to_owned()),
        current_sha256: format!("hash of {text}"),
        current: None,
        facts: PinFacts {
            first_us: 1,
            ..PinFacts::default()
        },
    }
}

/// The records of pins as `event status tool`.
async fn records(store: &Store) -> Vec<String> {
    let found = store
        .audit(&AuditFilter {
            limit: 100,
            ..AuditFilter::default()
        })
        .await
        .unwrap();
    let text = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
    let lines = found
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let pins = lines.filter(|line| line["event"] == "pin");
    pins.map(|line| {
        format!(
            "{} {}{}",
            text(&line, "status"),
            text(&line, "tool"),
            text(&line, "approver")
        )
    })
    .collect()
}

#[tokio::test]
async fn a_pin_is_changed_by_one_of_two_and_each_change_has_its_record() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let (one, other) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
    assert_eq!(one.tool_pins("spec").await.unwrap(), None);
    let first = vec![pin("read", "old"), pin("list", "same")];
    assert!(
        one.put_tool_pins("spec", "files", first.clone(), 1)
            .await
            .unwrap()
    );
    // What the other read was that there is nothing.
    assert!(
        !other
            .put_tool_pins("spec", "files", first, 2)
            .await
            .unwrap()
    );
    let seen = other.tool_pins("spec").await.unwrap().unwrap();
    assert_eq!(seen.len(), 2);
    assert_eq!((seen[1].tool.as_str(), &seen[1].pinned), ("read", &None));
    let changed = ToolPin {
        event: PinEvent::Changed,
        current_sha256: "hash of new".to_owned(),
        current: Some("new".to_owned()),
        ..seen[1].clone()
    };
    let changes = other.pin_changes().await.unwrap();
    assert!(
        other
            .put_tool_pins("spec", "files", vec![changed.clone()], 3)
            .await
            .unwrap()
    );
    assert!(one.pin_changes().await.unwrap() > changes);
    assert!(
        !one.put_tool_pins("spec", "files", vec![changed], 4)
            .await
            .unwrap()
    );
    // The text that was not read is still there, and the two are different.
    let seen = one.tool_pins("spec").await.unwrap().unwrap();
    assert_eq!(seen[1].pinned.as_deref(), Some("old"));
    assert_eq!(seen[1].current.as_deref(), Some("new"));
    let whole = one.whole_tool_pins("spec").await.unwrap().unwrap();
    assert_eq!(whole[0].pinned.as_deref(), Some("same"));
    let accepted = ToolPin {
        event: PinEvent::Accepted,
        pinned_sha256: Some(seen[1].current_sha256.clone()),
        pinned: seen[1].current.clone(),
        current: None,
        facts: PinFacts {
            accepted: Some(PinDecision {
                by: "user:local".to_owned(),
                at_us: 5,
                sha256: seen[1].current_sha256.clone(),
            }),
            ..seen[1].facts.clone()
        },
        ..seen[1].clone()
    };
    assert!(
        one.put_tool_pins("spec", "files", vec![accepted], 5)
            .await
            .unwrap()
    );
    let expected = ["baseline ", "changed read", "accepted readuser:local"];
    assert_eq!(records(&one).await, expected);
    let whole = one.whole_tool_pins("spec").await.unwrap().unwrap();
    assert_eq!(whole[1].pinned.as_deref(), Some("new"));
}
