//! Types of tools' results, observed beside the path of their calls.
//!
//! A call puts its result into a queue and goes on. One task derives the types, on a blocking thread, and publishes them
//! from time to time: to the store, which joins them with those of other processes, and to the catalog, whose next
//! snapshot shows them. It publishes when a type has changed or a count has passed a power of two. The text that models
//! read then stays the same while nothing new is observed, so that prompt caches hold.
//!
//! Results are sampled ([`is_sampled`]), and dropped when the queue is full. A result that is not read is not counted, so
//! an observed type holds for every result that was.

mod recorded;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use limbeck_catalog::{Observed, Tool};
use limbeck_domain::ToolId;
use limbeck_domain::limits::{LEARNING_BYTES_MAX, LEARNT_RESULT_BYTES_MAX};
use limbeck_store::{Observation, Store, StoreError};
use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

pub(crate) use recorded::RecordedResults;
pub use recorded::{ImportSummary, SkippedRecordError};

use crate::broker;
use crate::clock::now_us;
use crate::live_catalog::LiveCatalog;

/// Results that wait to be read.
const QUEUE_MAX: usize = 1_024;
/// Results read in one go.
const BATCH_MAX: usize = 64;
/// How long observations are gathered before they are published.
const GATHER: Duration = Duration::from_millis(250);
/// Tools whose observations are held in memory; with more, all are published and dropped here.
const TOOLS_MAX: usize = 1_024;

/// Results of a tool in one process that are all read; of later ones, one in [`SMALL_PERIOD`].
const FIRST_SMALL: u64 = 64;
const SMALL_PERIOD: u64 = 16;
/// Results above this are large. A small one is read in a third of a millisecond.
const SMALL_BYTES_MAX: usize = 64 << 10;
/// Large results of a tool that are all read; of later ones, those whose number is a power of two.
const FIRST_LARGE: u64 = 4;

/// Whether the `nth` result of a tool in this process, from 1, is read. It depends on these numbers alone.
fn is_sampled(nth: u64, bytes: usize) -> bool {
    if bytes <= SMALL_BYTES_MAX {
        nth <= FIRST_SMALL || nth.is_multiple_of(SMALL_PERIOD)
    } else {
        bytes <= LEARNT_RESULT_BYTES_MAX && (nth <= FIRST_LARGE || nth.is_power_of_two())
    }
}

/// Queue of results for the observing task. Dropping it ends the task.
#[derive(Debug)]
pub(crate) struct Learning {
    queue: mpsc::Sender<Message>,
    room: Arc<Semaphore>,
    /// Results seen so far, by tool.
    seen: Mutex<HashMap<ToolId, u64>>,
    live_catalog: LiveCatalog,
}

#[derive(Debug)]
enum Message {
    Result(Work),
    Contradiction(Arc<Tool>),
    /// Publish everything, then reply.
    Flush(oneshot::Sender<()>),
}

/// A result to be read.
#[derive(Debug)]
struct Work {
    tool: Arc<Tool>,
    result: Box<RawValue>,
    _room: OwnedSemaphorePermit,
}

impl Learning {
    pub(crate) fn start(live_catalog: LiveCatalog, store: Store) -> Self {
        let (sender, queue) = mpsc::channel(QUEUE_MAX);
        let learner = Learner {
            live_catalog: live_catalog.clone(),
            store,
            tools: HashMap::new(),
            due: None,
        };
        tokio::spawn(learner.run(queue));
        Self {
            queue: sender,
            room: Arc::new(Semaphore::new(LEARNING_BYTES_MAX)),
            seen: Mutex::default(),
            live_catalog,
        }
    }

    /// Observes the result of a successful call. `result` is called only when the result is going to be read.
    pub(crate) fn result(
        &self,
        tool: &Arc<Tool>,
        bytes: usize,
        result: impl FnOnce() -> Box<RawValue>,
    ) {
        let id = tool.id();
        if tool.definition().output_schema.is_some() || !self.live_catalog.observes(&id.server) {
            return;
        }
        let nth = {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            match seen.get_mut(id) {
                Some(count) => {
                    *count += 1;
                    *count
                }
                None => {
                    seen.insert(id.clone(), 1);
                    1
                }
            }
        };
        if !is_sampled(nth, bytes) {
            return;
        }
        // At most `LEARNT_RESULT_BYTES_MAX`, so it fits.
        let share = u32::try_from(bytes).unwrap_or(u32::MAX);
        let (Ok(place), Ok(room)) = (
            self.queue.try_reserve(),
            Arc::clone(&self.room).try_acquire_many_owned(share),
        ) else {
            tracing::debug!(tool = %id, "skipped learning from a result: too many are waiting");
            return;
        };
        place.send(Message::Result(Work {
            tool: Arc::clone(tool),
            result: result(),
            _room: room,
        }));
    }

