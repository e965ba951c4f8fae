//! Wall clock of journals, guests and expiry times, and its form in JSON.

use std::time::{SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;
use time::macros::format_description;

/// Microseconds since 1970; 0 for a clock set before that.
pub fn now_us() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
        })
}

/// Time as JSON has it: RFC 3339 in UTC with microseconds, `2026-05-09T07:29:33.000000Z`. `None` out of range.
pub fn rfc3339(us: u64) -> Option<String> {
    let format =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(us) * 1_000).ok()?;
    time.format(format).ok()
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn json_has_utc_with_microseconds() {
        assert_eq!(
            rfc3339(1_778_311_773_000_042).unwrap(),
            "2026-05-09T07:29:33.000042Z"
        );
        assert_eq!(rfc3339(u64::MAX), None);
    }
}
