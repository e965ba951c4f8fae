//! The state machine of one live execution.
//!
//! The worker runs the guest until it waits; then it hears of every call that was answered
//! meanwhile and of the time, and runs again. What it hears is in the journal first. So the guest
//! depends on the journal alone, and the gateway alone decides when a run is over.

use std::sync::Arc;
use std::time::Duration;

use limbeck_domain::limits::{TURNS_BURST, TURNS_PER_SECOND, WALL_GRACE_MS, WORKER_OVERHEAD_BYTES};
use limbeck_domain::{
    Delivered, Effects, Emitted, HostCall, HostOp, ProgramError, ProgramStart, text,
};
use limbeck_launcher::{Worker, WorkerError};
use limbeck_wire::{Delivery, Done, FromWorker, Idle, Pace, ToWorker};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::output::Printed;
use super::under_way::{Left, UnderWay};
use super::{signals, words};
use crate::broker::{Broker, Emissions, Journal};
use crate::clock::now_us;

/// How often memory and processor time of a running worker are looked at.
const WATCH_MS: u64 = 50;
/// How a run ended and what it left.
#[derive(Debug)]
pub(super) struct Ended {
    /// JSON text of the value; `None` for `undefined`.
    pub(super) result: Result<Option<String>, ProgramError>,
    pub(super) printed: Printed,
    pub(super) warnings: Vec<String>,
    pub(super) effects: Effects,
    pub(super) emitted: Vec<Emitted>,
    pub(super) calls: u32,
    /// Rounds of tool calls: the most that waited for one another.
    pub(super) rounds: u32,
    /// The worker was killed from outside before anything was heard of the program. Nothing has come of
    /// the run then, and another worker may have the program.
    pub(super) unheard: bool,
}

impl Ended {
    pub(super) fn before_start(error: ProgramError) -> Self {
        Self {
            result: Err(error),
            printed: Printed::default(),
            warnings: Vec::new(),
            effects: Effects::default(),
            emitted: Vec::new(),
            calls: 0,
            rounds: 0,
            unheard: false,
        }
    }
}

/// What can happen to a run.
enum Event {
    Frame(Result<FromWorker, WorkerError>),
    Answered,
    TurnDue,
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
    journal: Journal,
    emissions: Arc<Emissions>,
    start: ProgramStart,
    calls: UnderWay,
    calls_made: u32,
    wake_at_us: Option<u64>,
    begun: Instant,
    pace: Pace,
    /// The guest is not woken before, however often it asks to be.
    next_turn: Instant,
    clock_us: u64,
    printed: Printed,
    warnings: Vec<String>,
    heard: bool,
    killed: bool,
}

impl Drive {
    pub(super) fn new(worker: Worker, broker: Broker, start: ProgramStart) -> Self {
        let begun = Instant::now();
        Self {
            worker,
            journal: broker.journal.clone(),
            emissions: Arc::clone(&broker.emissions),
            calls: UnderWay::new(broker, start.limits.calls_pending),
            calls_made: 0,
            wake_at_us: None,
            begun,
            pace: Pace::new(TURNS_BURST, TURNS_PER_SECOND),
            next_turn: begun,
            clock_us: start.now_us,
            start,
            printed: Printed::default(),
            warnings: Vec::new(),
            heard: false,
            killed: false,
        }
    }

