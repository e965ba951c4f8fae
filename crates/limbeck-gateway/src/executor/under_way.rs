//! The calls of a live execution: under way, and answered but not yet told to the guest.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{FuturesUnordered, StreamExt as _};
use limbeck_domain::limits::{
    ANSWERS_WAITING_BYTES_MAX, CALL_RESULT_BYTES_MAX, CALLS_PENDING_BYTES_MAX,
};
use limbeck_domain::{CallId, Effects, HostCall, ProgramError, ToolId};
use limbeck_wire::CallResult;
use tokio::time::{Instant, timeout_at};

use super::rounds::Rounds;
use super::words;
use crate::broker::{Answer, Broker, Held};

/// Time for calls that were cancelled to write their outcome.
const CANCEL_MS: u64 = 2_000;
/// Time in which calls of read tools end that nobody hears any more.
const READS_END_MS: u64 = 50;
/// Tools named whose results contradict their schemas.
const CONTRADICTED_TOLD_MAX: usize = 8;
/// Calls named in an error.
const NAMED_MAX: usize = 3;

pub(super) struct UnderWay {
    broker: Broker,
    calls_max: usize,
    /// Polled by the task of the execution and not spawned: most wait for an upstream, and a hand-over
    /// between threads costs more than the rest of a small call.
    polled: FuturesUnordered<BoxFuture<'static, Answer>>,
    calls: BTreeMap<CallId, Call>,
    bytes: usize,
    /// In the order the answers came.
    answered: Vec<Untold>,
    answered_bytes: usize,
    rounds: Rounds,
    left: Left,
}

struct Call {
    label: String,
    bytes: usize,
}

/// An answer that the guest was not told.
struct Untold {
    result: CallResult,
    /// Its room.
    _held: Option<Held>,
    /// Name of the call, when it may have written.
    wrote: Option<String>,
}

/// What calls leave behind them.
#[derive(Debug, Default)]
pub(super) struct Left {
    pub(super) effects: Effects,
    /// Rounds of tool calls.
    pub(super) rounds: u32,
    /// Each once.
    pub(super) warnings: Vec<String>,
    /// Tools whose results were not what they declare.
    contradicted: BTreeSet<ToolId>,
}

impl Left {
    /// Warns once for each tool.
    fn contradiction(&mut self, tool: ToolId, how: &str) {
        if self.contradicted.contains(&tool) {
            return;
        }
        match self.contradicted.len() {
            ..CONTRADICTED_TOLD_MAX => self.warnings.push(format!(
                "a result of `{tool}` does not fit the output schema its server declares: {how}; the program got it as it was sent"
            )),
            CONTRADICTED_TOLD_MAX => self.warnings.push(
                "results of more tools do not fit the output schemas their servers declare: `limbeck tools` counts them".to_owned(),
            ),
            _ => {}
        }
        self.contradicted.insert(tool);
    }
}

impl UnderWay {
    /// No calls yet; at most `calls_max` at once.
    pub(super) fn new(broker: Broker, calls_max: usize) -> Self {
        Self {
            broker,
            calls_max,
            polled: FuturesUnordered::new(),
            calls: BTreeMap::new(),
            bytes: 0,
            answered: Vec::new(),
            answered_bytes: 0,
            rounds: Rounds::default(),
            left: Left::default(),
        }
    }

    /// Takes a call on its way. How many there may be in all, the conversation knows.
    ///
    /// # Errors
    ///
    /// [`ProgramError`] that ends the run, when too much is under way at once.
    pub(super) fn start(&mut self, call: HostCall) -> Result<(), ProgramError> {
        let bytes = call.head.len() + call.body.len();
        self.bytes += bytes;
        if self.calls.len() >= self.calls_max {
            let message = format!("more than {} calls were waiting at once", self.calls_max);
            return Err(words::call_limit(message));
        }
        if self.bytes > CALLS_PENDING_BYTES_MAX {
            return Err(words::call_limit(format!(
                "the arguments of waiting calls are over {CALLS_PENDING_BYTES_MAX} bytes"
            )));
        }
        self.rounds.called(&call);
        let label = words::label_of(&call);
        self.calls.insert(call.id, Call { label, bytes });
        self.polled.push(answer(self.broker.clone(), call));
        Ok(())
    }

    /// Waits for the next answer; `None` when nothing is under way. Safe to cancel.
    pub(super) async fn next(&mut self) -> Option<()> {
        let answer = self.polled.next().await?;
        self.keep(answer);
        Some(())
    }

    /// Takes the answers that are there already, in the order they came.
    pub(super) fn take_ready(&mut self) {
        while self.has_room()
            && let Some(Some(())) = self.next().now_or_never()
        {}
    }

    /// Whether one more answer may wait for the guest. Without room calls stand still: a guest that
    /// does not take its answers must not fill this process with them.
    pub(super) fn has_room(&self) -> bool {
        self.answered_bytes < ANSWERS_WAITING_BYTES_MAX
    }

    /// Whether there is an answer for the guest.
    pub(super) fn has_answers(&self) -> bool {
        !self.answered.is_empty()
    }

    /// Whether nothing is under way any more.
    pub(super) fn is_empty(&self) -> bool {
        self.polled.is_empty()
    }

