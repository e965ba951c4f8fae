//! Times as SQLite stores them.

use std::time::SystemTime;

/// Microseconds since 1970 as a signed integer, the only kind SQLite has; it saturates in the year
/// 294,247.
pub(crate) fn to_stored(us: u64) -> i64 {
    i64::try_from(us).unwrap_or(i64::MAX)
}

/// The reverse of [`to_stored`]; a negative number, which this program never stores, is 0.
pub(crate) fn from_stored(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}

/// The time of records, in microseconds since 1970.
pub(crate) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    })
}
