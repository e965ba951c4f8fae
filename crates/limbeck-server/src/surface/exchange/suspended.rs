//! Suspended requests, whose clients have to answer questions first.
//!
//! A suspended exchange stays in this process; the state that the client gets is its sealed id. The state is
//! valid for the same principal and request, once, for [`STATE_TTL`].

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{InputRequiredResult, RequestStateCodec, SealOptions};

use super::Exchange;

/// Time that a client has to answer; upstream servers wait as long.
const STATE_TTL: Duration = Duration::from_secs(300);
/// Suspended requests, of all principals and of one.
const SUSPENDED_MAX: usize = 512;
const SUSPENDED_PER_PRINCIPAL_MAX: usize = 64;
/// Number of times that one request may be suspended.
const ROUNDS_MAX: u32 = 16;

/// Table of suspended exchanges.
pub(crate) struct SuspendedExchanges(Arc<Inner>);

struct Inner {
    codec: Option<RequestStateCodec>,
    ttl: Duration,
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
}

impl RequestIdentity<'_> {
    /// Associated data of the seal. Unambiguous: principals and methods have no NUL byte, and the name comes
    /// last.
    fn bytes(&self) -> Vec<u8> {
        format!("{}\0{}\0{}", self.principal, self.method, self.name).into_bytes()
    }
}

impl std::fmt::Debug for SuspendedExchanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SuspendedExchanges").finish_non_exhaustive()
    }
}

impl Default for SuspendedExchanges {
    fn default() -> Self {
        Self::with_ttl(STATE_TTL)
    }
}

impl SuspendedExchanges {
    fn with_ttl(ttl: Duration) -> Self {
        let mut key = [0; RequestStateCodec::MIN_KEY_LENGTH];
        // Without a random key every suspension fails, so no state can be forged.
        let codec = getrandom::fill(&mut key)
            .ok()
            .and_then(|()| RequestStateCodec::try_new(key).ok());
        Self(Arc::new(Inner {
            codec,
            ttl,
            suspended: Mutex::default(),
        }))
    }

    /// Suspends `exchange` and returns the questions and the state for the client.
    ///
    /// # Errors
    ///
    /// When too many requests are suspended, or this one too often; the work is cancelled then.
    pub(crate) fn suspend<T: Send + 'static>(
        &self,
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
        let Some(codec) = &self.0.codec else {
            return Err(refused(
                "the system returned no random key, so the client cannot be asked",
            ));
        };
        let requests = exchange.requests();
        let id = uuid::Uuid::now_v7().simple().to_string();
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
        tokio::spawn(forget(Arc::downgrade(&self.0), self.0.ttl, id.clone()));
        let bound = subject.bytes();
        let options = SealOptions::new().associated_data(&bound).ttl(self.0.ttl);
        let state = codec.seal_with(id.as_bytes(), &options);
        Ok(InputRequiredResult::new(Some(requests), Some(state)))
    }

    /// Removes and returns the exchange of `state`.
    ///
    /// # Errors
    ///
    /// A state that this gateway did not make, for another request or principal, expired, or used before.
    pub(crate) fn resume<T: Send + 'static>(
        &self,
        subject: &RequestIdentity<'_>,
        state: &str,
    ) -> Result<Exchange<T>, ErrorData> {
        let refused = |reason: &str| {
            let message = format!("requestState {reason}; send the request again without it");
            ErrorData::invalid_params(message, None)
        };
        let codec = self.0.codec.as_ref().ok_or_else(|| refused("is unknown"))?;
        let id = codec
            .open_with(state, &subject.bytes())
            .map_err(|error| refused(&format!("is refused: {error}")))?;
        let id = String::from_utf8(id).map_err(|_| refused("is unknown"))?;
        let suspended = self.lock().remove(&id);
        suspended
            // The state is sealed for one method and name, so the type is that of the request.
            .and_then(|suspended| suspended.exchange.downcast().ok())
            .map(|exchange| *exchange)
            .ok_or_else(|| refused("was used before, or its request has ended"))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Suspended>> {
        self.0
            .suspended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops an exchange, and so cancels its work, when its client did not answer in time.
async fn forget(inner: Weak<Inner>, ttl: Duration, id: String) {
    tokio::time::sleep(ttl).await;
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

    #[tokio::test]
    async fn work_whose_client_does_not_come_back_ends_when_its_time_is_over() {
        let ttl = Duration::from_millis(200);
        let exchanges = SuspendedExchanges::with_ttl(ttl);
        let principal: Arc<str> = "ada".into();
        let (exchange, ended) = waiting();
        let before = std::time::Instant::now();
        let asked = exchanges.suspend(&subject(&principal), exchange).unwrap();
        ended.notified().await;
        assert!(before.elapsed() >= ttl);
        let state = asked.request_state.unwrap();
        assert!(
            exchanges
                .resume::<()>(&subject(&principal), &state)
                .is_err()
        );
    }

    #[tokio::test]
    async fn a_state_is_good_once_for_its_principal_and_its_request() {
        let exchanges = SuspendedExchanges::default();
        let (ada, eve): (Arc<str>, Arc<str>) = ("ada".into(), "eve".into());
        let (exchange, _ended) = waiting();
        let asked = exchanges.suspend(&subject(&ada), exchange).unwrap();
        let state = asked.request_state.unwrap();
        let other = RequestIdentity {
            name: "other",
            ..subject(&ada)
        };
        assert!(exchanges.resume::<()>(&subject(&eve), &state).is_err());
        assert!(exchanges.resume::<()>(&other, &state).is_err());
        assert!(exchanges.resume::<()>(&subject(&ada), "forged").is_err());
        assert!(exchanges.resume::<()>(&subject(&ada), &state).is_ok());
        assert!(exchanges.resume::<()>(&subject(&ada), &state).is_err());
    }

    #[tokio::test]
    async fn one_principal_fills_its_own_places_alone() {
        let exchanges = SuspendedExchanges::default();
        let (ada, eve): (Arc<str>, Arc<str>) = ("ada".into(), "eve".into());
        for _ in 0..SUSPENDED_PER_PRINCIPAL_MAX {
            let (exchange, _ended) = waiting();
            exchanges.suspend(&subject(&ada), exchange).unwrap();
        }
        let refused = exchanges.suspend(&subject(&ada), waiting().0);
        assert!(refused.is_err());
        assert!(exchanges.suspend(&subject(&eve), waiting().0).is_ok());
    }
}
