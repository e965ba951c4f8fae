//! Suspended requests, whose clients have to answer questions first.
//!
//! A suspended exchange stays in this process for [`KEPT`]; the state that the client gets is its sealed id. A state is valid for the
//! same principal and request, once. One about questions of an execution is valid for longer, and also when the exchange is gone:
//! the execution waits in the store, and goes on when the client sends its answers.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use limbeck_gateway::Gateway;
use limbeck_gateway::clock::now_us;
use rmcp::ErrorData;
use rmcp::model::InputRequiredResult;
use tokio::sync::OnceCell;

use super::Exchange;
use super::state_seal::{StateContent, StateSeal};

/// Time for which the work of a suspended request goes on; upstream servers wait as long.
const KEPT: Duration = Duration::from_secs(300);
/// Time for which a state about questions of an execution is valid. Questions may be open for longer; `resume` waits for those.
const ANSWERED_WITHIN: Duration = Duration::from_secs(24 * 3_600);
/// Suspended requests, of all principals and of one.
const SUSPENDED_MAX: usize = 512;
const SUSPENDED_PER_PRINCIPAL_MAX: usize = 64;
/// Number of times that one request may be suspended.
const ROUNDS_MAX: u32 = 16;

/// Table of suspended exchanges.
pub(crate) struct SuspendedExchanges(Arc<Inner>);

struct Inner {
    /// Read from the state file when it is first needed.
    seal: OnceCell<StateSeal>,
    kept: Duration,
    suspended: Mutex<HashMap<String, Suspended>>,
}

struct Suspended {
    /// An [`Exchange`] of the type of its request.
    exchange: Box<dyn Any + Send>,
    principal: Arc<str>,
}

/// Principal and request that a state is valid for.
pub(crate) struct RequestIdentity<'a> {
    pub(crate) principal: &'a Arc<str>,
    pub(crate) method: &'static str,
    /// Name of the tool or prompt, or URI of the resource.
    pub(crate) name: &'a str,
    /// Digest of the params that the client gave.
    pub(crate) params: [u8; 32],
}

impl RequestIdentity<'_> {
    /// Associated data of the seal. Unambiguous: the digest has a fixed length, principals and methods have no NUL byte, and the
    /// name comes last.
    fn bytes(&self) -> Vec<u8> {
        let named = format!("{}\0{}\0{}", self.principal, self.method, self.name);
        [self.params.as_slice(), named.as_bytes()].concat()
    }
}

impl std::fmt::Debug for SuspendedExchanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SuspendedExchanges").finish_non_exhaustive()
    }
}

impl Default for SuspendedExchanges {
    fn default() -> Self {
        Self::keeping_for(KEPT)
    }
}

impl SuspendedExchanges {
    fn keeping_for(kept: Duration) -> Self {
        Self(Arc::new(Inner {
            seal: OnceCell::new(),
            kept,
            suspended: Mutex::default(),
        }))
    }

    /// The seal of states, which all processes with the same state file share.
    ///
    /// # Errors
    ///
    /// When the key cannot be read or made. Then no request is suspended, and no state accepted.
    pub(crate) async fn seal(&self, gateway: &Gateway) -> Result<&StateSeal, ErrorData> {
        let read = async || {
            let mut candidate = [0; 32];
            getrandom::fill(&mut candidate).ok()?;
            let key = gateway.sealing_key(candidate).await;
            let key = key.inspect_err(|error| {
                tracing::error!(
                    error = error as &dyn std::error::Error,
                    "the key of suspended requests could not be read"
                );
            });
            StateSeal::of(&key.ok()?)
        };
        let seal = self.0.seal.get_or_try_init(async || read().await.ok_or(()));
        seal.await.map_err(|()| {
            let message =
                "the client cannot be asked: the gateway has no key for the state of the request";
            ErrorData::internal_error(message, None)
        })
    }