    /// Runs until the program, a limit or the client ends it. The worker is killed.
    pub(super) async fn run(mut self, cancel: &CancellationToken) -> Ended {
        let limit = self.begun + Duration::from_millis(self.start.limits.wall_ms);
        let start = ToWorker::Start(Box::new(self.start.clone()));
        let result = match self.send(&start, limit, cancel).await {
            Ok(()) => self.events(limit, cancel).await,
            Err(error) => Err(error),
        };
        let Self {
            worker,
            calls,
            calls_made,
            emissions,
            printed,
            mut warnings,
            heard,
            killed,
            ..
        } = self;
        // Nobody need wait for the process to be gone; dropping the task kills it as well.
        tokio::spawn(worker.kill());
        let left = match &result {
            Ok(_) => calls.finish(limit).await,
            Err(_) => calls.cancel().await,
        };
        let Left {
            effects,
            rounds,
            warnings: of_calls,
            ..
        } = left;
        warnings.extend(of_calls);
        Ended {
            result,
            printed,
            warnings,
            effects,
            emitted: emissions.take(),
            calls: calls_made,
            rounds,
            unheard: killed && !heard,
        }
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
            if let Next::End(result) = self.handle(event) {
                return result;
            }
            if let Next::End(result) = self.feed(limit, cancel).await {
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
        let due = self.turn_due().filter(|_| idle);
        let room = self.calls.has_room();
        tokio::select! {
            biased;
            () = cancel.cancelled() => Event::Cancelled,
            () = sleep_until(limit) => Event::OutOfTime,
            // Also of an idle worker, which has nothing to say: one that speaks or ends is noticed.
            frame = self.worker.receive() => Event::Frame(frame),
            Some(()) = self.calls.next(), if room => Event::Answered,
            () = sleep_until(due.unwrap_or(limit)), if due.is_some() => Event::TurnDue,
            // Also of an idle worker: that it waits is only what it says.
            _ = watch.tick() => Event::Watch,
        }
    }

    /// When the guest can be woken for what there is now.
    fn turn_due(&self) -> Option<Instant> {
        let due = if self.calls.has_answers() {
            Some(self.next_turn)
        } else {
            self.wake_at_us.map(instant_of)
        };
        due.map(|due| due.max(self.next_turn))
    }

    /// Sends a frame, for as long as the run may last: a worker may be slow to read it, or never do.
    async fn send(
        &mut self,
        frame: &ToWorker,
        limit: Instant,
        cancel: &CancellationToken,
    ) -> Result<(), ProgramError> {
        let sent = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(words::cancelled()),
            sent = timeout_at(limit, self.worker.send(frame, &self.start.limits)) => sent,
        };
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.lost(&error)),
            Err(_) => Err(self.out_of_time()),
        }
    }

    fn handle(&mut self, event: Event) -> Next {
        match event {
            Event::Frame(Ok(frame)) => {
                self.heard = true;
                self.frame(frame)
            }
            Event::Frame(Err(error)) => Next::End(Err(self.lost(&error))),
            // `feed` sees what there is for the guest.
            Event::Answered | Event::TurnDue => Next::GoOn,
            Event::Watch => self.watch(),
            Event::OutOfTime => Next::End(Err(self.out_of_time())),
            Event::Cancelled => Next::End(Err(words::cancelled())),
        }
    }

    fn frame(&mut self, frame: FromWorker) -> Next {
        match frame {
            FromWorker::Call(call) => self.call(call),
            FromWorker::Log(line) => {
                self.printed.push(line.stream, &line.text);
                Next::GoOn
            }
            FromWorker::Idle(idle) => self.idle(idle),
            FromWorker::Done(done) => self.done(*done),
            // The conversation lets `Ready` through only once, before a program starts.
            FromWorker::Ready(_) => Next::End(Err(words::lost(&WorkerError::Gone))),
        }
    }

    fn call(&mut self, call: HostCall) -> Next {
        // Judging the program is the gateway's own question, not a call of the program's.
        if call.op != HostOp::Check {
            self.calls_made += 1;
        }
        match self.calls.start(call) {
            Ok(()) => Next::GoOn,
            Err(error) => Next::End(Err(error)),
        }
    }

    fn idle(&mut self, idle: Idle) -> Next {
        self.wake_at_us = idle.wake_at_us;
        let elapsed_us = u64::try_from(self.begun.elapsed().as_micros());
        let next_us = self.pace.turn(elapsed_us.unwrap_or(u64::MAX));
        self.next_turn = self.begun + Duration::from_micros(next_us);
        Next::GoOn
    }

    /// Gives an idle guest what there is for it, or finds that nothing will ever come.
    async fn feed(&mut self, limit: Instant, cancel: &CancellationToken) -> Next {
        if !self.worker.is_idle() {
            return Next::GoOn;
        }
        self.calls.take_ready();
        let due = self.wake_at_us.is_some_and(|wake| wake <= now_us());
        if !self.calls.has_answers() && !due {
            let nothing_left = self.calls.is_empty() && self.wake_at_us.is_none();
            return if nothing_left {
                Next::End(Err(words::never_settles()))
            } else {
                Next::GoOn
            };
        }
        if Instant::now() < self.next_turn {
            return Next::GoOn;
        }
        self.deliver(limit, cancel).await
    }

    async fn deliver(&mut self, limit: Instant, cancel: &CancellationToken) -> Next {
        self.clock_us = self.clock_us.max(now_us());
        let results = self.calls.take_answers();
        self.journal
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
        match self.send(&frame, limit, cancel).await {
            Ok(()) => Next::GoOn,
            Err(error) => Next::End(Err(error)),
        }
    }

    fn done(&mut self, done: Done) -> Next {
        let Done {
            result,
            warnings,
            log_bytes_dropped,
            memory_bytes: _,
        } = done;
        self.warnings.extend(warnings);
        let dropped = &mut self.printed.dropped;
        *dropped = dropped.saturating_add(log_bytes_dropped);
        Next::End(match result {
            Ok(Some(value)) if text::is_too_deep(&value) => Err(words::too_deep()),
            result => result.map_err(ProgramError::from),
        })
    }

    fn watch(&self) -> Next {
        let limit = self.start.limits.memory_bytes;
        let allowed = (limit + WORKER_OVERHEAD_BYTES) as u64;
        let cpu_ms = self.start.limits.cpu_ms;
        match self.worker.usage() {
            Some(usage) if usage.resident_bytes > allowed => {
                Next::End(Err(words::memory_limit(usage.resident_bytes, allowed)))
            }
            Some(usage) if usage.cpu > Duration::from_millis(cpu_ms) => {
                Next::End(Err(words::cpu_limit(cpu_ms)))
            }
            Some(_) | None => Next::GoOn,
        }
    }

    fn lost(&mut self, error: &WorkerError) -> ProgramError {
        self.killed = match error {
            WorkerError::Ended { exit } => signals::was_killed(*exit),
            WorkerError::Gone | WorkerError::Channel(_) => true,
            WorkerError::Spawn { .. }
            | WorkerError::NotReady { .. }
            | WorkerError::Version { .. }
            | WorkerError::Zygote { .. }
            | WorkerError::Closed
            | WorkerError::Failing(_)
            | WorkerError::Tier { .. }
            | WorkerError::Wire(_)
            | WorkerError::Protocol(_) => false,
        };
        words::lost(error)
    }

    fn out_of_time(&self) -> ProgramError {
        words::out_of_time(self.start.limits.wall_ms, self.calls.names())
    }
}

/// The moment the guest's clock shows `at_us`; now, when that is past.
fn instant_of(at_us: u64) -> Instant {
    Instant::now() + Duration::from_micros(at_us.saturating_sub(now_us()))
}
