//! State machine of one run: a worker, the program in it, and its calls in flight.
//!
//! The worker runs the guest until the guest waits. Then it gets the results that have arrived meanwhile and the time,
//! and the guest goes on. Every delivery is in the journal before it is sent, so a guest depends on its start and its
//! journal alone, and the gateway alone decides when a run ends.

use std::time::Duration;

use futures::future::BoxFuture;
use limbeck_domain::limits::{TURNS_BURST, TURNS_PER_SECOND, WALL_GRACE_MS, WORKER_OVERHEAD_BYTES};
use limbeck_domain::{Delivered, HostCall, Language, ProgramError, ProgramStart, Verdict};
use limbeck_launcher::{Worker, WorkerError};
use limbeck_upstream::PrintedStream;
use limbeck_wire::{
    CheckRequest, CheckVerdict, Delivery, Done, FromWorker, Idle, LogStream, Pace, ToWorker,
};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::call_ends::ShownText;
use super::in_flight_calls::{CallSummary, InFlightCalls};
use super::outcome::{Printed, RunOutcome};
use super::returned::{ended, is_empty};
use super::{messages, signals};
use crate::broker::Broker;
use crate::clock::now_us;

/// How often memory and processor time of a running worker are read.
const WATCH_MS: u64 = 50;

type ProgramResult = Result<Option<String>, ProgramError>;

/// What can happen during a run.
enum Event {
    Frame(Result<FromWorker, WorkerError>),
    Checked(Verdict),
    ResultArrived,
    TurnDue,
    UsageDue,
    OutOfTime,
    Cancelled,
    JournalFull,
}

/// Whether the run goes on after an event.
enum Next {
    Continue,
    End(ProgramResult),
}

impl From<Result<(), ProgramError>> for Next {
    fn from(sent: Result<(), ProgramError>) -> Self {
        match sent {
            Ok(()) => Self::Continue,
            Err(error) => Self::End(Err(error)),
        }
    }
}

/// One run of a program in one worker.
pub(super) struct Run {
    worker: Worker,
    start: ProgramStart,
    broker: Broker,
    cancel: CancellationToken,
    begun: Instant,
    /// End of the time the program may take.
    deadline: Instant,
    /// The check of the program, while it is being made.
    check: Option<BoxFuture<'static, Verdict>>,
    calls: InFlightCalls,
    calls_made: u32,
    /// Time of the guest's earliest timer.
    wake_at_us: Option<u64>,
    pace: Pace,
    /// The guest is not woken before this time, however often it asks to be.
    next_turn: Instant,
    /// The guest's clock; it never goes back.
    clock_us: u64,
    printed: Printed,
    warnings: Vec<String>,
    /// The language that the program is written in, when it is not the one that it was sent as.
    written_in: Option<Language>,
    /// Whether the worker has sent a frame.
    has_sent: bool,
    /// Whether the worker was killed from outside, as far as its end shows.
    killed: bool,
}

impl Run {
    /// A run of `start` in `worker`. Its time begins now, and `cancel` ends it.
    pub(super) fn new(
        worker: Worker,
        broker: Broker,
        start: ProgramStart,
        cancel: CancellationToken,
    ) -> Self {
        let begun = Instant::now();
        Self {
            worker,
            calls: InFlightCalls::new(broker.clone(), start.limits.calls_pending),
            broker,
            cancel,
            begun,
            deadline: begun + Duration::from_millis(start.limits.wall_ms),
            check: None,
            calls_made: 0,
            wake_at_us: None,
            pace: Pace::new(TURNS_BURST, TURNS_PER_SECOND),
            next_turn: begun,
            clock_us: start.now_us,
            start,
            printed: Printed::default(),
            warnings: Vec::new(),
            written_in: None,
            has_sent: false,
            killed: false,
        }
    }

