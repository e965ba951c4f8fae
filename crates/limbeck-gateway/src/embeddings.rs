//! Similarity of tools and queries by the vectors of an embedding endpoint, where the user configured one.
//!
//! Vectors of tools are requested in the background ([`index`]) once their lists are known, once for each text, and kept
//! in the store. A search requests the vectors of its queries, all of them at once. Vectors are used only when every tool
//! that the search may see has one and the queries get theirs within [`SEARCH_WAIT`]; otherwise the table in the binary
//! ranks as if there were no endpoint. So an endpoint that fails, hangs or lies delays a search and never fails it, and
//! after a failure it is not asked for a while ([`Outage`]).
//!
//! The endpoint receives the texts of tools ([`embedding_text`]), queries, and [`space::USUAL`].
//!
//! Start reading at [`Embeddings::similarity`].

mod index;
mod outage;
mod space;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use limbeck_catalog::Catalog;
use limbeck_domain::limits::QUERY_BYTES_MAX;
use limbeck_domain::text::cut;
use limbeck_search::embedding_text;
use limbeck_store::Store;
use limbeck_upstream::embeddings::{Embedder, EmbeddingsError, EmbeddingsSpec};
use sha2::{Digest as _, Sha256};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::live_catalog::LiveCatalog;
use outage::{Budget, Outage};
use space::{Space, TextHash, Unit};

/// Longest time a search waits for vectors: a user does not notice it, and most endpoints take a tenth of it.
const SEARCH_WAIT: Duration = Duration::from_millis(500);
/// Time limit of a request for queries' vectors, also after its search has stopped waiting: a model may have to be
/// loaded.
const QUERY_TIMEOUT: Duration = Duration::from_secs(20);
/// Such requests at the same time; a search above this uses the table.
const REQUESTS_MAX: usize = 4;
/// Queries sent in an hour: a program may search in a loop, and the user may pay for each.
const QUERIES_PER_HOUR_MAX: usize = 10_000;
/// Rounds of the index that a search waits for: one that began without it, its own, and one to spare.
const ROUNDS_AWAITED_MAX: usize = 3;

/// The endpoint, if one is configured. Dropping it ends its tasks.
#[derive(Debug, Default)]
pub(crate) struct Embeddings {
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    endpoint: Arc<Endpoint>,
    wake: mpsc::Sender<()>,
    tasks: TaskTracker,
    stop: CancellationToken,
    _stops_when_dropped: DropGuard,
}

/// State shared by searches and the task that requests the vectors of tools.
#[derive(Debug)]
struct Endpoint {
    embedder: Embedder,
    /// Name of this endpoint and model in the store.
    name: String,
    store: Store,
    space: RwLock<Space>,
    /// Texts of the tools of the last catalog, in its order.
    texts: Mutex<Option<TextsOf>>,
    outage: Mutex<Outage>,
    budget: Mutex<Budget>,
    requests: Arc<Semaphore>,
    /// Completed rounds of the index.
    rounds: watch::Sender<u64>,
    /// Round at which a search last timed out: later searches in that round do not wait.
    timed_out_round: Mutex<Option<u64>>,
}

/// The texts of one catalog.
type TextsOf = (Weak<Catalog>, Arc<[TextHash]>);

/// Why vectors cannot be used at the moment.
#[derive(Debug, thiserror::Error)]
enum VectorError {
    #[error(transparent)]
    Endpoint(#[from] EmbeddingsError),
    #[error("no answer to a query within {} ms", SEARCH_WAIT.as_millis())]
    Late,
    #[error(
        "its vectors have {now} numbers and had {before}; the vectors of tools are requested again"
    )]
    Changed { before: usize, now: usize },
    #[error("more texts than may be sent in an hour")]
    Budget,
}

/// Similarity of tools to queries.
pub(crate) struct EndpointSimilarity {
    /// `scores[query][tool]`, tools in catalog order; `None` for an empty query.
    scores: Vec<Option<Vec<f32>>>,
    /// Hash of the queries' vectors.
    pub(crate) fingerprint: [u8; 4],
}

impl EndpointSimilarity {
    /// Scores of all tools for the query at index `query`.
    pub(crate) fn of(&self, query: usize) -> Option<&[f32]> {
        self.scores.get(query)?.as_deref()
    }
}

