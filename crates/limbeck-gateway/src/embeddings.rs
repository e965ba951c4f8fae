//! Likeness of tools and queries by vectors of an endpoint that the user named, where the user named one.
//!
//! Tools are asked about in the background ([`index`]): once their lists are known, each text once, and the vectors
//! stay in the store. A search asks about its queries, all of them in one request. Only when every tool that the
//! search may see has its vector, and the queries have theirs within [`PATIENCE`], do vectors count; in any other
//! case the table in the binary answers as if there were no endpoint. So an endpoint that fails, hangs or lies
//! costs a search some patience and never an error, and after a failure it is left alone for a while ([`Outage`]).
//!
//! What goes to the endpoint: what tools are spoken of as ([`Tool::spoken`]), queries, and [`space::USUAL`].
//!
//! Start reading at [`Embeddings::likeness`].
//!
//! [`Tool::spoken`]: limbeck_catalog::Tool::spoken

mod index;
mod outage;
mod space;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use limbeck_catalog::Catalog;
use limbeck_domain::limits::QUERY_BYTES_MAX;
use limbeck_domain::text::cut;
use limbeck_store::Store;
use limbeck_upstream::embeddings::{Embedder, EmbeddingsError, EmbeddingsSpec};
use sha2::{Digest as _, Sha256};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::catalogue::Catalogue;
use outage::{Budget, Outage};
use space::{Space, TextHash, Unit};

/// What a search waits for vectors, in all: a person does not notice it, and most endpoints take a tenth.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long a question about queries goes on when nobody waits for it any more: a model may be loaded meanwhile.
const QUERY_LIMIT: Duration = Duration::from_secs(20);
/// Such questions at the same time; a search that finds no place goes by the table.
const QUESTIONS_MAX: usize = 4;
/// Queries asked about in an hour: a program may search in a loop, and somebody may pay for each.
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
    asker: Arc<Asker>,
    wake: mpsc::Sender<()>,
    tasks: TaskTracker,
    stop: CancellationToken,
    _stops_when_dropped: DropGuard,
}

/// What both sides share: searches, and the task that asks about tools.
#[derive(Debug)]
struct Asker {
    embedder: Embedder,
    /// The store's name for what the endpoint says.
    name: String,
    store: Store,
    space: RwLock<Space>,
    /// The texts of the catalogue looked at last, in its order.
    texts: Mutex<Option<TextsOf>>,
    outage: Mutex<Outage>,
    budget: Mutex<Budget>,
    questions: Arc<Semaphore>,
    /// Rounds of the index that are over.
    rounds: watch::Sender<u64>,
    /// How many were over when a search waited in vain for another: patience with one round runs out once.
    in_vain: Mutex<Option<u64>>,
}

/// The texts of one catalogue.
type TextsOf = (Weak<Catalog>, Arc<[TextHash]>);

/// Why vectors do not count at the moment.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Endpoint(#[from] EmbeddingsError),
    #[error("no answer about a query within {} ms", PATIENCE.as_millis())]
    Late,
    #[error("its vectors have {now} numbers and had {before}; tools are asked about anew")]
    Changed { before: usize, now: usize },
    #[error("more texts than are sent in an hour")]
    Budget,
}

/// How near tools are to queries.
pub(crate) struct Likeness {
    /// Of each query: of each tool, in catalogue order. A query without a text has none.
    of: Vec<Option<Vec<f32>>>,
    /// Differs when the vectors of the queries do.
    pub(crate) print: [u8; 4],
}

impl Likeness {
    /// Of the query in place `query`.
    pub(crate) fn of(&self, query: usize) -> Option<&[f32]> {
        self.of.get(query)?.as_deref()
    }
}

