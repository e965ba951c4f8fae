//! Watched resources of a server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::watch;

/// Watched resources of one server, with the number of their watches.
#[derive(Clone)]
pub(crate) struct WatchedResources(pub(crate) Arc<watch::Sender<BTreeMap<String, usize>>>);

impl Default for WatchedResources {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::default()))
    }
}

/// Watch of one resource. Dropping it ends the watch.
pub struct ResourceWatch {
    watched: WatchedResources,
    uri: String,
}

impl std::fmt::Debug for ResourceWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ResourceWatch").field(&self.uri).finish()
    }
}

impl WatchedResources {
    pub(crate) fn watch(&self, uri: String) -> ResourceWatch {
        self.0.send_if_modified(|watched| {
            let count = watched.entry(uri.clone()).or_default();
            *count += 1;
            *count == 1
        });
        ResourceWatch {
            watched: self.clone(),
            uri,
        }
    }

    /// Completes when no resource is watched.
    pub(crate) async fn nothing(&self) {
        // `self` holds the sender, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(BTreeMap::is_empty).await;
    }
}

impl Drop for ResourceWatch {
    fn drop(&mut self) {
        self.watched.0.send_if_modified(|watched| {
            let Some(count) = watched.get_mut(&self.uri) else {
                return false;
            };
            *count -= 1;
            let is_last = *count == 0;
            if is_last {
                watched.remove(&self.uri);
            }
            is_last
        });
    }
}

/// Returns the resources watched now, and marks them as seen.
pub(crate) fn now(watched: &mut watch::Receiver<BTreeMap<String, usize>>) -> BTreeSet<String> {
    watched.borrow_and_update().keys().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_resource_is_watched_until_its_last_watch_is_dropped() {
        let watched = WatchedResources::default();
        let mut received = watched.0.subscribe();
        let (first, second) = (watched.watch("x:1".into()), watched.watch("x:1".into()));
        assert_eq!(now(&mut received), BTreeSet::from(["x:1".to_owned()]));
        drop(first);
        assert!(!received.has_changed().unwrap());
        drop(second);
        assert!(received.has_changed().unwrap());
        watched.nothing().await;
        assert!(now(&mut received).is_empty());
    }
}
