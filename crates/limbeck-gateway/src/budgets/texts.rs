//! What callers read when a budget has no room for what they want: which one, what is used of it, and when to come back.

use limbeck_domain::{CallCode, CallError, ToolId};
use limbeck_policy::budget::{Budget, Period, Unit};
use limbeck_store::Charge;
use serde_json::{Map, Value};

use crate::clock::rfc3339;

const HINT_RUN: &str =
    "return what you have; what is left can be done in another run, if the user wants that";
const HINT_LATER: &str = "do not try it again before that time: return what you have, and tell the user when it can go on";

/// What is used up: "the budget `mail` (10 calls a day) has 0 left of 10 calls for server `mail`".
pub(super) fn used_up(budget: &Budget, unit: Unit, charge: &Charge, used: u64) -> String {
    let limit = charge.limit.unwrap_or(u64::MAX);
    let left = limit.saturating_sub(used);
    let of = subject_text(&charge.subject);
    let name = format!("the budget `{}` ({})", budget.id, budget.phrase());
    let mut text = if left == 0 || charge.amount == 0 {
        format!("{name} is used up{of}")
    } else {
        let wanted = unit.amount(charge.amount);
        format!("{name} has {left} left{of}, and this needs {wanted}")
    };
    if let Some(reason) = &budget.reason {
        text.push_str(": ");
        text.push_str(reason);
    }
    text
}

/// What a counter is about besides the principal, which is the reader.
fn subject_text(subject: &str) -> String {
    let names: Map<String, Value> = serde_json::from_str(subject).unwrap_or_default();
    let others = names
        .iter()
        .filter(|(dimension, _)| *dimension != "principal");
    let texts = others.map(|(dimension, name)| {
        let name = name.as_str().unwrap_or_default();
        format!("{dimension} `{name}`")
    });
    let texts: Vec<_> = texts.collect();
    if texts.is_empty() {
        String::new()
    } else {
        format!(" for {}", texts.join(", "))
    }
}

/// The error of a call. `text` says what is used up.
pub(super) fn refusal(
    budget: &Budget,
    period: Period,
    text: String,
    tool: &ToolId,
    now_us: u64,
) -> CallError {
    debug_assert!(text.contains(&budget.id));
    let error = |message: String| {
        CallError::new(CallCode::LimitExceeded, message)
            .with_target(tool.server.as_str(), &*tool.tool)
    };
    match period.end_us(now_us) {
        None => error(format!("{text}; the call was not sent")).with_hint(HINT_RUN),
        Some(end_us) => {
            let when = when(end_us, now_us);
            let message = format!("{text}; the call was not sent. There is room again {when}");
            error(message).with_hint(HINT_LATER).retryable()
        }
    }
}

/// The error of a call that comes too fast.
pub(super) fn rate_refusal(
    budget: &Budget,
    until_us: Option<u64>,
    tool: &ToolId,
    now_us: u64,
) -> CallError {
    let wait_us = until_us.unwrap_or(now_us).saturating_sub(now_us);
    let ms = wait_us.div_ceil(1_000).max(1);
    let message = format!(
        "the budget `{}` ({}) has no room for a call now; the call was not sent. There is room in {}",
        budget.id,
        budget.phrase(),
        duration(wait_us)
    );
    CallError::new(CallCode::LimitExceeded, message)
        .with_target(tool.server.as_str(), &*tool.tool)
        .with_hint(format!("wait {ms} ms, then make the same call again"))
        .retryable()
}

/// The error of a call on a budget that is not in its list: it cannot happen.
pub(super) fn unknown(tool: &ToolId) -> CallError {
    CallError::new(
        CallCode::LimitExceeded,
        "a budget has no room for this call, so it was not sent",
    )
    .with_target(tool.server.as_str(), &*tool.tool)
}

/// A time and how long it is until then: "at 2026-11-29T00:00:00Z, in 5 h 12 min".
pub(super) fn when(at_us: u64, now_us: u64) -> String {
    let left = duration(at_us.saturating_sub(now_us));
    match second_of(at_us) {
        Some(at) => format!("at {at}, in {left}"),
        None => format!("in {left}"),
    }
}

/// A time to the second, in UTC.
pub(super) fn second_of(us: u64) -> Option<String> {
    let time = rfc3339(us)?;
    let (second, _) = time.split_once('.')?;
    Some(format!("{second}Z"))
}

/// A time to wait, rounded up.
fn duration(us: u64) -> String {
    let ms = us.div_ceil(1_000).max(1);
    let (seconds, minutes) = (ms.div_ceil(1_000), ms.div_ceil(60_000));
    if ms < 10_000 {
        format!("{ms} ms")
    } else if seconds < 120 {
        format!("{seconds} s")
    } else if minutes < 120 {
        format!("{minutes} min")
    } else if minutes < 48 * 60 {
        format!("{} h {} min", minutes / 60, minutes % 60)
    } else {
        format!("{} d {} h", minutes / (24 * 60), minutes / 60 % 24)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_to_wait_is_rounded_up_and_short() {
        let of = |ms: u64| duration(ms * 1_000);
        assert_eq!([of(0), of(350), of(9_999)], ["1 ms", "350 ms", "9999 ms"]);
        assert_eq!([of(10_001), of(119_000)], ["11 s", "119 s"]);
        assert_eq!([of(120_001), of(7_100_000)], ["3 min", "119 min"]);
        assert_eq!([of(7_200_000), of(172_800_000)], ["2 h 0 min", "2 d 0 h"]);
    }
}
