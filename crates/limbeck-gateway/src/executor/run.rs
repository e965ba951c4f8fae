//! State machine of one run: a worker, the program in it, and its calls in flight.
//!
//! The worker runs the guest until the guest waits. Then it gets the results that have arrived meanwhile and the time,
//! and the guest goes on. Every delivery is in the journal before it is sent, so a guest depends on its start and its
//! journal alone, and the gateway alone decides when a run ends.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use limbeck_domain::limits::{TURNS_BURST, TURNS_PER_SECOND, WALL_GRACE_MS, WORKER_OVERHEAD_BYTES};
use limbeck_domain::{
    Delivered, ErrorKind, HostCall, Language, ProgramError, ProgramStart, Sites, Verdict,
};
use limbeck_launcher::{Worker, WorkerError};
use limbeck_upstream::PrintedStream;
use limbeck_wire::{
    CheckRequest, CheckVerdict, Delivery, Done, FromWorker, Idle, LogStream, Pace, ToWorker,
};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::call_ends::ShownText;
use super::continued::{Continued, OpenCall, emits};
use super::in_flight_calls::{CallSummary, InFlightCalls};
use super::outcome::{PausedRun, Printed, RunOutcome};
use super::playback::Playback;
use super::returned::{ended, is_empty};
use super::{messages, signals};
use crate::broker::{Broker, Shows};
use crate::clock::now_us;

/// How often memory and processor time of a running worker are read.
const WATCH_MS: u64 = 50;
/// A guest whose timer is due within this time keeps its worker while it waits for people.
const TIMER_SOON_US: u64 = 10_000_000;

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
    PauseDue,
    /// The questions of the run end it.
    EndedByQuestion(ProgramError),
}

/// Whether the run goes on after an event.
enum Next {
    Continue,
    End(ProgramResult),
    Pause,
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
    /// What the journal has of this run, until the guest has done it again.
    continued: Option<Continued>,
    /// Time that a continued run has, from when it has repeated its journal.
    wall_left: Duration,
    /// Calls of the journal that gave the client something beside the value.
    emitted_before: Vec<HostCall>,
    /// Since when every call in flight waits for a person.
    quiet_since: Option<Instant>,
    /// How long the worker is kept while that is so.
    kept_for: Duration,
}

