//! Times for people, in the time zone of their reader. JSON has UTC only.

use time::macros::format_description;
use time::{OffsetDateTime, UtcOffset};

/// Offset that times are shown with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeZone(UtcOffset);

impl TimeZone {
    pub(crate) const UTC: Self = Self(UtcOffset::UTC);

    /// Zone of the user at this moment, from `TZ` or the system. All times of a table have this one offset, which the
    /// table names, also those from before a change of the clocks.
    pub(crate) fn local() -> Self {
        // `time` reads the zone of a process with one thread only.
        let seconds = chrono::Local::now().offset().local_minus_utc();
        UtcOffset::from_whole_seconds(seconds).map_or(Self::UTC, Self)
    }

    /// `UTC`, or an offset such as `+02:00`.
    pub(crate) fn name(self) -> String {
        let format = format_description!("[offset_hour sign:mandatory]:[offset_minute]");
        match self.0.format(format) {
            Ok(offset) if self != Self::UTC => offset,
            Ok(_) | Err(_) => "UTC".to_owned(),
        }
    }

    /// Time without the zone, `2026-05-09 07:29:33`, or the number of microseconds when it is out of range.
    pub(crate) fn time(self, us: u64) -> String {
        let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
        let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(us) * 1_000).ok();
        time.and_then(|time| time.checked_to_offset(self.0))
            .and_then(|time| time.format(format).ok())
            .unwrap_or_else(|| format!("{us} µs"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_778_311_773_000_042;

    #[test]
    fn a_time_is_shown_in_its_zone_and_a_broken_clock_does_not_panic() {
        let zone = |seconds| TimeZone(UtcOffset::from_whole_seconds(seconds).unwrap());
        let shown = |zone: TimeZone| (zone.time(US), zone.name());
        let expected = |time: &str, name: &str| (time.to_owned(), name.to_owned());
        assert_eq!(shown(TimeZone::UTC), expected("2026-05-09 07:29:33", "UTC"));
        assert_eq!(
            shown(zone(7_200)),
            expected("2026-05-09 09:29:33", "+02:00")
        );
        assert_eq!(
            shown(zone(-12_600)),
            expected("2026-05-09 03:59:33", "-03:30")
        );
        assert_eq!(zone(7_200).time(u64::MAX), format!("{} µs", u64::MAX));
    }
}
