//! Pins of the tools of the catalog: recorded with each list, read again when another process changes them, checked before a
//! call, and decided about by the user.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use limbeck_catalog::Tool;
use limbeck_domain::{PinDecision, PinnedDefinition, ServerName, ToolDefinition, ToolId};
use limbeck_store::{PinEvent, StoreError, ToolPin};
use limbeck_upstream::UpstreamError;

use super::{Freshness, Inner, Listed, LiveCatalog, snapshot};
use crate::clock::now_us;
use crate::pins::Pins;
use crate::pins::judge::{Judged, PinRules};
use crate::pins::record::{self, record};
use crate::pins::report::PinReport;

/// Age of a list after which a server is asked again before a call: a change that it does not announce is noticed by then.
const LIST_AGE_MAX: Duration = Duration::from_secs(300);
/// Interval of looks at what other processes did.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Attempts to write pins while other processes write the same ones.
const ATTEMPTS: usize = 4;

/// What a person decides about the definition of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinVerdict {
    /// It is right from now on.
    Accept,
    /// The pinned one stays right, and the tool is held until its server lists that again.
    Reject,
}

/// Takes up what other processes did, until the catalog is dropped. `seen` is the number of changes that are known.
pub(super) async fn follow(inner: Weak<Inner>, mut seen: Option<u64>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(inner) = inner.upgrade() else {
            return;
        };
        // A store that cannot be read is tried again.
        let Ok(changes) = inner.store.pin_changes().await else {
            continue;
        };
        if seen != Some(changes) {
            seen = Some(changes);
            inner.read_pins(None).await;
        }
    }
}

impl LiveCatalog {
    /// Puts other rules about pins in force.
    pub(crate) fn judge_by(&self, rules: PinRules) {
        let mut snapshot = self.inner.write();
        snapshot.pin_rules = rules;
        snapshot.rebuild();
    }

    /// The rules in force.
    pub(crate) fn pin_rules(&self) -> PinRules {
        self.inner.read().pin_rules.clone()
    }

    /// Reads the pins of `server` again: another process may have accepted a definition a moment ago.
    pub(crate) async fn read_pins(&self, server: &ServerName) {
        self.inner.read_pins(Some(server)).await;
    }

