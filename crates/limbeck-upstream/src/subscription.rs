//! Has a server tell of its changes, for as long as its connection stands.
//!
//! A server of revision 2026-07-28 announces changes only on the stream of a `subscriptions/listen` request,
//! resources that somebody watches included. One is kept open; when other resources are watched it is opened
//! anew, and an update just then is lost. Before, a server announces changes of its lists unasked, and those of
//! a resource after `resources/subscribe`. Either way notifications arrive like any other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, Request, SubscribeRequestParams, SubscriptionFilter, SubscriptionsListenRequest,
    SubscriptionsListenRequestParams, UnsubscribeRequestParams,
};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::connection::Connection;
use crate::stdio::handshake::Announces;
use crate::{Era, UpstreamError};

/// Pause before a stream that ended is opened again; doubles when it ended soon.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Longest pause.
const AGAIN_AFTER_MAX: Duration = Duration::from_secs(60);
/// Time for the answer to a subscription.
const SUBSCRIBE_WITHIN: Duration = Duration::from_secs(10);

/// Resources of one server that are watched, and by how many.
#[derive(Clone)]
pub(crate) struct Watched(Arc<watch::Sender<BTreeMap<String, usize>>>);

impl Default for Watched {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::default()))
    }
}

/// Somebody's interest in one resource. Dropping it ends the interest.
pub struct Watch {
    watched: Watched,
    uri: String,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Watch").field(&self.uri).finish()
    }
}

impl Watched {
    pub(crate) fn watch(&self, uri: String) -> Watch {
        self.0.send_if_modified(|watched| {
            let count = watched.entry(uri.clone()).or_default();
            *count += 1;
            *count == 1
        });
        Watch {
            watched: self.clone(),
            uri,
        }
    }

    /// Completes when nobody watches anything.
    pub(crate) async fn nothing(&self) {
        // The sender is ours, so it cannot have gone.
        let _ = self.0.subscribe().wait_for(BTreeMap::is_empty).await;
    }
}

impl Drop for Watch {
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

/// Resources that are watched now; a change since is heard of.
fn now(watched: &mut watch::Receiver<BTreeMap<String, usize>>) -> BTreeSet<String> {
    watched.borrow_and_update().keys().cloned().collect()
}

/// Listens until the connection ends.
pub(crate) async fn keep(connection: Arc<Connection>, watched: Watched) {
    match connection.era() {
        Era::Modern => listen(&connection, watched).await,
        Era::Legacy => subscribe(&connection, watched).await,
    }
}

async fn subscribe(connection: &Connection, watched: Watched) {
    let mut wanted = watched.0.subscribe();
    let mut told = BTreeSet::new();
    while connection.is_alive() {
        let now = now(&mut wanted);
        for uri in now.difference(&told) {
            let request = Request::new(SubscribeRequestParams::new(uri));
            tell(connection, ClientRequest::SubscribeRequest(request)).await;
        }
        for uri in told.difference(&now) {
            let request = Request::new(UnsubscribeRequestParams::new(uri));
            tell(connection, ClientRequest::UnsubscribeRequest(request)).await;
        }
        told = now;
        tokio::select! {
            _ = wanted.changed() => {}
            () = connection.closed() => return,
        }
    }
}

async fn tell(connection: &Connection, request: ClientRequest) {
    let never = CancellationToken::new();
    match timeout(SUBSCRIBE_WITHIN, connection.request(request, &never)).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a server takes no subscription"),
        Err(_) => tracing::debug!("a server does not answer a subscription"),
    }
}

async fn listen(connection: &Connection, watched: Watched) {
    let mut wanted = watched.0.subscribe();
    let mut pause = AGAIN_AFTER;
    while connection.is_alive() {
        let Some(filter) = filter(connection.greeting().announces, now(&mut wanted)) else {
            tokio::select! {
                _ = wanted.changed() => continue,
                () = connection.closed() => return,
            }
        };
        let opened = Instant::now();
        let params = SubscriptionsListenRequestParams::new(filter);
        let request = SubscriptionsListenRequest::new(params);
        let request = ClientRequest::SubscriptionsListenRequest(request);
        let never = CancellationToken::new();
        let ended = tokio::select! {
            ended = connection.request(request, &never) => ended,
            // Dropping the request closes its stream.
            _ = wanted.changed() => continue,
        };
        if let Err(UpstreamError::Protocol { code, message, .. }) = ended {
            // It does not know the request, whatever it declared.
            tracing::debug!(code, message, "a server does not announce changes");
            return;
        }
        // Over HTTP the end of one stream is not the end of the connection, which the loop looks at.
        pause = if opened.elapsed() > AGAIN_AFTER_MAX {
            AGAIN_AFTER
        } else {
            (pause * 2).min(AGAIN_AFTER_MAX)
        };
        tokio::select! {
            () = sleep(pause) => {}
            () = connection.closed() => return,
        }
    }
}

fn filter(announces: Announces, watched: BTreeSet<String>) -> Option<SubscriptionFilter> {
    if announces == Announces::default() && watched.is_empty() {
        return None;
    }
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = announces.tools.then_some(true);
    filter.resources_list_changed = announces.resources.then_some(true);
    filter.prompts_list_changed = announces.prompts.then_some(true);
    filter.resource_subscriptions = (!watched.is_empty()).then(|| watched.into_iter().collect());
    Some(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_resource_is_watched_until_the_last_who_watches_it_has_gone() {
        let watched = Watched::default();
        let mut heard = watched.0.subscribe();
        let (first, second) = (watched.watch("x:1".into()), watched.watch("x:1".into()));
        assert_eq!(now(&mut heard), BTreeSet::from(["x:1".to_owned()]));
        drop(first);
        assert!(!heard.has_changed().unwrap());
        drop(second);
        assert!(heard.has_changed().unwrap());
        watched.nothing().await;
        assert!(now(&mut heard).is_empty());
    }
}
