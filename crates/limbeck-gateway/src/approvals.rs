//! Questions to people before calls are sent: where executions wait for the answers, and who may give them.
//!
//! A question is in the store before any person sees it, and the answer before any person acts on it. So an answer may come from
//! any process that has the state directory open: the file is polled while a person waits here.
//!
//! - `asks` are the questions of one run.
//! - `ask` makes a question of a call and waits for its answer.
//! - `ask_plan` asks about the plan of a program before it runs, and `plan` has what was accepted of it.
//! - `client` asks the person behind the client of the request.
//! - `decide` takes an answer and checks the right of who gives it, `by_rules_now` also by rules that changed meanwhile.
//! - `remember` answers a question by what a person chose with an earlier one.

mod ask;
mod ask_plan;
mod asks;
mod by_rules_now;
mod client;
mod decide;
mod forms;
mod notify;
mod origins;
mod plan;
mod question;
mod remember;
mod repeats;
pub(crate) mod shown;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use limbeck_domain::{Approval, ApprovalId, ApprovalState};
use limbeck_store::{ApprovalFilter, Store, StoreError};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::clock::now_us;

pub(crate) use ask::Approved;
pub use ask_plan::ONE_CALL_ORIGIN;
pub(crate) use asks::Asks;
pub use asks::OnAsk;
pub use decide::{ChosenLines, Decider, DecisionError, DecisionReport, DecisionRequest};
pub use notify::{Escalation, Notice, Notifier};
pub(crate) use origins::Origins;
pub(crate) use plan::{PlanRecord, ProgramPlan};
pub use question::GroupText;
pub use remember::covered;

/// How often the file is looked at for what other processes decide, while a person waits.
const POLLED: Duration = Duration::from_millis(25);
/// Pending questions that are looked at for those that no person answers, from the oldest on.
const ESCALATED_MAX: u32 = 1_000;
/// How often questions are looked for whose time has passed while no person waits for them.
const EXPIRED_LOOKED_FOR: Duration = Duration::from_secs(60);
/// How often a call that waits for room for its question looks again.
const ROOM_LOOKED_FOR: Duration = Duration::from_secs(5);
/// The longest time for which an unchanged question is not read again.
const READ_AGAIN: Duration = Duration::from_secs(60);

/// Where executions of this process wait for answers.
#[derive(Debug)]
pub(crate) struct Approvals {
    store: Store,
    /// Changes with every answer that this process knows of.
    changed: watch::Sender<u64>,
    waiting: Mutex<Waiting>,
    /// Questions that a client of this process shows.
    shown: Arc<Mutex<HashSet<ApprovalId>>>,
    /// Groups of questions that a client of this process shows.
    forms: forms::Forms,
    /// Notices to people who are not here.
    notices: notify::Notices,
    /// Name of this gateway until it ends; absent where the system gave no random bits.
    session: Option<String>,
}

/// A question that a client shows, until this is dropped.
struct ShownByClient {
    id: ApprovalId,
    shown: Arc<Mutex<HashSet<ApprovalId>>>,
}

impl Drop for ShownByClient {
    fn drop(&mut self) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.remove(&self.id);
    }
}

#[derive(Debug, Default)]
struct Waiting {
    count: usize,
    /// Whether a task polls the file.
    is_polled: bool,
}

/// A person who waits; the file is polled while there is one.
struct Waiter<'a>(&'a Approvals);

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.waiting().count -= 1;
    }
}

impl Approvals {
    pub(crate) fn new(store: Store) -> Self {
        Self {
            store,
            changed: watch::Sender::new(0),
            waiting: Mutex::default(),
            shown: Arc::default(),
            forms: forms::Forms::default(),
            notices: notify::Notices::default(),
            session: remember::new_session(),
        }
    }

    /// Takes up the ways by which people are notified of questions; a second time has no effect.
    pub(crate) fn notify_by(
        &self,
        notifiers: Vec<Arc<dyn Notifier>>,
        escalation: Option<Escalation>,
    ) {
        self.notices.set(notifiers, escalation);
    }

