//! Wall clock of journals, guests and expiry times.

use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since 1970; 0 for a clock set before that.
pub fn now_us() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
        })
}
