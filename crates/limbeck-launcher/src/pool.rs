//! Workers that stand ready before a program arrives.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc, watch};
use tokio::task::JoinSet;

use crate::{Launcher, Worker, WorkerError};

/// Shortest and longest pause after a worker that did not start.
const BACK_OFF_MS: (u64, u64) = (50, 5_000);
/// How long refilling stands back while workers are ready: the program that took one has just begun,
/// and starting another would compete with it for the processor.
const REFILL_DELAY: Duration = Duration::from_millis(3);

/// How many workers stand ready, and how many are started side by side.
#[derive(Clone, Copy, Debug)]
pub struct PoolSize {
    /// Workers kept ready.
    pub ready: usize,
    /// Workers started at the same time while the pool refills.
    pub starting: usize,
}

impl Default for PoolSize {
    /// Two wait, which covers a burst of parallel programs at 3 MB of private memory each; two start,
    /// one a core on the smallest machine.
    fn default() -> Self {
        Self {
            ready: 2,
            starting: 2,
        }
    }
}

/// A pool of ready workers. Clones share it; when the last is dropped, its workers are killed.
#[derive(Clone, Debug)]
pub struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    workers: AsyncMutex<mpsc::Receiver<Worker>>,
    failing: watch::Receiver<bool>,
    stock: Arc<Stock>,
    launcher: Launcher,
    refill: Mutex<JoinSet<()>>,
}

/// How many workers stand ready, for those who refill.
#[derive(Debug, Default)]
struct Stock {
    ready: AtomicUsize,
    /// Told when the last one is taken.
    empty: Notify,
}

impl Pool {
    /// Starts filling a pool. Must be called inside a Tokio runtime.
    pub fn start(launcher: Launcher, size: PoolSize) -> Self {
        let (sender, workers) = mpsc::channel(size.ready.max(1));
        let (failed, failing) = watch::channel(false);
        let stock = Arc::new(Stock::default());
        let mut refill = JoinSet::new();
        for _ in 0..size.starting.max(1) {
            let refiller = Refiller {
                launcher: launcher.clone(),
                sender: sender.clone(),
                stock: Arc::clone(&stock),
                failing: failed.clone(),
            };
            refill.spawn(refiller.run());
        }
        Self {
            shared: Arc::new(Shared {
                workers: AsyncMutex::new(workers),
                failing,
                stock,
                launcher,
                refill: Mutex::new(refill),
            }),
        }
    }

    /// A worker that is ready, from the pool, in the order of asking.
    ///
    /// # Errors
    ///
    /// [`WorkerError`] of a fresh attempt, when the pool has none because workers do not start.
    pub async fn take(&self) -> Result<Worker, WorkerError> {
        let mut workers = self.shared.workers.lock().await;
        let mut failing = self.shared.failing.clone();
        loop {
            tokio::select! {
                biased;
                worker = workers.recv() => match worker {
                    Some(worker) => {
                        self.shared.stock.taken();
                        if worker.is_waiting() {
                            return Ok(worker);
                        }
                    }
                    None => return self.shared.launcher.launch().await,
                },
                () = async { drop(failing.wait_for(|failing| *failing).await) } => {
                    // Starting one here gives the caller the error of now, or a worker after all.
                    return self.shared.launcher.launch().await;
                }
            }
        }
    }

    /// Ends refilling and kills the workers that stand ready.
    pub async fn shutdown(&self) {
        let mut refill = std::mem::take(
            &mut *self
                .shared
                .refill
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        refill.shutdown().await;
        let mut workers = self.shared.workers.lock().await;
        workers.close();
        while let Some(worker) = workers.recv().await {
            worker.kill().await;
        }
    }
}

impl Stock {
    fn taken(&self) {
        if self.ready.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.empty.notify_waiters();
        }
    }

    /// Waits for [`REFILL_DELAY`], or until nothing is ready any more.
    async fn stand_back(&self) {
        let empty = self.empty.notified();
        if self.ready.load(Ordering::Acquire) > 0 {
            let _ = tokio::time::timeout(REFILL_DELAY, empty).await;
        }
    }
}

/// One of the tasks that keep the pool full.
struct Refiller {
    launcher: Launcher,
    sender: mpsc::Sender<Worker>,
    stock: Arc<Stock>,
    failing: watch::Sender<bool>,
}

impl Refiller {
    /// A place is reserved first, so no more workers wait than the pool holds.
    async fn run(self) {
        let (shortest, longest) = BACK_OFF_MS;
        let mut pause_ms = shortest;
        while let Ok(place) = self.sender.reserve().await {
            self.stock.stand_back().await;
            match self.launcher.launch().await {
                Ok(worker) => {
                    self.stock.ready.fetch_add(1, Ordering::AcqRel);
                    place.send(worker);
                    self.failing
                        .send_if_modified(|failing| std::mem::replace(failing, false));
                    pause_ms = shortest;
                }
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "worker did not start"
                    );
                    self.failing.send_replace(true);
                    tokio::time::sleep(Duration::from_millis(pause_ms)).await;
                    pause_ms = (pause_ms * 2).min(longest);
                }
            }
        }
    }
}
