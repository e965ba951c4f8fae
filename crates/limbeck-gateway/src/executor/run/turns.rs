//! Turns of a guest: when it is woken, and what it is given then.
//!
//! A guest that repeats its journal gets what it got before. Any other gets the results that have arrived, and the time.

use std::sync::Arc;
use std::time::Duration;

use limbeck_domain::{Delivered, ProgramError};
use limbeck_wire::{Delivery, Idle, ToWorker};
use tokio::time::Instant;

use super::interruption::{Interruption, interruptible};
use super::{Next, Run};
use crate::clock::now_us;
use crate::executor::continued::{Continued, OpenCall, emits};
use crate::executor::decided_order::DecidedOrder;
use crate::executor::messages;

/// A guest whose timer is due within this time keeps its worker while it waits for people.
const TIMER_SOON_US: u64 = 10_000_000;

impl Run {
    /// Stops the program's clock while all that is open waits for people.
    pub(super) fn note_quiet(&mut self) {
        match (self.is_quiet(), self.quiet_since) {
            (true, None) => self.quiet_since = Some(Instant::now()),
            (false, Some(since)) => {
                self.deadline += since.elapsed();
                self.quiet_since = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// Whether the guest waits, every call in flight waits for a person, and no timer is due soon; or whether a person thinks
    /// about the program's plan.
    fn is_quiet(&self) -> bool {
        let waiting = self.broker.asks.waiting();
        // Before the first line runs, only the question about the program's plan can wait.
        if self.check.is_some() {
            return waiting > 0;
        }
        let soon = now_us().saturating_add(TIMER_SOON_US);
        waiting > 0
            && waiting == self.calls.in_flight()
            && self.worker.is_idle()
            && !self.calls.has_results()
            && self.wake_at_us.is_none_or(|wake| wake > soon)
    }

    /// When the guest can be woken for its results or its timer.
    pub(super) fn turn_due(&self) -> Option<Instant> {
        let due = if self.calls.has_results() {
            Some(self.next_turn)
        } else {
            self.wake_at_us.map(instant_of)
        };
        due.map(|due| due.max(self.next_turn))
    }

    pub(super) fn note_idle(&mut self, idle: Idle) -> Next {
        self.wake_at_us = idle.wake_at_us;
        // A guest whose timer is always due would cost a frame and a journal entry per turn without bound.
        let elapsed_us = u64::try_from(self.begun.elapsed().as_micros());
        let next_us = self.pace.turn(elapsed_us.unwrap_or(u64::MAX));
        self.next_turn = self.begun + Duration::from_micros(next_us);
        Next::Continue
    }

    /// Delivers results and time to an idle guest, or ends the run when the guest waits for nothing that can come.
    pub(super) async fn wake_guest(&mut self) -> Next {
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
        let mut open = continued.open()?;
        open.sort_by_key(|open| playback.decided_at(open.id()));
        let mut order = DecidedOrder::default();
        for open in open {
            match open {
                OpenCall::Answered(call) => {
                    if emits(&call) {
                        self.emitted_before.push(call.clone());
                    }
                    self.calls.answered_before(&call, &playback);
                }
                OpenCall::Settled(call, how) => self.calls.start_settled(call, how)?,
                OpenCall::Make(call) => {
                    let decided = playback.decided_at(call.id);
                    let turn = decided.map(|_| order.next());
                    self.calls.start_again(call, turn)?;
                }
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
}

/// The moment the guest's clock shows `at_us`; now, when that is past.
fn instant_of(at_us: u64) -> Instant {
    Instant::now() + Duration::from_micros(at_us.saturating_sub(now_us()))
}
