//! Rounds and tokens of one run, reserved before a question is put and settled after its answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use limbeck_domain::ModelTerms;
use tokio::sync::Notify;

/// Bytes of a text that are taken for one token. Most texts have more bytes a token: an estimate is rather too high.
const BYTES_PER_TOKEN: usize = 3;
/// Tokens around each message.
const TOKENS_PER_MESSAGE: u64 = 4;

/// An estimate of the tokens of texts.
pub(crate) fn estimate<'a>(texts: impl IntoIterator<Item = &'a str>) -> u64 {
    let tokens = texts
        .into_iter()
        .map(|text| text.len().div_ceil(BYTES_PER_TOKEN) as u64 + TOKENS_PER_MESSAGE);
    tokens.fold(0, u64::saturating_add)
}

/// What is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) rounds: u32,
    pub(crate) tokens: u64,
}

/// A question is not put, because too little is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuotaError {
    /// No round.
    Rounds,
    /// Fewer tokens than the prompt has.
    Tokens {
        /// Tokens that are left.
        left: u64,
        /// Tokens of the prompt, estimated.
        prompt: u64,
    },
}

/// Quota of one run.
#[derive(Debug)]
pub(crate) struct ModelQuota {
    state: Mutex<State>,
    settled: Notify,
}

#[derive(Debug)]
struct State {
    left: Left,
    /// Questions that were put and have no answer yet.
    open: u32,
}

impl ModelQuota {
    /// The quota of `terms`, of which an earlier part of the run has used something.
    pub(crate) fn new(terms: &ModelTerms, (rounds, tokens): (u32, u64)) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                left: Left {
                    rounds: terms.rounds.saturating_sub(rounds),
                    tokens: terms.tokens.saturating_sub(tokens),
                },
                open: 0,
            }),
            settled: Notify::new(),
        })
    }

    /// What is left, without what is reserved.
    pub(crate) fn left(&self) -> Left {
        self.state().left
    }

    /// Reserves one round, the `prompt`'s tokens, and `wanted` for its answer or as many as are left. Where nothing is left for an
    /// answer, waits as long as questions are open whose tokens may come back.
    ///
    /// # Errors
    ///
    /// [`QuotaError`]
    pub(crate) async fn reserve(
        self: &Arc<Self>,
        prompt: u64,
        wanted: u64,
    ) -> Result<Reservation, QuotaError> {
        loop {
            let settled = self.settled.notified();
            tokio::pin!(settled);
            // From here on no settlement is missed.
            settled.as_mut().enable();
            {
                let mut state = self.state();
                if state.left.rounds == 0 {
                    return Err(QuotaError::Rounds);
                }
                let left = state.left.tokens;
                if left > prompt {
                    let answer = wanted.clamp(1, left - prompt);
                    state.left.rounds -= 1;
                    state.left.tokens -= prompt + answer;
                    state.open += 1;
                    return Ok(Reservation {
                        quota: Arc::clone(self),
                        tokens: prompt + answer,
                        answer_tokens: answer,
                        used: None,
                        keeps_round: true,
                    });
                }
                if state.open == 0 {
                    return Err(QuotaError::Tokens { left, prompt });
                }
            }
            settled.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A round and tokens of a question that is put. What it did not use comes back when it is dropped; one that is dropped without
/// a settlement has used all of it.
#[derive(Debug)]
pub(crate) struct Reservation {
    quota: Arc<ModelQuota>,
    tokens: u64,
    /// Most tokens of the answer.
    pub(crate) answer_tokens: u64,
    used: Option<u64>,
    keeps_round: bool,
}

impl Reservation {
    /// Gives back what was not used. More than was reserved counts too.
    pub(crate) fn settle(mut self, used: u64) {
        self.used = Some(used);
    }

    /// Gives everything back: the question was not put.
    pub(crate) fn refund(mut self) {
        self.used = Some(0);
        self.keeps_round = false;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let used = self.used.unwrap_or(self.tokens);
        {
            let mut state = self.quota.state();
            let left = state.left.tokens.saturating_add(self.tokens);
            state.left.tokens = left.saturating_sub(used);
            state.left.rounds += u32::from(!self.keeps_round);
            state.open -= 1;
        }
        self.quota.settled.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn quota(rounds: u32, tokens: u64) -> Arc<ModelQuota> {
        let terms = ModelTerms {
            rounds,
            tokens,
            ..ModelTerms::default()
        };
        ModelQuota::new(&terms, (0, 0))
    }

    #[tokio::test]
    async fn questions_at_the_same_time_never_have_more_rounds_than_there_are() {
        let quota = quota(3, 100_000);
        let reserved: Vec<_> =
            futures::future::join_all((0..20).map(|_| quota.reserve(10, 1_000))).await;
        assert_eq!(reserved.iter().filter(|it| it.is_ok()).count(), 3);
        assert!(
            reserved
                .iter()
                .filter_map(|it| it.as_ref().err())
                .all(|it| *it == QuotaError::Rounds)
        );
        for reservation in reserved.into_iter().flatten() {
            reservation.settle(30);
        }
        assert_eq!(
            quota.left(),
            Left {
                rounds: 0,
                tokens: 99_910
            }
        );
    }

    #[tokio::test]
    async fn what_was_not_used_comes_back_and_what_was_not_put_costs_nothing() {
        let quota = quota(10, 1_000);
        let lowered = quota.reserve(100, 5_000).await.unwrap();
        assert_eq!(lowered.answer_tokens, 900);
        // The next one waits for what may come back.
        let next = quota.reserve(100, 50);
        tokio::pin!(next);
        assert!(next.as_mut().now_or_never().is_none());
        lowered.settle(300);
        let next = next.await.unwrap();
        assert_eq!(
            quota.left(),
            Left {
                rounds: 8,
                tokens: 550
            }
        );
        next.refund();
        assert_eq!(
            quota.left(),
            Left {
                rounds: 9,
                tokens: 700
            }
        );
        // More than was reserved counts, and a question that was dropped has used all.
        quota.reserve(10, 10).await.unwrap().settle(600);
        drop(quota.reserve(10, 30).await.unwrap());
        assert_eq!(
            quota.left(),
            Left {
                rounds: 7,
                tokens: 60
            }
        );
        let error = quota.reserve(60, 1).await.unwrap_err();
        assert_eq!(
            error,
            QuotaError::Tokens {
                left: 60,
                prompt: 60
            }
        );
    }

    #[test]
    fn what_an_earlier_part_used_counts() {
        let terms = ModelTerms {
            rounds: 3,
            tokens: 100,
            ..ModelTerms::default()
        };
        let left = ModelQuota::new(&terms, (2, 500)).left();
        assert_eq!(
            left,
            Left {
                rounds: 1,
                tokens: 0
            }
        );
    }
}
