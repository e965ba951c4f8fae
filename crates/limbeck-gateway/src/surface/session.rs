//! What a legacy client has said once and for all: the level of its log messages and the resources whose
//! changes it wants to hear of.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use limbeck_upstream::Watch;
use rmcp::ErrorData;

use super::logging::Level;

/// Resources one client may subscribe to.
pub(super) const SUBSCRIPTIONS_MAX: usize = 256;

/// One connection of a legacy client.
#[derive(Debug, Default)]
pub(crate) struct Session {
    subscribed: Mutex<BTreeMap<String, Watch>>,
    level: Mutex<Option<Level>>,
}

impl Session {
    pub(super) fn is_subscribed(&self, uri: &str) -> bool {
        self.subscriptions().contains_key(uri)
    }

    /// Keeps `watch` until the client unsubscribes or goes.
    ///
    /// # Errors
    ///
    /// When it has subscribed to too many resources.
    pub(super) fn subscribe(&self, uri: String, watch: Watch) -> Result<(), ErrorData> {
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

    fn subscriptions(&self) -> MutexGuard<'_, BTreeMap<String, Watch>> {
        self.subscribed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn level(&self) -> Level {
        let level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        level.unwrap_or(Level::DEFAULT)
    }

    pub(super) fn set_level(&self, wanted: Level) {
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        *level = Some(wanted);
    }
}
