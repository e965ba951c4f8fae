//! Refresh of tool lists that servers announce as changed.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use limbeck_domain::ServerName;
use limbeck_upstream::PoolEvent;
use tokio::sync::broadcast::{self, error::RecvError};

use super::{Freshness, Inner, log_list_error};

/// Refreshes the list of every server that announces a change, until the catalog is dropped.
pub(super) async fn follow(inner: Weak<Inner>, mut events: broadcast::Receiver<PoolEvent>) {
    loop {
        let event = events.recv().await;
        let Some(inner) = inner.upgrade() else {
            return;
        };
        match event {
            Ok(PoolEvent::ToolsChanged { server }) => inner.renew_later(&server),
            Ok(
                PoolEvent::ResourcesChanged { .. }
                | PoolEvent::PromptsChanged { .. }
                | PoolEvent::ResourceUpdated { .. },
            ) => {}
            // The missed events may have announced a change of any server.
            Err(RecvError::Lagged(_)) => {
                for server in inner.servers().keys() {
                    inner.renew_later(server);
                }
            }
            Err(RecvError::Closed) => return,
        }
    }
}

impl Inner {
    /// Lists `server` again, unless it was never listed or another task waits to list it.
    fn renew_later(self: &Arc<Self>, server: &ServerName) {
        let Some(listed) = self.listed(server) else {
            return;
        };
        if listed.renewing.swap(true, Ordering::AcqRel) {
            return;
        }
        let (inner, server) = (Arc::clone(self), server.clone());
        tokio::spawn(async move {
            {
                let mut freshness = listed.asked.lock().await;
                // Clear the mark before the request: a change announced from now on may be missing from its
                // response and needs another round.
                listed.renewing.store(false, Ordering::Release);
                if *freshness != Freshness::Fresh {
                    return;
                }
                *freshness = Freshness::Cached;
            }
            if let Err(error) = inner.refresh(&server).await {
                log_list_error(&server, &error);
            }
        });
    }
}
