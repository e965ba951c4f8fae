//! Calls of a run: those in flight, and results that have arrived and are not delivered to the guest yet.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{FuturesUnordered, StreamExt as _};
use limbeck_domain::limits::{CALL_RESULT_BYTES_MAX, CALLS_PENDING_BYTES_MAX};
use limbeck_domain::text::clean_line;
use limbeck_domain::{
    CallError, CallId, EffectClass, Effects, HostCall, HostOp, Language, ProgramError, Settlement,
    ToolId,
};
use limbeck_wire::CallResult;
use tokio::time::{Instant, timeout_at};

use super::call_ends::{FailedCalls, IgnoredFailures, WrittenCalls};
use super::decided_order::Turn;
use super::messages;
use super::playback::Playback;
use super::rounds::Rounds;
use crate::broker::{Answer, AnswerPermit, Broker};

/// Time for calls that were cancelled to write their outcome.
const CANCEL_MS: u64 = 2_000;
/// Time for cancelled calls of read tools to end.
const READS_END_MS: u64 = 50;
/// Tools named whose results contradict their schemas.
const CONTRADICTIONS_NAMED_MAX: usize = 8;
/// Bytes of a tool's name in a warning.
const TOOL_BYTES_MAX: usize = 128;
/// Calls named in an error.
const NAMED_MAX: usize = 3;

/// Calls of one run.
pub(super) struct InFlightCalls {
    broker: Broker,
    calls_max: usize,
    /// Polled by the task of the execution and not spawned: most wait for an upstream, and a hand-over
    /// between threads costs more than the rest of a small call.
    polled: FuturesUnordered<BoxFuture<'static, Answer>>,
    calls: BTreeMap<CallId, Call>,
    bytes: usize,
    /// In the order the results arrived.
    undelivered: Vec<UndeliveredResult>,
    rounds: Rounds,
    summary: CallSummary,
    /// Calls that the program gave up: their answers are missed on purpose.
    given_up: BTreeSet<CallId>,
    /// Tools whose results were not what they declare.
    contradicted: BTreeSet<ToolId>,
}

struct Call {
    label: String,
    /// The head of the host call, which names the tool.
    head: String,
    bytes: usize,
    /// Whether it is a call of a tool.
    is_tool: bool,
}

/// Result that is not delivered to the guest yet.
struct UndeliveredResult {
    result: CallResult,
    /// Room of the result, given back once it is delivered.
    permit: Option<AnswerPermit>,
    /// Name of the call, when it may have written, and its tool does not seem to read.
    wrote: Option<String>,
}

/// What the calls of a run did.
#[derive(Debug, Default)]
pub(super) struct CallSummary {
    pub(super) effects: Effects,
    /// Rounds of tool calls.
    pub(super) rounds: u32,
    /// Each once.
    pub(super) warnings: Vec<String>,
    /// Calls that may have written, of tools that do not seem to read.
    pub(super) wrote: WrittenCalls,
    /// Calls that failed.
    pub(super) failed: FailedCalls,
    /// Of these, the calls that may write and those that were not sent.
    pub(super) ignored: IgnoredFailures,
}

impl InFlightCalls {
    /// No calls yet; at most `calls_max` at once.
    pub(super) fn new(broker: Broker, calls_max: usize) -> Self {
        Self {
            broker,
            calls_max,
            polled: FuturesUnordered::new(),
            calls: BTreeMap::new(),
            bytes: 0,
            undelivered: Vec::new(),
            rounds: Rounds::default(),
            summary: CallSummary::default(),
            given_up: BTreeSet::new(),
            contradicted: BTreeSet::new(),
        }
    }

    /// Starts a call. The conversation has checked how many calls there may be in all.
    ///
    /// # Errors
    ///
    /// [`ProgramError`] that ends the run, when too much is in flight at once.
    pub(super) fn start(&mut self, call: HostCall) -> Result<(), ProgramError> {
        self.admit(&call)?;
        self.rounds.called(&call);
        self.poll(call);
        Ok(())
    }

    /// Starts a call of the journal, which the rounds have counted already; its result waits for its turn.
    pub(super) fn start_again(
        &mut self,
        call: HostCall,
        turn: Option<Turn>,
    ) -> Result<(), ProgramError> {
        self.admit(&call)?;
        match turn {
            None => self.poll(call),
            Some(turn) => {
                let answer = turn.hold(answer(self.broker.clone(), call));
                self.polled.push(answer.boxed());
            }
        }
        Ok(())
    }

    /// Starts the answer of a call that was in doubt, by the word of a person.
    pub(super) fn start_settled(
        &mut self,
        call: HostCall,
        how: Settlement,
    ) -> Result<(), ProgramError> {
        self.admit(&call)?;
        let broker = self.broker.clone();
        let settled = async move { broker.answer_settled(call, how).await };
        self.polled.push(settled.boxed());
        Ok(())
    }

