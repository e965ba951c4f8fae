//! Lifecycle of one server and its back-off after failures.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, Shared};
use tokio::time::Instant;

use crate::connection::Connection;
use crate::error::UpstreamError;
use crate::report::ServerState;

use super::crashes::CrashRecord;

/// Back-off after the first failure.
const BACK_OFF_FIRST: Duration = Duration::from_secs(1);
/// Longest back-off.
pub(super) const BACK_OFF_MAX: Duration = Duration::from_secs(60);

pub(super) struct ServerLifecycle {
    pub(super) phase: LifecyclePhase,
    /// Failures since the server last worked.
    strikes: u32,
    pub(super) last_error: Option<Arc<UpstreamError>>,
    pub(super) crashes: CrashRecord,
    /// Connections so far.
    connections: u64,
}

pub(super) enum LifecyclePhase {
    Idle,
    Starting(PendingStart),
    Ready(Arc<Connection>),
    Failed {
        until: Instant,
        error: Arc<UpstreamError>,
    },
    Stopped,
}

/// A start in progress, shared by all callers.
pub(super) type PendingStart = Shared<BoxFuture<'static, Result<Arc<Connection>, UpstreamError>>>;

impl ServerLifecycle {
    pub(super) fn new() -> Self {
        Self {
            phase: LifecyclePhase::Idle,
            strikes: 0,
            last_error: None,
            crashes: CrashRecord::default(),
            connections: 0,
        }
    }

    pub(super) fn started(&mut self, connected: &Result<Arc<Connection>, UpstreamError>) {
        // A start that finishes after the shutdown must not bring the server back.
        if matches!(self.phase, LifecyclePhase::Stopped) {
            return;
        }
        match connected {
            Ok(connection) => {
                self.connections += 1;
                self.phase = LifecyclePhase::Ready(connection.clone());
            }
            // The server works and needs a sign-in, which is no strike. The call after the sign-in connects
            // without a wait.
            Err(error @ UpstreamError::SignInNeeded { .. }) => {
                self.fail(error.clone(), Instant::now(), Duration::ZERO);
            }
            Err(error) => {
                self.strikes = self.strikes.saturating_add(1);
                self.fail(error.clone(), Instant::now(), back_off(self.strikes));
            }
        }
    }

    /// Number of the open connection; `None` without one.
    pub(super) fn connection_number(&mut self) -> Option<u64> {
        self.notice_crash();
        matches!(self.phase, LifecyclePhase::Ready(_)).then_some(self.connections)
    }

    /// Notices that the connection ended since the last check.
    pub(super) fn notice_crash(&mut self) {
        let LifecyclePhase::Ready(connection) = &self.phase else {
            return;
        };
        if connection.is_alive() {
            return;
        }
        // The back-off counts from the crash, not from the call that noticed it.
        let (error, since) = (connection.lost_now(), connection.ended_at());
        let suspects = connection.suspects();
        if !suspects.is_empty() {
            let proved = connection.was_open_long();
            let crash = Arc::new(error.clone());
            let alone = self.crashes.add(suspects, proved, &crash, since);
            self.fail(error, since, alone);
            return;
        }
        if connection.has_proved_itself() {
            self.strikes = 0;
        }
        // The first crash has no back-off: the next call starts the server again at once.
        let alone = back_off(self.strikes);
        self.strikes = self.strikes.saturating_add(1);
        self.fail(error, since, alone);
    }

    fn fail(&mut self, error: UpstreamError, since: Instant, alone: Duration) {
        let error = Arc::new(error);
        self.last_error = Some(error.clone());
        self.phase = LifecyclePhase::Failed {
            until: since + alone,
            error,
        };
    }

    pub(super) fn state(&self) -> ServerState {
        match &self.phase {
            LifecyclePhase::Idle => ServerState::NotStarted,
            LifecyclePhase::Starting(_) => ServerState::Starting,
            LifecyclePhase::Stopped => ServerState::Stopped,
            LifecyclePhase::Ready(connection) => ServerState::Ready {
                generation: connection.generation(),
                protocol: connection.handshake_result().protocol.clone(),
                server: connection.handshake_result().server.clone(),
            },
            LifecyclePhase::Failed { until, error } => {
                let is_absent = error.is_of_absent_file();
                let error = error.full_text();
                match until.checked_duration_since(Instant::now()) {
                    Some(retry_in) if !retry_in.is_zero() && !is_absent => {
                        ServerState::BackingOff { retry_in, error }
                    }
                    _ => ServerState::Failed { error },
                }
            }
        }
    }
}

/// Back-off after so many strikes: none, 1 s, 2 s, 4 s … 60 s.
pub(super) fn back_off(strikes: u32) -> Duration {
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
    fn the_back_off_doubles_to_a_minute() {
        let seconds: Vec<u64> = [0, 1, 2, 3, 6, 7, 8, 33, u32::MAX]
            .map(|strikes| back_off(strikes).as_secs())
            .to_vec();
        assert_eq!(seconds, [0, 1, 2, 4, 32, 60, 60, 60, 60]);
    }
}
