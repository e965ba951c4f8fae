//! Makes the journal of an execution that may have changed something smaller, in three steps.
//!
//! What was called, and how each write and the execution ended, stays in all of them. The first step removes the results of
//! reads, the second replaces every other large result, the returned value and the printed text by their size and hash, and
//! the third the large arguments of calls that are not in doubt.

use limbeck_domain::{JournalEntry, ProgramStart, RemovedText};
use rusqlite::{OptionalExtension as _, Transaction};
use sha2::{Digest as _, Sha256};

use crate::tables::approvals;
use crate::tables::journal::BYTES;

/// Texts up to this many bytes stay: a removed one leaves some 150 bytes behind.
const TEXT_KEPT_BYTES: usize = 1 << 10;
/// Bytes of entries that are replaced in one transaction, so that a write behind it waits for a fraction of a second.
const STEP_BYTES: usize = 16 << 20;

/// How much of a journal is left; column `thinned` of table `execution`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinned {
    /// Without the results of reads.
    Reads = 1,
    /// Without any large result, value or printed text.
    Results = 2,
    /// Without any large arguments of calls either.
    Arguments = 3,
}

/// Does one bounded step; returns the bytes that the execution has after the last one, and `None` while there is more.
pub(super) fn step(
    transaction: &Transaction<'_>,
    row: i64,
    to: Thinned,
) -> rusqlite::Result<Option<i64>> {
    let is_done = match to {
        Thinned::Reads => {
            remove_reads(transaction, row)?;
            true
        }
        Thinned::Results => replace_large(transaction, row, RESULTS, without_texts)?,
        Thinned::Arguments => {
            remove_equal_input(transaction, row)?;
            approvals::remove_arguments(transaction, row, TEXT_KEPT_BYTES)?;
            let asked = format!("({SETTLED_CALLS} OR substr(entry, 1, 9) = '{{\"asked\":')");
            replace_large(transaction, row, &asked, without_arguments)?
        }
    };
    if !is_done {
        return Ok(None);
    }
    transaction
        .prepare_cached(&format!(
            "UPDATE execution SET thinned = ?2, bytes = {BYTES} WHERE row = ?1 RETURNING bytes"
        ))?
        .query_row([row, to as i64], |row| row.get(0))
        .map(Some)
}

fn remove_reads(transaction: &Transaction<'_>, row: i64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "DELETE FROM journal WHERE execution = ?1 AND outcome IS NOT NULL
             AND outcome NOT IN (
                 SELECT doubt FROM journal WHERE execution = ?1 AND doubt IS NOT NULL)",
        )?
        .execute([row])?;
    transaction
        .prepare_cached("DELETE FROM held WHERE execution = ?1")?
        .execute([row])?;
    Ok(())
}

/// Removes the input of an execution whose only call has the same text as its arguments. A tool that a client calls itself is
/// recorded so; the size and hash of the text stay with the call.
fn remove_equal_input(transaction: &Transaction<'_>, execution: i64) -> rusqlite::Result<()> {
    let calls: Vec<String> = transaction
        .prepare_cached(&format!(
            "SELECT entry FROM journal WHERE execution = ?1 AND {SETTLED_CALLS} LIMIT 2"
        ))?
        .query_map([execution], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let [call] = calls.as_slice() else {
        return Ok(());
    };
    let start: Option<String> = transaction
        .prepare_cached("SELECT start FROM start WHERE execution = ?1")?
        .query_row([execution], |row| row.get(0))
        .optional()?;
    let start = start.and_then(|start| serde_json::from_str::<ProgramStart>(&start).ok());
    let (Ok(JournalEntry::Call { call, .. }), Some(mut start)) =
        (serde_json::from_str(call), start)
    else {
        return Ok(());
    };
    if start.input != call.body || removed(&call.body).is_none() {
        return Ok(());
    }
    "null".clone_into(&mut start.input);
    if let Ok(start) = serde_json::to_string(&start) {
        transaction
            .prepare_cached("UPDATE start SET start = ?2 WHERE execution = ?1")?
            .execute(rusqlite::params![execution, start])?;
    }
    Ok(())
}

/// Entries with results and ends, as a condition on a row of `journal`.
const RESULTS: &str = "(outcome IS NOT NULL OR substr(entry, 1, 9) = '{\"ended\":')";
/// Entries of calls that are not in doubt, where `?1` is the execution.
const SETTLED_CALLS: &str = "(substr(entry, 1, 8) = '{\"call\":' AND (doubt IS NULL OR doubt IN (
    SELECT answer.outcome FROM journal AS answer
    WHERE answer.execution = ?1 AND answer.outcome IS NOT NULL)))";