impl Embeddings {
    /// Starts the task that asks about tools, when there is an endpoint. Asks nothing before lists are known.
    pub(crate) fn start(
        spec: Option<EmbeddingsSpec>,
        catalogue: &Catalogue,
        store: &Store,
    ) -> Self {
        let Some(spec) = spec else {
            return Self::default();
        };
        let embedder = match Embedder::new(spec) {
            Ok(embedder) => embedder,
            Err(error) => {
                let hint = error.hint();
                tracing::warn!(%error, hint, "the embedding endpoint cannot be used; search goes by its table");
                return Self::default();
            }
        };
        let asker = Arc::new(Asker {
            name: embedder.space(),
            embedder,
            store: store.clone(),
            space: RwLock::default(),
            texts: Mutex::default(),
            outage: Mutex::default(),
            budget: Mutex::new(Budget::new(QUERIES_PER_HOUR_MAX)),
            questions: Arc::new(Semaphore::new(QUESTIONS_MAX)),
            rounds: watch::Sender::new(0),
            in_vain: Mutex::default(),
        });
        let (wake, woken) = mpsc::channel(1);
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let indexing = index::run(Arc::clone(&asker), catalogue.clone(), woken);
        let stopped = stop.clone();
        tasks.spawn(async move { stopped.run_until_cancelled(indexing).await });
        Self {
            running: Some(Running {
                asker,
                wake,
                tasks,
                _stops_when_dropped: stop.clone().drop_guard(),
                stop,
            }),
        }
    }

    /// Ends what is under way.
    pub(crate) async fn shutdown(&self) {
        if let Some(running) = &self.running {
            running.stop.cancel();
            running.tasks.close();
            running.tasks.wait().await;
        }
    }

    /// How near the tools of `catalog` are to each of `queries`, or nothing when the table has to say it. Takes no
    /// longer than [`PATIENCE`].
    pub(crate) async fn likeness(
        &self,
        catalog: &Arc<Catalog>,
        queries: &[&str],
    ) -> Option<Likeness> {
        let running = self.running.as_ref()?;
        let until = Instant::now() + PATIENCE;
        let texts: Vec<(TextHash, &str)> = queries
            .iter()
            .map(|query| cut(query, QUERY_BYTES_MAX).trim())
            .map(|text| (hash(text), text))
            .collect();
        if texts.iter().all(|(_, text)| text.is_empty()) {
            return None;
        }
        let tools = running.asker.texts_of(catalog);
        if !running.knows(&tools, until).await {
            return None;
        }
        let vectors = running.vectors(&texts, until).await?;
        running.asker.likeness(&tools, &vectors)
    }
}

impl Running {
    /// Whether all of `tools` have their vectors, or get them in time.
    async fn knows(&self, tools: &[TextHash], until: Instant) -> bool {
        let mut rounds = self.asker.rounds.subscribe();
        for _ in 0..ROUNDS_AWAITED_MAX {
            // Before the look at what is known: a round that ends after it is a change then.
            let over = *rounds.borrow_and_update();
            if self.asker.space().has_all(tools) {
                return true;
            }
            if !self.asker.may_ask() {
                return false;
            }
            // Full means that it is awake.
            let _ = self.wake.try_send(());
            if *lock(&self.asker.in_vain) == Some(over) {
                return false;
            }
            if !matches!(timeout_at(until, rounds.changed()).await, Ok(Ok(()))) {
                *lock(&self.asker.in_vain) = Some(over);
                return false;
            }
        }
        self.asker.space().has_all(tools)
    }

    /// The vectors of queries in their order, where all have one in time; none for an empty query.
    async fn vectors(
        &self,
        texts: &[(TextHash, &str)],
        until: Instant,
    ) -> Option<Vec<Option<Arc<Unit>>>> {
        let mut seen = HashSet::new();
        let unknown: Vec<(TextHash, String)> = texts
            .iter()
            .filter(|(hash, text)| {
                !text.is_empty() && self.asker.query(hash).is_none() && seen.insert(*hash)
            })
            .map(|(hash, text)| (*hash, (*text).to_owned()))
            .collect();
        if !unknown.is_empty() && !self.ask(unknown, until).await {
            return None;
        }
        let vectors = texts.iter().map(|(hash, text)| match text.is_empty() {
            true => Some(None),
            false => self.asker.query(hash).map(Some),
        });
        vectors.collect()
    }