    /// Counts a call that the guest makes again.
    pub(super) fn recall(&mut self, call: &HostCall) {
        self.rounds.called(call);
    }

    /// Counts what calls of the journal did, whose results the guest gets again together.
    pub(super) fn recalled(&mut self, calls: &[HostCall], playback: &Playback) {
        self.rounds.delivered(calls.iter().map(|call| call.id));
        for call in calls {
            self.recall_effect(call, playback);
        }
    }

    fn recall_effect(&mut self, call: &HostCall, playback: &Playback) {
        let reached = playback.sent.get(&call.id).copied();
        let outcome = playback.outcomes.get(&call.id);
        let result = match outcome {
            Some(Ok(value)) => Ok(value.as_str()),
            Some(Err(error)) => Err(error),
            // The result is a part of an artifact.
            None => Ok(""),
        };
        // What the answer warns of is the same as without the pause.
        let is_tool = call.op == HostOp::Tool;
        self.summarize(
            messages::label_of(call),
            &call.head,
            is_tool,
            result,
            reached,
        );
        if let (Some(Ok(result)), Some(tool)) = (outcome, playback.tools.get(&call.id)) {
            self.broker.note_received(call.id, tool, result);
            self.broker.see_again(&call.head, tool, result);
        }
    }

    /// Adds what an answered call did to the summary. Returns its label, when it may have written and its tool does not seem to
    /// read.
    fn summarize(
        &mut self,
        label: String,
        head: &str,
        is_tool: bool,
        result: Result<&str, &CallError>,
        reached: Option<EffectClass>,
    ) -> Option<String> {
        let CallSummary {
            effects,
            wrote,
            failed,
            ignored,
            ..
        } = &mut self.summary;
        match reached {
            Some(effect) if effect.may_write() => effects.writes += 1,
            Some(_) => effects.reads += 1,
            None => {}
        }
        if let Err(error) = result {
            failed.add(error);
            if is_tool && reached.is_none() {
                ignored.add_unsent(&label, error);
            }
        }
        let may_write = reached.is_some_and(|effect| effect.may_write());
        if !may_write || self.broker.seems_to_read(head) {
            return None;
        }
        wrote.add(&label);
        let unread_failure = result
            .ok()
            .and_then(|value| self.broker.unread_failure(head, value));
        if let Some(error) = result.err().or(unread_failure.as_ref()) {
            ignored.add_write(&label, error);
        }
        Some(label)
    }

    /// Takes the recorded result of a call that the guest does not have yet.
    pub(super) fn answered_before(&mut self, call: &HostCall, playback: &Playback) {
        let Some(result) = playback.result(call.id) else {
            return;
        };
        self.note(call);
        let answer = Answer {
            reached: playback.sent.get(&call.id).copied(),
            ..Answer::of(call.id, result)
        };
        let result = self.settle(answer);
        self.undelivered.push(result);
    }