    /// As many answers as one frame holds, at least one when there is one.
    pub(super) fn take_answers(&mut self) -> Vec<CallResult> {
        let mut bytes = 0;
        let mut count = 0;
        for answer in &self.answered {
            bytes += bytes_of(&answer.result);
            if count > 0 && bytes > CALL_RESULT_BYTES_MAX {
                break;
            }
            count += 1;
        }
        let taken = self.answered.drain(..count);
        let results: Vec<CallResult> = taken.map(|answer| answer.result).collect();
        self.answered_bytes -= results.iter().map(bytes_of).sum::<usize>();
        self.rounds.heard(results.iter().map(|result| result.id));
        results
    }

    /// Names of some calls under way; `None` without any.
    pub(super) fn names(&self) -> Option<String> {
        named(self.labels())
    }

    fn labels(&self) -> Vec<&str> {
        let calls = self.calls.values();
        calls.map(|call| call.label.as_str()).collect()
    }

    /// Waits until `limit` for calls that the program did not wait for: they have left, and their
    /// outcomes count. Reads are cancelled: a program that gave one up has no use for its answer. Of
    /// writes it is told, however soon they were over.
    pub(super) async fn finish(mut self, limit: Instant) -> Left {
        self.broker.reads.cancel();
        // Nobody takes these any more, and calls may wait for their room.
        let untold = std::mem::take(&mut self.answered);
        let mut wrote: Vec<String> = untold.into_iter().filter_map(|it| it.wrote).collect();
        let soon = Instant::now() + Duration::from_millis(READS_END_MS);
        while let Ok(Some(answer)) = timeout_at(soon, self.polled.next()).await {
            wrote.extend(self.count(answer).wrote);
        }
        let mut labels: Vec<&str> = wrote.iter().map(String::as_str).collect();
        labels.extend(self.labels());
        let (calls, them) = match labels.len() {
            1 => ("1 call was".to_owned(), "it"),
            more => (format!("{more} calls were"), "them"),
        };
        if let Some(names) = named(labels) {
            self.left.warnings.push(format!(
                "{calls} not awaited ({names}); the execution waited for {them}"
            ));
        }
        self.drain(limit).await;
        self.left.rounds = self.rounds.most();
        self.left
    }

    /// Cancels what is under way, and waits for the outcomes to be written, not long.
    pub(super) async fn cancel(mut self) -> Left {
        self.broker.cancel.cancel();
        self.answered.clear();
        let limit = Instant::now() + Duration::from_millis(CANCEL_MS);
        self.drain(limit).await;
        self.left.rounds = self.rounds.most();
        self.left
    }

    /// Waits for every call. What they answer nobody hears any more.
    async fn drain(&mut self, limit: Instant) {
        while let Ok(next) = timeout_at(limit, self.polled.next()).await {
            match next {
                Some(answer) => drop(self.count(answer)),
                None => return,
            }
        }
        self.broker.cancel.cancel();
        let names = self.names().unwrap_or_default();
        let warning = format!("calls were still under way at the end: {names}");
        self.left.warnings.push(warning);
    }

    fn keep(&mut self, answer: Answer) {
        let untold = self.count(answer);
        self.answered_bytes += bytes_of(&untold.result);
        self.answered.push(untold);
    }

    /// Strikes a call off the list and notes what it did.
    fn count(&mut self, answer: Answer) -> Untold {
        let Answer {
            id,
            result,
            reached,
            note,
            contradiction,
            held,
        } = answer;
        let mut wrote = None;
        if let Some(call) = self.calls.remove(&id) {
            self.bytes -= call.bytes;
            wrote = reached
                .filter(|effect| effect.may_write())
                .map(|_| call.label);
        }
        if let Some((tool, how)) = contradiction {
            self.left.contradiction(tool, &how);
        }
        let Left {
            effects, warnings, ..
        } = &mut self.left;
        match reached {
            Some(effect) if effect.may_write() => effects.writes += 1,
            Some(_) => effects.reads += 1,
            None => {}
        }
        if let Some(note) = note
            && !warnings.contains(&note)
        {
            warnings.push(note);
        }
        let result = CallResult {
            id,
            result: result.map_err(|error| words::error_json(&error)),
        };
        Untold {
            result,
            _held: held,
            wrote,
        }
    }
}

/// Answers one call. A panic on the way is a fault of ours that costs the call and nothing else.
fn answer(broker: Broker, call: HostCall) -> BoxFuture<'static, Answer> {
    let id = call.id;
    let shared = Arc::clone(&broker.shared);
    let answered = async move { broker.answer(call).await };
    AssertUnwindSafe(answered)
        .catch_unwind()
        .map(move |answered| {
            let answer = answered.unwrap_or_else(|_| {
                tracing::error!(%id, "answering a call panicked");
                Answer::faulted(id)
            });
            shared.counters.call(&answer.result);
            answer
        })
        .boxed()
}

/// Some of the names; `None` of none.
fn named(mut labels: Vec<&str>) -> Option<String> {
    labels.dedup();
    let more = labels.len().saturating_sub(NAMED_MAX);
    labels.truncate(NAMED_MAX);
    let joined = labels.join("`, `");
    match (labels.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(format!("`{joined}`")),
        (false, more) => Some(format!("`{joined}` and {more} more")),
    }
}

/// Bytes of an answer in a frame, its numbers included.
fn bytes_of(result: &CallResult) -> usize {
    let (Ok(text) | Err(text)) = &result.result;
    text.len() + 16
}
