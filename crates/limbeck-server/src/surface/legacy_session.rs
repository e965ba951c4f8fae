//! Session state of a legacy client: its log level and its resource subscriptions.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use limbeck_upstream::ResourceWatch;
use rmcp::ErrorData;

use super::log_level::LogLevel;

/// Resources one client may subscribe to.
pub(super) const SUBSCRIPTIONS_MAX: usize = 256;

/// Session of one connection of a legacy client.
#[derive(Debug, Default)]
pub(crate) struct LegacySession {
    subscribed: Mutex<BTreeMap<String, ResourceWatch>>,
    level: Mutex<Option<LogLevel>>,
}

impl LegacySession {
    pub(super) fn is_subscribed(&self, uri: &str) -> bool {
        self.subscriptions().contains_key(uri)
    }

    /// Keeps `watch` until the client unsubscribes or disconnects.
    ///
    /// # Errors
    ///
    /// When the client has too many subscriptions.
    pub(super) fn subscribe(&self, uri: String, watch: ResourceWatch) -> Result<(), ErrorData> {
        let mut subscriptions = self.subscriptions();
        if subscriptions.len() >= SUBSCRIPTIONS_MAX && !subscriptions.contains_key(&uri) {
            let message = format!("at most {SUBSCRIPTIONS_MAX} resources can be subscribed to");
            return Err(ErrorData::invalid_params(message, None));
        }
        subscriptions.insert(uri, watch);
        Ok(())
    }

    pub(super) fn unsubscribe(&self, uri: &str) {
        self.subscriptions().remove(uri);
    }

    fn subscriptions(&self) -> MutexGuard<'_, BTreeMap<String, ResourceWatch>> {
        self.subscribed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn level(&self) -> LogLevel {
        let level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        level.unwrap_or(LogLevel::DEFAULT)
    }

    pub(super) fn set_level(&self, wanted: LogLevel) {
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        *level = Some(wanted);
    }
}
