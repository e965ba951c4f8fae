//! `--since WHEN`.

use std::time::Duration;

use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{Date, OffsetDateTime};

/// Beginning of a period of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SinceTime {
    /// Duration before now.
    Ago(Duration),
    /// Microseconds since 1970.
    At(u64),
}

impl SinceTime {
    /// The time that it means at `now_us`, in microseconds since 1970.
    pub(crate) fn before(self, now_us: u64) -> u64 {
        match self {
            Self::At(us) => us,
            Self::Ago(span) => {
                let span_us = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
                now_us.saturating_sub(span_us)
            }
        }
    }
}

/// Parses a duration before now, a date or a time.
pub(super) fn since(text: &str) -> Result<SinceTime, String> {
    let wrong = || "accepted: `30m`, `24h`, `7d`, `2026-11-01`, `2026-11-01T08:00:00Z`".to_owned();
    let units = [("m", 60), ("h", 3_600), ("d", 86_400)];
    for (unit, seconds) in units {
        let number = text
            .strip_suffix(unit)
            .and_then(|number| number.parse::<u32>().ok());
        if let Some(number) = number {
            return Ok(SinceTime::Ago(Duration::from_secs(
                u64::from(number) * seconds,
            )));
        }
    }
    // A date alone begins at midnight UTC, as all printed times are UTC.
    let day = Date::parse(text, format_description!("[year]-[month]-[day]"));
    let moment = match day {
        Ok(day) => day.midnight().assume_utc(),
        Err(_) => OffsetDateTime::parse(text, &Rfc3339).map_err(|_| wrong())?,
    };
    let micros = moment.unix_timestamp_nanos() / 1_000;
    u64::try_from(micros)
        .map(SinceTime::At)
        .map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_duration_a_date_or_a_time() {
        assert_eq!(since("90m"), Ok(SinceTime::Ago(Duration::from_secs(5_400))));
        assert_eq!(
            since("7d"),
            Ok(SinceTime::Ago(Duration::from_secs(604_800)))
        );
        assert_eq!(since("1970-01-02"), Ok(SinceTime::At(86_400_000_000)));
        assert_eq!(
            since("1970-01-01T00:00:01+00:00"),
            Ok(SinceTime::At(1_000_000))
        );
        for text in [
            "",
            "d",
            "-1d",
            "7w",
            "2026-13-01",
            "1969-12-31",
            "yesterday",
            "99999999999d",
        ] {
            assert!(since(text).is_err(), "{text}");
        }
    }
}
