//! Work that the gateway computes itself for a principal: names and their suggestions, rankings, listings, the check of
//! programs, and the fitting of answers.
//!
//! A program can ask for seconds of such work at once. It runs on threads for blocking work, so that the threads that
//! serve have no part in it, and in few places, for which principals take turns. What waits for a place leaves the queue when
//! its future is dropped: with the end of its program, or when its client gives the request up.

use limbeck_domain::{CallCode, CallError, limits};

use crate::admission::{Admission, AdmissionSize};
use crate::artifacts::select::StopFlag;

/// Pieces of work at the same time. Each takes milliseconds, those of the largest programs and answers some hundred.
const PLACES: AdmissionSize = AdmissionSize {
    running: limits::COMPUTED_MAX,
    running_each: limits::COMPUTED_PER_PRINCIPAL_MAX,
    // What waits is bounded by the calls and requests that wait for it.
    queued: usize::MAX,
    queued_each: usize::MAX,
};

/// Places for work that the gateway computes. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Computing {
    places: Admission,
}

/// Work that did not end: it panicked, or the gateway is shutting down.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the gateway failed while it computed this")]
pub struct ComputingError;

impl From<ComputingError> for CallError {
    fn from(error: ComputingError) -> Self {
        Self::new(CallCode::GatewayFault, error.to_string())
            .with_hint("look at the gateway's log on standard error")
    }
}

impl Default for Computing {
    fn default() -> Self {
        Self {
            places: Admission::new(PLACES),
        }
    }
}

impl Computing {
    /// Runs `work` in the next place of `principal`.
    ///
    /// Work that has begun is not interrupted: when this future is dropped, the flag asks it to stop, and its place is
    /// taken until it has ended.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        principal: &str,
        work: impl FnOnce(&StopFlag) -> T + Send + 'static,
    ) -> Result<T, ComputingError> {
        let place = self.places.enter(principal).await;
        let place = place.map_err(|_| ComputingError)?;
        let stop = StopFlag::default();
        let _stop_when_dropped = stop.clone().stop_when_dropped();
        let working = tokio::task::spawn_blocking(move || {
            // Given back by the thread that does the work, also when the work panics.
            let _place = place;
            (!stop.is_set()).then(|| work(&stop))
        });
        match working.await {
            Ok(Some(done)) => Ok(done),
            Ok(None) => Err(ComputingError),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "work failed");
                Err(ComputingError)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Sender, channel};

    use tokio::task::JoinHandle;

    use super::*;

    /// Takes a place of `principal` until the sender is dropped. Returns once the work has begun.
    async fn held(computing: &Computing, principal: &'static str) -> (Sender<()>, JoinHandle<()>) {
        let (gate, opened) = channel::<()>();
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let computing = computing.clone();
        let work = tokio::spawn(async move {
            let held = computing.run(principal, move |_| {
                begun.send(()).unwrap();
                // An error: the sender was dropped.
                let _ = opened.recv();
            });
            held.await.unwrap();
        });
        has_begun.await.unwrap();
        (gate, work)
    }

    #[tokio::test]
    async fn work_of_another_principal_is_done_while_one_holds_all_of_its_places() {
        let computing = Computing::default();
        let mut gates = Vec::new();
        for _ in 0..PLACES.running_each {
            gates.push(held(&computing, "greedy").await);
        }
        let queued = Arc::new(AtomicUsize::new(0));
        let waiting: Vec<_> = (0..100)
            .map(|_| {
                let (computing, queued) = (computing.clone(), Arc::clone(&queued));
                tokio::spawn(async move {
                    let count = move |_: &StopFlag| queued.fetch_add(1, Ordering::Relaxed);
                    computing.run("greedy", count).await.unwrap();
                })
            })
            .collect();
        while computing.places.load().1 < waiting.len() {
            tokio::task::yield_now().await;
        }
        assert_eq!(computing.run("polite", |_| 3).await.unwrap(), 3);
        assert_eq!(queued.load(Ordering::Relaxed), 0);
        // The control: alone, it gets all of its answers.
        for (gate, work) in gates {
            drop(gate);
            work.await.unwrap();
        }
        for work in waiting {
            work.await.unwrap();
        }
        assert_eq!(queued.load(Ordering::Relaxed), 100);
        assert_eq!(computing.places.load(), (0, 0));
    }

    #[tokio::test]
    async fn what_waits_is_dropped_with_its_program_and_what_runs_keeps_its_place() {
        let computing = Computing::default();
        let mut gates = Vec::new();
        for _ in 0..PLACES.running_each {
            gates.push(held(&computing, "one").await);
        }
        let (begun, mut has_begun) = tokio::sync::oneshot::channel();
        let waiting = {
            let computing = computing.clone();
            let work = move |_: &StopFlag| begun.send(());
            tokio::spawn(async move { computing.run("one", work).await.is_ok() })
        };
        while computing.places.load().1 == 0 {
            tokio::task::yield_now().await;
        }
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled());
        assert_eq!(computing.places.load(), (PLACES.running_each, 0));
        // Its sender was dropped with the work, which never began.
        assert!(has_begun.try_recv().is_err());

        // The future of running work is dropped: the place stays taken until the work has ended.
        let (gate, work) = gates.remove(0);
        work.abort();
        assert!(work.await.unwrap_err().is_cancelled());
        assert_eq!(computing.places.load(), (PLACES.running_each, 0));
        drop(gate);
        while computing.places.load().0 == PLACES.running_each {
            tokio::task::yield_now().await;
        }
        assert_eq!(computing.run("one", |_| 1).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn work_that_panics_is_an_error_and_gives_its_place_back() {
        let computing = Computing::default();
        let failed = computing.run::<()>("one", |_| panic!("a fault")).await;
        let error = CallError::from(failed.unwrap_err());
        assert_eq!(error.code, CallCode::GatewayFault);
        assert_eq!(computing.places.load(), (0, 0));
    }
}
