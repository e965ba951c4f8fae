//! State of one client connection, which the handler and its helpers share.

use std::sync::Arc;
use std::time::Instant;

use limbeck_gateway::Gateway;

use super::begun_executions::BegunExecutions;
use super::compat::earlier_settings::RateCounts;
use super::compat::options::CompatOptions;
use super::exchange::SuspendedExchanges;
use super::exposed_tools::{ExposedTools, ExposedToolsCache};
use super::legacy_session::LegacySession;
use super::running_tasks::RunningTasks;

/// The protocol's server side for one connection of one principal.
#[derive(Clone, Debug)]
pub struct Surface {
    pub(super) gateway: Gateway,
    pub(super) principal: Arc<str>,
    pub(super) session: Arc<LegacySession>,
    pub(super) exchanges: Arc<SuspendedExchanges>,
    pub(super) running_tasks: RunningTasks,
    pub(super) exposed_tools_cache: Arc<ExposedToolsCache>,
    pub(super) compat: Arc<CompatOptions>,
    pub(super) rates: RateCounts,
    /// When the server was made.
    pub(super) started: Instant,
    /// Is notified of the executions of this connection's requests.
    pub(super) begun: Option<BegunExecutions>,
}

impl Surface {
    /// The same surface; `begun` is notified of the executions of its requests.
    #[must_use]
    pub(super) fn reporting_begun(mut self, begun: Option<BegunExecutions>) -> Self {
        self.begun = begun;
        self
    }

    /// Tools of exposed servers as clients list them now.
    pub(super) fn exposed_tools(&self) -> Arc<ExposedTools> {
        self.exposed_tools_cache
            .get(self.gateway.exposed(), &self.compat)
    }
}
