//! Pins of tools, for the user who runs the gateway.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use limbeck_domain::{CallError, PinnedDefinition, ServerName};
use limbeck_policy::rules::Preset;
use limbeck_store::StoreError;

use super::Gateway;
use crate::live_catalog::PinVerdict;
use crate::pins::judge::PinRules;
use crate::pins::lock::PinLock;
use crate::pins::report::PinReport;

impl Gateway {
    /// The pins of the tools of `server`, or of all servers that may be used, as they were recorded last.
    pub fn pins(&self, server: Option<&ServerName>) -> Vec<PinReport> {
        let mut reports = self.live_catalog().pin_reports(server);
        let policy = self.policy();
        for report in &mut reports {
            report.find_rules(&policy.rules);
        }
        reports
    }

    /// The preset by which tools are held.
    pub fn pin_preset(&self) -> Preset {
        self.live_catalog().pin_rules().preset
    }

    /// Lists the tools of these servers, and records what changed. Returns those that have not answered within `patience`.
    pub async fn list_for_pins(
        &self,
        servers: &[ServerName],
        patience: Duration,
    ) -> Vec<ServerName> {
        self.live_catalog().refresh_all(servers, patience).await
    }

    /// The name of the server that a user means.
    ///
    /// # Errors
    ///
    /// [`CallError`] when no server that may be used has it.
    pub fn server_named(&self, name: &str) -> Result<ServerName, CallError> {
        let exact = ServerName::from(name);
        if self.live_catalog().usable_servers().contains(&exact) {
            return Ok(exact);
        }
        Ok(self.catalog().resolve_server(name)?)
    }

    /// Definitions of the tools of `server`, by tool: the pinned one, and the current one where it is another.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub async fn pinned_definitions(
        &self,
        server: &ServerName,
    ) -> Result<BTreeMap<String, (Option<PinnedDefinition>, Option<PinnedDefinition>)>, StoreError>
    {
        let pins = self.live_catalog().whole_pins(server).await?;
        let read = |text: Option<String>| PinnedDefinition::from_canonical(&text?);
        let pins = pins.into_iter().map(|pin| {
            let definitions = (read(pin.pinned), read(pin.current));
            (pin.tool, definitions)
        });
        Ok(pins.collect())
    }

    /// Records what a person decided about definitions that were shown: tools, each with the SHA-256 of its current
    /// definition. Returns `false`, and records nothing, where one of them changed meanwhile.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub async fn decide_pins(
        &self,
        server: &ServerName,
        shown: &BTreeMap<String, String>,
        verdict: PinVerdict,
    ) -> Result<bool, StoreError> {
        let by = limbeck_policy::Requester::of_principal(&self.principal);
        let [name, ..] = by.names();
        self.live_catalog()
            .decide_pins(server, shown, verdict, name)
            .await
    }

    /// The lock file in force.
    pub fn pin_lock(&self) -> Arc<PinLock> {
        self.live_catalog().pin_rules().lock
    }

    /// Puts another lock file of the repository in force.
    pub fn replace_pin_lock(&self, lock: PinLock) {
        let live_catalog = self.live_catalog();
        live_catalog.judge_by(PinRules {
            lock: Arc::new(lock),
            ..live_catalog.pin_rules()
        });
        live_catalog.note_listed();
    }
}
