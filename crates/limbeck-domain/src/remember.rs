//! Choices of a person to let an approval count for more calls than one.
//!
//! A choice is for calls of one shape: the same tool with the same definition and class, for the same principal, by the same
//! rules, with the same targets. [`RememberOffer::key`] is a hash of all of it, so that a change of any part makes another
//! key, and the choice does not count.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Approval, ApprovalDecision, ExecutionId};

/// Shortest time for which a choice is remembered beyond its run and session, in seconds: 8 hours.
pub const REMEMBER_S_MIN: u32 = 8 * 60 * 60;
/// Longest such time, in seconds: 30 days.
pub const REMEMBER_S_MAX: u32 = 30 * 24 * 60 * 60;
/// Most calls that a choice for a run may be limited to.
pub const REMEMBER_COUNT_MAX: u32 = 10_000;

/// How long an approval may count for calls that are alike. The order is from the shortest to the longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remember {
    /// For the one call.
    #[default]
    None,
    /// For the rest of the run.
    Run,
    /// Until the gateway that runs the program ends.
    Session,
    /// For so many seconds, from [`REMEMBER_S_MIN`] to [`REMEMBER_S_MAX`].
    For(u32),
    /// Until the user removes the rule that is written for it.
    Always,
}

impl Remember {
    /// The choice of that name: `never`, `run`, `session`, a time from `8h` to `30d`, `always`. `none` is another name of
    /// `never`.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "none" | "never" => Self::None,
            "run" => Self::Run,
            "session" => Self::Session,
            "always" => Self::Always,
            _ => {
                let unit = |(unit, seconds)| Some((name.strip_suffix(unit)?, seconds));
                let units = [('h', 60 * 60), ('d', 24 * 60 * 60)];
                let (digits, unit_s): (&str, u32) = units.into_iter().find_map(unit)?;
                let seconds = count(digits)?.checked_mul(unit_s)?;
                let is_bounded = (REMEMBER_S_MIN..=REMEMBER_S_MAX).contains(&seconds);
                return is_bounded.then_some(Self::For(seconds));
            }
        })
    }

    /// Its name.
    pub fn name(self) -> Cow<'static, str> {
        const HOUR: u32 = 60 * 60;
        match self {
            Self::None => "none".into(),
            Self::Run => "run".into(),
            Self::Session => "session".into(),
            Self::For(seconds) if seconds.is_multiple_of(24 * HOUR) => {
                format!("{}d", seconds / (24 * HOUR)).into()
            }
            Self::For(seconds) => format!("{}h", seconds / HOUR).into(),
            Self::Always => "always".into(),
        }
    }
}

/// A number that is written with digits alone.
fn count(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

impl fmt::Display for Remember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// A text that is not a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `run`, `run:N` for N calls, `session`, a time from `8h` to `30d`, or `always`")]
pub struct RememberError;

impl Serialize for Remember {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

impl<'de> Deserialize<'de> for Remember {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(deserializer)?;
        Self::named(&name).ok_or_else(|| serde::de::Error::custom(RememberError))
    }
}

/// What a person chose beside an approval: `run`, `run:40`, `session`, `8h`, `always`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RememberChoice {
    /// How long.
    pub until: Remember,
    /// For how many more calls, where the person limits a run.
    pub count: Option<u32>,
}

impl RememberChoice {
    /// The narrower of two choices, part by part.
    #[must_use]
    pub fn narrowed(self, other: Self) -> Self {
        let count = match (self.count, other.count) {
            (Some(one), Some(another)) => Some(one.min(another)),
            (one, another) => one.or(another),
        };
        Self {
            until: self.until.min(other.until),
            count,
        }
    }
}

impl From<Remember> for RememberChoice {
    fn from(until: Remember) -> Self {
        Self { until, count: None }
    }
}

