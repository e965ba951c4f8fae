//! Leaves a server alone that takes calls and brings nothing (Nygard, *Release It!*, circuit breaker).
//!
//! A process that hangs holds every call for its whole time limit, and a program that calls it in a loop
//! spends its clock there. After [`FAILURES_MAX`] calls in a row that timed out, calls fail at once for a
//! while; then one is let through to try, and what becomes of it decides.
//! An error that a server or tool answers with is an answer: whoever answers is well.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::UpstreamError;

/// Calls in a row that must time out before a server is left alone.
const FAILURES_MAX: u32 = 6;
/// Time it is left alone at first; doubles with every try that fails.
const OPEN_FIRST: Duration = Duration::from_secs(10);
/// Longest time it is left alone.
const OPEN_MAX: Duration = Duration::from_secs(120);

/// The failures of one server.
#[derive(Default)]
pub(crate) struct Breaker {
    failures: u32,
    open: Option<Open>,
}

struct Open {
    until: Instant,
    alone: Duration,
    trying: bool,
    error: Arc<UpstreamError>,
}

/// Leave to send one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// One of many.
    Free,
    /// The one that tries whether the server works again.
    Try,
}

/// What a call says about its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Works,
    Fails,
    /// The call ended for another reason, or another part of the pool counts it.
    Unknown,
}

impl Breaker {
    /// Lets a call through, or says how long to wait and why.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::BackingOff`].
    pub(crate) fn admit(&mut self, now: Instant) -> Result<Leave, UpstreamError> {
        match &mut self.open {
            None => Ok(Leave::Free),
            Some(open) if open.until <= now && !open.trying => {
                open.trying = true;
                Ok(Leave::Try)
            }
            Some(open) => Err(UpstreamError::BackingOff {
                retry_in_ms: crate::connection::in_ms(open.until.saturating_duration_since(now)),
                error: open.error.clone(),
            }),
        }
    }

    /// Learns how a call ended; `None` when it was given up.
    pub(crate) fn ended(
        &mut self,
        leave: Leave,
        outcome: Option<Result<(), &UpstreamError>>,
        now: Instant,
    ) {
        match outcome.map_or(Verdict::Unknown, verdict) {
            Verdict::Works => *self = Self::default(),
            Verdict::Fails => {
                let error = outcome
                    .and_then(Result::err)
                    .expect("a failure has an error");
                self.failed(leave, error, now);
            }
            Verdict::Unknown => {
                if leave == Leave::Try
                    && let Some(open) = &mut self.open
                {
                    open.trying = false;
                }
            }
        }
    }

    fn failed(&mut self, leave: Leave, error: &UpstreamError, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        let alone = match (&self.open, leave) {
            (Some(open), Leave::Try) => (open.alone * 2).min(OPEN_MAX),
            (None, _) if self.failures >= FAILURES_MAX => OPEN_FIRST,
            // Sent before the server was left alone.
            (Some(_), Leave::Free) | (None, _) => return,
        };
        tracing::warn!(failures = self.failures, ?alone, %error, "a server is left alone");
        self.open = Some(Open {
            until: now + alone,
            alone,
            trying: false,
            error: Arc::new(UpstreamError::Unwell {
                failures: self.failures,
                error: Arc::new(error.clone()),
            }),
        });
    }

    /// How long the server is left alone from now, and why.
    pub(crate) fn is_open(&self, now: Instant) -> Option<(Duration, Arc<UpstreamError>)> {
        let open = self.open.as_ref()?;
        let left = open.until.saturating_duration_since(now);
        Some((left, open.error.clone()))
    }
}

fn verdict(outcome: Result<(), &UpstreamError>) -> Verdict {
    match outcome {
        Ok(())
        | Err(
            UpstreamError::Protocol { .. }
            | UpstreamError::TooLarge { .. }
            | UpstreamError::InputNeeded { .. },
        ) => Verdict::Works,
        Err(UpstreamError::CallTimeout { .. }) => Verdict::Fails,
        // Nonsense that comes at once costs nobody time, crashes and failed starts have their own pauses, and
        // the rest never reached the server.
        Err(_) => Verdict::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: UpstreamError = UpstreamError::CallTimeout { ms: 1 };

    fn tripped(now: Instant) -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 0..FAILURES_MAX {
            let leave = breaker.admit(now).unwrap();
            breaker.ended(leave, Some(Err(&TIMEOUT)), now);
        }
        breaker
    }

    #[test]
    fn failures_in_a_row_open_it_and_one_answer_between_them_does_not() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
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
            let leave = breaker.admit(now).unwrap();
            breaker.ended(leave, Some(Err(outcome)), now);
        }
        assert!(breaker.admit(now).is_ok());
        let error = tripped(now).admit(now).unwrap_err();
        assert!(
            error.to_string().starts_with("6 calls in a row failed"),
            "{error}"
        );
    }

    #[test]
    fn one_call_tries_and_what_becomes_of_it_decides() {
        let start = Instant::now();
        let mut breaker = tripped(start);
        let later = start + OPEN_FIRST;
        assert!(breaker.admit(later - Duration::from_millis(1)).is_err());
        assert_eq!(breaker.admit(later).unwrap(), Leave::Try);
        assert!(breaker.admit(later).is_err(), "one at a time");
        // Given up: another may try.
        breaker.ended(Leave::Try, None, later);
        assert_eq!(breaker.admit(later).unwrap(), Leave::Try);
        breaker.ended(Leave::Try, Some(Err(&TIMEOUT)), later);
        let (alone, _) = breaker.is_open(later).unwrap();
        assert_eq!(alone, OPEN_FIRST * 2);
        assert_eq!(breaker.admit(later + alone).unwrap(), Leave::Try);
        breaker.ended(Leave::Try, Some(Ok(())), later + alone);
        assert_eq!(breaker.admit(later + alone).unwrap(), Leave::Free);
        assert!(breaker.is_open(later + alone).is_none());
    }
}
