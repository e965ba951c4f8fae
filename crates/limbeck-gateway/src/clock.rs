//! The clock that is written into journals and told to guests.

use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since 1970; 0 for a clock set before that.
pub(crate) fn now_us() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
        })
}
