//! Rate limit of a worker's turns.

/// Token bucket for the turns of one execution. In a turn the worker becomes idle and the gateway wakes it.
///
/// Calls, printed text and the value are limited in total. A turn costs a frame in each direction and a journal entry,
/// and a guest whose timer is always due could take as many turns as the machine can process. Honest programs need one
/// for each result and each timer. So a number of turns is free, and further ones are limited to a rate. A turn above
/// the rate is delayed and is not an error.
///
/// The caller passes the time, in microseconds from any origin.
///
/// ```
/// # use limbeck_wire::Pace;
/// let mut pace = Pace::new(2, 1_000);
/// assert!(pace.turn(7) <= 7);
/// assert!(pace.turn(7) <= 7);
/// assert_eq!(pace.turn(7), 1_007);
/// // An hour later the bucket is full again.
/// assert!(pace.turn(3_600_000_000) <= 3_600_000_000);
/// ```
///
/// This is the generic cell rate algorithm (ITU-T I.371): one number instead of a count of tokens.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    interval_us: u64,
    tolerance_us: u64,
    /// Time at which the turns so far would have ended at the sustained rate.
    due_us: u64,
}

impl Pace {
    /// Allows `burst` turns at once and `per_second` after that, each at least one.
    pub fn new(burst: u32, per_second: u32) -> Self {
        let interval_us = 1_000_000 / u64::from(per_second.max(1));
        Self {
            interval_us,
            tolerance_us: interval_us.saturating_mul(u64::from(burst.max(1))),
            due_us: 0,
        }
    }

    /// Counts a turn at `now_us` and returns the time from which it may be answered.
    pub fn turn(&mut self, now_us: u64) -> u64 {
        self.due_us = self.due_us.max(now_us).saturating_add(self.interval_us);
        self.due_us.saturating_sub(self.tolerance_us)
    }
}