/// Replaces large entries for which `which` holds by `smaller` ones, up to [`STEP_BYTES`]; returns whether none is left.
fn replace_large(
    transaction: &Transaction<'_>,
    execution: i64,
    which: &str,
    smaller: fn(&str) -> Option<String>,
) -> rusqlite::Result<bool> {
    let mut large = transaction.prepare_cached(&format!(
        "SELECT row FROM journal WHERE execution = ?1 AND {which} AND octet_length(entry) > ?2 ORDER BY row"
    ))?;
    let large: Vec<i64> = large
        .query_map([execution, TEXT_KEPT_BYTES as i64], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut replaced_bytes = 0;
    for row in large {
        if replaced_bytes >= STEP_BYTES {
            return Ok(false);
        }
        let (bytes, replaced) = transaction
            .prepare_cached("SELECT entry FROM journal WHERE row = ?1")?
            .query_row([row], |found| {
                let entry = found.get_ref(0)?.as_str()?;
                Ok((entry.len(), smaller(entry)))
            })?;
        // An entry that has no large text of this kind, such as a long message of an error, stays as it is.
        if let Some(replaced) = replaced {
            transaction
                .prepare_cached("UPDATE journal SET entry = ?2 WHERE row = ?1")?
                .execute(rusqlite::params![row, replaced])?;
            replaced_bytes += bytes;
        }
    }
    Ok(true)
}

/// The entry without its large texts; `None` when it has none or is not an entry.
fn without_texts(entry: &str) -> Option<String> {
    let entry = match serde_json::from_str(entry).ok()? {
        JournalEntry::Outcome {
            id,
            result: Ok(text),
            took_us,
            not_sent,
        } => JournalEntry::Removed {
            id,
            result: removed(&text)?,
            took_us,
            not_sent,
        },
        JournalEntry::Ended {
            mut envelope,
            is_cut: false,
        } => {
            let mut warnings = Vec::new();
            let mut note = |what: &str, removed: &RemovedText| {
                let RemovedText { bytes, sha256 } = removed;
                warnings.push(format!(
                    "{what} was removed from the journal: {bytes} bytes, SHA-256 {sha256}"
                ));
            };
            let value = envelope.value.as_ref();
            if let Some(removed) = value.and_then(|value| removed(value.get())) {
                note("the value", &removed);
                envelope.value = None;
            }
            for (what, text) in [
                ("what was printed", &mut envelope.stdout),
                ("what was printed as errors", &mut envelope.stderr),
            ] {
                if let Some(removed) = removed(text) {
                    note(what, &removed);
                    text.clear();
                }
            }
            if warnings.is_empty() {
                return None;
            }
            envelope.warnings.append(&mut warnings);
            JournalEntry::Ended {
                envelope,
                is_cut: true,
            }
        }
        JournalEntry::Outcome { result: Err(_), .. }
        | JournalEntry::Ended { is_cut: true, .. }
        | JournalEntry::Check { .. }
        | JournalEntry::Call { .. }
        | JournalEntry::Part { .. }
        | JournalEntry::Removed { .. }
        | JournalEntry::Erased(_)
        | JournalEntry::Delivered(_)
        | JournalEntry::Asked { .. }
        | JournalEntry::PlanAsked { .. }
        | JournalEntry::PlanSettled { .. }
        | JournalEntry::Decided { .. }
        | JournalEntry::Settled { .. }
        | JournalEntry::Took { .. } => return None,
    };
    serde_json::to_string(&entry).ok()
}

/// The entry of a call, or of a question about one, without its arguments; `None` when they are small or it is no such entry.
fn without_arguments(entry: &str) -> Option<String> {
    let entry = match serde_json::from_str(entry).ok()? {
        JournalEntry::Call {
            mut call,
            tool,
            arguments_removed: None,
            key,
            sent_us,
            effect,
            sent,
            plan_line,
        } => {
            let arguments_removed = Some(removed(&call.body)?);
            call.body.clear();
            JournalEntry::Call {
                call,
                tool,
                arguments_removed,
                key,
                sent_us,
                effect,
                sent,
                plan_line,
            }
        }
        // Their hash is in the approval.
        JournalEntry::Asked {
            mut call,
            tool,
            approval,
        } if call.body.len() > TEXT_KEPT_BYTES => {
            call.body.clear();
            JournalEntry::Asked {
                call,
                tool,
                approval,
            }
        }
        JournalEntry::Call { .. }
        | JournalEntry::Asked { .. }
        | JournalEntry::PlanAsked { .. }
        | JournalEntry::PlanSettled { .. }
        | JournalEntry::Check { .. }
        | JournalEntry::Outcome { .. }
        | JournalEntry::Part { .. }
        | JournalEntry::Removed { .. }
        | JournalEntry::Erased(_)
        | JournalEntry::Delivered(_)
        | JournalEntry::Decided { .. }
        | JournalEntry::Settled { .. }
        | JournalEntry::Took { .. }
        | JournalEntry::Ended { .. } => return None,
    };
    serde_json::to_string(&entry).ok()
}

/// What is kept of a text that is large enough to be removed.
fn removed(text: &str) -> Option<RemovedText> {
    (text.len() > TEXT_KEPT_BYTES).then(|| RemovedText {
        bytes: text.len(),
        sha256: Sha256::digest(text)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{
        ApprovalId, CallCode, CallError, CallId, EffectClass, Envelope, ExecutionId,
        ExecutionStatus, HostCall, HostOp, ToolId,
    };
    use serde_json::value::to_raw_value;

    use super::*;

    fn outcome(result: Result<String, CallError>) -> String {
        serde_json::to_string(&JournalEntry::Outcome {
            id: CallId(7),
            result,
            took_us: 12,
            not_sent: false,
        })
        .unwrap()
    }

    #[test]
    fn a_large_result_leaves_its_size_and_hash_and_a_small_one_and_an_error_stay() {
        let text = "x".repeat(TEXT_KEPT_BYTES + 1);
        let smaller = without_texts(&outcome(Ok(text.clone()))).unwrap();
        let JournalEntry::Removed {
            id: CallId(7),
            result,
            took_us: 12,
            not_sent: false,
        } = serde_json::from_str(&smaller).unwrap()
        else {
            panic!("{smaller}")
        };
        assert_eq!((result.bytes, result.sha256.len()), (text.len(), 64));
        let again = removed(&text).unwrap();
        assert_eq!(result, again, "the hash is that of the text");
        assert_ne!(result, removed(&text.replace('x', "y")).unwrap());

        assert_eq!(without_texts(&smaller), None);
        assert_eq!(
            without_texts(&outcome(Ok("x".repeat(TEXT_KEPT_BYTES)))),
            None
        );
        assert_eq!(
            without_texts(&outcome(Err(CallError::new(CallCode::ToolFailed, text)))),
            None
        );
    }

    #[test]
    fn large_arguments_leave_their_size_and_hash_and_small_ones_stay() {
        let call = |body: &str| {
            serde_json::to_string(&JournalEntry::Call {
                call: HostCall {
                    id: CallId(7),
                    op: HostOp::Tool,
                    head: "{}".to_owned(),
                    body: body.to_owned(),
                },
                tool: None,
                arguments_removed: None,
                key: None,
                sent_us: None,
                effect: EffectClass::Write,
                sent: true,
                plan_line: None,
            })
            .unwrap()
        };
        let body = "x".repeat(TEXT_KEPT_BYTES + 1);
        let smaller = without_arguments(&call(&body)).unwrap();
        // Recovery reads from the end of an entry whether its call was sent.
        assert!(smaller.ends_with(r#""sent":true}}"#), "{smaller}");
        let JournalEntry::Call {
            call: kept,
            arguments_removed: Some(arguments),
            ..
        } = serde_json::from_str(&smaller).unwrap()
        else {
            panic!("{smaller}")
        };
        assert_eq!((kept.id, kept.body.as_str()), (CallId(7), ""));
        assert_eq!(Some(arguments), removed(&body));
        assert_eq!(without_arguments(&smaller), None);
        assert_eq!(without_arguments(&call("{}")), None);
        assert_eq!(without_arguments(&outcome(Ok(body.clone()))), None);

        let asked = |body: &str| {
            let call = HostCall {
                id: CallId(7),
                op: HostOp::Tool,
                head: "{}".to_owned(),
                body: body.to_owned(),
            };
            let approval = ApprovalId::new("ap_1");
            let tool = ToolId::new("s", "t");
            serde_json::to_string(&JournalEntry::Asked {
                call,
                tool,
                approval,
            })
            .unwrap()
        };
        let smaller = without_arguments(&asked(&body)).unwrap();
        assert!(smaller.len() < 200 && smaller.contains("ap_1"), "{smaller}");
        assert_eq!(without_arguments(&smaller), None);
    }

    #[test]
    fn an_end_loses_large_texts_and_says_so_once() {
        let mut envelope = Envelope::new(ExecutionId::new("ex_1"), ExecutionStatus::Completed);
        envelope.value = Some(to_raw_value(&"x".repeat(4_000)).unwrap());
        envelope.stdout = "short".to_owned();
        envelope.stderr = "y".repeat(4_000);
        let ended = |envelope: Envelope| {
            serde_json::to_string(&JournalEntry::Ended {
                envelope: Box::new(envelope),
                is_cut: false,
            })
            .unwrap()
        };
        let smaller = without_texts(&ended(envelope)).unwrap();
        assert_eq!(without_texts(&smaller), None);
        let JournalEntry::Ended {
            envelope,
            is_cut: true,
        } = serde_json::from_str(&smaller).unwrap()
        else {
            panic!("{smaller}")
        };
        assert!(envelope.value.is_none() && envelope.stderr.is_empty());
        assert_eq!(envelope.stdout, "short");
        assert_eq!(envelope.warnings.len(), 2);
        assert!(envelope.warnings[0].contains("4002 bytes"), "{envelope:?}");
        assert_eq!(without_texts(&ended(*envelope)), None);
    }
}
