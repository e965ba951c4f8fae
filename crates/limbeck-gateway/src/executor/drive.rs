//! The state machine of one live execution.
//!
//! The worker runs the guest until it waits; then it hears of every call that was answered
//! meanwhile and of the time, and runs again. What it hears is in the journal first. So the guest
//! depends on the journal alone, and the gateway alone decides when a run is over.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{FuturesUnordered, StreamExt as _};

use limbeck_domain::limits::{
    CALL_RESULT_BYTES_MAX, CALLS_PENDING_BYTES_MAX, WALL_GRACE_MS, WORKER_OVERHEAD_BYTES,
};
use limbeck_domain::{CallId, Delivered, Effects, HostCall, ProgramError, ProgramStart};
use limbeck_launcher::{Worker, WorkerError};
use limbeck_wire::{CallResult, Delivery, Done, FromWorker, ToWorker};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::output::Printed;
use super::words;
use crate::broker::{Answer, Broker};
use crate::clock::now_us;

/// How often the resident memory of a running worker is looked at.
const WATCH_MS: u64 = 50;
/// Time for calls that were cancelled to write their outcome.
const CANCEL_MS: u64 = 2_000;
/// Pending calls named in an error.
const NAMED_MAX: usize = 3;

/// How a run ended and what it left.
#[derive(Debug)]
pub(super) struct Ended {
    /// JSON text of the value; `None` for `undefined`.
    pub(super) result: Result<Option<String>, ProgramError>,
    pub(super) printed: Printed,
    pub(super) warnings: Vec<String>,
    pub(super) effects: Effects,
    pub(super) calls: u32,
}

impl Ended {
    pub(super) fn before_start(error: ProgramError) -> Self {
        Self {
            result: Err(error),
            printed: Printed::default(),
            warnings: Vec::new(),
            effects: Effects::default(),
            calls: 0,
        }
    }
}

/// What can happen to a run.
enum Event {
    Frame(Result<FromWorker, WorkerError>),
    Answered(Answer),
    TimerDue,
    Watch,
    OutOfTime,
    Cancelled,
}

/// Whether the run goes on.
enum Next {
    GoOn,
    End(Result<Option<String>, ProgramError>),
}

pub(super) struct Drive {
    worker: Worker,
    broker: Broker,
    start: ProgramStart,
    /// Calls under way. They are polled by this task and not spawned: most wait for an upstream, and
    /// a hand-over between threads costs more than the rest of a small call.
    pending: FuturesUnordered<BoxFuture<'static, Answer>>,
    pending_calls: BTreeMap<CallId, Pending>,
    pending_bytes: usize,
    /// Answers the guest has not heard of yet, in the order they came.
    answered: Vec<CallResult>,
    wake_at_us: Option<u64>,
    clock_us: u64,
    ended: Ended,
}

struct Pending {
    label: String,
    bytes: usize,
}

impl Drive {
    pub(super) fn new(worker: Worker, broker: Broker, start: ProgramStart) -> Self {
        Self {
            worker,
            broker,
            clock_us: start.now_us,
            start,
            pending: FuturesUnordered::new(),
            pending_calls: BTreeMap::new(),
            pending_bytes: 0,
            answered: Vec::new(),
            wake_at_us: None,
            ended: Ended {
                result: Ok(None),
                printed: Printed::default(),
                warnings: Vec::new(),
                effects: Effects::default(),
                calls: 0,
            },
        }
    }

    /// Runs until the program, a limit or the client ends it. The worker is killed.
    pub(super) async fn run(mut self, cancel: &CancellationToken) -> Ended {
        let limit = Instant::now() + Duration::from_millis(self.start.limits.wall_ms);
        let start = ToWorker::Start(Box::new(self.start.clone()));
        let sent = timeout_at(limit, self.worker.send(&start, &self.start.limits)).await;
        let result = match sent {
            Ok(Ok(())) => self.events(limit, cancel).await,
            Ok(Err(error)) => Err(words::lost(&error)),
            Err(_) => Err(self.out_of_time()),
        };
        self.ended.result = result;
        self.settle(limit).await;
        let Self { worker, ended, .. } = self;
        // The client need not wait for the process to be gone; dropping the task kills it as well.
        tokio::spawn(worker.kill());
        ended
    }

