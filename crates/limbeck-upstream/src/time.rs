//! Durations as whole milliseconds for messages.

use std::time::Duration;

/// Converts a duration to whole milliseconds.
pub(crate) fn in_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