    /// Runs until the program, a limit or the client ends it. The worker is killed.
    pub(super) async fn finish(mut self) -> RunOutcome {
        let start = ToWorker::Start(Box::new(self.start.clone()));
        let result = match self.send(&start, self.deadline).await {
            Ok(()) => self.handle_events().await,
            Err(error) => Err(error),
        };
        // The process is not waited for; if this task is dropped, the worker is killed as well.
        tokio::spawn(self.worker.kill());
        // A check that waits for its turn leaves the queue.
        self.check = None;
        // A program that returned has its writes finished. One that failed or was cancelled has them cancelled.
        let language = self.written_in.unwrap_or(self.start.language);
        let CallSummary {
            effects,
            rounds,
            warnings,
            wrote,
            failed,
            ignored,
        } = match &result {
            Ok(_) => self.calls.finish(self.deadline, language).await,
            Err(_) => self.calls.cancel().await,
        };
        self.warnings.extend(warnings);
        let result = result.map_err(|error| ProgramError {
            code: failed.code_of(&error),
            ..error
        });
        match &result {
            Ok(value) => {
                let shown = ShownText {
                    value: value.as_deref().unwrap_or_default(),
                    printed: [&self.printed.stdout, &self.printed.stderr],
                };
                self.warnings.extend(ignored.warning(&shown));
            }
            Err(_) => self.warnings.extend(wrote.warning()),
        }
        RunOutcome {
            result,
            printed: self.printed,
            warnings: self.warnings,
            effects,
            emitted: self.broker.emissions().take(),
            calls: self.calls_made,
            rounds,
            written_in: self.written_in,
            worker_lost_silent: self.killed && !self.has_sent,
        }
    }

