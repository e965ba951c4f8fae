//! How many executions run, how many wait, and who is told to come back.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bounds executions. A place is held until its guard is dropped.
#[derive(Debug)]
pub(crate) struct Admission {
    running: Arc<Semaphore>,
    admitted: Arc<Semaphore>,
    running_max: usize,
    queued_max: usize,
}

/// A place among the running executions.
#[derive(Debug)]
pub(crate) struct Place {
    _running: OwnedSemaphorePermit,
    _admitted: OwnedSemaphorePermit,
}

/// Every place is taken and the queue is full.
#[derive(Debug, thiserror::Error)]
#[error("{running_max} executions are running and {queued_max} are waiting")]
pub(crate) struct Busy {
    running_max: usize,
    queued_max: usize,
}

impl Admission {
    pub(crate) fn new(running_max: usize, queued_max: usize) -> Self {
        Self {
            running: Arc::new(Semaphore::new(running_max)),
            admitted: Arc::new(Semaphore::new(running_max + queued_max)),
            running_max,
            queued_max,
        }
    }

    /// Waits for a place, first come first served; refused at once when the queue is full.
    pub(crate) async fn enter(&self) -> Result<Place, Busy> {
        let busy = || Busy {
            running_max: self.running_max,
            queued_max: self.queued_max,
        };
        let admitted = Arc::clone(&self.admitted)
            .try_acquire_owned()
            .map_err(|_| busy())?;
        let running = Arc::clone(&self.running)
            .acquire_owned()
            .await
            .map_err(|_| busy())?;
        Ok(Place {
            _running: running,
            _admitted: admitted,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn beyond_running_and_queue_the_answer_is_busy_and_a_freed_place_goes_to_the_queue() {
        let admission = Arc::new(Admission::new(1, 1));
        let first = admission.enter().await.unwrap();
        let waiting = tokio::spawn({
            let admission = Arc::clone(&admission);
            async move { admission.enter().await }
        });
        while admission.admitted.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let refused = admission.enter().await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "1 executions are running and 1 are waiting"
        );
        drop(first);
        drop(waiting.await.unwrap().unwrap());
        admission.enter().await.unwrap();
    }
}
