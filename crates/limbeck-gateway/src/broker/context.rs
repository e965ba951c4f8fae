//! Parts of the gateway that calls use.

use std::sync::Arc;

use limbeck_store::Store;
use limbeck_upstream::UpstreamPool;

use crate::approvals::Approvals;
use crate::artifacts::ArtifactStore;
use crate::budgets::RateQueues;
use crate::computing::Computing;
use crate::counters::Counters;
use crate::learn::Learning;
use crate::listings::Listings;
use crate::live_catalog::LiveCatalog;
use crate::models::Models;
use crate::policy_in_force::PolicyInForce;
use crate::search::ToolSearch;

/// Parts of the gateway that the calls of every execution share.
#[derive(Debug)]
pub(crate) struct BrokerContext {
    pub(crate) upstreams: Arc<UpstreamPool>,
    pub(crate) store: Store,
    pub(crate) live_catalog: LiveCatalog,
    pub(crate) learning: Learning,
    pub(crate) listings: Listings,
    pub(crate) search: ToolSearch,
    pub(crate) artifacts: ArtifactStore,
    pub(crate) computing: Computing,
    pub(crate) counters: Counters,
    pub(crate) policy: PolicyInForce,
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) models: Models,
    pub(crate) rate_queues: RateQueues,
}
