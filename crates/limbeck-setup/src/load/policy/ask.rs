//! `ask` of a rule: who may approve, over which channels, and until when.

use limbeck_policy::rules::{
    Approvers, AskOptions, Channel, Channels, EXPIRES_S_MAX, OnExpiry, QUORUM_MAX, Remember,
};

use super::people;
use crate::diagnostic::ValueError;
use crate::document::ConfigPlace;
use crate::entry_reader::unknown_key;

/// Keys of `ask`.
const ASK_KEYS: &[&str] = &[
    "approvers",
    "quorum",
    "not_requester",
    "channels",
    "expires",
    "on_expiry",
    "remember",
    "edit",
    "view_arguments",
];

pub(super) fn options(place: &ConfigPlace<'_>) -> Result<AskOptions, ValueError> {
    let mut options = AskOptions::default();
    for (key, value) in place.entries()? {
        match key {
            "approvers" => options.approvers = Approvers::one_of(some(&value, people)?),
            "quorum" => options.quorum = quorum(&value)?,
            "not_requester" => options.not_requester = value.boolean()?,
            "channels" => {
                let channels = some(&value, |list| list.list()?.iter().map(channel).collect())?;
                options.channels = Some(Channels::of(channels));
            }
            "expires" => options.expires_s = seconds(&value)?,
            "on_expiry" => options.on_expiry = on_expiry(&value)?,
            "remember" => options.remember = remember(&value)?,
            "view_arguments" => options.viewers = Approvers::one_of(some(&value, people)?),
            "edit" => options.edit = some(&value, names)?,
            _ => return Err(value.malformed_key(unknown_key(ASK_KEYS, key))),
        }
    }
    Ok(options)
}

/// A list that is not empty.
pub(in crate::load) fn some<'d, T>(
    place: &ConfigPlace<'d>,
    read: impl FnOnce(&ConfigPlace<'d>) -> Result<Vec<T>, ValueError>,
) -> Result<Vec<T>, ValueError> {
    let list = read(place)?;
    if list.is_empty() {
        return Err(place.malformed("the list needs at least one entry"));
    }
    Ok(list)
}

fn quorum(place: &ConfigPlace<'_>) -> Result<u8, ValueError> {
    let number = place.number(1, QUORUM_MAX.into())?;
    u8::try_from(number).map_err(|_| place.malformed("the number is too large"))
}

fn channel(place: &ConfigPlace<'_>) -> Result<Channel, ValueError> {
    Channel::named(place.text()?)
        .ok_or_else(|| place.malformed("expected `browser`, `cli`, `client` or `model`"))
}

/// A time such as `90s`, `15m`, `24h` or `7d`.
pub(in crate::load) fn seconds(place: &ConfigPlace<'_>) -> Result<u32, ValueError> {
    let text = place.text()?;
    let expected = || {
        place.malformed("expected a time from `1s` to `30d`, such as `90s`, `15m`, `24h` or `7d`")
    };
    let units = [('s', 1_u32), ('m', 60), ('h', 60 * 60), ('d', 24 * 60 * 60)];
    let unit = |(unit, seconds)| Some((text.strip_suffix(unit)?, seconds));
    let (digits, unit_s) = units.into_iter().find_map(unit).ok_or_else(expected)?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(expected());
    }
    let count: u32 = digits.parse().map_err(|_| expected())?;
    count
        .checked_mul(unit_s)
        .filter(|seconds| (1..=EXPIRES_S_MAX).contains(seconds))
        .ok_or_else(expected)
}

fn on_expiry(place: &ConfigPlace<'_>) -> Result<OnExpiry, ValueError> {
    OnExpiry::named(place.text()?).ok_or_else(|| place.malformed("expected `cancel` or `deny`"))
}

fn remember(place: &ConfigPlace<'_>) -> Result<Remember, ValueError> {
    Remember::named(place.text()?).ok_or_else(|| {
        place
            .malformed("expected `never`, `run`, `session`, a time from `8h` to `30d`, or `always`")
    })
}

fn names(place: &ConfigPlace<'_>) -> Result<Vec<String>, ValueError> {
    let list = place.list()?;
    list.iter()
        .map(|name| Ok(name.text()?.to_owned()))
        .collect()
}
