//! Notifications to clients about changes at exposed servers.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use limbeck_domain::{Expose, ServerName};
use limbeck_gateway::LOCAL_PRINCIPAL;
use limbeck_upstream::{Audience, PoolEvent, ResourceWatch};
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::sleep;

use super::client_surface::Surface;
use super::forward;
use super::own_addresses::is_own_address;

/// Interval of checks whether a client without notifications is still connected.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// List or resource that changed.
enum Change {
    Tools,
    Prompts,
    Resources,
    Resource(String),
}

/// Changes at exposed servers since the feed was created.
struct ChangeFeed {
    surface: Surface,
    events: broadcast::Receiver<PoolEvent>,
    listings: watch::Receiver<u64>,
    /// Fingerprint of the tool list at the last notification.
    notified: u64,
    /// Servers whose entries let clients see them, which change with the configuration.
    exposable: Vec<(ServerName, Expose)>,
    /// Changes that were found and not returned yet.
    found: Vec<Change>,
}

impl ChangeFeed {
    fn of(surface: &Surface) -> Self {
        Self {
            events: surface.gateway.upstream_events(),
            listings: surface.gateway.live_catalog().listings(),
            notified: fingerprint(surface),
            exposable: surface.gateway.exposable(),
            found: Vec::new(),
            surface: surface.clone(),
        }
    }

    /// The next change; `None` when the gateway shut down.
    async fn next(&mut self) -> Option<Change> {
        loop {
            if let Some(change) = self.found.pop() {
                return Some(change);
            }
            tokio::select! {
                listed = self.listings.changed() => {
                    listed.ok()?;
                    self.compare();
                }
                event = self.events.recv() => match event {
                    Ok(PoolEvent::PromptsChanged { server }) if self.is_shown(&server) => {
                        return Some(Change::Prompts);
                    }
                    Ok(PoolEvent::ResourcesChanged { server }) if self.is_shown(&server) => {
                        return Some(Change::Resources);
                    }
                    Ok(PoolEvent::ResourceUpdated { server, uri, audience })
                        if self.is_shown(&server)
                            && is_for(&audience, &self.surface.principal)
                            && !is_own_address(&uri) =>
                    {
                        return Some(Change::Resource(uri));
                    }
                    // A change of tools is reported by `listings`, after the new list arrived.
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return None,
                }
            }
        }
    }

    /// Notes what is different since the last list of a server arrived or the configuration changed.
    fn compare(&mut self) {
        let exposable = self.surface.gateway.exposable();
        if exposable != self.exposable {
            // Their prompts and resources come and go with them, and no server announces that.
            self.exposable = exposable;
            self.found.extend([Change::Resources, Change::Prompts]);
        }
        let tools = fingerprint(&self.surface);
        // The list may be unchanged, or belong to a server that is not exposed.
        if tools != self.notified {
            self.notified = tools;
            self.found.push(Change::Tools);
        }
    }

    fn is_shown(&self, server: &ServerName) -> bool {
        self.surface.gateway.exposed().has_server(server)
    }
}

/// Whether `principal` uses the connection of an event. What changes at another principal's account is its own.
fn is_for(audience: &Audience, principal: &Arc<str>) -> bool {
    match audience {
        Audience::Everyone => true,
        Audience::Owner => **principal == *LOCAL_PRINCIPAL,
        Audience::Principal(owner) => owner == principal,
    }
}

fn fingerprint(surface: &Surface) -> u64 {
    let mut hasher = DefaultHasher::new();
    // `resume` is listed or not.
    surface.gateway.can_pause().hash(&mut hasher);
    for listed in surface.exposed_tools().iter() {
        serde_json::to_string(&listed.tool)
            .unwrap_or_default()
            .hash(&mut hasher);
    }
    hasher.finish()
}

/// Notifies a client of an older revision until it disconnects.
pub(super) async fn notify_legacy_client(surface: Surface, peer: Peer<RoleServer>) {
    let mut changes = ChangeFeed::of(&surface);
    while !peer.is_transport_closed() {
        let change = tokio::select! {
            change = changes.next() => change,
            () = sleep(LOOK_EVERY) => continue,
        };
        let sent = match change {
            None => return,
            Some(Change::Tools) => peer.notify_tool_list_changed().await,
            Some(Change::Prompts) => peer.notify_prompt_list_changed().await,
            Some(Change::Resources) => peer.notify_resource_list_changed().await,
            Some(Change::Resource(uri)) if surface.session.is_subscribed(&uri) => {
                let update = rmcp::model::ResourceUpdatedNotificationParam::new(uri);
                peer.notify_resource_updated(update).await
            }
            Some(Change::Resource(_)) => Ok(()),
        };
        if sent.is_err() {
            return;
        }
    }
}

/// Notifies a client of revision 2026-07-28 on the stream that it opened, until it closes the stream.
pub(super) async fn notify_modern_client(surface: &Surface, context: &SubscriptionContext) {
    let mut changes = ChangeFeed::of(surface);
    let _watches = watches(surface, context).await;
    loop {
        let change = tokio::select! {
            () = context.cancelled() => return,
            change = changes.next() => change,
        };
        let sink = context.sink();
        // The sink drops notifications that the client did not subscribe to.
        let _ = match change {
            None => return,
            Some(Change::Tools) => sink.notify_tool_list_changed().await,
            Some(Change::Prompts) => sink.notify_prompt_list_changed().await,
            Some(Change::Resources) => sink.notify_resource_list_changed().await,
            Some(Change::Resource(uri)) => sink.notify_resource_updated(uri).await,
        };
    }
}

/// Subscribes to the resources that a client of revision 2026-07-28 asked for. Skips resources that no server
/// has or whose server cannot be reached.
async fn watches(surface: &Surface, context: &SubscriptionContext) -> Vec<ResourceWatch> {
    let resources = context.accepted().resource_subscriptions.iter().flatten();
    let watches = resources.map(|uri| forward::watch(&surface.gateway, uri));
    let watches = join_all(watches).await.into_iter();
    watches.filter_map(Result::ok).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_on_a_connection_of_one_principal_is_told_to_nobody_else() {
        let (alice, bob, owner) = ("alice".into(), "bob".into(), LOCAL_PRINCIPAL.into());
        let of_alice = Audience::Principal(Arc::clone(&alice));
        let notified =
            |audience: &Audience| [&alice, &bob, &owner].map(|who| is_for(audience, who));
        assert_eq!(notified(&of_alice), [true, false, false]);
        assert_eq!(notified(&Audience::Owner), [false, false, true]);
        assert_eq!(notified(&Audience::Everyone), [true, true, true]);
    }
}
