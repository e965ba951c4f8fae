//! Configuration of a gateway.

use std::sync::Arc;

use limbeck_domain::limits;
use limbeck_launcher::Pools;
use limbeck_policy::Policy;
use limbeck_store::Store;
use limbeck_upstream::UpstreamPool;
use limbeck_upstream::embeddings::EmbeddingsSpec;

use crate::admission::AdmissionSize;
use crate::ledger::ClientListing;
use crate::models::ModelsConfig;
use crate::pins::lock::PinLock;
use crate::server_source::ServerSource;

/// Parts and settings of a gateway.
#[derive(Debug)]
pub struct GatewayConfig {
    /// Pools of worker processes.
    pub workers: Pools,
    /// Connections to the upstream servers, each started when it is first needed.
    pub upstreams: UpstreamPool,
    /// Journal, cache, key-value state.
    pub store: Store,
    /// Wall-clock limit of an execution whose request has none, in milliseconds.
    pub wall_ms: u64,
    /// Longest wall-clock limit that a request may have, in milliseconds.
    pub wall_ms_max: u64,
    /// Where each server was configured, for listings.
    pub sources: Vec<ServerSource>,
    /// Sentences about the configuration for clients and users, such as a file that cannot be read. They have no text of
    /// strangers.
    pub notices: Vec<String>,
    /// Rules about calls and classes of tools. The default allows every call.
    pub policy: Policy,
    /// Embedding endpoint that ranks search results; the table in the binary ranks them without one.
    pub embeddings: Option<EmbeddingsSpec>,
    /// Models that programs may ask.
    pub models: ModelsConfig,
    /// Text that the ledger counts as read by a model before its first call.
    pub client_listing: ClientListing,
    /// Definitions of tools that the lock file of the repository has.
    pub pin_lock: PinLock,
}

/// Wall-clock limits of executions as requests meet them, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimits {
    /// Limit of a request that has none.
    pub default_ms: u64,
    /// Longest limit that a request may have.
    pub max_ms: u64,
}

impl TimeLimits {
    /// Limits of a configuration: within what any worker may run, and the default within the longest.
    pub(crate) fn new(wall_ms: u64, wall_ms_max: u64) -> Self {
        let max_ms = wall_ms_max.clamp(1, limits::WALL_MS_MAX);
        Self {
            default_ms: wall_ms.clamp(1, max_ms),
            max_ms,
        }
    }
}

/// Load that a gateway accepts. Outside of tests no number is above its default.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Executions that run and wait at the same time.
    pub admission: AdmissionSize,
    /// Processor time of one execution, in milliseconds.
    pub cpu_ms: u64,
    /// Journal of one execution, in bytes.
    pub journal_bytes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            admission: AdmissionSize::default(),
            cpu_ms: limits::CPU_MS,
            journal_bytes: limits::JOURNAL_BYTES_MAX,
        }
    }
}

/// Principal of the user who runs the gateway: over stdio, on the command line, and with the generated token.
pub const LOCAL_PRINCIPAL: &str = "local";

/// `principal`, unless it is [`LOCAL_PRINCIPAL`]: other principals do not use the local user's sign-ins.
pub(crate) fn other_principal(principal: &Arc<str>) -> Option<Arc<str>> {
    (**principal != *LOCAL_PRINCIPAL).then(|| Arc::clone(principal))
}