/// How the events of a run ended.
enum RunEnd {
    Ended(ProgramResult),
    /// All that is open waits for people, and the worker is given up.
    Paused,
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
            continued: None,
            wall_left: Duration::ZERO,
            emitted_before: Vec::new(),
            quiet_since: None,
            kept_for: Duration::ZERO,
        }
    }

    /// Gives the worker up once every call has waited for a person for this long.
    pub(super) fn kept_for(mut self, kept_for: Duration) -> Self {
        self.kept_for = kept_for;
        self
    }

    /// Repeats the journal first. The time that repeating it takes is not that of the program, which has `wall_left`.
    pub(super) fn continuing(mut self, playback: &Arc<Playback>, wall_left: Duration) -> Self {
        if let Some((check, _)) = &playback.check
            && let Ok(sites) = Sites::parse(&check.sites)
        {
            self.broker.program().note_sites(&sites);
        }
        self.continued = Some(Continued::new(Arc::clone(playback)));
        self.wall_left = wall_left;
        self
    }

    /// Runs until the program, a limit or the client ends it. The worker is killed.
    pub(super) async fn finish(mut self) -> RunOutcome {
        let start = ToWorker::Start(Box::new(self.start.clone()));
        let end = match self.send(&start, self.deadline).await {
            Ok(()) => self.handle_events().await,
            Err(error) => RunEnd::Ended(Err(error)),
        };
        let result = match end {
            RunEnd::Ended(result) => result,
            RunEnd::Paused => return self.paused(),
        };
        // The process is not waited for; if this task is dropped, the worker is killed as well.
        tokio::spawn(self.worker.kill());
        // A check that waits for its turn leaves the queue.
        self.check = None;
        for call in std::mem::take(&mut self.emitted_before) {
            self.broker.emit_again(&call).await;
        }
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
            Err(error) => {
                self.warnings.extend(wrote.warning());
                if is_endless(error.kind) {
                    let answers = self.broker.answers_of_endless();
                    let new = answers
                        .into_iter()
                        .filter(|answer| !self.warnings.contains(answer));
                    let new: Vec<String> = new.collect();
                    self.warnings.extend(new);
                }
            }
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
            paused: None,
        }
    }

    /// The outcome of a run that waits for people. Its calls wait for answers and have done nothing, so they are dropped.
    fn paused(self) -> RunOutcome {
        tokio::spawn(self.worker.kill());
        let since = self.quiet_since.unwrap_or_else(Instant::now);
        let wall_left = self.deadline.saturating_duration_since(since);
        let paused = PausedRun {
            wall_left_ms: u64::try_from(wall_left.as_millis()).unwrap_or(u64::MAX),
            wake_us: self.wake_at_us,
            questions: self.broker.asks.pending(),
        };
        let CallSummary {
            effects, warnings, ..
        } = self.calls.drop_waiting();
        RunOutcome {
            printed: self.printed,
            warnings: self.warnings.into_iter().chain(warnings).collect(),
            effects,
            calls: self.calls_made,
            paused: Some(paused),
            ..RunOutcome::empty()
        }
    }

    async fn handle_events(&mut self) -> RunEnd {
        let period = Duration::from_millis(WATCH_MS);
        let mut watch = interval_at(Instant::now() + period, period);
        watch.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.note_quiet();
            let event = self.next_event(&mut watch).await;
            match self.handle(event).await {
                Next::Continue => {}
                Next::End(result) => return RunEnd::Ended(result),
                Next::Pause => return RunEnd::Paused,
            }
            // After every event, not only after results: a guest that has just gone idle may have results already.
            match self.wake_guest().await {
                Next::Continue => {}
                Next::End(result) => return RunEnd::Ended(result),
                Next::Pause => return RunEnd::Paused,
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
        let pause_due = self.quiet_since.unwrap_or(deadline) + self.kept_for;
        let due = self.turn_due().filter(|_| self.worker.is_idle());
        tokio::select! {
            // In this order: a cancel or the deadline must not wait behind a worker that sends frames without end.
            biased;
            () = self.cancel.cancelled() => Event::Cancelled,
            error = self.broker.asks.ended() => Event::EndedByQuestion(error),
            () = sleep_until(deadline), if self.quiet_since.is_none() => Event::OutOfTime,
            () = sleep_until(pause_due), if self.quiet_since.is_some() => Event::PauseDue,
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

    /// Stops the program's clock while all that is open waits for people.
    fn note_quiet(&mut self) {
        match (self.is_quiet(), self.quiet_since) {
            (true, None) => self.quiet_since = Some(Instant::now()),
            (false, Some(since)) => {
                self.deadline += since.elapsed();
                self.quiet_since = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// Whether the guest waits, every call in flight waits for a person, and no timer is due soon.
    fn is_quiet(&self) -> bool {
        let waiting = self.broker.asks.waiting();
        let soon = now_us().saturating_add(TIMER_SOON_US);
        waiting > 0
            && waiting == self.calls.in_flight()
            && self.worker.is_idle()
            && !self.calls.has_results()
            && self.wake_at_us.is_none_or(|wake| wake > soon)
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
            Event::PauseDue => Next::Pause,
            Event::EndedByQuestion(error) => Next::End(Err(error)),
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
                // What the journal has was passed on when it was printed.
                if self.continued.is_none() {
                    self.broker.pass_printed(stream, &line.text);
                }
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
        let recorded = self
            .continued
            .as_ref()
            .and_then(|it| it.playback().check.clone());
        if let Some((_, verdict)) = recorded {
            self.check = Some(Box::pin(std::future::ready(verdict)));
            return Next::Continue;
        }
        let broker = self.broker.clone();
        // Only a text is looked at.
        let input = match self.start.input.starts_with('"') {
            true => self.start.input.clone(),
            false => String::new(),
        };
        self.check = Some(Box::pin(
            async move { broker.check(check.sites, &input).await },
        ));
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
        match &mut self.continued {
            Some(continued) => {
                self.calls.recall(&call);
                continued.made(call).into()
            }
            None => self.calls.start(call).into(),
        }
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
        if self.continued.is_some() {
            return self.repeat_or_go_on().await;
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

    /// Gives an idle guest the next results of its journal. After the last, the run goes on: calls whose results are missing are
    /// made, or made again.
    async fn repeat_or_go_on(&mut self) -> Next {
        let Some(mut continued) = self.continued.take() else {
            return Next::Continue;
        };
        let Some((delivered, calls)) = continued.next() else {
            return self.go_on(continued).into();
        };
        let playback = Arc::clone(continued.playback());
        self.continued = Some(continued);
        self.calls.recalled(&calls, &playback);
        self.emitted_before.extend(calls.into_iter().filter(emits));
        self.clock_us = self.clock_us.max(delivered.now_us);
        self.wake_at_us = None;
        let frame = ToWorker::Deliver(playback.delivery(&delivered));
        self.send(&frame, self.grace_deadline()).await.into()
    }

    fn go_on(&mut self, continued: Continued) -> Result<(), ProgramError> {
        continued.check_end()?;
        let playback = Arc::clone(continued.playback());
        for open in continued.open()? {
            match open {
                OpenCall::Answered(call) => {
                    if emits(&call) {
                        self.emitted_before.push(call.clone());
                    }
                    self.calls.answered_before(&call, &playback);
                }
                OpenCall::Settled(call, how) => self.calls.start_settled(call, how)?,
                OpenCall::Make(call) => self.calls.start_again(call)?,
            }
        }
        self.deadline = Instant::now() + self.wall_left;
        Ok(())
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
        if let Some(continued) = self.continued.take()
            && let Err(error) = continued.check_end()
        {
            return Next::End(Err(error));
        }
        let Done {
            result,
            written_in,
            warnings,
            given_up,
            log_bytes_dropped,
            memory_bytes: _,
        } = done;
        // A worker that made a call before it says so is not believed: a run is repeated only when it did nothing.
        self.written_in = written_in.filter(|_| result.is_err() && self.calls_made == 0);
        self.warnings.extend(warnings);
        self.calls.give_up(given_up);
        let shows = match &result {
            Ok(Some(value)) if is_empty(value) => Some(Shows::EmptyValue),
            // The value of a field that is not there.
            Ok(None)
                if self.printed.is_empty()
                    && self.broker.emissions().is_empty()
                    && self.emitted_before.is_empty() =>
            {
                Some(Shows::Nothing)
            }
            Ok(_) => Some(Shows::Something),
            Err(_) => None,
        };
        if let Some(shows) = shows {
            self.warnings
                .extend(self.broker.answers(self.calls_made, shows));
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

/// Whether a program was ended that would have gone on, and may never have ended.
fn is_endless(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Timeout | ErrorKind::CpuLimit | ErrorKind::CallLimit
    )
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