impl FromStr for RememberChoice {
    type Err = RememberError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(digits) = text.strip_prefix("run:") {
            let count = count(digits).filter(|count| (1..=REMEMBER_COUNT_MAX).contains(count));
            let count = Some(count.ok_or(RememberError)?);
            let until = Remember::Run;
            return Ok(Self { until, count });
        }
        match Remember::named(text) {
            Some(Remember::None) | None => Err(RememberError),
            Some(until) => Ok(until.into()),
        }
    }
}

impl fmt::Display for RememberChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            Some(count) => write!(f, "{}:{count}", self.until),
            None => self.until.fmt(f),
        }
    }
}

impl Serialize for RememberChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RememberChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// What a person may choose beside an approval, and the calls that the choice is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RememberOffer {
    /// The longest choice that the rules allow.
    pub at_most: Remember,
    /// SHA-256 of all that such calls have in common, in hexadecimal.
    pub key: String,
    /// Names of the arguments that such calls have with the same values.
    pub same: Vec<String>,
    /// Names of the arguments that may have any value.
    pub any: Vec<String>,
    /// The gateway that asks, for a choice that counts until it ends; absent where it has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// A choice that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// Id: `rm_` and the digits of the approval that it was made with.
    pub id: String,
    /// How long and how often.
    pub choice: RememberChoice,
    /// The approval, without its arguments but those that such calls have in common.
    pub approval: Box<Approval>,
    /// When the choice was made, in microseconds since 1970.
    pub created_us: u64,
    /// When it ends at the latest, in microseconds since 1970.
    pub expires_us: u64,
    /// Calls that are left, where the person limited them.
    #[serde(skip)]
    pub left: Option<u32>,
}

impl Remembered {
    /// The decisions with which a call of this shape is approved at `at_us`: those of the people who chose.
    pub fn decisions(&self, at_us: u64) -> impl Iterator<Item = ApprovalDecision> {
        let approvals = self.approval.decisions.iter().filter(|it| it.approve);
        approvals.map(move |decision| ApprovalDecision {
            reason: None,
            remember: None,
            remembered: Some(self.id.clone()),
            at_us,
            ..decision.clone()
        })
    }

    /// The execution that it is for, where it is for one alone.
    pub fn run(&self) -> Option<&ExecutionId> {
        (self.choice.until == Remember::Run).then_some(&self.approval.execution)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_back_from_their_names_and_have_an_order() {
        for name in ["run", "session", "8h", "36h", "3d", "30d", "always"] {
            let choice: RememberChoice = name.parse().unwrap();
            assert_eq!((choice.to_string().as_str(), choice.count), (name, None));
        }
        let limited: RememberChoice = "run:40".parse().unwrap();
        assert_eq!((limited.until, limited.count), (Remember::Run, Some(40)));
        assert_eq!(serde_json::to_string(&limited).unwrap(), r#""run:40""#);
        assert_eq!(
            serde_json::from_str::<RememberChoice>(r#""run:40""#).unwrap(),
            limited
        );
        for wrong in [
            "",
            "none",
            "never",
            "7h",
            "31d",
            "+9h",
            "9m",
            "run:",
            "run:0",
            "run:+1",
            "run:10001",
            "99999999999d",
            "Run",
        ] {
            assert!(wrong.parse::<RememberChoice>().is_err(), "{wrong}");
        }
        assert_eq!(Remember::named("never"), Some(Remember::None));
        let order = ["never", "run", "session", "8h", "30d", "always"];
        let order = order.map(|name| Remember::named(name).unwrap());
        assert!(order.is_sorted());
    }

    #[test]
    fn of_two_choices_the_narrower_of_each_part_counts() {
        let of = |text: &str| text.parse::<RememberChoice>().unwrap();
        assert_eq!(of("run:4").narrowed(of("8h")), of("run:4"));
        assert_eq!(of("30d").narrowed(of("8h")), of("8h"));
        assert_eq!(of("run:4").narrowed(of("run:3")), of("run:3"));
    }
}
