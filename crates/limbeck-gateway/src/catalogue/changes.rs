//! Servers that announce other tools are asked again.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use limbeck_domain::ServerName;
use limbeck_upstream::PoolEvent;
use tokio::sync::broadcast::{self, error::RecvError};

use super::{Freshness, Inner, told};

/// Asks servers again that announce other tools, for as long as there is a catalogue.
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
            // Any of them may have been among the events that were missed.
            Err(RecvError::Lagged(_)) => {
                for server in inner.servers.keys() {
                    inner.renew_later(server);
                }
            }
            Err(RecvError::Closed) => return,
        }
    }
}

impl Inner {
    /// Asks `server` again, unless nobody asked it so far or somebody waits to do so already.
    fn renew_later(self: &Arc<Self>, server: &ServerName) {
        let Some(listed) = self.servers.get(server) else {
            return;
        };
        if listed.renewing.swap(true, Ordering::AcqRel) {
            return;
        }
        let (inner, server) = (Arc::clone(self), server.clone());
        tokio::spawn(async move {
            let Some(listed) = inner.servers.get(&server) else {
                return;
            };
            {
                let mut freshness = listed.asked.lock().await;
                // What is announced from here on may come too late for the list asked for now.
                listed.renewing.store(false, Ordering::Release);
                if *freshness != Freshness::Fresh {
                    return;
                }
                *freshness = Freshness::Cached;
            }
            if let Err(error) = inner.refresh(&server).await {
                told(&server, &error);
            }
        });
    }
}
