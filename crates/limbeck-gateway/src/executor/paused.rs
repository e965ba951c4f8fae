//! Answer of an execution that waits: the next step of its reader, and no more questions than have room.

use limbeck_domain::{Envelope, ExecutionStatus};

use crate::tokens;

/// Next step of an execution whose calls are not asked about yet.
pub(super) const UNASKED: &str = "do not send the program again: as many questions are open as can be at a time, so its calls are not asked about yet; \
     tell the user to answer some (`limbeck approvals`), then call `resume` with this execution_id";

/// The answer with its next step, when it is that of a paused execution and has none.
///
/// The reader is a model: it must not send the program again, which would ask the same questions a second time.
pub(super) fn with_next_step(mut envelope: Envelope) -> Envelope {
    if envelope.status != ExecutionStatus::Paused || envelope.next_step.is_some() {
        return envelope;
    }
    let next_step = if envelope.pending.is_empty() {
        "do not send the program again: it was interrupted, and `resume` with this execution_id goes on with it"
    } else {
        "do not send the program again: tell the user what is asked and how to answer (`limbeck approvals`), then call \
         `resume` with this execution_id, which waits for the decision"
    };
    envelope.next_step = Some(next_step.to_owned());
    envelope
}

/// Keeps the first questions that have room in `share` tokens, and counts the rest.
pub(super) fn shorten_pending(envelope: &mut Envelope, share: usize) {
    let mut used = 0;
    let fitting = envelope.pending.iter().take_while(|pending| {
        let json = serde_json::to_string(pending).unwrap_or_default();
        used += tokens::at_most(&json, share).unwrap_or(share + 1);
        used <= share
    });
    let fitting = fitting.count();
    let more = envelope.pending.len() - fitting;
    if more > 0 {
        envelope.pending.truncate(fitting);
        envelope.warnings.push(format!(
            "{more} more questions wait: `limbeck approvals` lists all"
        ));
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{ApprovalId, EffectClass, ExecutionId, PendingApproval};
    use serde_json::{Value, json};

    use super::*;
    use crate::render::{self, Render};

    fn pending(number: usize) -> PendingApproval {
        PendingApproval {
            approval_id: ApprovalId::new(format!("ap_{number:032x}")),
            server: "mail".to_owned(),
            tool: "send".to_owned(),
            class: EffectClass::Write,
            line: Some(3),
            rule: Some("mail-outside".to_owned()),
            reason: None,
            arguments: None,
            plan_lines: None,
            expires_at: "2026-11-24T08:00:00.000000Z".to_owned(),
        }
    }

    fn envelope(status: ExecutionStatus, questions: usize) -> Envelope {
        Envelope {
            pending: (0..questions).map(pending).collect(),
            ..Envelope::new(ExecutionId::new("ex_1"), status)
        }
    }

    #[test]
    fn a_paused_answer_names_its_questions_and_one_next_step() {
        let paused = with_next_step(envelope(ExecutionStatus::Paused, 1));
        let read: Value = serde_json::from_str(&render::text(&paused, Render::Json)).unwrap();
        assert_eq!(read["status"], "paused");
        assert_eq!(
            read["pending"],
            json!([{
                "approval_id": "ap_00000000000000000000000000000000", "server": "mail", "tool": "send",
                "class": "write", "line": 3, "rule": "mail-outside",
                "expires_at": "2026-11-24T08:00:00.000000Z"
            }])
        );
        let step = read["next_step"].as_str().unwrap();
        assert!(
            step.starts_with("do not send the program again: tell the user"),
            "{step}"
        );
        let interrupted = with_next_step(envelope(ExecutionStatus::Paused, 0));
        let step = interrupted.next_step.unwrap();
        assert!(step.contains("it was interrupted"), "{step}");
        // What is known better stays.
        let unasked = Envelope {
            next_step: Some(UNASKED.to_owned()),
            ..envelope(ExecutionStatus::Paused, 0)
        };
        assert_eq!(with_next_step(unasked).next_step.as_deref(), Some(UNASKED));
        // The control: no other answer has one.
        let ended = with_next_step(envelope(ExecutionStatus::Completed, 0));
        assert_eq!(ended.next_step, None);
    }

    #[test]
    fn questions_without_room_are_counted() {
        let mut few = envelope(ExecutionStatus::Paused, 3);
        shorten_pending(&mut few, 1_000);
        assert_eq!((few.pending.len(), few.warnings.len()), (3, 0));
        let mut many = envelope(ExecutionStatus::Paused, 20);
        shorten_pending(&mut many, 300);
        let shown = many.pending.len();
        assert!((1..20).contains(&shown), "{shown}");
        let left = 20 - shown;
        assert_eq!(
            many.warnings,
            [format!(
                "{left} more questions wait: `limbeck approvals` lists all"
            )]
        );
    }
}