    /// Asks `server` for its list before a call where the known one is from before its connection, or old. Returns whether
    /// it was asked.
    ///
    /// # Errors
    ///
    /// [`UpstreamError`]; then it is not known what the definitions are.
    pub(crate) async fn check_before_call(
        &self,
        server: &ServerName,
    ) -> Result<bool, UpstreamError> {
        let inner = &self.inner;
        let Some(listed) = inner
            .listed(server)
            .filter(|_| inner.read().pin_rules.may_hold())
        else {
            return Ok(false);
        };
        if inner.is_checked(&listed) {
            return Ok(false);
        }
        {
            let mut freshness = listed.asked.lock().await;
            // Another call may have asked meanwhile.
            if *freshness == Freshness::Fresh && !inner.is_checked(&listed) {
                *freshness = Freshness::Cached;
            }
        }
        match inner.refresh(server).await {
            Ok(()) => Ok(true),
            // The list is asked for with the sign-in of the user who runs the gateway; the caller may have another one. It is
            // not asked for again with each call.
            Err(UpstreamError::SignInNeeded { .. }) => {
                listed.note_received(None);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// A tool that is held.
    pub(crate) fn held_tool(&self, id: &ToolId) -> Option<Arc<Tool>> {
        let snapshot = self.inner.read();
        let judged = snapshot.judged.get(&id.server)?.get(&id.tool)?;
        let whole = snapshot.whole.get(&id.server)?;
        judged.is_held().then(|| whole.tool(&id.tool).cloned())?
    }

    /// What is different from what was accepted, in sentences for the person who is asked about a call.
    pub(crate) fn differences(&self, id: &ToolId) -> Vec<String> {
        let snapshot = self.inner.read();
        let judged = snapshot.judged.get(&id.server);
        let judged = judged.and_then(|judged| judged.get(&id.tool));
        let changes = judged.into_iter().flat_map(|judged| &judged.changes);
        let mut texts: Vec<String> = changes.map(|(change, _)| change.text.clone()).collect();
        if judged.is_some_and(Judged::is_held) {
            let held = "it is held: nothing is sent before you accept its definition with `limbeck pins accept`";
            texts.insert(0, held.to_owned());
        }
        texts
    }

    /// Names of the tools of `server` that are held.
    pub(crate) fn held(&self, server: &ServerName) -> Vec<String> {
        let snapshot = self.inner.read();
        let held = snapshot.lists.get(server).map(|list| list.held());
        held.unwrap_or_default()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    /// Reports on the pins of `server`, or of all usable servers, by server and tool.
    pub(crate) fn pin_reports(&self, server: Option<&ServerName>) -> Vec<PinReport> {
        let snapshot = self.inner.read();
        let servers = snapshot.whole.keys();
        let mut reports = Vec::new();
        for name in servers.filter(|name| server.is_none_or(|server| server == *name)) {
            let judged = snapshot.judged.get(name);
            for pin in snapshot.pins.get(name).into_iter().flat_map(Pins::values) {
                let judged = judged.and_then(|judged| judged.get(pin.tool.as_str()));
                reports.push(PinReport::of(name.as_str(), pin, judged));
            }
        }
        reports
    }

    /// The pinned definitions of `server` with their texts, and the current ones where they differ.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub(crate) async fn whole_pins(&self, server: &ServerName) -> Result<Vec<ToolPin>, StoreError> {
        let Some(source) = self.source(server) else {
            return Ok(Vec::new());
        };
        let pins = self
            .inner
            .store
            .whole_tool_pins(&source.definition_hash)
            .await?;
        Ok(pins.unwrap_or_default())
    }

    /// Records what a person decided about definitions of `server`, each a tool and the SHA-256 of what was shown. Returns
    /// `false` where one of them is not the current one any more; then nothing is recorded.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub(crate) async fn decide_pins(
        &self,
        server: &ServerName,
        shown: &BTreeMap<String, String>,
        verdict: PinVerdict,
        by: &str,
    ) -> Result<bool, StoreError> {
        let Some(source) = self.source(server) else {
            return Ok(false);
        };
        for _ in 0..ATTEMPTS {
            let known = self
                .inner
                .store
                .whole_tool_pins(&source.definition_hash)
                .await?;
            let known: Vec<ToolPin> = known.unwrap_or_default();
            let at_us = now_us();
            let decided = known.into_iter().filter_map(|pin| {
                let sha256 = shown.get(&pin.tool)?;
                (pin.current_sha256 == *sha256).then(|| decided(pin, verdict, by, at_us))
            });
            let decided: Vec<ToolPin> = decided.collect();
            if decided.len() != shown.len() {
                return Ok(false);
            }
            let (hash, name) = (&source.definition_hash, server.as_str());
            let put = self.inner.store.put_tool_pins(hash, name, decided, at_us);
            if put.await? {
                self.inner.read_pins(Some(server)).await;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn decided(pin: ToolPin, verdict: PinVerdict, by: &str, at_us: u64) -> ToolPin {
    let decision = PinDecision {
        by: by.to_owned(),
        at_us,
        sha256: pin.current_sha256.clone(),
    };
    let mut facts = pin.facts.clone();
    match verdict {
        PinVerdict::Accept => {
            facts.accepted = Some(decision);
            facts.rejected = None;
            (facts.is_back, facts.is_returned) = (false, false);
            facts.earlier.clear();
            ToolPin {
                event: PinEvent::Accepted,
                pinned_sha256: Some(pin.current_sha256.clone()),
                pinned: pin.current.clone().or(pin.pinned.clone()),
                current: None,
                facts,
                ..pin
            }
        }
        PinVerdict::Reject => {
            facts.rejected = Some(decision);
            ToolPin {
                event: PinEvent::Rejected,
                facts,
                ..pin
            }
        }
    }
}

impl Inner {
    /// Whether the list of a server is from its open connection, and not old.
    fn is_checked(&self, listed: &Listed) -> bool {
        let received = *listed
            .received
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let connection = self.upstreams.connection_number(&listed.source.name);
        received.is_some_and(|(at, over)| over == connection && at.elapsed() < LIST_AGE_MAX)
    }

    /// Reads pins from the store, of one server or of all, and judges the tools by them.
    async fn read_pins(&self, server: Option<&ServerName>) {
        let all = self.servers();
        let servers = all
            .iter()
            .filter(|(name, _)| server.is_none_or(|server| server == *name));
        let mut is_changed = false;
        for (name, listed) in servers {
            let Some(pins) = snapshot::stored_pins(&self.store, &listed.source).await else {
                continue;
            };
            let mut snapshot = self.write();
            let is_current = self
                .listed(name)
                .is_some_and(|now| Arc::ptr_eq(&now, listed));
            // What an older read found must not replace what a list has just brought.
            let is_newer = snapshot
                .pins
                .get(name)
                .is_none_or(|known| is_newer(known, &pins));
            if is_current && is_newer && snapshot.whole.contains_key(name) {
                snapshot.pins.insert(name.clone(), pins);
                is_changed = true;
            }
        }
        if is_changed {
            self.write().rebuild();
            self.listings.send_modify(|listings| *listings += 1);
        }
    }

    /// Records the list of a server in the pins of its tools, and returns them.
    pub(super) async fn record_pins(
        &self,
        listed: &Listed,
        tools: &[ToolDefinition],
        hidden: &BTreeMap<String, u32>,
        is_cut: bool,
        now_us: u64,
    ) -> Pins {
        let tools: Vec<PinnedDefinition> = tools
            .iter()
            .map(|definition| PinnedDefinition {
                definition: definition.clone(),
                hidden: hidden.get(&*definition.id.tool).copied().unwrap_or(0),
            })
            .collect();
        let list = record::Listed {
            tools: &tools,
            is_cut,
            now_us,
        };
        match self
            .store_pins(&listed.source.name, &listed.source.definition_hash, &list)
            .await
        {
            Ok(pins) => pins,
            Err(error) => {
                tracing::warn!(server = %listed.source.name, error = &error as &dyn std::error::Error, "pins could not be written");
                // What is held must not depend on the disk.
                let known = self.read().pins.get(&listed.source.name).cloned();
                let known = known.filter(|known| !known.is_empty());
                let changed = record(known.as_ref(), &list);
                let mut pins = known.unwrap_or_default();
                pins.extend(changed.into_iter().map(|pin| (pin.tool.clone(), pin)));
                pins
            }
        }
    }

    async fn store_pins(
        &self,
        server: &ServerName,
        definition_hash: &str,
        list: &record::Listed<'_>,
    ) -> Result<Pins, StoreError> {
        let mut attempts = 0;
        loop {
            let known = self.store.tool_pins(definition_hash).await?;
            let known: Option<Pins> = known.map(|pins| {
                pins.into_iter()
                    .map(|pin| (pin.tool.clone(), pin))
                    .collect()
            });
            let changed = record(known.as_ref(), list);
            if let (true, Some(known)) = (changed.is_empty(), &known) {
                return Ok(known.clone());
            }
            attempts += 1;
            let names = changed.iter().filter(|pin| is_worth_a_warning(pin.event));
            let names: Vec<String> = names.map(|pin| pin.tool.clone()).collect();
            let put =
                self.store
                    .put_tool_pins(definition_hash, server.as_str(), changed, list.now_us);
            if put.await? {
                for tool in names {
                    tracing::warn!(%server, tool, "the definition of a tool changed since it was last listed");
                }
            } else if attempts < ATTEMPTS {
                continue;
            }
            // With the texts of both definitions where they differ.
            let pins = self
                .store
                .tool_pins(definition_hash)
                .await?
                .unwrap_or_default();
            return Ok(pins
                .into_iter()
                .map(|pin| (pin.tool.clone(), pin))
                .collect());
        }
    }
}

fn is_worth_a_warning(event: PinEvent) -> bool {
    match event {
        PinEvent::Changed | PinEvent::Back | PinEvent::ReturnedChanged => true,
        PinEvent::Kept
        | PinEvent::Baseline
        | PinEvent::New
        | PinEvent::Returned
        | PinEvent::Removed
        | PinEvent::Accepted
        | PinEvent::Rejected => false,
    }
}

/// Whether `read` has a row that `known` does not have in this version, and none that is older.
fn is_newer(known: &Pins, read: &Pins) -> bool {
    let version = |pins: &Pins, tool: &str| pins.get(tool).map_or(0, |pin| pin.version);
    let is_older = |pin: &ToolPin| version(read, &pin.tool) < pin.version;
    let is_newer = |pin: &ToolPin| version(known, &pin.tool) < pin.version;
    !known.values().any(is_older) && read.values().any(is_newer)
}
