//! Where a server stands, and how long it is left alone after it failed.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, Shared};
use tokio::time::Instant;

use crate::connection::Connection;
use crate::{ServerState, UpstreamError};

/// Time a server is left alone after its first failure.
const BACK_OFF_FIRST: Duration = Duration::from_secs(1);
/// Longest time a server is left alone.
const BACK_OFF_MAX: Duration = Duration::from_secs(60);

pub(super) struct Life {
    pub(super) phase: Phase,
    /// Failures since the server last proved itself.
    strikes: u32,
    pub(super) last_error: Option<Arc<UpstreamError>>,
}

pub(super) enum Phase {
    Idle,
    Starting(Start),
    Ready(Arc<Connection>),
    Failed {
        until: Instant,
        error: Arc<UpstreamError>,
    },
    Stopped,
}

/// A start that many callers wait for.
pub(super) type Start = Shared<BoxFuture<'static, Result<Arc<Connection>, UpstreamError>>>;

impl Life {
    pub(super) fn new() -> Self {
        Self {
            phase: Phase::Idle,
            strikes: 0,
            last_error: None,
        }
    }

    pub(super) fn started(&mut self, connected: &Result<Arc<Connection>, UpstreamError>) {
        if matches!(self.phase, Phase::Stopped) {
            return;
        }
        match connected {
            Ok(connection) => self.phase = Phase::Ready(connection.clone()),
            // It is well and wants a person. The call after the sign-in finds out, without a wait.
            Err(error @ UpstreamError::SignInNeeded { .. }) => {
                self.fail(error.clone(), Instant::now(), Duration::ZERO);
            }
            Err(error) => {
                self.strikes = self.strikes.saturating_add(1);
                self.fail(error.clone(), Instant::now(), back_off(self.strikes));
            }
        }
    }

    /// Finds out that the connection ended since anybody last looked.
    pub(super) fn notice_crash(&mut self) {
        let Phase::Ready(connection) = &self.phase else {
            return;
        };
        if connection.is_alive() {
            return;
        }
        let (error, since) = (connection.lost_now(), connection.ended_at());
        if connection.has_proved_itself() {
            self.strikes = 0;
        }
        // The first crash is free: the next call starts the server again at once.
        let alone = back_off(self.strikes);
        self.strikes = self.strikes.saturating_add(1);
        self.fail(error, since, alone);
    }

    fn fail(&mut self, error: UpstreamError, since: Instant, alone: Duration) {
        let error = Arc::new(error);
        self.last_error = Some(error.clone());
        self.phase = Phase::Failed {
            until: since + alone,
            error,
        };
    }

    pub(super) fn state(&self) -> ServerState {
        match &self.phase {
            Phase::Idle => ServerState::NotStarted,
            Phase::Starting(_) => ServerState::Starting,
            Phase::Stopped => ServerState::Stopped,
            Phase::Ready(connection) => ServerState::Ready {
                era: connection.era(),
                protocol: connection.greeting().protocol.clone(),
                server: connection.greeting().server.clone(),
            },
            Phase::Failed { until, error } => {
                let error = error.full_text();
                match until.checked_duration_since(Instant::now()) {
                    Some(retry_in) if !retry_in.is_zero() => {
                        ServerState::BackingOff { retry_in, error }
                    }
                    _ => ServerState::Failed { error },
                }
            }
        }
    }
}

/// Time to leave a server alone after so many strikes: none, 1 s, 2 s, 4 s … 60 s.
fn back_off(strikes: u32) -> Duration {
    match strikes.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) => BACK_OFF_FIRST
            .saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX))
            .min(BACK_OFF_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_alone_doubles_to_a_minute() {
        let seconds: Vec<u64> = [0, 1, 2, 3, 6, 7, 8, 33, u32::MAX]
            .map(|strikes| back_off(strikes).as_secs())
            .to_vec();
        assert_eq!(seconds, [0, 1, 2, 4, 32, 60, 60, 60, 60]);
    }
}
