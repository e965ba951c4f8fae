//! Pool of workers that are ready before a program arrives.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use limbeck_domain::Language;
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc, watch};
use tokio::task::JoinSet;

use crate::{Launcher, Worker, WorkerError};

/// Shortest and longest pause after workers that did not start.
const BACK_OFF_MS: (u64, u64) = (50, 5_000);
/// Delay of refilling while workers are ready: the program that took one has just begun,
/// and starting another would compete with it for the processor.
const REFILL_DELAY: Duration = Duration::from_millis(3);

/// Number of workers that are kept ready, and that are started at the same time.
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

/// A pool of ready workers for one language. Clones share it; when the last is dropped, its workers are killed.
#[derive(Clone, Debug)]
pub struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    workers: AsyncMutex<mpsc::Receiver<Worker>>,
    failing: watch::Receiver<Failing>,
    stock: Arc<Stock>,
    refill: Mutex<JoinSet<()>>,
}

/// Why workers do not start, while they do not.
type Failing = Option<Arc<WorkerError>>;

/// Number of ready workers, for the tasks that refill.
#[derive(Debug, Default)]
struct Stock {
    ready: AtomicUsize,
    /// How many were started in all.
    started: AtomicUsize,
    /// Notified when the last ready worker is taken.
    empty: Notify,
}

impl Pool {
    /// Starts filling a pool with workers for `language`. Must be called inside a Tokio runtime.
    pub fn start(launcher: &Launcher, language: Language, size: PoolSize) -> Self {
        let (sender, workers) = mpsc::channel(size.ready.max(1));
        let (failed, failing) = watch::channel(None);
        let stock = Arc::new(Stock::default());
        let mut refill = JoinSet::new();
        for _ in 0..size.starting.max(1) {
            let refiller = Refiller {
                language,
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
                refill: Mutex::new(refill),
            }),
        }
    }

    /// A worker that is ready, from the pool, in the order of asking.
    ///
    /// # Errors
    ///
    /// The [`WorkerError`] of the last attempt, when the pool has none because workers do not start:
    /// asking for one does not bring the next attempt closer.
    pub async fn take(&self) -> Result<Worker, WorkerError> {
        let mut workers = self.shared.workers.lock().await;
        let mut failing = self.shared.failing.clone();
        loop {
            tokio::select! {
                biased;
                worker = workers.recv() => match worker {
                    Some(mut worker) => {
                        self.shared.stock.taken();
                        if worker.is_waiting() {
                            return Ok(worker);
                        }
                    }
                    None => return Err(WorkerError::Closed),
                },
                error = failure(&mut failing) => return Err(error),
            }
        }
    }

    /// Ends refilling and kills the ready workers.
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

/// Waits until workers fail to start, and returns the error.
async fn failure(failing: &mut watch::Receiver<Failing>) -> WorkerError {
    let failing = failing.wait_for(Option::is_some).await;
    // The channel closes when refilling has ended.
    let error = failing.ok().and_then(|failing| failing.clone());
    match error.as_deref() {
        // Callers look for this one.
        Some(WorkerError::Tier { sandbox, minimum }) => WorkerError::Tier {
            sandbox: sandbox.clone(),
            minimum: minimum.clone(),
        },
        Some(_) => error.map_or(WorkerError::Closed, WorkerError::Failing),
        None => WorkerError::Closed,
    }
}

/// One of the tasks that keep the pool full.
struct Refiller {
    language: Language,
    launcher: Launcher,
    sender: mpsc::Sender<Worker>,
    stock: Arc<Stock>,
    failing: watch::Sender<Failing>,
}

impl Refiller {
    /// A place is reserved first, so no more workers wait than the pool holds.
    ///
    /// One worker that does not start is replaced at once: it or its zygote may have been killed. Two
    /// in a row, with none between them that another task started, are a failure, after which pauses get
    /// longer until one starts.
    async fn run(self) {
        let (shortest, longest) = BACK_OFF_MS;
        let mut pause_ms = 0;
        let mut started = 0;
        while let Ok(place) = self.sender.reserve().await {
            self.stock.stand_back().await;
            match self.launcher.launch(self.language).await {
                Ok(worker) => {
                    self.stock.ready.fetch_add(1, Ordering::AcqRel);
                    self.stock.started.fetch_add(1, Ordering::AcqRel);
                    place.send(worker);
                    self.failing
                        .send_if_modified(|failing| failing.take().is_some());
                    pause_ms = 0;
                }
                Err(error) => {
                    // `take` returns the error of the tier, with its hint, so it is not logged.
                    if !matches!(error, WorkerError::Tier { .. }) {
                        tracing::error!(
                            error = &error as &dyn std::error::Error,
                            "worker did not start"
                        );
                    }
                    let by_now = self.stock.started.load(Ordering::Acquire);
                    if std::mem::replace(&mut started, by_now) != by_now {
                        pause_ms = 0;
                    }
                    if pause_ms > 0 {
                        self.failing.send_replace(Some(Arc::new(error)));
                        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
                    }
                    pause_ms = (pause_ms * 2).clamp(shortest, longest);
                }
            }
        }
    }
}
