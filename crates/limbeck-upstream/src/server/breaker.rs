//! Circuit breakers of one server, one per principal (Nygard, *Release It!*).
//!
//! A server that hangs holds every call for its whole time limit, and a program that calls it in a loop spends
//! its time there. After [`FAILURES_MAX`] timeouts in a row, calls fail at once for a while; then one trial
//! call is sent, and its outcome decides. An error response counts as a response: the server works.
//!
//! Timeouts of one principal open the circuit for that principal alone: what one calls may hang while the server
//! answers every other principal.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use limbeck_domain::limits::HTTP_PRINCIPALS_MAX;
use tokio::time::Instant;

use crate::error::UpstreamError;

/// Timeouts in a row that open the circuit.
const FAILURES_MAX: u32 = 6;
/// Time the circuit stays open at first; it doubles with every failed trial.
const OPEN_FIRST: Duration = Duration::from_secs(10);
/// Longest time the circuit stays open.
const OPEN_MAX: Duration = Duration::from_secs(120);

/// Circuit breakers of one server by principal; `None` is the user who runs the gateway.
#[derive(Default)]
pub(crate) struct CircuitBreakers(HashMap<Option<Arc<str>>, CircuitBreaker>);

impl CircuitBreakers {
    /// Admits a call of `principal`, or returns how long to wait and why.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::BackingOff`].
    pub(crate) fn admit(
        &mut self,
        principal: Option<&Arc<str>>,
        now: Instant,
    ) -> Result<BreakerAdmission, UpstreamError> {
        match self.0.get_mut(&principal.cloned()) {
            Some(breaker) => breaker.admit(now),
            None => Ok(BreakerAdmission::Normal),
        }
    }

    /// Records how a call of `principal` ended; `None` when it was cancelled.
    pub(crate) fn ended(
        &mut self,
        principal: Option<&Arc<str>>,
        admission: BreakerAdmission,
        outcome: Option<Result<(), &UpstreamError>>,
        now: Instant,
    ) {
        let principal = principal.cloned();
        // Only principals with timeouts are kept, and no more than there may be.
        let is_full = self.0.len() >= HTTP_PRINCIPALS_MAX && !self.0.contains_key(&principal);
        if is_full {
            return;
        }
        let breaker = self.0.entry(principal.clone()).or_default();
        breaker.ended(admission, outcome, now);
        if breaker.failures == 0 {
            self.0.remove(&principal);
        }
    }

    /// Time until the circuit of `principal` closes and its last failure, while it is open.
    pub(crate) fn is_open(
        &self,
        principal: Option<&Arc<str>>,
        now: Instant,
    ) -> Option<(Duration, Arc<UpstreamError>)> {
        self.0.get(&principal.cloned())?.is_open(now)
    }
}

/// Circuit breaker of one principal.
#[derive(Default)]
struct CircuitBreaker {
    failures: u32,
    open: Option<OpenCircuit>,
}

struct OpenCircuit {
    until: Instant,
    alone: Duration,
    trial_in_flight: bool,
    error: Arc<UpstreamError>,
}

/// Kind of admission of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BreakerAdmission {
    /// Regular call.
    Normal,
    /// The trial call that tests an open circuit.
    Trial,
}

/// Meaning of a call's outcome for its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallVerdict {
    Works,
    Fails,
    /// No statement: cancelled, or counted by the back-off of starts.
    Unknown,
}

impl CircuitBreaker {
    /// Admits a call, or returns how long to wait and why.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::BackingOff`].
    fn admit(&mut self, now: Instant) -> Result<BreakerAdmission, UpstreamError> {
        match &mut self.open {
            None => Ok(BreakerAdmission::Normal),
            Some(open) if open.until <= now && !open.trial_in_flight => {
                // One trial at a time: if the server still hangs, only one more call is lost.
                open.trial_in_flight = true;
                Ok(BreakerAdmission::Trial)
            }
            Some(open) => Err(UpstreamError::BackingOff {
                retry_in_ms: crate::time::in_ms(open.until.saturating_duration_since(now)),
                error: open.error.clone(),
            }),
        }
    }

    /// Records how a call ended; `None` when it was cancelled.
    fn ended(
        &mut self,
        admission: BreakerAdmission,
        outcome: Option<Result<(), &UpstreamError>>,
        now: Instant,
    ) {
        match outcome.map_or(CallVerdict::Unknown, verdict) {
            CallVerdict::Works => *self = Self::default(),
            CallVerdict::Fails => {
                let error = outcome
                    .and_then(Result::err)
                    .expect("a failure has an error");
                self.failed(admission, error, now);
            }
            // A trial that was cancelled decides nothing, so another call may be the trial.
            CallVerdict::Unknown => {
                if admission == BreakerAdmission::Trial
                    && let Some(open) = &mut self.open
                {
                    open.trial_in_flight = false;
                }
            }
        }
    }

