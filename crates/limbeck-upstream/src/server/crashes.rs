//! Crashes of a server under calls of principals other than the user who runs the gateway.
//!
//! A principal with calls open when the server crashed is kept from it for 0, 1, 2, 4 … 60 s, and the others start it
//! again with their next call: one principal that crashes a server in a loop must not take it from the rest. A server
//! that crashes under calls of all principals is started [`CRASHES_MAX`] times in [`CRASH_WINDOW`] and no more.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use limbeck_domain::limits::HTTP_PRINCIPALS_MAX;
use tokio::time::Instant;

use crate::error::UpstreamError;

use super::lifecycle::{BACK_OFF_MAX, back_off};

/// Crashes within [`CRASH_WINDOW`] after which no call starts the server.
const CRASHES_MAX: usize = 20;
/// Time in which crashes are counted.
const CRASH_WINDOW: Duration = Duration::from_secs(60);

/// Crashes of one server, by principal and in all.
#[derive(Default)]
pub(super) struct CrashRecord {
    suspects: BTreeMap<Arc<str>, Suspect>,
    /// Crashes within [`CRASH_WINDOW`], the oldest first.
    recent: VecDeque<Instant>,
}

/// Principal that had calls open when the server crashed.
struct Suspect {
    /// Crashes since the server last stayed up.
    strikes: u32,
    until: Instant,
    error: Arc<UpstreamError>,
}

impl CrashRecord {
    /// Records a crash under calls of `suspects`; `proved` means that the server had stayed up for a while. Returns how
    /// long no call may start it.
    pub(super) fn add(
        &mut self,
        suspects: Vec<Arc<str>>,
        proved: bool,
        error: &Arc<UpstreamError>,
        since: Instant,
    ) -> Duration {
        // Who has stayed away from a crash for the longest back-off begins again.
        self.suspects
            .retain(|_, suspect| since < suspect.until + BACK_OFF_MAX);
        for principal in suspects {
            let strikes = match self.suspects.get(&principal) {
                Some(suspect) if !proved => suspect.strikes,
                Some(_) => 0,
                None if self.suspects.len() >= HTTP_PRINCIPALS_MAX => continue,
                None => 0,
            };
            let suspect = Suspect {
                strikes: strikes.saturating_add(1),
                until: since + back_off(strikes),
                error: error.clone(),
            };
            self.suspects.insert(principal, suspect);
        }
        self.pause(since)
    }

    /// How long no call may start the server after one more crash.
    fn pause(&mut self, since: Instant) -> Duration {
        let is_old = |crash: &Instant| since.duration_since(*crash) >= CRASH_WINDOW;
        while self.recent.front().is_some_and(is_old) {
            self.recent.pop_front();
        }
        self.recent.push_back(since);
        match self.recent.front() {
            Some(oldest) if self.recent.len() >= CRASHES_MAX => {
                CRASH_WINDOW.saturating_sub(since.duration_since(*oldest))
            }
            Some(_) | None => Duration::ZERO,
        }
    }

    /// How much longer `principal` is kept from the server, and the crash that it is for.
    pub(super) fn left_alone(
        &self,
        principal: Option<&Arc<str>>,
        now: Instant,
    ) -> Option<(Duration, Arc<UpstreamError>)> {
        let suspect = self.suspects.get(principal?)?;
        let left = suspect.until.saturating_duration_since(now);
        (!left.is_zero()).then(|| (left, suspect.error.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crash() -> Arc<UpstreamError> {
        Arc::new(UpstreamError::ConnectionLost {
            status: "exit status: 1".into(),
            stderr_tail: String::new(),
        })
    }

    #[test]
    fn crashes_keep_their_own_principal_away_longer_each_time_and_no_other() {
        let now = Instant::now();
        let (bob, carol) = (Arc::<str>::from("bob"), Arc::<str>::from("carol"));
        let mut record = CrashRecord::default();
        for seconds in [0, 1, 2, 4] {
            let alone = record.add(vec![bob.clone()], false, &crash(), now);
            assert_eq!(alone, Duration::ZERO, "others start it again");
            let left = record.left_alone(Some(&bob), now).map(|(left, _)| left);
            let wanted = (seconds > 0).then(|| Duration::from_secs(seconds));
            assert_eq!(left, wanted);
        }
        assert!(record.left_alone(Some(&carol), now).is_none());
        assert!(record.left_alone(None, now).is_none());
        // The controls: the time ends, and a server that stayed up before it crashed begins again.
        let later = now + Duration::from_secs(4);
        assert!(record.left_alone(Some(&bob), later).is_none());
        record.add(vec![bob.clone()], true, &crash(), later);
        assert!(record.left_alone(Some(&bob), later).is_none());
    }

    #[test]
    fn a_server_that_always_crashes_is_not_started_without_end() {
        let now = Instant::now();
        let mut record = CrashRecord::default();
        let mut crash_of = |n: usize, at: Instant| {
            let principal = Arc::<str>::from(format!("principal-{n}"));
            record.add(vec![principal], false, &crash(), at)
        };
        for n in 1..CRASHES_MAX {
            assert_eq!(crash_of(n, now), Duration::ZERO);
        }
        let alone = crash_of(CRASHES_MAX, now + Duration::from_secs(20));
        assert_eq!(alone, CRASH_WINDOW - Duration::from_secs(20));
        // The control: crashes that are a minute old no longer count.
        let later = now + CRASH_WINDOW;
        assert_eq!(crash_of(0, later), Duration::ZERO);
    }
}
