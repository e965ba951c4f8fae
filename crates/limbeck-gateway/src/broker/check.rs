//! Judges the calls that stand in a program, before it runs.

use limbeck_catalog::{Caller, Findings};
use limbeck_domain::{CallCode, CallError, ServerName, Sites, ToolId};
use limbeck_policy::Denied;

use super::queries::FIRST_LIST_PATIENCE;
use super::{Broker, denial};

impl Broker {
    /// What is wrong with the call sites in `body`, as JSON text of [`Findings`].
    ///
    /// A server that was never listed is listed first: the program is about to start it anyhow. An
    /// error drawn from a cached list is told only when a fresh list says so too.
    pub(super) async fn check(&self, body: &str) -> Result<String, CallError> {
        let sites = Sites::parse(body)
            .map_err(|error| CallError::new(CallCode::InvalidArguments, error.to_string()))?;
        let catalogue = &self.shared.catalogue;
        let unlisted = catalogue.snapshot().servers_needed(&sites);
        self.list(&unlisted).await;
        let mut findings = self.judge(&sites);
        if !findings.drawn_from.is_empty() {
            self.list(&findings.drawn_from).await;
            findings = self.judge(&sites);
        }
        serde_json::to_string(&findings)
            .map_err(|error| CallError::new(CallCode::GatewayFault, error.to_string()))
    }

    /// Servers that do not answer in time, or cannot be used, are judged by what is known of them; a
    /// call will say why.
    async fn list(&self, servers: &[ServerName]) {
        if !servers.is_empty() {
            let catalogue = &self.shared.catalogue;
            let _ = catalogue.refresh_all(servers, FIRST_LIST_PATIENCE).await;
        }
    }

    fn judge(&self, sites: &Sites) -> Findings {
        let refuses = |tool: &ToolId| {
            let denied = || Denied::OutOfScope { tool: tool.clone() };
            (!self.scope.covers(tool)).then(|| denial(&denied()))
        };
        let caller = Caller {
            language: self.language,
            refuses: &refuses,
        };
        self.shared.catalogue.snapshot().judge(sites, &caller)
    }
}