    /// Reports questions that no person has answered in time, where the configuration says to whom.
    pub(crate) async fn escalate(&self) {
        if !self.notices.escalates() {
            return;
        }
        let filter = ApprovalFilter {
            only_pending: true,
            limit: ESCALATED_MAX,
            ..ApprovalFilter::default()
        };
        match self.store.approvals(filter).await {
            Ok(pending) => self.notices.escalate(&pending, now_us()),
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "pending questions could not be read"
            ),
        }
    }

    /// Name of this gateway, for choices that count until it ends.
    pub(crate) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Ends questions, and executions that wait, whose time has passed, from now on and for as long as this exists.
    pub(crate) fn keep_time(self: &Arc<Self>) {
        let approvals = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut ticks = interval(EXPIRED_LOOKED_FOR);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let Some(approvals) = approvals.upgrade() else {
                    return;
                };
                approvals.end_expired().await;
            }
        });
    }

    /// Each step of the store is bounded, so there may be several.
    pub(crate) async fn end_expired(&self) {
        loop {
            match self.store.expire_approvals(now_us()).await {
                Ok(expired) if expired.is_empty() => return,
                Ok(_) => self.note_change(),
                Err(StoreError::Closed) => return,
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "expired questions could not be ended"
                    );
                    return;
                }
            }
        }
    }

    /// Notes that a client shows a question. `None` when one does already.
    fn show(&self, id: &ApprovalId) -> Option<ShownByClient> {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.insert(id.clone()).then(|| ShownByClient {
            id: id.clone(),
            shown: Arc::clone(&self.shown),
        })
    }

    /// Wakes every caller who waits: an answer was given.
    pub(crate) fn note_change(&self) {
        self.changed
            .send_modify(|changes| *changes = changes.wrapping_add(1));
    }

    /// Waits until a question is not pending any more, and returns it.
    ///
    /// # Errors
    ///
    /// An error of the store; [`StoreError::Closed`] when the question is not there.
    pub(crate) async fn decided(self: &Arc<Self>, id: &ApprovalId) -> Result<Approval, StoreError> {
        let _waiter = self.wait();
        let mut changed = self.changed.subscribe();
        loop {
            let approval = self.store.approval(id).await?;
            let approval = approval.ok_or(StoreError::Closed)?;
            if approval.state != ApprovalState::Pending {
                return Ok(approval);
            }
            let left = approval.expires_us.saturating_sub(now_us());
            if left == 0 {
                self.store.expire_approvals(now_us()).await?;
                self.note_change();
                // Its end is read next; the pause is for a store whose clock is behind.
                tokio::time::sleep(POLLED).await;
                continue;
            }
            let left = Duration::from_micros(left).min(READ_AGAIN);
            // A change or the end of the time: it is read again either way.
            let _ = timeout(left, changed.changed()).await;
        }
    }

    /// Waits until an answer was given somewhere, or for a while.
    async fn changed_or_later(self: &Arc<Self>) {
        let _waiter = self.wait();
        let mut changed = self.changed.subscribe();
        let _ = timeout(ROOM_LOOKED_FOR, changed.changed()).await;
    }

    /// Waits until none of these questions is pending, for as long as `at_most`. Returns whether none is.
    pub(crate) async fn all_decided(
        self: &Arc<Self>,
        ids: &[ApprovalId],
        at_most: Duration,
    ) -> Result<bool, StoreError> {
        let all = async {
            for id in ids {
                self.decided(id).await?;
            }
            Ok(())
        };
        match timeout(at_most, all).await {
            Ok(decided) => decided.map(|()| true),
            Err(_) => Ok(false),
        }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(self: &Arc<Self>) -> Waiter<'_> {
        let mut waiting = self.waiting();
        waiting.count += 1;
        if !waiting.is_polled {
            waiting.is_polled = true;
            tokio::spawn(Arc::clone(self).poll());
        }
        drop(waiting);
        Waiter(self)
    }

    /// Looks for what other processes decide, until no person waits.
    async fn poll(self: Arc<Self>) {
        let mut ticks = interval(POLLED);
        let mut seen = None;
        loop {
            ticks.tick().await;
            {
                let mut waiting = self.waiting();
                if waiting.count == 0 {
                    waiting.is_polled = false;
                    return;
                }
            }
            match self.store.approval_changes().await {
                Ok(changes) if seen == Some(changes) => {}
                Ok(changes) => {
                    seen = Some(changes);
                    self.note_change();
                }
                // Who waits reads the question again in any case, and receives the error.
                Err(_) => self.note_change(),
            }
        }
    }
}