    /// Calls in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.polled.len()
    }

    /// Drops the calls in flight, all of which wait for people and have done nothing.
    pub(super) fn drop_waiting(self) -> CallSummary {
        self.into_summary()
    }

    fn admit(&mut self, call: &HostCall) -> Result<(), ProgramError> {
        let bytes = self.bytes + call.head.len() + call.body.len();
        if self.calls.len() >= self.calls_max {
            let message = format!("more than {} calls were waiting at once", self.calls_max);
            return Err(messages::call_limit(message));
        }
        if bytes > CALLS_PENDING_BYTES_MAX {
            return Err(messages::call_limit(format!(
                "the arguments of waiting calls have more than {CALLS_PENDING_BYTES_MAX} bytes"
            )));
        }
        self.note(call);
        Ok(())
    }

    fn note(&mut self, call: &HostCall) {
        let bytes = call.head.len() + call.body.len();
        self.bytes += bytes;
        let noted = Call {
            label: messages::label_of(call),
            head: call.head.clone(),
            bytes,
            is_tool: call.op == HostOp::Tool,
        };
        self.calls.insert(call.id, noted);
    }

    fn poll(&mut self, call: HostCall) {
        self.polled.push(answer(self.broker.clone(), call));
    }

    /// Waits for the next result; `None` when no call is in flight. Safe to cancel.
    pub(super) async fn next(&mut self) -> Option<()> {
        let answer = self.polled.next().await?;
        let result = self.settle(answer);
        self.undelivered.push(result);
        Some(())
    }

    /// Takes the results that are there already, in the order they arrived.
    pub(super) fn take_ready(&mut self) {
        while let Some(Some(())) = self.next().now_or_never() {}
    }

    /// Waits for `work`, and polls the calls meanwhile: a call that is not polled would keep what it was given, such as
    /// a place in a server's queue, from everyone else.
    pub(super) async fn while_waiting_for<T>(&mut self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                Some(()) = self.next() => {}
            }
        }
    }

    /// Whether there is a result for the guest.
    pub(super) fn has_results(&self) -> bool {
        !self.undelivered.is_empty()
    }

    /// Whether no call is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.polled.is_empty()
    }

    /// As many results as one frame holds, at least one when there is one, with their room.
    pub(super) fn take_results(&mut self) -> (Vec<CallResult>, Vec<AnswerPermit>) {
        let mut bytes = 0;
        let mut count = 0;
        for undelivered in &self.undelivered {
            bytes += bytes_of(&undelivered.result);
            if count > 0 && bytes > CALL_RESULT_BYTES_MAX {
                break;
            }
            count += 1;
        }
        let mut permits = Vec::with_capacity(count);
        let mut results = Vec::with_capacity(count);
        for UndeliveredResult { result, permit, .. } in self.undelivered.drain(..count) {
            results.push(result);
            permits.extend(permit);
        }
        self.rounds
            .delivered(results.iter().map(|result| result.id));
        (results, permits)
    }

    /// Names of some calls in flight, without those of tools that seem to read and that the program gave up; `None` without any.
    pub(super) fn names(&self) -> Option<String> {
        let calls = self.calls.iter();
        let calls = calls.filter(|(id, call)| {
            !self.given_up.contains(id) || !self.broker.seems_to_read(&call.head)
        });
        named(calls.map(|(_, call)| call.label.as_str()).collect())
    }

    /// Names of some of these calls, as far as they are in flight; `None` without any.
    fn named_calls(&self, ids: &[CallId]) -> Option<String> {
        let calls = ids.iter().filter_map(|id| self.calls.get(id));
        named(calls.map(|call| call.label.as_str()).collect())
    }

    /// Labels of the calls in flight whose tools do not seem to read.
    fn labels_of_writes(&self) -> Vec<&str> {
        let calls = self.calls.values();
        let writes = calls.filter(|call| !self.broker.seems_to_read(&call.head));
        writes.map(|call| call.label.as_str()).collect()
    }

    /// Notes calls for which the program stopped waiting on purpose: it did not forget to await them.
    pub(super) fn give_up(&mut self, calls: impl IntoIterator<Item = CallId>) {
        self.given_up.extend(calls);
    }

    /// Waits until `deadline` for calls that the program did not await: they were sent, and their outcomes count.
    /// Reads are cancelled, because nothing uses their results any more. Every write that was not awaited is named
    /// in a warning, also when it has ended already. Calls that wait for a person are cancelled too. Reads of a Python program are counted in one; the TypeScript guest warns of its
    /// own, because it knows which of them the program gave up.
    pub(super) async fn finish(mut self, deadline: Instant, language: Language) -> CallSummary {
        let undelivered = self.undelivered.iter().map(|it| it.result.id);
        let unused: BTreeSet<CallId> = self.calls.keys().copied().chain(undelivered).collect();
        let given_up = unused.intersection(&self.given_up).count();
        let (given_up_asked, asked): (Vec<CallId>, Vec<CallId>) = self
            .broker
            .asks
            .waiting_calls()
            .into_iter()
            .partition(|call| self.given_up.contains(call));
        if let Some(names) = self.named_calls(&asked) {
            self.summary.warnings.push(format!(
                "the program returned while a person was asked about {names}, so that was not sent: `await` the call"
            ));
        }
        if let Some(names) = self.named_calls(&given_up_asked) {
            self.summary.warnings.push(format!(
                "the program stopped waiting while a person was asked about {names}, so that was not sent: do not race a call that a person may be asked about"
            ));
        }
        self.broker.cancel_reads();
        // Dropped first: calls may be waiting for the room that these results hold.
        let undelivered = std::mem::take(&mut self.undelivered);
        let mut wrote: Vec<String> = undelivered.into_iter().filter_map(|it| it.wrote).collect();
        // Cancelled reads end within this time, so that the calls left after it are the ones to wait for.
        let soon = Instant::now() + Duration::from_millis(READS_END_MS);
        while let Ok(Some(answer)) = timeout_at(soon, self.polled.next()).await {
            wrote.extend(self.settle(answer).wrote);
        }
        let mut labels: Vec<&str> = wrote.iter().map(String::as_str).collect();
        labels.extend(self.labels_of_writes());
        let reads = match unused.len().saturating_sub(given_up + labels.len()) {
            0 => None,
            1 => Some("1 of its calls had an answer, which was".to_owned()),
            more => Some(format!("{more} of its calls had answers, which were")),
        };
        let (calls, them) = match labels.len() {
            1 => ("1 call was".to_owned(), "it"),
            more => (format!("{more} calls were"), "them"),
        };
        let unawaited = named(labels).map(|names| format!("{calls} not awaited ({names})"));
        let drained = self.drain(deadline).await;
        if let Some(unawaited) = unawaited {
            self.summary.warnings.push(match drained {
                Drained::Answered => format!("{unawaited}; the execution waited for {them}"),
                // Another warning names those that it gave up.
                Drained::GaveUp => unawaited,
            });
        }
        if language == Language::Python
            && let Some(reads) = reads
        {
            self.summary.warnings.push(format!(
                "the program returned before {reads} not used: `await` each call, or `await asyncio.gather(…)` around them"
            ));
        }
        self.into_summary()
    }

    /// Cancels the calls in flight, and waits a short time for their outcomes to be journalled.
    pub(super) async fn cancel(mut self) -> CallSummary {
        self.broker.cancel_calls();
        self.undelivered.clear();
        let deadline = Instant::now() + Duration::from_millis(CANCEL_MS);
        self.drain(deadline).await;
        self.into_summary()
    }

    fn into_summary(mut self) -> CallSummary {
        self.summary.rounds = self.rounds.most();
        self.summary
    }

    /// Waits until `deadline` for every call, and drops the results.
    async fn drain(&mut self, deadline: Instant) -> Drained {
        while let Ok(next) = timeout_at(deadline, self.polled.next()).await {
            match next {
                Some(answer) => drop(self.settle(answer)),
                None => return Drained::Answered,
            }
        }
        self.broker.cancel_calls();
        if let Some(names) = self.names() {
            let warning = format!("calls were still in flight at the end: {names}");
            self.summary.warnings.push(warning);
        }
        Drained::GaveUp
    }

    /// Removes an answered call from those in flight and adds what it did to the summary.
    fn settle(&mut self, answer: Answer) -> UndeliveredResult {
        let Answer {
            id,
            result,
            reached,
            note,
            contradiction,
            permit,
        } = answer;
        let call = self.calls.remove(&id);
        let (label, head, is_tool) = match call {
            Some(call) => {
                self.bytes -= call.bytes;
                (call.label, call.head, call.is_tool)
            }
            None => (String::new(), String::new(), false),
        };
        let shown = result.as_ref().map(String::as_str);
        let wrote = self.summarize(label, &head, is_tool, shown, reached);
        if let Some((tool, how)) = contradiction {
            self.warn_of_contradiction(tool, &how);
        }
        if let Some(note) = note
            && !self.summary.warnings.contains(&note)
        {
            self.summary.warnings.push(note);
        }
        let result = CallResult {
            id,
            result: result.map_err(|error| messages::error_json(&error)),
        };
        UndeliveredResult {
            result,
            permit,
            wrote,
        }
    }

    /// Warns once for each tool.
    fn warn_of_contradiction(&mut self, tool: ToolId, how: &str) {
        if self.contradicted.contains(&tool) {
            return;
        }
        let warnings = &mut self.summary.warnings;
        match self.contradicted.len() {
            ..CONTRADICTIONS_NAMED_MAX => warnings.push(format!(
                "a result of `{}` does not match the output schema that its server declares; the program received it unchanged. By that schema: {how}",
                clean_line(&tool.to_string(), TOOL_BYTES_MAX)
            )),
            CONTRADICTIONS_NAMED_MAX => warnings.push(
                "results of more tools do not match their declared output schemas: run `limbeck tools` to list them".to_owned(),
            ),
            _ => {}
        }
        self.contradicted.insert(tool);
    }
}

/// How the wait for the last calls ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drained {
    /// Every call was answered.
    Answered,
    /// Some were not in time, and were cancelled.
    GaveUp,
}

/// Answers one call. A panic fails the call and nothing else.
fn answer(broker: Broker, call: HostCall) -> BoxFuture<'static, Answer> {
    async move {
        let context = Arc::clone(broker.context());
        let begun = Instant::now();
        // Without its arguments, which may be large: they are in the journal once the call is.
        let faulted = HostCall {
            id: call.id,
            op: call.op,
            head: call.head.clone(),
            body: String::new(),
        };
        let answered = AssertUnwindSafe(broker.answer(call)).catch_unwind().await;
        let answer = match answered {
            Ok(answer) => answer,
            Err(_) => {
                tracing::error!(id = %faulted.id, "answering a call panicked");
                broker.answer_faulted(faulted).await
            }
        };
        context.counters.call(&answer.result, begun.elapsed());
        answer
    }
    .boxed()
}

/// Some of the names; `None` for an empty list.
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

/// Bytes of a result in a frame, its numbers included.
fn bytes_of(result: &CallResult) -> usize {
    let (Ok(text) | Err(text)) = &result.result;
    text.len() + 16
}