    /// Counts a result that does not fit what its tool declares.
    pub(crate) fn contradiction(&self, tool: &Arc<Tool>, how: &str) {
        tracing::debug!(tool = %tool.id(), how, "a result contradicts the declared output schema");
        drop(
            self.queue
                .try_send(Message::Contradiction(Arc::clone(tool))),
        );
    }

    /// Returns once everything that was queued is in the store and in the catalog.
    pub(crate) async fn flush(&self) {
        let (reply, done) = oneshot::channel();
        if self.queue.send(Message::Flush(reply)).await.is_ok() {
            drop(done.await);
        }
    }
}

/// The task that reads results.
struct Learner {
    live_catalog: LiveCatalog,
    store: Store,
    /// By server and hash of the definition.
    tools: HashMap<(String, String), Known>,
    /// When observations are published.
    due: Option<Instant>,
}

/// Observations of one tool.
struct Known {
    tool: Arc<Tool>,
    /// All observations, as far as this process knows.
    all: Observed,
    /// The part of `all` that is not in the store.
    unsaved: Observed,
    /// Whether the catalog has to be updated.
    news: bool,
}

impl Learner {
    async fn run(mut self, mut queue: mpsc::Receiver<Message>) {
        let mut batch = Vec::with_capacity(BATCH_MAX);
        loop {
            let received = match self.due {
                Some(due) => timeout_at(due, queue.recv_many(&mut batch, BATCH_MAX)).await,
                None => Ok(queue.recv_many(&mut batch, BATCH_MAX).await),
            };
            match received {
                Err(_) => self.publish(false).await,
                Ok(0) => break,
                Ok(_) => self.take(std::mem::take(&mut batch)).await,
            }
        }
        self.publish(true).await;
    }

    async fn take(&mut self, batch: Vec<Message>) {
        let mut work = Vec::new();
        let mut waiting = Vec::new();
        for message in batch {
            match message {
                Message::Result(result) => work.push(result),
                Message::Contradiction(tool) => self.add(&tool, &Observed::contradiction()),
                Message::Flush(reply) => waiting.push(reply),
            }
        }
        // A panic in one batch loses that batch and nothing else.
        let read = tokio::task::spawn_blocking(move || read(work)).await;
        for (tool, learnt) in read.unwrap_or_default() {
            self.add(&tool, &learnt);
        }
        let overdue = self.due.is_some_and(|due| due <= Instant::now());
        if !waiting.is_empty() || self.tools.len() > TOOLS_MAX {
            self.publish(true).await;
        } else if overdue {
            self.publish(false).await;
        }
        for reply in waiting {
            // The caller may have stopped waiting.
            let _ = reply.send(());
        }
    }

    fn add(&mut self, tool: &Arc<Tool>, learnt: &Observed) {
        let key = (tool.id().server.to_string(), tool.hash().to_owned());
        let live_catalog = &self.live_catalog;
        let known = self.tools.entry(key).or_insert_with(|| Known {
            tool: Arc::clone(tool),
            all: live_catalog.observed(tool).unwrap_or_default(),
            unsaved: Observed::default(),
            news: false,
        });
        let before = (known.all.calls, known.all.contradictions);
        let is_other = known.all.add(learnt);
        known.unsaved.add(learnt);
        let contradicted = passes_power(before.1, known.all.contradictions);
        if contradicted {
            tracing::warn!(
                tool = %tool.id(),
                results = known.all.contradictions,
                "results do not match the tool's output schema"
            );
        }
        if is_other || contradicted || passes_power(before.0, known.all.calls) {
            known.news = true;
            self.due.get_or_insert_with(|| Instant::now() + GATHER);
        }
    }

