//! Requests of a client that have no response yet.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use tokio::sync::Notify;

/// Counts requests without a response, and wakes a task that waits for the last one.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenRequests {
    /// Open requests by id; a faulty client may reuse an id.
    ids: Arc<Mutex<HashMap<RequestId, usize>>>,
    answered: Arc<Notify>,
}

impl OpenRequests {
    /// Counts a message of the client. A cancelled request gets no response, so it is settled at once.
    pub(super) fn count(&self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(request) => {
                *self.ids().entry(request.id.clone()).or_default() += 1;
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.settle(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// Id of the request that a message responds to.
    pub(super) fn answered_by(message: &TxJsonRpcMessage<RoleServer>) -> Option<RequestId> {
        match message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        }
    }

    /// Records that a request was answered or cancelled.
    pub(super) fn settle(&self, id: &RequestId) {
        let mut ids = self.ids();
        if let Some(times) = ids.get_mut(id) {
            *times -= 1;
            if *times == 0 {
                ids.remove(id);
            }
        }
        if ids.is_empty() {
            self.answered.notify_waiters();
        }
    }

    /// Waits until every request was answered.
    pub(super) async fn all_answered(&self) {
        loop {
            let answered = self.answered.notified();
            tokio::pin!(answered);
            answered.as_mut().enable();
            if self.ids().is_empty() {
                return;
            }
            answered.await;
        }
    }

    fn ids(&self) -> MutexGuard<'_, HashMap<RequestId, usize>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_and_cancellations_settle_what_was_asked_as_often_as_it_was() {
        let open_requests = OpenRequests::default();
        let count = |message| open_requests.count(&serde_json::from_value(message).unwrap());
        let settled = || open_requests.all_answered().now_or_never().is_some();
        assert!(settled());

        count(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
        count(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
        count(json!({"jsonrpc": "2.0", "id": "1", "method": "ping"}));
        count(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        open_requests.settle(&RequestId::Number(1));
        open_requests.settle(&RequestId::Number(7));
        assert!(!settled());
        open_requests.settle(&RequestId::Number(1));
        assert!(!settled());
        let waits = open_requests.all_answered();
        tokio::pin!(waits);
        assert!(waits.as_mut().now_or_never().is_none());
        count(
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "1"}}),
        );
        assert!(waits.now_or_never().is_some());
    }
}
