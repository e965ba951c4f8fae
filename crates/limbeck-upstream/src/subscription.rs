//! Listens for changes of a modern server, which tells nobody unasked.
//!
//! Since revision 2026-07-28 a server announces changes only on the stream of a `subscriptions/listen`
//! request. One is kept open for as long as the connection stands; its notifications arrive like any other.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, SubscriptionFilter, SubscriptionsListenRequest, SubscriptionsListenRequestParams,
};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::connection::Connection;
use crate::stdio::handshake::Announces;
use crate::{Era, UpstreamError};

/// Pause before a stream that ended is opened again; doubles when it ended soon.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Longest pause.
const AGAIN_AFTER_MAX: Duration = Duration::from_secs(60);

/// Listens until the connection ends, when the server announces changes that way at all.
pub(crate) async fn keep(connection: Arc<Connection>) {
    let Some(filter) = filter(connection.era(), connection.greeting().announces) else {
        return;
    };
    let mut pause = AGAIN_AFTER;
    while connection.is_alive() {
        let opened = Instant::now();
        let params = SubscriptionsListenRequestParams::new(filter.clone());
        let request = SubscriptionsListenRequest::new(params);
        let request = ClientRequest::SubscriptionsListenRequest(request);
        let ended = connection.request(request, &CancellationToken::new()).await;
        if let Err(UpstreamError::Protocol { code, message }) = ended {
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

fn filter(era: Era, announces: Announces) -> Option<SubscriptionFilter> {
    if era == Era::Legacy || announces == Announces::default() {
        return None;
    }
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = announces.tools.then_some(true);
    filter.resources_list_changed = announces.resources.then_some(true);
    filter.prompts_list_changed = announces.prompts.then_some(true);
    Some(filter)
}
