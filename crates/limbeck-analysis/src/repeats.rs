//! Arithmetic on how often a call is made.

use limbeck_domain::Repeat;

/// How often a call is made that two places of the program make.
pub(crate) fn sum(one: Repeat, other: Repeat) -> Repeat {
    let times = |repeat| match repeat {
        Repeat::Once => Some(1),
        Repeat::AtMost(times) => Some(times),
        Repeat::Many | Repeat::Endless => None,
    };
    match (times(one), times(other)) {
        (Some(one), Some(other)) => Repeat::AtMost(u32::saturating_add(one, other)),
        _ => one.within(other),
    }
}

/// How often a loop runs over a list of `count` items.
pub(crate) fn per_item(count: usize) -> Repeat {
    Repeat::AtMost(u32::try_from(count).unwrap_or(u32::MAX))
}