    /// Whether the endpoint answers about queries in time. A late answer is kept for the next search all the same.
    async fn ask(&self, queries: Vec<(TextHash, String)>, until: Instant) -> bool {
        if !self.asker.may_ask() {
            return false;
        }
        let Ok(place) = Arc::clone(&self.asker.questions).try_acquire_owned() else {
            return false;
        };
        if !lock(&self.asker.budget).take(queries.len(), Instant::now()) {
            self.asker.failed(&Trouble::Budget);
            return false;
        }
        let (reply, answered) = oneshot::channel();
        let (asker, stop) = (Arc::clone(&self.asker), self.stop.clone());
        self.tasks.spawn(async move {
            let asked = stop.run_until_cancelled(asker.ask_about(&queries)).await;
            drop(place);
            let is_known = match asked {
                Some(Ok(())) if Instant::now() <= until => {
                    asker.answered();
                    true
                }
                Some(Ok(())) => {
                    asker.answered_late();
                    true
                }
                Some(Err(trouble)) => {
                    asker.failed(&trouble);
                    false
                }
                None => false,
            };
            // Nobody may wait for it any more.
            let _ = reply.send(is_known);
        });
        match timeout_at(until, answered).await {
            Ok(answered) => answered.unwrap_or(false),
            Err(_) => {
                self.asker.failed(&Trouble::Late);
                false
            }
        }
    }
}

impl Asker {
    fn space(&self) -> std::sync::RwLockReadGuard<'_, Space> {
        self.space.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn space_mut(&self) -> std::sync::RwLockWriteGuard<'_, Space> {
        self.space.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of each tool of `catalog`, in its order.
    fn texts_of(&self, catalog: &Arc<Catalog>) -> Arc<[TextHash]> {
        let mut latest = lock(&self.texts);
        match &*latest {
            Some((of, texts)) if Weak::as_ptr(of) == Arc::as_ptr(catalog) => Arc::clone(texts),
            _ => {
                let texts: Arc<[TextHash]> =
                    catalog.tools().map(|tool| hash(&tool.spoken())).collect();
                *latest = Some((Arc::downgrade(catalog), Arc::clone(&texts)));
                texts
            }
        }
    }

    fn query(&self, text: &TextHash) -> Option<Arc<Unit>> {
        self.space_mut().query(text)
    }

    async fn ask_about(&self, queries: &[(TextHash, String)]) -> Result<(), Trouble> {
        let texts: Vec<&str> = queries.iter().map(|(_, text)| text.as_str()).collect();
        let vectors = self.embedder.embed(&texts, QUERY_LIMIT).await?;
        let mut space = self.space_mut();
        for ((hash, _), vector) in queries.iter().zip(vectors) {
            space.insert_query(*hash, &vector)?;
        }
        Ok(())
    }

    fn likeness(&self, tools: &[TextHash], queries: &[Option<Arc<Unit>>]) -> Option<Likeness> {
        let space = self.space();
        let mut print = Sha256::new();
        let mut of = Vec::with_capacity(queries.len());
        for query in queries {
            of.push(match query {
                Some(query) => {
                    query.hash_into(&mut print);
                    Some(space.likeness(tools, query)?)
                }
                None => None,
            });
        }
        let [one, two, three, four, ..] = <[u8; 32]>::from(print.finalize());
        Some(Likeness {
            of,
            print: [one, two, three, four],
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

    /// Leaves the endpoint alone for a while. Said once: an outage is news, the searches in it are not.
    fn failed(&self, trouble: &Trouble) {
        let error = trouble as &dyn std::error::Error;
        if lock(&self.outage).failed(Instant::now()) {
            tracing::warn!(
                error,
                "the embedding endpoint is of no use; search goes by its table until it is, and `limbeck doctor` looks at it"
            );
        } else {
            tracing::debug!(error, "the embedding endpoint is still of no use");
        }
    }
}

fn hash(text: &str) -> TextHash {
    Sha256::digest(text).into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
