//! Timers of programs that wait for people and have no worker: a gateway that serves wakes them when they are due.
//!
//! A program that is woken repeats its journal, gets the time, and runs until it waits again or has ended. No person receives its
//! answer then: `resume` gives it to the next one who asks. An execution whose gateway died has no timer here, so that nothing
//! it writes happens unseen.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use limbeck_domain::{ErrorKind, ExecutionId, ExecutionStatus, ProgramError, ProgramStart};
use limbeck_upstream::CallContext;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::handle::Executor;
use super::request::AnswerForm;
use super::resume::{ResumeError, Why};
use crate::approvals::OnAsk;
use crate::clock::now_us;

/// How often the timers of other processes' executions are looked for: within the time that a timer has at least when its
/// program is paused.
const LOOKED_FOR: Duration = Duration::from_secs(5);
/// Timers that are read at once.
const READ_MAX: u32 = 1_024;
/// Programs that are woken at the same time; each has a worker.
const WOKEN_MAX: usize = 4;
/// How long an execution is left alone that could not be woken here, such as one with servers of another configuration.
const LEFT_ALONE: Duration = Duration::from_secs(60);

/// The task that wakes programs, until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    task: Mutex<Option<AbortHandle>>,
}

impl Timers {
    /// Wakes programs from now on, as long as the gateway exists. Only the first call counts.
    pub(crate) fn keep(&self, executor: &Arc<Executor>) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.is_none() {
            *task = Some(tokio::spawn(wake_due(Arc::downgrade(executor))).abort_handle());
        }
    }

    /// Wakes no further program. Those that run stop where they are: the next process goes on with them.
    pub(crate) fn stop(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = task.as_ref() {
            task.abort();
        }
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn wake_due(executor: Weak<Executor>) {
    let mut woken = JoinSet::new();
    let mut running: HashSet<ExecutionId> = HashSet::new();
    let mut left_alone: HashMap<ExecutionId, Instant> = HashMap::new();
    loop {
        let Some(shared) = executor.upgrade() else {
            return;
        };
        left_alone.retain(|_, since| since.elapsed() < LEFT_ALONE);
        shared.broker.approvals.escalate().await;
        let timers = shared
            .broker
            .store
            .next_wakes(READ_MAX)
            .await
            .unwrap_or_else(|error| {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "timers of paused executions could not be read"
                );
                Vec::new()
            });
        let now_us = now_us();
        let mut next = LOOKED_FOR;
        for (id, wake_us) in timers {
            if wake_us > now_us {
                next = next.min(Duration::from_micros(wake_us - now_us));
                break;
            }
            if running.len() >= WOKEN_MAX {
                break;
            }
            if running.contains(&id) || left_alone.contains_key(&id) {
                continue;
            }
            let shared = Arc::clone(&shared);
            running.insert(id.clone());
            woken.spawn(async move {
                let woken = shared.wake(&id).await;
                (id, woken)
            });
        }
        // The gateway may end while this waits.
        drop(shared);
        tokio::select! {
            () = sleep(next) => {}
            Some(ended) = woken.join_next() => match ended {
                Ok((id, Ok(()))) => {
                    running.remove(&id);
                }
                Ok((id, Err(error))) => {
                    tracing::info!(execution = %id, %error, "a paused execution was not woken");
                    running.remove(&id);
                    left_alone.insert(id, Instant::now());
                }
                Err(error) => {
                    tracing::error!(error = &error as &dyn std::error::Error, "waking failed");
                    // Which one it was is not known; the others are still refused by the store while they run.
                    running.clear();
                }
            },
        }
    }
}

impl Executor {
    /// Goes on with a paused execution, a timer of whose program is due, until it waits again or has ended.
    async fn wake(&self, id: &ExecutionId) -> Result<(), ResumeError> {
        let record = self.record_of(id.as_str(), None).await?;
        if record.row.status != ExecutionStatus::Paused {
            return Ok(());
        }
        self.check_servers(&record.start)?;
        self.check_configuration(id, Why::Timer).await?;
        let context = CallContext::new(CancellationToken::new());
        let answer = AnswerForm::default();
        self.continue_once(record, &answer, OnAsk::Pause, &context, Why::Timer)
            .await?;
        Ok(())
    }

    /// Whether this process has every server that the program could call when it began: another gateway may have its
    /// configuration, and wakes it then.
    fn check_servers(&self, start: &ProgramStart) -> Result<(), ResumeError> {
        let listed: Vec<ListedServer> = serde_json::from_str(&start.servers).unwrap_or_default();
        let servers = self.broker.upstreams.names();
        let missing = listed
            .iter()
            .find(|listed| !servers.iter().any(|name| name.as_str() == listed.name));
        match missing {
            None => Ok(()),
            Some(missing) => Err(ResumeError::Refused(ProgramError::new(
                ErrorKind::Request,
                format!(
                    "server `{}` is not in the configuration of this process",
                    missing.name
                ),
            ))),
        }
    }
}

/// A server in [`ProgramStart::servers`].
#[derive(serde::Deserialize)]
struct ListedServer {
    name: String,
}
