//! State machine of one run: a worker, the program in it, and its calls in flight.
//!
//! The worker runs the guest until the guest waits. Then it gets the results that have arrived meanwhile and the time,
//! and the guest goes on. Every delivery is in the journal before it is sent, so a guest depends on its start and its
//! journal alone, and the gateway alone decides when a run ends.

mod ending;
mod interruption;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use limbeck_domain::limits::{TURNS_BURST, TURNS_PER_SECOND, WALL_GRACE_MS};
use limbeck_domain::{
    ErasedProgram, HostCall, Language, ProgramError, ProgramStart, Sites, Verdict,
};
use limbeck_launcher::{Worker, WorkerError};
use limbeck_upstream::PrintedStream;
use limbeck_wire::{CheckRequest, CheckVerdict, FromWorker, LogStream, Pace, ToWorker};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::sync::CancellationToken;

use self::interruption::{Interruption, interruptible};
use super::continued::Continued;
use super::erasure;
use super::in_flight_calls::InFlightCalls;
use super::messages;
use super::outcome::Printed;
use super::playback::Playback;
use crate::broker::Broker;

/// How often memory and processor time of a running worker are read.
const WATCH_MS: u64 = 50;

type ProgramResult = Result<Option<String>, ProgramError>;

/// What can happen during a run.
enum Event {
    Frame(Result<FromWorker, WorkerError>),
    /// The check was made, and the program may start or not.
    Checked(Result<Verdict, ProgramError>),
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
    check: Option<BoxFuture<'static, Result<Verdict, ProgramError>>>,
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
            self.broker.program().note_sites(Arc::new(sites));
        }
        self.continued = Some(Continued::new(Arc::clone(playback)));
        self.wall_left = wall_left;
        self
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
                match frame {
                    FromWorker::Erased(erased) => self.record_erased(erased.program).await,
                    frame => self.handle_frame(frame),
                }
            }
            Event::Frame(Err(error)) => Next::End(Err(self.lost(&error))),
            Event::Checked(Ok(verdict)) => self.send_verdict(&verdict).await,
            Event::Checked(Err(error)) => Next::End(Err(error)),
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
            // Recorded by `handle`, which can wait for the journal.
            FromWorker::Erased(_) => Next::Continue,
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

    /// Records the program as the guest runs it, so that every later process runs the same.
    async fn record_erased(&mut self, program: ErasedProgram) -> Next {
        // An execution that began in an earlier release stays as it is.
        let is_new = |continued: &Continued| continued.playback().is_before_begin();
        if !self.continued.as_ref().is_none_or(is_new) {
            return Next::Continue;
        }
        let broker = self.broker.clone();
        let recording = async move {
            let recorded = match erasure::is_large(&program) {
                false => erasure::record(program),
                true => {
                    let computing = &broker.context().computing;
                    let work = move |_: &_| erasure::record(program);
                    match computing.run(broker.principal(), work).await {
                        Ok(recorded) => recorded,
                        Err(error) => {
                            tracing::warn!(%error, "a program could not be compressed for its journal");
                            return;
                        }
                    }
                }
            };
            broker.journal().erased(recorded).await;
        };
        let recorded = interruptible(&self.cancel, self.grace_deadline(), recording).await;
        match recorded {
            Ok(()) => Next::Continue,
            Err(Interruption::Cancelled) => Next::End(Err(messages::cancelled())),
            Err(Interruption::OutOfTime) => Next::End(Err(self.out_of_time())),
        }
    }

    /// Begins the check, and asks about the plan of a program that passes it. Servers may have to be listed for the check, and
    /// a person has to answer, so limits and the channel are watched meanwhile.
    fn begin_check(&mut self, check: CheckRequest) -> Next {
        let recorded = self
            .continued
            .as_ref()
            .and_then(|it| it.playback().check.clone());
        let broker = self.broker.clone();
        // Only a text is looked at.
        let input = match self.start.input.starts_with('"') {
            true => self.start.input.clone(),
            false => String::new(),
        };
        let planned = (broker.may_ask_plan()).then(|| self.start.input.clone());
        self.check = Some(Box::pin(async move {
            let verdict = match recorded {
                Some((_, verdict)) => {
                    broker.check_again(&check.sites, &verdict).await;
                    verdict
                }
                None => broker.check(check.sites, &input).await,
            };
            if let Some(input) = planned
                && verdict.errors.is_empty()
            {
                broker.settle_plan(&input).await?;
            }
            Ok(verdict)
        }));
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
        self.broker.note_made(&call);
        match &mut self.continued {
            Some(continued) => {
                self.calls.recall(&call);
                continued.made(call).into()
            }
            None => self.calls.start(call).into(),
        }
    }

    fn grace_deadline(&self) -> Instant {
        self.deadline + Duration::from_millis(WALL_GRACE_MS)
    }
}

/// The verdict of the check that is being made; never returns without one.
async fn checked(
    check: &mut Option<BoxFuture<'static, Result<Verdict, ProgramError>>>,
) -> Result<Verdict, ProgramError> {
    match check {
        Some(check) => check.await,
        None => std::future::pending().await,
    }
}
