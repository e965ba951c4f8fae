//! Work of tasks, which goes on while their clients are away.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use limbeck_domain::ExecutionId;
use tokio_util::sync::CancellationToken;

/// Tasks at work, of all principals and of one. Those that wait for a person need none.
const RUNNING_MAX: usize = 512;
const RUNNING_PER_PRINCIPAL_MAX: usize = 64;

/// Tasks at work, by their execution. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct RunningTasks(Arc<Mutex<HashMap<ExecutionId, RunningTask>>>);

#[derive(Debug)]
struct RunningTask {
    principal: Arc<str>,
    cancel: CancellationToken,
}

/// Removes a task when its work ends, or panics.
struct Entry {
    tasks: RunningTasks,
    id: ExecutionId,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.tasks.lock().remove(&self.id);
    }
}

impl RunningTasks {
    /// Starts the work of a task, which [`RunningTasks::cancel`] drops. A task whose work goes on already keeps that.
    ///
    /// # Errors
    ///
    /// `with`, when too many are at work.
    pub(super) fn start<W, F: Future<Output = ()> + Send + 'static>(
        &self,
        id: &ExecutionId,
        principal: &Arc<str>,
        with: W,
        work: impl FnOnce(W) -> F,
    ) -> Result<(), W> {
        let cancel = CancellationToken::new();
        {
            let mut tasks = self.lock();
            if tasks.contains_key(id) {
                return Ok(());
            }
            let of_principal = tasks.values().filter(|it| it.principal == *principal);
            if tasks.len() >= RUNNING_MAX || of_principal.count() >= RUNNING_PER_PRINCIPAL_MAX {
                return Err(with);
            }
            let task = RunningTask {
                principal: Arc::clone(principal),
                cancel: cancel.clone(),
            };
            tasks.insert(id.clone(), task);
        }
        let entry = Entry {
            tasks: self.clone(),
            id: id.clone(),
        };
        let work = work(with);
        tokio::spawn(async move {
            tokio::select! {
                () = cancel.cancelled() => {}
                () = work => {}
            }
            drop(entry);
        });
        Ok(())
    }

    /// Cancels the work of a task.
    pub(super) fn cancel(&self, id: &ExecutionId) {
        if let Some(task) = self.lock().get(id) {
            task.cancel.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ExecutionId, RunningTask>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> ExecutionId {
        ExecutionId::new(format!("ex_{number}"))
    }

    #[tokio::test]
    async fn a_principal_fills_its_own_places_and_the_end_of_work_gives_one_back() {
        let tasks = RunningTasks::default();
        let (ada, eve): (Arc<str>, Arc<str>) = ("ada".into(), "eve".into());
        let never = |()| std::future::pending();
        for number in 0..RUNNING_PER_PRINCIPAL_MAX {
            assert!(tasks.start(&id(number), &ada, (), never).is_ok());
        }
        assert!(tasks.start(&id(1_000), &ada, (), never).is_err());
        // The same task again is not another one.
        assert!(tasks.start(&id(0), &ada, (), never).is_ok());
        assert!(tasks.start(&id(1_000), &eve, (), never).is_ok());
        tasks.cancel(&id(0));
        while tasks.lock().contains_key(&id(0)) {
            tokio::task::yield_now().await;
        }
        assert!(tasks.start(&id(1_001), &ada, (), never).is_ok());
    }
}
