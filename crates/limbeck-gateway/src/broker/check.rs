//! Judges the calls that stand in a program, before it runs.

use limbeck_catalog::{Caller, Findings, Plan};
use limbeck_domain::{CallCode, CallError, Language, Mode, Sites, ToolId};
use limbeck_policy::{Denied, Scope};

use super::queries::FIRST_LIST_PATIENCE;
use super::{Broker, denial};
use crate::Shared;

impl Broker {
    /// Whether a program with the call sites in `body` may run, as JSON text of a
    /// [`Verdict`](limbeck_domain::Verdict).
    pub(super) async fn check(&self, body: &str) -> Result<String, CallError> {
        let sites = Sites::parse(body)
            .map_err(|error| CallError::new(CallCode::InvalidArguments, error.to_string()))?;
        let judge = Judge {
            shared: &self.shared,
            scope: &self.scope,
            language: self.language,
            mode: Mode::Run,
        };
        let verdict = judge.findings(&sites).await.verdict();
        serde_json::to_string(&verdict)
            .map_err(|error| CallError::new(CallCode::GatewayFault, error.to_string()))
    }
}

/// What the calls of one program are judged by.
pub(crate) struct Judge<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) scope: &'a Scope,
    pub(crate) language: Language,
    pub(crate) mode: Mode,
}

impl Judge<'_> {
    /// What is wrong with the calls.
    ///
    /// A server that was never listed is listed first: the program is about to start it anyhow. An
    /// error drawn from a cached list is told only when a fresh list says so too. Servers that do not
    /// answer in time, or cannot be used, are judged by what is known of them; a call will say why.
    pub(crate) async fn findings(&self, sites: &Sites) -> Findings {
        let catalogue = &self.shared.catalogue;
        let unlisted = catalogue.snapshot().servers_needed(sites);
        catalogue.first_lists(&unlisted, FIRST_LIST_PATIENCE).await;
        let findings = self.judge(sites);
        if findings.drawn_from.is_empty() {
            return findings;
        }
        let cached = &findings.drawn_from;
        catalogue.refresh_all(cached, FIRST_LIST_PATIENCE).await;
        self.judge(sites)
    }

    /// What may be called, by the lists that [`Judge::findings`] left.
    pub(crate) fn plan(&self, sites: &Sites) -> Plan {
        self.shared.catalogue.snapshot().plan(sites)
    }

    fn judge(&self, sites: &Sites) -> Findings {
        let refuses = |tool: &ToolId| {
            let denied = || Denied::OutOfScope { tool: tool.clone() };
            (!self.scope.covers(tool)).then(|| denial(&denied()))
        };
        let caller = Caller {
            language: self.language,
            mode: self.mode,
            refuses: &refuses,
        };
        self.shared.catalogue.snapshot().judge(sites, &caller)
    }
}
