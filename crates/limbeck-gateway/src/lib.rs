//! The long-lived process: it owns executions, decides every call, and parses no guest code.
//!
//! ```text
//! client ──MCP──▶ surface ──▶ executor ──frames──▶ worker
//!                               │  ▲
//!                               ▼  │
//!          journal ◀──────── broker ──▶ policy ──▶ permit ──▶ upstream
//! ```
//!
//! - [`surface`] is what an MCP client sees, [`http`] how it is reached over a network.
//! - `executor` runs one program: one task, one state machine, one worker.
//! - `broker` turns a host call into an effect: resolve, validate, permit, intent, send, outcome.
//! - [`sandbox`] says what a worker's confinement lacks.
//! - [`tokens`] counts what a model reads, [`ledger`] what executions cost it.
//! - `learn` finds out what results look like whose server does not say.
//! - `embeddings` asks an endpoint what tools and queries mean, where the user named one.
//! - `catalogue` keeps the tools known, from the store's cache and from the upstreams themselves.
//!
//! Two things hold here. No byte of a program is parsed in this process. Nothing reaches an upstream
//! but through the broker, and for a call that may write not before its intent is durable.
//!
//! Start reading at [`Gateway::execute`].

#![forbid(unsafe_code)]

mod admission;
mod artifacts;
mod broker;
mod catalogue;
mod clock;
mod counters;
mod direct;
mod embeddings;
mod executor;
mod exposure;
pub mod http;
mod learn;
pub mod ledger;
mod listing;
mod pins;
mod render;
pub mod sandbox;
pub mod search;
pub mod surface;
pub mod tokens;

use std::sync::Arc;

pub use limbeck_catalog as catalog;
pub use limbeck_domain as domain;
pub use limbeck_launcher as launcher;
pub use limbeck_policy as policy;
pub use limbeck_store as store;
pub use limbeck_upstream as upstream;

pub use admission::AdmissionSize;
pub use broker::CallReport;
pub use executor::{
    AnswerForm, Examination, ExecuteRequest, InnerCall, ReplayError, ReplayReport, inner_calls,
};
pub use learn::{Learnt, NoLesson};
pub use listing::{ServerReport, ToolReport};
pub use render::Render;

use admission::Admission;
use catalogue::Catalogue;
use counters::Counters;
use embeddings::Embeddings;
use exposure::Exposure;
use learn::Learning;
use ledger::Ledger;
use limbeck_domain::limits;
use limbeck_launcher::Pools;
use limbeck_store::Store;
use limbeck_upstream::Pool as UpstreamPool;
use limbeck_upstream::embeddings::EmbeddingsSpec;
use surface::exchange::Exchanges;
use tokio::sync::Semaphore;

/// What a gateway is made of.
#[derive(Debug)]
pub struct Parts {
    /// Workers that stand ready.
    pub workers: Pools,
    /// The servers behind us; nothing is started before it is needed.
    pub upstreams: UpstreamPool,
    /// Journal, cache, key-value state.
    pub store: Store,
    /// Wall clock of an execution whose request names none, in milliseconds.
    pub wall_ms: u64,
    /// Where each server was configured, for listings.
    pub sources: Vec<ServerSource>,
    /// Who says what tools and queries mean; absent for the table in the binary.
    pub embeddings: Option<EmbeddingsSpec>,
}

/// Where a server's entry stands.
#[derive(Clone, Debug)]
pub struct ServerSource {
    /// The server.
    pub name: limbeck_domain::ServerName,
    /// File and place, for people.
    pub source: String,
    /// Hash of the full definition: the key of its cached tools.
    pub definition_hash: String,
    /// Who sees its tools.
    pub expose: limbeck_domain::Expose,
    /// Whether results of its tools may teach what they look like.
    pub observe: bool,
}

/// How much a gateway takes on; every number at most what [`limits`] says, but in tests.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Executions at the same time.
    pub admission: AdmissionSize,
    /// Processor time of one execution, in milliseconds.
    pub cpu_ms: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            admission: AdmissionSize::default(),
            cpu_ms: limits::CPU_MS,
        }
    }
}

/// Paths evaluated over artifacts at the same time: some 300 MB of memory at most.
const SELECTING_MAX: usize = 2;

/// The user who runs the gateway: who asks over stdio, on the command line, and with the token it made.
pub const LOCAL: &str = "local";

/// A principal that is not the user who runs the gateway, whose sign-ins are then not to be used.
fn foreign(principal: &Arc<str>) -> Option<Arc<str>> {
    (**principal != *LOCAL).then(|| Arc::clone(principal))
}

/// A running gateway as one principal uses it. Clones share it.
#[derive(Clone, Debug)]
pub struct Gateway {
    shared: Arc<Shared>,
    /// Whose reads these are, where the request does not say it.
    principal: Arc<str>,
}

#[derive(Debug)]
struct Shared {
    workers: Pools,
    upstreams: Arc<UpstreamPool>,
    store: Store,
    catalogue: Catalogue,
    learning: Learning,
    embeddings: Embeddings,
    admission: Admission,
    counters: Counters,
    wall_ms: u64,
    cpu_ms: u64,
    exposure: Exposure,
    ledger: Ledger,
    exchanges: Exchanges,
    /// Paths being evaluated over artifacts: each holds a tree of the whole.
    selecting: Semaphore,
}

impl Gateway {
    /// Reads the cached catalogue and stands ready. Starts no upstream.
    pub async fn start(parts: Parts) -> Self {
        Self::start_within(parts, Bounds::default()).await
    }

    /// The same with other bounds.
    pub async fn start_within(parts: Parts, bounds: Bounds) -> Self {
        let Parts {
            workers,
            upstreams,
            store,
            wall_ms,
            sources,
            embeddings,
        } = parts;
        let upstreams = Arc::new(upstreams);
        let exposure = Exposure::open(&store, &sources).await;
        let catalogue = Catalogue::open(Arc::clone(&upstreams), store.clone(), sources).await;
        let learning = Learning::start(catalogue.clone(), store.clone());
        let embeddings = Embeddings::start(embeddings, &catalogue, &store);
        Self {
            shared: Arc::new(Shared {
                workers,
                upstreams,
                store,
                catalogue,
                learning,
                embeddings,
                admission: Admission::new(bounds.admission),
                counters: Counters::default(),
                wall_ms,
                cpu_ms: bounds.cpu_ms,
                exposure,
                ledger: Ledger::default(),
                exchanges: Exchanges::default(),
                selecting: Semaphore::new(SELECTING_MAX),
            }),
            principal: LOCAL.into(),
        }
    }

    /// The same gateway as `principal` uses it.
    fn used_by(mut self, principal: &Arc<str>) -> Self {
        self.principal = Arc::clone(principal);
        self
    }

    /// The store, for listings.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Returns once the results of all calls that were answered so far were learnt from.
    pub async fn catch_up(&self) {
        self.shared.learning.flush().await;
    }

    /// Ends every worker and upstream and makes the journal durable. Nothing of ours is left running.
    pub async fn shutdown(&self) {
        self.shared.workers.shutdown().await;
        self.shared.upstreams.shutdown().await;
        self.note_leftover_searches().await;
        self.shared.embeddings.shutdown().await;
        self.shared.learning.flush().await;
        if let Err(error) = self.shared.store.flush().await {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "journal could not be flushed"
            );
        }
    }
}
