//! Periods that budgets are counted in. Days and months are those of UTC.

/// Microseconds of a day.
const DAY_US: u64 = 86_400 * 1_000_000;

/// The time in which a budget is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// One run of a program, or one call of a client.
    Run,
    /// A day in UTC.
    Day,
    /// A month in UTC.
    Month,
}

impl Period {
    /// The period of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Run, Self::Day, Self::Month]
            .into_iter()
            .find(|period| period.as_str() == name)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Day => "day",
            Self::Month => "month",
        }
    }

    /// As the end of a phrase.
    pub(super) fn each(self) -> &'static str {
        match self {
            Self::Run => "in one run",
            Self::Day => "a day",
            Self::Month => "a month",
        }
    }

    /// Beginning of the period that `now_us` is in, in microseconds since 1970; 0 of a run.
    pub fn start_us(self, now_us: u64) -> u64 {
        match self {
            Self::Run => 0,
            Self::Day => now_us - now_us % DAY_US,
            Self::Month => {
                let (year, month) = month_of(now_us / DAY_US);
                first_day(year, month) * DAY_US
            }
        }
    }

    /// When the next period begins; `None` of a run.
    pub fn end_us(self, now_us: u64) -> Option<u64> {
        match self {
            Self::Run => None,
            Self::Day => Some(self.start_us(now_us) + DAY_US),
            Self::Month => {
                let (year, month) = month_of(now_us / DAY_US);
                let next = if month == 12 {
                    (year + 1, 1)
                } else {
                    (year, month + 1)
                };
                Some(first_day(next.0, next.1) * DAY_US)
            }
        }
    }
}

/// Year and month of a day since 1970, in the Gregorian calendar.
fn month_of(day: u64) -> (u64, u64) {
    // Four hundred years have always as many days, and a year that begins with March has its leap day at its end.
    let days = day + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month)
}

/// The first day of a month, in days since 1970.
fn first_day(year: u64, month: u64) -> u64 {
    let (year, from_march) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * from_march + 2) / 5;
    let days = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    era * 146_097 + days - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-28T13:20:00Z.
    const NOW_US: u64 = 1_795_872_000_000_000;

    #[test]
    fn days_and_months_begin_at_midnight_of_utc() {
        let day = Period::Day.start_us(NOW_US);
        assert_eq!(day, 1_795_824_000_000_000);
        assert_eq!(Period::Day.end_us(NOW_US), Some(day + DAY_US));
        // One microsecond before midnight is the day before.
        assert_eq!(Period::Day.start_us(day - 1), day - DAY_US);
        let month = Period::Month.start_us(NOW_US);
        assert_eq!(month, 1_793_491_200_000_000, "1 November 2026");
        assert_eq!(Period::Month.end_us(NOW_US), Some(1_796_083_200_000_000));
        assert_eq!(Period::Run.end_us(NOW_US), None);
    }

    #[test]
    fn the_months_of_four_hundred_years_follow_one_another() {
        let (mut at, mut months, mut leap) = (0, 0, 0);
        while months < 400 * 12 {
            assert_eq!(Period::Month.start_us(at), at);
            let next = Period::Month.end_us(at).unwrap();
            let days = (next - at) / DAY_US;
            assert!((28..=31).contains(&days), "{days}");
            leap += u64::from(days == 29);
            assert_eq!(Period::Month.start_us(next - 1), at);
            at = next;
            months += 1;
        }
        assert_eq!((at / DAY_US, leap), (146_097, 97));
    }
}
