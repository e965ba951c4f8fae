//! Listing of a server's tools for the catalog.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use limbeck_domain::ServerName;
use limbeck_store::CachedTools;
use limbeck_upstream::{ToolList, UnusableKind, UpstreamError};

use super::{Freshness, Inner, Listed, START_QUEUE, ToolExtras};
use crate::clock::now_us;
use crate::pins::Pins;

impl Inner {
    /// Lists `server`, unless that was done in this process already.
    pub(super) async fn refresh(&self, server: &ServerName) -> Result<(), UpstreamError> {
        let Some(listed) = self.listed(server) else {
            return Ok(());
        };
        let mut freshness = listed.asked.lock().await;
        if *freshness == Freshness::Fresh {
            return Ok(());
        }
        *listed
            .asked_at
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let _start = tokio::time::timeout(START_QUEUE, self.starts.acquire()).await;
        let list = self.upstreams.list_tools(server).await;
        self.note_failure(&listed, list.as_ref().err());
        let ToolList {
            tools,
            dropped,
            is_cut,
            instructions,
            extras,
            hidden,
            ..
        } = list?;
        if !self.is_current(&listed) {
            // The list is of another definition than the one that it would be kept under.
            return Ok(());
        }
        let listed_us = now_us();
        let pins = self
            .record_pins(&listed, &tools, &hidden, is_cut, listed_us)
            .await;
        let cached = CachedTools {
            tools,
            instructions,
            listed_us,
        };
        if let Err(error) = self
            .store
            .cache_tools(&listed.source.definition_hash, &cached)
            .await
        {
            tracing::warn!(%server, error = &error as &dyn std::error::Error, "tools could not be cached");
        }
        let connection = self.upstreams.connection_number(server);
        if connection.is_some() {
            listed.note_received(connection);
        }
        self.replace(&listed, cached, pins, (dropped, is_cut), extras);
        *freshness = Freshness::Fresh;
        Ok(())
    }
}

impl Inner {
    /// Whether the configuration has the server still as it was when it was asked.
    fn is_current(&self, listed: &Arc<Listed>) -> bool {
        let now = self.listed(&listed.source.name);
        now.is_some_and(|now| Arc::ptr_eq(&now, listed))
    }

    fn note_failure(&self, listed: &Arc<Listed>, error: Option<&UpstreamError>) {
        let mut snapshot = self.write();
        if !self.is_current(listed) {
            return;
        }
        let server = &listed.source.name;
        match error {
            Some(error) => snapshot.failures.insert(server.clone(), error.to_string()),
            None => snapshot.failures.remove(server),
        };
    }

    fn replace(
        &self,
        listed: &Arc<Listed>,
        list: CachedTools,
        pins: Pins,
        (dropped, is_cut): (Vec<String>, bool),
        extras: ToolExtras,
    ) {
        let mut snapshot = self.write();
        if !self.is_current(listed) {
            return;
        }
        let server = &listed.source.name;
        snapshot.pins.insert(server.clone(), pins);
        snapshot.put(server, list.tools, list.instructions);
        snapshot.dropped.insert(server.clone(), dropped);
        if is_cut {
            snapshot.cut.insert(server.clone());
        } else {
            snapshot.cut.remove(server);
        }
        snapshot.extras.insert(server.clone(), Arc::new(extras));
        snapshot.rebuild();
        drop(snapshot);
        self.listings.send_modify(|listings| *listings += 1);
    }
}

/// Logs a failed list request. A server that is disabled or that its user has not accepted yet is logged as debug: its
/// callers get an error, and `limbeck tools` shows it. So is the end of the gateway, which is no failure of a server.
///
/// The warning has a target of its own, because commands that name such servers themselves leave it out of their log.
pub(super) fn log_list_error(server: &ServerName, error: &UpstreamError) {
    let is_expected = match error {
        UpstreamError::Disabled | UpstreamError::Stopped => true,
        UpstreamError::Unusable(unusable) => unusable.kind == UnusableKind::Untrusted,
        _ => false,
    };
    let error = error as &dyn std::error::Error;
    if is_expected {
        tracing::debug!(%server, error, "tools could not be listed");
    } else {
        tracing::warn!(target: "limbeck_gateway::unavailable", %server, error, "tools could not be listed");
    }
}
