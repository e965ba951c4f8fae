//! Requests of the client that have no answer yet.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use tokio::sync::Notify;

/// Knows what was asked, and wakes who waits for the answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// How often each id was used: a client may use one twice.
    ids: Arc<Mutex<HashMap<RequestId, usize>>>,
    answered: Arc<Notify>,
}

impl Asked {
    /// Counts a message of the client. What it cancels gets no answer.
    pub(super) fn heard(&self, message: &RxJsonRpcMessage<RoleServer>) {
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

    /// The request that a message answers, if it is an answer.
    pub(super) fn answered_by(message: &TxJsonRpcMessage<RoleServer>) -> Option<RequestId> {
        match message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        }
    }

    /// A request was answered, or wants no answer any more.
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

    /// Waits until everything is answered.
    pub(super) async fn nothing_left(&self) {
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
        let asked = Asked::default();
        let hear = |message| asked.heard(&serde_json::from_value(message).unwrap());
        let settled = || asked.nothing_left().now_or_never().is_some();
        assert!(settled());

        hear(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
        hear(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
        hear(json!({"jsonrpc": "2.0", "id": "1", "method": "ping"}));
        hear(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        asked.settle(&RequestId::Number(1));
        asked.settle(&RequestId::Number(7));
        assert!(!settled());
        asked.settle(&RequestId::Number(1));
        assert!(!settled());
        let waits = asked.nothing_left();
        tokio::pin!(waits);
        assert!(waits.as_mut().now_or_never().is_none());
        hear(
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "1"}}),
        );
        assert!(waits.now_or_never().is_some());
    }
}