    /// Passes what is new to store and catalog, or `everything`.
    async fn publish(&mut self, everything: bool) {
        self.due = None;
        let mut by_server: HashMap<String, Vec<(Arc<Tool>, Observed)>> = HashMap::new();
        for ((server, _), known) in &mut self.tools {
            let unsaved = everything && known.unsaved != Observed::default();
            if !(known.news || unsaved) {
                continue;
            }
            let learnt = std::mem::take(&mut known.unsaved);
            if let Err(error) = save(&self.live_catalog, &self.store, &known.tool, &learnt).await {
                // The next attempt has it too.
                known.unsaved.add(&learnt);
                tracing::warn!(
                    tool = %known.tool.id(),
                    error = &error as &dyn std::error::Error,
                    "observed result types could not be stored"
                );
            }
            if std::mem::take(&mut known.news) {
                let news = (Arc::clone(&known.tool), known.all.clone());
                by_server.entry(server.clone()).or_default().push(news);
            }
        }
        for news in by_server.into_values() {
            self.live_catalog.teach(news);
        }
        if self.tools.len() > TOOLS_MAX {
            self.tools.clear();
        }
    }
}

/// Whether a power of two lies above `before` and not above `after`.
fn passes_power(before: u64, after: u64) -> bool {
    before.checked_ilog2() != after.checked_ilog2()
}

/// What each result teaches; one that is an error, or no result, teaches nothing.
fn read(work: Vec<Work>) -> Vec<(Arc<Tool>, Observed)> {
    let learnt = work.into_iter().filter_map(|Work { tool, result, .. }| {
        let value = broker::value_for_program(&result, tool.definition()).ok()?;
        Some((tool, Observed::once(&value).ok()?))
    });
    learnt.collect()
}

/// Joins `learnt` with what the store has of the tool.
async fn save(
    live_catalog: &LiveCatalog,
    store: &Store,
    tool: &Tool,
    learnt: &Observed,
) -> Result<(), StoreError> {
    let Some(source) = live_catalog.source(&tool.id().server) else {
        return Ok(());
    };
    let observation = Observation {
        spec_hash: source.definition_hash.clone(),
        tool_hash: tool.hash().to_owned(),
        tool: tool.id().tool.to_string(),
        seen_us: now_us(),
        // Shapes and counts are always JSON.
        body: serde_json::to_string(learnt).unwrap_or_default(),
    };
    store.merge_observation(observation, join).await
}

/// [`limbeck_store::MergeObservation`] of what [`save`] writes. What cannot be read any more is replaced.
fn join(kept: &str, learnt: &str) -> Option<String> {
    let mut all: Observed = serde_json::from_str(learnt).ok()?;
    if let Ok(kept) = serde_json::from_str(kept) {
        all.add(&kept);
    }
    serde_json::to_string(&all).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_results_are_looked_at_often_large_ones_seldom_and_huge_ones_never() {
        let looked_at = |bytes| (1..=1_024).filter(|nth| is_sampled(*nth, bytes)).count();
        assert_eq!(looked_at(100), 64 + 60);
        assert_eq!(looked_at(SMALL_BYTES_MAX), 64 + 60);
        assert_eq!(looked_at(SMALL_BYTES_MAX + 1), 4 + 8);
        assert_eq!(looked_at(LEARNT_RESULT_BYTES_MAX + 1), 0);
    }

    #[test]
    fn a_count_is_news_when_it_passes_a_power_of_two() {
        let news = (0..20).filter(|count| passes_power(*count, count + 1));
        assert_eq!(news.collect::<Vec<_>>(), [0, 1, 3, 7, 15]);
        assert!(passes_power(5, 9));
        assert!(!passes_power(5, 5));
    }

    #[test]
    fn what_two_processes_learnt_is_joined_and_a_damaged_record_replaced() {
        let learnt = |value| serde_json::to_string(&Observed::once(value).unwrap()).unwrap();
        let (one, other) = (learnt("{\"a\":1}"), learnt("{\"b\":1}"));
        let joined: Observed = serde_json::from_str(&join(&one, &other).unwrap()).unwrap();
        assert_eq!(joined.calls, 2);
        assert_eq!(join(&one, &other), join(&other, &one));
        assert_eq!(join("{", &other), Some(other));
    }
}