impl Embeddings {
    /// Starts the task that requests the vectors of tools, when there is an endpoint. Nothing is sent before lists are
    /// known.
    pub(crate) fn start(
        spec: Option<EmbeddingsSpec>,
        live_catalog: &LiveCatalog,
        store: &Store,
    ) -> Self {
        let Some(spec) = spec else {
            return Self::default();
        };
        let embedder = match Embedder::new(spec) {
            Ok(embedder) => embedder,
            Err(error) => {
                let hint = error.hint();
                tracing::warn!(%error, hint, "the embedding endpoint cannot be used; search uses its table");
                return Self::default();
            }
        };
        let endpoint = Arc::new(Endpoint {
            name: embedder.space(),
            embedder,
            store: store.clone(),
            space: RwLock::default(),
            texts: Mutex::default(),
            outage: Mutex::default(),
            budget: Mutex::new(Budget::new(QUERIES_PER_HOUR_MAX)),
            requests: Arc::new(Semaphore::new(REQUESTS_MAX)),
            rounds: watch::Sender::new(0),
            timed_out_round: Mutex::default(),
        });
        let (wake, woken) = mpsc::channel(1);
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let indexing = index::run(Arc::clone(&endpoint), live_catalog.clone(), woken);
        let stopped = stop.clone();
        tasks.spawn(async move { stopped.run_until_cancelled(indexing).await });
        Self {
            running: Some(Running {
                endpoint,
                wake,
                tasks,
                _stops_when_dropped: stop.clone().drop_guard(),
                stop,
            }),
        }
    }

    /// Cancels requests in flight and waits for their tasks.
    pub(crate) async fn shutdown(&self) {
        if let Some(running) = &self.running {
            running.stop.cancel();
            running.tasks.close();
            running.tasks.wait().await;
        }
    }

    /// Similarity of the tools of `catalog` to each of `queries`; `None` when the table has to be used. Takes at most
    /// [`SEARCH_WAIT`].
    pub(crate) async fn similarity(
        &self,
        catalog: &Arc<Catalog>,
        queries: &[&str],
    ) -> Option<EndpointSimilarity> {
        let running = self.running.as_ref()?;
        let until = Instant::now() + SEARCH_WAIT;
        let texts: Vec<(TextHash, &str)> = queries
            .iter()
            .map(|query| cut(query, QUERY_BYTES_MAX).trim())
            .map(|text| (hash(text), text))
            .collect();
        if texts.iter().all(|(_, text)| text.is_empty()) {
            return None;
        }
        let tools = running.endpoint.texts_of(catalog);
        if !running.knows(&tools, until).await {
            return None;
        }
        let vectors = running.vectors(&texts, until).await?;
        running.endpoint.similarity(&tools, &vectors)
    }
}

impl Running {
    /// Whether all of `tools` have their vectors, or get them in time.
    async fn knows(&self, tools: &[TextHash], until: Instant) -> bool {
        let mut rounds = self.endpoint.rounds.subscribe();
        for _ in 0..ROUNDS_AWAITED_MAX {
            // Read before the vectors: a round that ends after this is then seen as a change.
            let over = *rounds.borrow_and_update();
            if self.endpoint.space().has_all(tools) {
                return true;
            }
            if !self.endpoint.may_ask() {
                return false;
            }
            // A full channel means that the task is awake already.
            let _ = self.wake.try_send(());
            if *lock(&self.endpoint.timed_out_round) == Some(over) {
                return false;
            }
            if !matches!(timeout_at(until, rounds.changed()).await, Ok(Ok(()))) {
                *lock(&self.endpoint.timed_out_round) = Some(over);
                return false;
            }
        }
        self.endpoint.space().has_all(tools)
    }

    /// Vectors of the queries in their order, `None` for an empty one; nothing unless all arrive in time.
    async fn vectors(
        &self,
        texts: &[(TextHash, &str)],
        until: Instant,
    ) -> Option<Vec<Option<Arc<Unit>>>> {
        let mut seen = HashSet::new();
        let unknown: Vec<(TextHash, String)> = texts
            .iter()
            .filter(|(hash, text)| {
                !text.is_empty() && self.endpoint.query(hash).is_none() && seen.insert(*hash)
            })
            .map(|(hash, text)| (*hash, (*text).to_owned()))
            .collect();
        if !unknown.is_empty() && !self.ask(unknown, until).await {
            return None;
        }
        let vectors = texts.iter().map(|(hash, text)| match text.is_empty() {
            true => Some(None),
            false => self.endpoint.query(hash).map(Some),
        });
        vectors.collect()
    }

