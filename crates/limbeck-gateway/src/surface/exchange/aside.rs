//! Requests that wait until their clients come back with answers.
//!
//! What is put aside lives in this process: the state names it, and is good for nobody but the
//! principal it was made for, for the same request, once, for [`STATE_TTL`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{InputRequiredResult, RequestStateCodec, SealOptions};

use super::Exchange;

/// How long a client may take to come back; servers wait as long for an answer.
const STATE_TTL: Duration = Duration::from_secs(300);
/// Requests put aside, of everybody and of one principal.
const ASIDE_MAX: usize = 512;
const ASIDE_PER_PRINCIPAL_MAX: usize = 64;
/// How often one request may be put aside.
const ROUNDS_MAX: u32 = 16;

/// Requests that wait for their clients.
pub(crate) struct Exchanges(Arc<Shared>);

struct Shared {
    codec: Option<RequestStateCodec>,
    ttl: Duration,
    aside: Mutex<HashMap<String, Aside>>,
}

struct Aside {
    exchange: Exchange,
    principal: Arc<str>,
}

/// What a state is good for.
pub(crate) struct Subject<'a> {
    pub(crate) principal: &'a Arc<str>,
    pub(crate) method: &'static str,
    /// Tool, prompt or resource.
    pub(crate) name: &'a str,
}

impl Subject<'_> {
    /// No part holds the byte between them: names and principals have no control characters, and a resource
    /// comes last.
    fn bytes(&self) -> Vec<u8> {
        format!("{}\0{}\0{}", self.principal, self.method, self.name).into_bytes()
    }
}

impl std::fmt::Debug for Exchanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchanges").finish_non_exhaustive()
    }
}

impl Default for Exchanges {
    fn default() -> Self {
        Self::with_ttl(STATE_TTL)
    }
}

impl Exchanges {
    fn with_ttl(ttl: Duration) -> Self {
        let mut key = [0; RequestStateCodec::MIN_KEY_LENGTH];
        // Without randomness there is no key, and nobody is asked anything.
        let codec = getrandom::fill(&mut key)
            .ok()
            .and_then(|()| RequestStateCodec::try_new(key).ok());
        Self(Arc::new(Shared {
            codec,
            ttl,
            aside: Mutex::default(),
        }))
    }

    /// Puts `exchange` aside and gives the client what it has to answer, and the state to come back with.
    ///
    /// # Errors
    ///
    /// When too many requests wait; the work is cancelled then.
    pub(crate) fn put_aside(
        &self,
        subject: &Subject<'_>,
        mut exchange: Exchange,
    ) -> Result<InputRequiredResult, ErrorData> {
        exchange.rounds += 1;
        let refused = |message: &str| ErrorData::internal_error(message.to_owned(), None);
        if exchange.rounds > ROUNDS_MAX {
            return Err(refused("the servers ask more often than one request may"));
        }
        let Some(codec) = &self.0.codec else {
            return Err(refused(
                "the system gave no random key, so nobody can be asked",
            ));
        };
        let requests = exchange.requests();
        let id = uuid::Uuid::now_v7().simple().to_string();
        {
            let mut aside = self.lock();
            let of_principal = aside
                .values()
                .filter(|waiting| waiting.principal == *subject.principal)
                .count();
            if aside.len() >= ASIDE_MAX || of_principal >= ASIDE_PER_PRINCIPAL_MAX {
                return Err(refused(
                    "too many requests wait for answers; answer those first",
                ));
            }
            let principal = Arc::clone(subject.principal);
            aside.insert(
                id.clone(),
                Aside {
                    exchange,
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

    /// Takes what `state` names, which is gone then.
    ///
    /// # Errors
    ///
    /// A state that is not ours, not for this request of this principal, too old, or was used before.
    pub(crate) fn take(&self, subject: &Subject<'_>, state: &str) -> Result<Exchange, ErrorData> {
        let refused = |reason: &str| {
            let message = format!("requestState {reason}; send the request again without it");
            ErrorData::invalid_params(message, None)
        };
        let codec = self
            .0
            .codec
            .as_ref()
            .ok_or_else(|| refused("is not ours"))?;
        let id = codec
            .open_with(state, &subject.bytes())
            .map_err(|error| refused(&format!("is refused: {error}")))?;
        let id = String::from_utf8(id).map_err(|_| refused("is not ours"))?;
        let aside = self.lock().remove(&id);
        aside
            .map(|aside| aside.exchange)
            .ok_or_else(|| refused("was used, or what it stands for has ended"))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Aside>> {
        self.0.aside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends work whose client did not come back.
async fn forget(shared: Weak<Shared>, ttl: Duration, id: String) {
    tokio::time::sleep(ttl).await;
    if let Some(shared) = shared.upgrade() {
        let mut aside = shared.aside.lock().unwrap_or_else(PoisonError::into_inner);
        aside.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use limbeck_upstream::Answers;

    use super::super::Kind;
    use super::*;

    fn subject(principal: &Arc<str>) -> Subject<'_> {
        Subject {
            principal,
            method: "tools/call",
            name: "ask",
        }
    }

    /// Work that ends when it is cancelled, and says so.
    fn waiting() -> (Exchange, Arc<tokio::sync::Notify>) {
        let ended = Arc::new(tokio::sync::Notify::new());
        let noted = Arc::clone(&ended);
        let exchange = Exchange::begin(Kind::Server, Answers::ALL, None, |context| {
            async move {
                context.cancel.cancelled().await;
                noted.notify_one();
                std::future::pending().await
            }
            .boxed()
        });
        (exchange, ended)
    }

    #[tokio::test]
    async fn work_whose_client_does_not_come_back_ends_when_its_time_is_over() {
        let ttl = Duration::from_millis(200);
        let exchanges = Exchanges::with_ttl(ttl);
        let principal: Arc<str> = "ada".into();
        let (exchange, ended) = waiting();
        let before = std::time::Instant::now();
        let asked = exchanges.put_aside(&subject(&principal), exchange).unwrap();
        ended.notified().await;
        assert!(before.elapsed() >= ttl);
        let state = asked.request_state.unwrap();
        assert!(exchanges.take(&subject(&principal), &state).is_err());
    }

    #[tokio::test]
    async fn a_state_is_good_once_for_its_principal_and_its_request() {
        let exchanges = Exchanges::default();
        let (ada, eve): (Arc<str>, Arc<str>) = ("ada".into(), "eve".into());
        let (exchange, _ended) = waiting();
        let asked = exchanges.put_aside(&subject(&ada), exchange).unwrap();
        let state = asked.request_state.unwrap();
        let other = Subject {
            name: "other",
            ..subject(&ada)
        };
        assert!(exchanges.take(&subject(&eve), &state).is_err());
        assert!(exchanges.take(&other, &state).is_err());
        assert!(exchanges.take(&subject(&ada), "forged").is_err());
        assert!(exchanges.take(&subject(&ada), &state).is_ok());
        assert!(exchanges.take(&subject(&ada), &state).is_err());
    }

    #[tokio::test]
    async fn one_principal_fills_its_own_places_alone() {
        let exchanges = Exchanges::default();
        let (ada, eve): (Arc<str>, Arc<str>) = ("ada".into(), "eve".into());
        for _ in 0..ASIDE_PER_PRINCIPAL_MAX {
            let (exchange, _ended) = waiting();
            exchanges.put_aside(&subject(&ada), exchange).unwrap();
        }
        let refused = exchanges.put_aside(&subject(&ada), waiting().0);
        assert!(refused.is_err());
        assert!(exchanges.put_aside(&subject(&eve), waiting().0).is_ok());
    }
}
