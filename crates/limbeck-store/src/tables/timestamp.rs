//! Times as SQLite stores them.

/// Microseconds since 1970 as a signed integer, the only kind SQLite has; it saturates in the year
/// 294,247.
pub(crate) fn to_stored(us: u64) -> i64 {
    i64::try_from(us).unwrap_or(i64::MAX)
}

/// The reverse of [`to_stored`]; a negative number, which this program never stores, is 0.
pub(crate) fn from_stored(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}