    fn failed(&mut self, admission: BreakerAdmission, error: &UpstreamError, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        let alone = match (&self.open, admission) {
            (Some(open), BreakerAdmission::Trial) => (open.alone * 2).min(OPEN_MAX),
            (None, _) if self.failures >= FAILURES_MAX => OPEN_FIRST,
            // Sent before the circuit opened.
            (Some(_), BreakerAdmission::Normal) | (None, _) => return,
        };
        tracing::warn!(failures = self.failures, ?alone, %error, "circuit breaker opened");
        self.open = Some(OpenCircuit {
            until: now + alone,
            alone,
            trial_in_flight: false,
            error: Arc::new(UpstreamError::Unwell {
                failures: self.failures,
                error: Arc::new(error.clone()),
            }),
        });
    }

    /// Time until the circuit closes and the last failure, while it is open.
    fn is_open(&self, now: Instant) -> Option<(Duration, Arc<UpstreamError>)> {
        let open = self.open.as_ref()?;
        let left = open.until.saturating_duration_since(now);
        Some((left, open.error.clone()))
    }
}

fn verdict(outcome: Result<(), &UpstreamError>) -> CallVerdict {
    match outcome {
        Ok(())
        | Err(
            UpstreamError::Protocol { .. }
            | UpstreamError::TooLarge { .. }
            | UpstreamError::InputNeeded { .. },
        ) => CallVerdict::Works,
        Err(UpstreamError::CallTimeout { .. }) => CallVerdict::Fails,
        // Invalid results that arrive at once cost no time, crashes and failed starts have their own back-off,
        // and the other errors never reached the server.
        Err(_) => CallVerdict::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: UpstreamError = UpstreamError::CallTimeout { ms: 1 };

    fn tripped(now: Instant) -> CircuitBreaker {
        let mut breaker = CircuitBreaker::default();
        for _ in 0..FAILURES_MAX {
            let admission = breaker.admit(now).unwrap();
            breaker.ended(admission, Some(Err(&TIMEOUT)), now);
        }
        breaker
    }

    #[test]
    fn failures_in_a_row_open_it_and_one_answer_between_them_does_not() {
        let now = Instant::now();
        let mut breaker = CircuitBreaker::default();
        let refused = UpstreamError::Protocol {
            code: -32602,
            message: "no".into(),
            data: None,
        };
        for n in 1..20 {
            let outcome = if n % FAILURES_MAX == 0 {
                &refused
            } else {
                &TIMEOUT
            };
            let admission = breaker.admit(now).unwrap();
            breaker.ended(admission, Some(Err(outcome)), now);
        }
        assert!(breaker.admit(now).is_ok());
        let error = tripped(now).admit(now).unwrap_err();
        assert!(
            error.to_string().starts_with("6 calls in a row failed"),
            "{error}"
        );
    }

    #[test]
    fn timeouts_of_one_principal_do_not_stop_another() {
        let now = Instant::now();
        let (alice, bob) = (Arc::<str>::from("alice"), Arc::<str>::from("bob"));
        let mut breakers = CircuitBreakers::default();
        for _ in 0..FAILURES_MAX {
            let admission = breakers.admit(Some(&alice), now).unwrap();
            breakers.ended(Some(&alice), admission, Some(Err(&TIMEOUT)), now);
        }
        assert!(breakers.admit(Some(&alice), now).is_err());
        let admission = breakers.admit(Some(&bob), now).unwrap();
        breakers.ended(Some(&bob), admission, Some(Ok(())), now);
        assert!(breakers.admit(None, now).is_ok());
        assert!(breakers.is_open(None, now).is_none());
        assert!(breakers.is_open(Some(&alice), now).is_some());
        assert_eq!(breakers.0.len(), 1, "who has no failures is not kept");
    }

    #[test]
    fn one_trial_call_decides_whether_the_circuit_closes() {
        let start = Instant::now();
        let mut breaker = tripped(start);
        let later = start + OPEN_FIRST;
        assert!(breaker.admit(later - Duration::from_millis(1)).is_err());
        assert_eq!(breaker.admit(later).unwrap(), BreakerAdmission::Trial);
        assert!(breaker.admit(later).is_err(), "one at a time");
        // Given up: another may try.
        breaker.ended(BreakerAdmission::Trial, None, later);
        assert_eq!(breaker.admit(later).unwrap(), BreakerAdmission::Trial);
        breaker.ended(BreakerAdmission::Trial, Some(Err(&TIMEOUT)), later);
        let (alone, _) = breaker.is_open(later).unwrap();
        assert_eq!(alone, OPEN_FIRST * 2);
        assert_eq!(
            breaker.admit(later + alone).unwrap(),
            BreakerAdmission::Trial
        );
        breaker.ended(BreakerAdmission::Trial, Some(Ok(())), later + alone);
        assert_eq!(
            breaker.admit(later + alone).unwrap(),
            BreakerAdmission::Normal
        );
        assert!(breaker.is_open(later + alone).is_none());
    }
}