    async fn events(
        &mut self,
        limit: Instant,
        cancel: &CancellationToken,
    ) -> Result<Option<String>, ProgramError> {
        let period = Duration::from_millis(WATCH_MS);
        let mut watch = interval_at(Instant::now() + period, period);
        watch.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let event = self.next_event(limit, cancel, &mut watch).await;
            if let Next::End(result) = self.handle(event).await {
                return result;
            }
            if let Next::End(result) = self.feed(limit).await {
                return result;
            }
        }
    }

    async fn next_event(
        &mut self,
        limit: Instant,
        cancel: &CancellationToken,
        watch: &mut Interval,
    ) -> Event {
        let idle = self.worker.is_idle();
        // While it runs the worker ends itself at its limit; the grace lets it say so.
        let limit = if idle {
            limit
        } else {
            limit + Duration::from_millis(WALL_GRACE_MS)
        };
        let due = self.wake_at_us.filter(|_| idle).map(instant_of);
        tokio::select! {
            biased;
            () = cancel.cancelled() => Event::Cancelled,
            () = sleep_until(limit) => Event::OutOfTime,
            frame = self.worker.receive(), if !idle => Event::Frame(frame),
            Some(answer) = self.pending.next() => Event::Answered(answer),
            () = sleep_until(due.unwrap_or(limit)), if due.is_some() => Event::TimerDue,
            _ = watch.tick(), if !idle => Event::Watch,
        }
    }

    async fn handle(&mut self, event: Event) -> Next {
        match event {
            Event::Frame(Ok(frame)) => self.frame(frame),
            Event::Frame(Err(error)) => Next::End(Err(words::lost(&error))),
            Event::Answered(answer) => {
                self.answered(answer);
                Next::GoOn
            }
            // `feed` sees that the timer is due.
            Event::TimerDue => Next::GoOn,
            Event::Watch => self.watch(),
            Event::OutOfTime => Next::End(Err(self.out_of_time())),
            Event::Cancelled => Next::End(Err(words::cancelled())),
        }
    }

    fn frame(&mut self, frame: FromWorker) -> Next {
        match frame {
            FromWorker::Call(call) => self.call(call),
            FromWorker::Log(line) => {
                self.ended.printed.push(line.stream, &line.text);
                Next::GoOn
            }
            FromWorker::Idle(idle) => {
                self.wake_at_us = idle.wake_at_us;
                Next::GoOn
            }
            FromWorker::Done(done) => self.done(*done),
            // The conversation lets `Ready` through only once, before a program starts.
            FromWorker::Ready(_) => Next::End(Err(words::lost(&WorkerError::Gone))),
        }
    }

    fn call(&mut self, call: HostCall) -> Next {
        let limits = self.start.limits;
        let bytes = call.head.len() + call.body.len();
        self.pending_bytes += bytes;
        self.ended.calls = call.id.0;
        let over = if call.id.0 > limits.calls {
            Some(format!("the program made more than {} calls", limits.calls))
        } else if self.pending_calls.len() >= limits.calls_pending {
            Some(format!(
                "more than {} calls were waiting at once",
                limits.calls_pending
            ))
        } else if self.pending_bytes > CALLS_PENDING_BYTES_MAX {
            Some(format!(
                "the arguments of waiting calls are over {CALLS_PENDING_BYTES_MAX} bytes"
            ))
        } else {
            None
        };
        if let Some(message) = over {
            return Next::End(Err(words::call_limit(message)));
        }
        let label = words::label_of(&call);
        self.pending_calls.insert(call.id, Pending { label, bytes });
        self.pending.push(answer(self.broker.clone(), call));
        Next::GoOn
    }

    fn answered(&mut self, answer: Answer) {
        let Answer {
            id,
            result,
            reached,
            note,
        } = answer;
        if let Some(pending) = self.pending_calls.remove(&id) {
            self.pending_bytes -= pending.bytes;
        }
        match reached {
            Some(effect) if effect.may_write() => self.ended.effects.writes += 1,
            Some(_) => self.ended.effects.reads += 1,
            None => {}
        }
        if let Some(note) = note
            && !self.ended.warnings.contains(&note)
        {
            self.ended.warnings.push(note);
        }
        self.answered.push(CallResult {
            id,
            result: result.map_err(|error| words::error_json(&error)),
        });
    }

    /// Gives an idle guest what there is for it, or finds that nothing will ever come.
    async fn feed(&mut self, limit: Instant) -> Next {
        if !self.worker.is_idle() {
            return Next::GoOn;
        }
        // Answers that are there already come along, in the order they came.
        while let Some(Some(answer)) = self.pending.next().now_or_never() {
            self.answered(answer);
        }
        let due = self.wake_at_us.is_some_and(|wake| wake <= now_us());
        if self.answered.is_empty() && !due {
            let nothing_left = self.pending.is_empty() && self.wake_at_us.is_none();
            return if nothing_left {
                Next::End(Err(words::never_settles()))
            } else {
                Next::GoOn
            };
        }
        self.deliver(limit).await
    }

    async fn deliver(&mut self, limit: Instant) -> Next {
        self.clock_us = self.clock_us.max(now_us());
        let results = self.next_results();
        self.broker
            .journal
            .delivered(Delivered {
                now_us: self.clock_us,
                calls: results.iter().map(|result| result.id).collect(),
            })
            .await;
        let frame = ToWorker::Deliver(Delivery {
            now_us: self.clock_us,
            results,
        });
        self.wake_at_us = None;
        let limit = limit + Duration::from_millis(WALL_GRACE_MS);
        match timeout_at(limit, self.worker.send(&frame, &self.start.limits)).await {
            Ok(Ok(())) => Next::GoOn,
            Ok(Err(error)) => Next::End(Err(words::lost(&error))),
            Err(_) => Next::End(Err(self.out_of_time())),
        }
    }

    /// As many answers as one frame holds, at least one when there is one.
    fn next_results(&mut self) -> Vec<CallResult> {
        let mut bytes = 0;
        let mut count = 0;
        for result in &self.answered {
            let text = match &result.result {
                Ok(text) | Err(text) => text,
            };
            bytes += text.len() + 16;
            if count > 0 && bytes > CALL_RESULT_BYTES_MAX {
                break;
            }
            count += 1;
        }
        self.answered.drain(..count).collect()
    }

    fn done(&mut self, done: Done) -> Next {
        let Done {
            result,
            warnings,
            log_bytes_dropped,
            memory_bytes: _,
        } = done;
        self.ended.warnings.extend(warnings.into_iter().take(32));
        self.ended.printed.dropped = log_bytes_dropped;
        Next::End(result.map_err(ProgramError::from))
    }

    fn watch(&self) -> Next {
        let limit = self.start.limits.memory_bytes;
        let allowed = (limit + WORKER_OVERHEAD_BYTES) as u64;
        match self.worker.resident_bytes() {
            Some(resident) if resident > allowed => {
                Next::End(Err(words::memory_limit(resident, allowed)))
            }
            Some(_) | None => Next::GoOn,
        }
    }

    /// Waits for calls that the program did not wait for: they have left, and their outcomes count.
    async fn settle(&mut self, limit: Instant) {
        let unawaited = self.pending_calls.len();
        let limit = if self.ended.result.is_ok() {
            if unawaited > 0 {
                let calls = match unawaited {
                    1 => "1 call was".to_owned(),
                    more => format!("{more} calls were"),
                };
                self.ended.warnings.push(format!(
                    "{calls} not awaited ({}); the execution waited for them",
                    self.pending_names()
                ));
            }
            limit
        } else {
            self.broker.cancel.cancel();
            Instant::now() + Duration::from_millis(CANCEL_MS)
        };
        let pending = &mut self.pending;
        let mut late = Vec::new();
        let all = async {
            while let Some(answer) = pending.next().await {
                late.push(answer);
            }
        };
        if timeout_at(limit, all).await.is_err() {
            self.broker.cancel.cancel();
            self.ended.warnings.push(format!(
                "calls were still under way at the end: {}",
                self.pending_names()
            ));
        }
        for answer in late {
            self.answered(answer);
        }
    }

    fn pending_names(&self) -> String {
        let mut names: Vec<&str> = self
            .pending_calls
            .values()
            .map(|pending| pending.label.as_str())
            .collect();
        names.dedup();
        let more = names.len().saturating_sub(NAMED_MAX);
        names.truncate(NAMED_MAX);
        let names = names.join("`, `");
        match more {
            0 => format!("`{names}`"),
            more => format!("`{names}` and {more} more"),
        }
    }

    fn out_of_time(&self) -> ProgramError {
        let waiting = (!self.pending_calls.is_empty()).then(|| self.pending_names());
        words::out_of_time(self.start.limits.wall_ms, waiting)
    }
}

/// Answers one call. A panic on the way is a fault of ours that costs the call and nothing else.
fn answer(broker: Broker, call: HostCall) -> BoxFuture<'static, Answer> {
    let id = call.id;
    let answered = async move { broker.answer(call).await };
    AssertUnwindSafe(answered)
        .catch_unwind()
        .map(move |answered| {
            answered.unwrap_or_else(|_| {
                tracing::error!(%id, "answering a call panicked");
                Answer::faulted(id)
            })
        })
        .boxed()
}

/// The moment the guest's clock shows `at_us`; now, when that is past.
fn instant_of(at_us: u64) -> Instant {
    Instant::now() + Duration::from_micros(at_us.saturating_sub(now_us()))
}
