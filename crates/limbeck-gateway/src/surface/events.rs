//! What clients are told of changes at the servers whose tools they see.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use limbeck_domain::ServerName;
use limbeck_upstream::{PoolEvent, Watch};
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::sleep;

use super::forward;
use super::session::Session;
use crate::Gateway;

/// How often is looked whether a client that hears of nothing is still there.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// What a client may want to ask for anew.
enum Change {
    Tools,
    Prompts,
    Resources,
    Resource(String),
}

/// Changes from a moment on.
struct Changes {
    gateway: Gateway,
    events: broadcast::Receiver<PoolEvent>,
    listings: watch::Receiver<u64>,
    /// The list of tools that was last told of.
    told: u64,
}

impl Changes {
    fn of(gateway: &Gateway) -> Self {
        Self {
            events: gateway.shared.upstreams.subscribe(),
            listings: gateway.shared.catalogue.listings(),
            told: fingerprint(gateway),
            gateway: gateway.clone(),
        }
    }

    /// The next change; nothing when there will be none.
    async fn next(&mut self) -> Option<Change> {
        loop {
            tokio::select! {
                listed = self.listings.changed() => {
                    listed.ok()?;
                    let now = fingerprint(&self.gateway);
                    // A server may list the same again, or be one whose tools nobody sees.
                    if std::mem::replace(&mut self.told, now) != now {
                        return Some(Change::Tools);
                    }
                }
                event = self.events.recv() => match event {
                    Ok(PoolEvent::PromptsChanged { server }) if self.is_shown(&server) => {
                        return Some(Change::Prompts);
                    }
                    Ok(PoolEvent::ResourcesChanged { server }) if self.is_shown(&server) => {
                        return Some(Change::Resources);
                    }
                    Ok(PoolEvent::ResourceUpdated { server, uri }) if self.is_shown(&server) => {
                        return Some(Change::Resource(uri));
                    }
                    // Tools are told of when they have been listed again.
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return None,
                }
            }
        }
    }

    fn is_shown(&self, server: &ServerName) -> bool {
        self.gateway.exposed().servers.contains(server)
    }
}

fn fingerprint(gateway: &Gateway) -> u64 {
    let mut hasher = DefaultHasher::new();
    for listed in &gateway.exposed().tools {
        serde_json::to_string(&listed.tool)
            .unwrap_or_default()
            .hash(&mut hasher);
    }
    hasher.finish()
}

/// Tells a legacy client until it has gone.
pub(super) async fn tell(gateway: Gateway, session: Arc<Session>, peer: Peer<RoleServer>) {
    let mut changes = Changes::of(&gateway);
    while !peer.is_transport_closed() {
        let change = tokio::select! {
            change = changes.next() => change,
            () = sleep(LOOK_EVERY) => continue,
        };
        let told = match change {
            None => return,
            Some(Change::Tools) => peer.notify_tool_list_changed().await,
            Some(Change::Prompts) => peer.notify_prompt_list_changed().await,
            Some(Change::Resources) => peer.notify_resource_list_changed().await,
            Some(Change::Resource(uri)) if session.is_subscribed(&uri) => {
                let update = rmcp::model::ResourceUpdatedNotificationParam::new(uri);
                peer.notify_resource_updated(update).await
            }
            Some(Change::Resource(_)) => Ok(()),
        };
        if told.is_err() {
            return;
        }
    }
}

/// Tells a modern client on the stream it opened, until it closes it.
pub(super) async fn stream(gateway: &Gateway, context: &SubscriptionContext) {
    let mut changes = Changes::of(gateway);
    let _watches = watches(gateway, context).await;
    loop {
        let change = tokio::select! {
            () = context.cancelled() => return,
            change = changes.next() => change,
        };
        let sink = context.sink();
        // What the client did not ask for is refused by the sink and goes nowhere.
        let _ = match change {
            None => return,
            Some(Change::Tools) => sink.notify_tool_list_changed().await,
            Some(Change::Prompts) => sink.notify_prompt_list_changed().await,
            Some(Change::Resources) => sink.notify_resource_list_changed().await,
            Some(Change::Resource(uri)) => sink.notify_resource_updated(uri).await,
        };
    }
}

/// Has the servers tell of the resources a modern client wants to hear of. One that no server has, or whose
/// server cannot be reached, is told of nothing.
async fn watches(gateway: &Gateway, context: &SubscriptionContext) -> Vec<Watch> {
    let resources = context.accepted().resource_subscriptions.iter().flatten();
    let watches = resources.map(|uri| forward::watch(gateway, uri));
    let watches = join_all(watches).await.into_iter();
    watches.filter_map(Result::ok).collect()
}
