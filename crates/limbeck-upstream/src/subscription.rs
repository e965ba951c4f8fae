//! Subscription to the changes of a server, while its connection is open.
//!
//! A server of revision 2026-07-28 announces changes only on the stream of a `subscriptions/listen` request,
//! including those of watched resources. One such stream is kept open; when the watched resources change it is
//! opened again, and an update during that time is lost. Older servers announce changes of their lists
//! unprompted, and those of a resource after `resources/subscribe`. In both cases the notifications arrive like
//! all others.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, Request, SubscribeRequestParams, SubscriptionFilter, SubscriptionsListenRequest,
    SubscriptionsListenRequestParams, UnsubscribeRequestParams,
};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::connection::Connection;
use crate::error::UpstreamError;
use crate::protocol::ProtocolGeneration;
use crate::rpc::handshake_result::ListChangeSupport;
use crate::watch::{WatchedResources, now};

/// Pause before a stream that ended is opened again; it doubles when the stream ended soon.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Longest pause.
const AGAIN_AFTER_MAX: Duration = Duration::from_secs(60);
/// Time limit of a subscription request.
const SUBSCRIBE_WITHIN: Duration = Duration::from_secs(10);

/// Keeps the subscriptions of a connection until it ends.
pub(crate) async fn keep(connection: Arc<Connection>, watched: WatchedResources) {
    match connection.generation() {
        ProtocolGeneration::Modern => listen(&connection, watched).await,
        ProtocolGeneration::Legacy => subscribe(&connection, watched).await,
    }
}

async fn subscribe(connection: &Connection, watched: WatchedResources) {
    let mut wanted = watched.0.subscribe();
    let mut subscribed = BTreeSet::new();
    while connection.is_alive() {
        let now = now(&mut wanted);
        for uri in now.difference(&subscribed) {
            let request = Request::new(SubscribeRequestParams::new(uri));
            tell(connection, ClientRequest::SubscribeRequest(request)).await;
        }
        for uri in subscribed.difference(&now) {
            let request = Request::new(UnsubscribeRequestParams::new(uri));
            tell(connection, ClientRequest::UnsubscribeRequest(request)).await;
        }
        subscribed = now;
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

async fn listen(connection: &Connection, watched: WatchedResources) {
    let mut wanted = watched.0.subscribe();
    let mut pause = AGAIN_AFTER;
    while connection.is_alive() {
        let Some(filter) = filter(connection.handshake_result().announces, now(&mut wanted)) else {
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
            // Dropping the request closes its stream; the loop opens one with the new filter.
            _ = wanted.changed() => continue,
        };
        if let Err(UpstreamError::Protocol { code, message, .. }) = ended {
            // The server does not support the request, although it declared changes.
            tracing::debug!(code, message, "a server does not announce changes");
            return;
        }
        // Over HTTP the end of one stream is not the end of the connection, which the loop condition checks.
        // A stream that lasted shows that the server supports it, so the pause starts over.
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

fn filter(announces: ListChangeSupport, watched: BTreeSet<String>) -> Option<SubscriptionFilter> {
    if announces == ListChangeSupport::default() && watched.is_empty() {
        return None;
    }
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = announces.tools.then_some(true);
    filter.resources_list_changed = announces.resources.then_some(true);
    filter.prompts_list_changed = announces.prompts.then_some(true);
    filter.resource_subscriptions = (!watched.is_empty()).then(|| watched.into_iter().collect());
    Some(filter)
}