    /// Whether the endpoint returns the queries' vectors in time. A late response is kept for the next search.
    async fn ask(&self, queries: Vec<(TextHash, String)>, until: Instant) -> bool {
        if !self.endpoint.may_ask() {
            return false;
        }
        let Ok(place) = Arc::clone(&self.endpoint.requests).try_acquire_owned() else {
            return false;
        };
        if !lock(&self.endpoint.budget).take(queries.len(), Instant::now()) {
            self.endpoint.failed(&VectorError::Budget);
            return false;
        }
        let (reply, answered) = oneshot::channel();
        let (endpoint, stop) = (Arc::clone(&self.endpoint), self.stop.clone());
        self.tasks.spawn(async move {
            let asked = stop.run_until_cancelled(endpoint.ask_about(&queries)).await;
            drop(place);
            let is_known = match asked {
                Some(Ok(())) if Instant::now() <= until => {
                    endpoint.answered();
                    true
                }
                Some(Ok(())) => {
                    endpoint.answered_late();
                    true
                }
                Some(Err(error)) => {
                    endpoint.failed(&error);
                    false
                }
                None => false,
            };
            // The search may have stopped waiting.
            let _ = reply.send(is_known);
        });
        match timeout_at(until, answered).await {
            Ok(answered) => answered.unwrap_or(false),
            Err(_) => {
                self.endpoint.failed(&VectorError::Late);
                false
            }
        }
    }
}

impl Endpoint {
    fn space(&self) -> std::sync::RwLockReadGuard<'_, Space> {
        self.space.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn space_mut(&self) -> std::sync::RwLockWriteGuard<'_, Space> {
        self.space.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hashes of the texts of the tools of `catalog`, in its order.
    fn texts_of(&self, catalog: &Arc<Catalog>) -> Arc<[TextHash]> {
        let mut latest = lock(&self.texts);
        match &*latest {
            Some((of, texts)) if Weak::as_ptr(of) == Arc::as_ptr(catalog) => Arc::clone(texts),
            _ => {
                let texts: Arc<[TextHash]> = catalog
                    .tools()
                    .map(|tool| hash(&embedding_text(tool)))
                    .collect();
                *latest = Some((Arc::downgrade(catalog), Arc::clone(&texts)));
                texts
            }
        }
    }

    fn query(&self, text: &TextHash) -> Option<Arc<Unit>> {
        self.space_mut().query(text)
    }

    async fn ask_about(&self, queries: &[(TextHash, String)]) -> Result<(), VectorError> {
        let texts: Vec<&str> = queries.iter().map(|(_, text)| text.as_str()).collect();
        let vectors = self.embedder.embed(&texts, QUERY_TIMEOUT).await?;
        let mut space = self.space_mut();
        for ((hash, _), vector) in queries.iter().zip(vectors) {
            space.insert_query(*hash, &vector)?;
        }
        Ok(())
    }

    fn similarity(
        &self,
        tools: &[TextHash],
        queries: &[Option<Arc<Unit>>],
    ) -> Option<EndpointSimilarity> {
        let space = self.space();
        let mut print = Sha256::new();
        let mut scores = Vec::with_capacity(queries.len());
        for query in queries {
            scores.push(match query {
                Some(query) => {
                    query.hash_into(&mut print);
                    Some(space.similarity(tools, query)?)
                }
                None => None,
            });
        }
        let [one, two, three, four, ..] = <[u8; 32]>::from(print.finalize());
        Some(EndpointSimilarity {
            scores,
            fingerprint: [one, two, three, four],
        })
    }

    fn may_ask(&self) -> bool {
        lock(&self.outage).is_over(Instant::now())
    }

    fn answered(&self) {
        if lock(&self.outage).ended() {
            tracing::info!("the embedding endpoint answers again");
        }
    }

    fn answered_late(&self) {
        lock(&self.outage).answered_late();
    }

    /// Stops asking the endpoint for a while. Logged once for an outage, not for every search in it.
    fn failed(&self, error: &VectorError) {
        let error = error as &dyn std::error::Error;
        if lock(&self.outage).failed(Instant::now()) {
            tracing::warn!(
                error,
                "the embedding endpoint does not work; search uses its table until it does; run `limbeck doctor` to test it"
            );
        } else {
            tracing::debug!(error, "the embedding endpoint still does not work");
        }
    }
}

fn hash(text: &str) -> TextHash {
    Sha256::digest(text).into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