    /// Suspends `exchange` and returns the questions and the state for the client.
    ///
    /// # Errors
    ///
    /// When too many requests are suspended, or this one too often; the work is cancelled then.
    pub(crate) fn suspend<T: Send + 'static>(
        &self,
        seal: &StateSeal,
        subject: &RequestIdentity<'_>,
        mut exchange: Exchange<T>,
    ) -> Result<InputRequiredResult, ErrorData> {
        exchange.rounds += 1;
        let refused = |message: &str| ErrorData::internal_error(message.to_owned(), None);
        if exchange.rounds > ROUNDS_MAX {
            return Err(refused(
                "the servers sent more questions than one request allows",
            ));
        }
        let requests = exchange.requests();
        let (execution, approvals) = exchange.waiting_execution();
        let valid_for = match &execution {
            Some(_) => ANSWERED_WITHIN,
            None => self.0.kept,
        };
        let valid_us = u64::try_from(valid_for.as_micros()).unwrap_or(u64::MAX);
        let no_state =
            || refused("the system returned no random number, so the client cannot be asked");
        let content = StateContent {
            id: random_id().ok_or_else(no_state)?,
            execution,
            approvals,
            expires_us: now_us().saturating_add(valid_us),
        };
        let state = seal.seal(&content, &subject.bytes()).ok_or_else(no_state)?;
        let id = content.id;
        {
            let mut suspended = self.lock();
            let of_principal = suspended
                .values()
                .filter(|waiting| waiting.principal == *subject.principal)
                .count();
            if suspended.len() >= SUSPENDED_MAX || of_principal >= SUSPENDED_PER_PRINCIPAL_MAX {
                return Err(refused(
                    "too many requests wait for answers; answer some of them first",
                ));
            }
            let principal = Arc::clone(subject.principal);
            suspended.insert(
                id.clone(),
                Suspended {
                    exchange: Box::new(exchange),
                    principal,
                },
            );
        }
        tokio::spawn(forget(Arc::downgrade(&self.0), self.0.kept, id));
        Ok(InputRequiredResult::new(Some(requests), Some(state)))
    }

    /// What a state that a client sent again with `subject` says.
    ///
    /// # Errors
    ///
    /// A state that no gateway of this state file made, for another request or principal, or expired.
    pub(crate) fn opened(
        &self,
        seal: &StateSeal,
        subject: &RequestIdentity<'_>,
        state: &str,
    ) -> Result<StateContent, ErrorData> {
        let opened = seal.open(state, &subject.bytes());
        opened.map_err(|error| refused_state(&error.to_string()))
    }

    /// Removes and returns the exchange of a state, where it is here.
    pub(crate) fn take<T: Send + 'static>(&self, state: &StateContent) -> Option<Exchange<T>> {
        let suspended = self.lock().remove(&state.id);
        suspended
            // The state is sealed for one method and name, so the type is that of the request.
            .and_then(|suspended| suspended.exchange.downcast().ok())
            .map(|exchange| *exchange)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Suspended>> {
        self.0
            .suspended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error of a request with a state that is not accepted.
pub(crate) fn refused_state(reason: &str) -> ErrorData {
    let message = format!("requestState {reason}; send the request again without it");
    ErrorData::invalid_params(message, None)
}

/// 128 random bits in hexadecimal.
fn random_id() -> Option<String> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).ok()?;
    Some(bits.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Drops an exchange, and so cancels its work, when its client did not answer in time.
async fn forget(inner: Weak<Inner>, kept: Duration, id: String) {
    tokio::time::sleep(kept).await;
    if let Some(inner) = inner.upgrade() {
        let mut suspended = inner
            .suspended
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        suspended.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use limbeck_upstream::ClientCapabilities;

    use super::super::RequestKind;
    use super::*;

    fn subject(principal: &Arc<str>) -> RequestIdentity<'_> {
        RequestIdentity {
            principal,
            method: "tools/call",
            name: "ask",
            params: [0; 32],
        }
    }

    /// Work that ends when it is cancelled, and says so.
    fn waiting() -> (Exchange<()>, Arc<tokio::sync::Notify>) {
        let ended = Arc::new(tokio::sync::Notify::new());
        let noted = Arc::clone(&ended);
        let exchange = Exchange::begin(
            RequestKind::Server,
            ClientCapabilities::ALL,
            None,
            None,
            |context| {
                async move {
                    context.cancel.cancelled().await;
                    noted.notify_one();
                    std::future::pending().await
                }
                .boxed()
            },
        );
        (exchange, ended)
    }

    fn seal() -> StateSeal {
        StateSeal::of(&[7; 32]).unwrap()
    }

    /// The exchange of a state, as a request with the state takes it.
    fn resume(
        exchanges: &SuspendedExchanges,
        subject: &RequestIdentity<'_>,
        state: &str,
    ) -> Option<Exchange<()>> {
        let opened = exchanges.opened(&seal(), subject, state).ok()?;
        exchanges.take(&opened)
    }

    #[tokio::test]
    async fn work_whose_client_does_not_come_back_ends_when_its_time_is_over() {
        let kept = Duration::from_millis(200);
        let exchanges = SuspendedExchanges::keeping_for(kept);
        let principal: Arc<str> = "ada".into();
        let (exchange, ended) = waiting();
        let before = std::time::Instant::now();
        let asked = exchanges.suspend(&seal(), &subject(&principal), exchange);
        let state = asked.unwrap().request_state.unwrap();
        ended.notified().await;
        assert!(before.elapsed() >= kept);
        assert!(resume(&exchanges, &subject(&principal), &state).is_none());
    }

    #[tokio::test]
    async fn a_state_is_good_once_for_its_principal_and_its_request() {
        let exchanges = SuspendedExchanges::default();
        let (ada, eve): (Arc<str>, Arc<str>) = ("ada".into(), "eve".into());
        let (exchange, _ended) = waiting();
        let asked = exchanges.suspend(&seal(), &subject(&ada), exchange);
        let state = asked.unwrap().request_state.unwrap();
        let other = RequestIdentity {
            name: "other",
            ..subject(&ada)
        };
        let changed = RequestIdentity {
            params: [1; 32],
            ..subject(&ada)
        };
        assert!(resume(&exchanges, &subject(&eve), &state).is_none());
        assert!(resume(&exchanges, &other, &state).is_none());
        assert!(resume(&exchanges, &changed, &state).is_none());
        assert!(resume(&exchanges, &subject(&ada), "forged").is_none());
        assert!(resume(&exchanges, &subject(&ada), &state).is_some());
        assert!(resume(&exchanges, &subject(&ada), &state).is_none());
    }

    #[tokio::test]
    async fn one_principal_fills_its_own_places_alone() {
        let exchanges = SuspendedExchanges::default();
        let (ada, eve): (Arc<str>, Arc<str>) = ("ada".into(), "eve".into());
        for _ in 0..SUSPENDED_PER_PRINCIPAL_MAX {
            let (exchange, _ended) = waiting();
            exchanges
                .suspend(&seal(), &subject(&ada), exchange)
                .unwrap();
        }
        let refused = exchanges.suspend(&seal(), &subject(&ada), waiting().0);
        assert!(refused.is_err());
        let allowed = exchanges.suspend(&seal(), &subject(&eve), waiting().0);
        assert!(allowed.is_ok());
    }
}