    async fn handle_events(&mut self) -> ProgramResult {
        let period = Duration::from_millis(WATCH_MS);
        let mut watch = interval_at(Instant::now() + period, period);
        watch.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let event = self.next_event(&mut watch).await;
            if let Next::End(result) = self.handle(event).await {
                return result;
            }
            // After every event, not only after results: a guest that has just gone idle may have results already.
            if let Next::End(result) = self.wake_guest().await {
                return result;
            }
        }
    }

    async fn next_event(&mut self, watch: &mut Interval) -> Event {
        // A running worker ends itself at its limit; the grace lets it say so. One that waits for the gateway cannot.
        let deadline = if self.worker.is_blocked() {
            self.deadline
        } else {
            self.deadline + Duration::from_millis(WALL_GRACE_MS)
        };
        let due = self.turn_due().filter(|_| self.worker.is_idle());
        tokio::select! {
            // In this order: a cancel or the deadline must not wait behind a worker that sends frames without end.
            biased;
            () = self.cancel.cancelled() => Event::Cancelled,
            () = sleep_until(deadline) => Event::OutOfTime,
            () = self.broker.journal().full().cancelled() => Event::JournalFull,
            // From a waiting worker too: a frame of one is a violation, and its end must be noticed.
            frame = self.worker.receive() => Event::Frame(frame),
            verdict = checked(&mut self.check) => Event::Checked(verdict),
            Some(()) = self.calls.next() => Event::ResultArrived,
            () = sleep_until(due.unwrap_or(deadline)), if due.is_some() => Event::TurnDue,
            // From a waiting worker too: it may have been taken over and compute while it claims to wait.
            _ = watch.tick() => Event::UsageDue,
        }
    }

    /// When the guest can be woken for its results or its timer.
    fn turn_due(&self) -> Option<Instant> {
        let due = if self.calls.has_results() {
            Some(self.next_turn)
        } else {
            self.wake_at_us.map(instant_of)
        };
        due.map(|due| due.max(self.next_turn))
    }

    /// Sends a frame until `deadline` at most: a worker may be slow to read, or never read.
    async fn send(&mut self, frame: &ToWorker, deadline: Instant) -> Result<(), ProgramError> {
        // A send that is dropped half-way leaves a broken channel; the run ends in that case.
        let sending = self.worker.send(frame, &self.start.limits);
        let sent = interruptible(&self.cancel, deadline, sending);
        match self.calls.while_waiting_for(sent).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.lost(&error)),
            Err(Interruption::Cancelled) => Err(messages::cancelled()),
            Err(Interruption::OutOfTime) => Err(self.out_of_time()),
        }
    }

    async fn handle(&mut self, event: Event) -> Next {
        match event {
            Event::Frame(Ok(frame)) => {
                self.has_sent = true;
                self.handle_frame(frame)
            }
            Event::Frame(Err(error)) => Next::End(Err(self.lost(&error))),
            Event::Checked(verdict) => self.send_verdict(&verdict).await,
            // `wake_guest` runs after every event and delivers what there is.
            Event::ResultArrived | Event::TurnDue => Next::Continue,
            Event::UsageDue => self.check_usage(),
            Event::OutOfTime => Next::End(Err(self.out_of_time())),
            Event::Cancelled => Next::End(Err(messages::cancelled())),
            Event::JournalFull => {
                let bytes_max = self.broker.journal().bytes_max();
                Next::End(Err(messages::journal_full(bytes_max)))
            }
        }
    }

    fn handle_frame(&mut self, frame: FromWorker) -> Next {
        match frame {
            FromWorker::Check(check) => self.begin_check(check),
            FromWorker::Call(call) => self.begin_call(call),
            FromWorker::Log(line) => {
                self.printed.push(line.stream, &line.text);
                let stream = match line.stream {
                    LogStream::Stdout => PrintedStream::Stdout,
                    LogStream::Stderr => PrintedStream::Stderr,
                };
                self.broker.pass_printed(stream, &line.text);
                Next::Continue
            }
            FromWorker::Idle(idle) => self.note_idle(idle),
            FromWorker::Done(done) => self.end(*done),
            // The conversation lets `Ready` through only once, before a program starts.
            FromWorker::Ready(_) => Next::End(Err(messages::lost(&WorkerError::Gone))),
        }
    }

    /// Begins the check. Servers may have to be listed for it, so limits and the channel are watched meanwhile.
    fn begin_check(&mut self, check: CheckRequest) -> Next {
        let broker = self.broker.clone();
        self.check = Some(Box::pin(async move { broker.check(check.sites).await }));
        Next::Continue
    }

    async fn send_verdict(&mut self, verdict: &Verdict) -> Next {
        // A future that has completed must not be polled again.
        self.check = None;
        let verdict = messages::verdict_json(verdict);
        let frame = ToWorker::Verdict(CheckVerdict { verdict });
        self.send(&frame, self.grace_deadline()).await.into()
    }

    fn begin_call(&mut self, call: HostCall) -> Next {
        self.calls_made += 1;
        self.calls.start(call).into()
    }

    fn note_idle(&mut self, idle: Idle) -> Next {
        self.wake_at_us = idle.wake_at_us;
        // A guest whose timer is always due would cost a frame and a journal entry per turn without bound.
        let elapsed_us = u64::try_from(self.begun.elapsed().as_micros());
        let next_us = self.pace.turn(elapsed_us.unwrap_or(u64::MAX));
        self.next_turn = self.begun + Duration::from_micros(next_us);
        Next::Continue
    }

    /// Delivers results and time to an idle guest, or ends the run when the guest waits for nothing that can come.
    async fn wake_guest(&mut self) -> Next {
        if !self.worker.is_idle() {
            return Next::Continue;
        }
        // All that have arrived go into one delivery: it costs a frame and a journal entry, however many they are.
        self.calls.take_ready();
        let timer_due = self.wake_at_us.is_some_and(|wake| wake <= now_us());
        if !self.calls.has_results() && !timer_due {
            // Without a call in flight and without a timer nothing will ever wake the guest.
            let waits_forever = self.calls.is_empty() && self.wake_at_us.is_none();
            return if waits_forever {
                Next::End(Err(messages::never_settles()))
            } else {
                Next::Continue
            };
        }
        if Instant::now() < self.next_turn {
            return Next::Continue;
        }
        self.deliver().await
    }

    async fn deliver(&mut self) -> Next {
        // The system's clock may be set back; the guest's never is.
        self.clock_us = self.clock_us.max(now_us());
        // The room of the results is held until the guest has them.
        let (results, _permits) = self.calls.take_results();
        let delivered = Delivered {
            now_us: self.clock_us,
            calls: results.iter().map(|result| result.id).collect(),
        };
        // Before the frame: what the guest has seen must be in the journal, or a replay would differ.
        let journalled = self.broker.journal().delivered(delivered);
        let journalled = interruptible(&self.cancel, self.grace_deadline(), journalled);
        match self.calls.while_waiting_for(journalled).await {
            Ok(()) => {}
            Err(Interruption::Cancelled) => return Next::End(Err(messages::cancelled())),
            Err(Interruption::OutOfTime) => return Next::End(Err(self.out_of_time())),
        }
        let frame = ToWorker::Deliver(Delivery {
            now_us: self.clock_us,
            results,
        });
        // The guest sets its timers again before it is idle.
        self.wake_at_us = None;
        self.send(&frame, self.grace_deadline()).await.into()
    }

    fn grace_deadline(&self) -> Instant {
        self.deadline + Duration::from_millis(WALL_GRACE_MS)
    }

    fn end(&mut self, done: Done) -> Next {
        let Done {
            result,
            written_in,
            warnings,
            log_bytes_dropped,
            memory_bytes: _,
        } = done;
        // A worker that made a call before it says so is not believed: a run is repeated only when it did nothing.
        self.written_in = written_in.filter(|_| result.is_err() && self.calls_made == 0);
        self.warnings.extend(warnings);
        let shows_nothing = match &result {
            Ok(Some(value)) => is_empty(value),
            // The value of a field that is not there.
            Ok(None) => self.printed.is_empty() && self.broker.emissions().is_empty(),
            Err(_) => false,
        };
        if shows_nothing {
            self.warnings.extend_from_slice(self.broker.doubts());
        }
        let dropped = &mut self.printed.dropped;
        *dropped = dropped.saturating_add(log_bytes_dropped);
        Next::End(ended(result, self.calls_made as usize))
    }

    /// Ends the run when the disk is nearly full, when the journals of its principal have their share of the disk, or when
    /// the worker uses more than the limits allow. The worker limits itself; this holds when the guest has taken it over.
    fn check_usage(&self) -> Next {
        let store = &self.broker.context().store;
        if let Err(error) = store.check_disk() {
            return Next::End(Err(messages::disk_low(&error)));
        }
        if let Err(error) = store.check_share(self.broker.principal()) {
            return Next::End(Err(messages::no_room(&error)));
        }
        let limit = self.start.limits.memory_bytes;
        let allowed = (limit + WORKER_OVERHEAD_BYTES) as u64;
        let cpu_ms = self.start.limits.cpu_ms;
        match self.worker.usage() {
            Some(usage) if usage.resident_bytes > allowed => {
                Next::End(Err(messages::memory_limit(usage.resident_bytes, allowed)))
            }
            Some(usage) if usage.cpu > Duration::from_millis(cpu_ms) => {
                Next::End(Err(messages::cpu_limit(cpu_ms)))
            }
            Some(_) | None => Next::Continue,
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
        messages::lost(error)
    }

    fn out_of_time(&self) -> ProgramError {
        let check = self.check.as_ref();
        let check = check.map(|_| "the check of its calls".to_owned());
        let waiting = check.or_else(|| self.calls.names());
        messages::out_of_time(self.start.limits.wall_ms, waiting)
    }
}

/// Why the run no longer waits for something.
enum Interruption {
    Cancelled,
    OutOfTime,
}

/// Waits for `work` until `deadline` at most, or until the run is cancelled.
async fn interruptible<T>(
    cancel: &CancellationToken,
    deadline: Instant,
    work: impl Future<Output = T>,
) -> Result<T, Interruption> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Interruption::Cancelled),
        done = timeout_at(deadline, work) => done.map_err(|_| Interruption::OutOfTime),
    }
}

/// The verdict of the check that is being made; never returns without one.
async fn checked(check: &mut Option<BoxFuture<'static, Verdict>>) -> Verdict {
    match check {
        Some(check) => check.await,
        None => std::future::pending().await,
    }
}

/// The moment the guest's clock shows `at_us`; now, when that is past.
fn instant_of(at_us: u64) -> Instant {
    Instant::now() + Duration::from_micros(at_us.saturating_sub(now_us()))
}
