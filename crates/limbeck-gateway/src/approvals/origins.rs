//! Where the arguments of a call come from: constants of the program, the input, or results that the program received.
//!
//! A constant is read off the call's site. For everything else the strings of an argument are looked up in an index of the
//! strings that were delivered: each part of 12 bytes or more that a result and an argument have in common is found. That
//! explains an argument to a person. It permits nothing: a program can write a text in another way.
//!
//! Memory is bounded: the index has two generations (`index`), and the older is dropped when the newer is full. A delivery and a
//! look-up take time in proportion to their bytes.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};

use limbeck_domain::text::cut;
use limbeck_domain::{ArgumentOrigin, CallId, Site, ToolId};
use serde_json::Value;

use self::index::{BLOCK, Generation, Match};
use super::shown::json;

mod index;

/// Shortest common part that is reported, in bytes.
const COMMON_MIN: usize = 12;
/// Most bytes of the strings of one call's arguments that are looked up.
const LOOKED_UP_BYTES_MAX: usize = 1 << 20;

/// Who delivered a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Input,
    Call(CallId, ToolId),
}

/// Texts that a program received, to find them again in the arguments of its calls.
#[derive(Default)]
pub(crate) struct Origins {
    newer: Generation<Source>,
    older: Generation<Source>,
    state: RandomState,
}

impl Origins {
    /// Records the input of the execution, as JSON text.
    pub(crate) fn input(&mut self, input: &str) {
        self.record(&Source::Input, input);
    }

    /// Records the result of a call, as the program receives it: JSON text, or any other text.
    pub(crate) fn delivered(&mut self, call: CallId, tool: &ToolId, result: &str) {
        self.record(&Source::Call(call, tool.clone()), result);
    }

    fn record(&mut self, source: &Source, text: &str) {
        if !text.contains('"') {
            self.add(source, text);
            return;
        }
        for literal in json::strings(text) {
            if literal.contains('\\') {
                self.add(source, &json::decoded(literal));
            } else {
                self.add(source, literal);
            }
        }
    }

    fn add(&mut self, source: &Source, text: &str) {
        if text.len() < COMMON_MIN {
            return;
        }
        if !self.newer.has_room(text.len()) {
            self.older = std::mem::take(&mut self.newer);
        }
        let state = &self.state;
        self.newer.add(source, text, |block| state.hash_one(block));
    }

    /// Origins of the arguments of a call by their names. `arguments` is the JSON text that will be sent, and `sites` are the
    /// places in the program that may have made the call.
    pub(crate) fn origins_of(
        &self,
        arguments: &str,
        sites: &[&Site],
    ) -> BTreeMap<String, Vec<ArgumentOrigin>> {
        let mut origins: BTreeMap<String, Vec<ArgumentOrigin>> = BTreeMap::new();
        let mut left = LOOKED_UP_BYTES_MAX;
        for field in json::fields(arguments).map_or(Vec::new(), |fields| fields.listed) {
            let found = match written_at(&field.name, field.value, sites) {
                Some(line) => vec![ArgumentOrigin::WrittenAt { line }],
                None => self.looked_up(field.value, &mut left),
            };
            let origins = origins.entry(field.name).or_default();
            for origin in found {
                if !origins.contains(&origin) {
                    origins.push(origin);
                }
            }
        }
        origins
    }

    /// Origins of one value, those of more bytes first. At most `left` bytes are looked up.
    fn looked_up(&self, value: &str, left: &mut usize) -> Vec<ArgumentOrigin> {
        let mut bytes_by_source: BTreeMap<&Source, usize> = BTreeMap::new();
        for literal in json::strings(value) {
            let text = json::decoded(cut(literal, *left));
            *left -= text.len().min(*left);
            self.count_common(text.as_bytes(), &mut bytes_by_source);
        }
        let mut found: Vec<_> = bytes_by_source.into_iter().collect();
        found.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        if found.is_empty() {
            return vec![ArgumentOrigin::Computed];
        }
        let origins = found.into_iter().map(|(source, bytes)| match source {
            Source::Input => ArgumentOrigin::Input,
            Source::Call(call, tool) => ArgumentOrigin::FromCall {
                call: *call,
                tool: tool.clone(),
                bytes,
            },
        });
        origins.collect()
    }

    /// Counts the bytes of `text` that each source has too. A byte is counted once.
    fn count_common<'a>(&'a self, text: &[u8], counts: &mut BTreeMap<&'a Source, usize>) {
        let (mut at, mut counted) = (0, 0);
        while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
            let hash = self.state.hash_one(block);
            let generations = [&self.older, &self.newer].into_iter();
            let longest = generations
                .filter_map(|generation| generation.longest(hash, text, at, counted))
                .max_by_key(|found| found.len);
            match longest {
                Some(Match { source, end, len }) if len >= COMMON_MIN => {
                    *counts.entry(source).or_default() += len;
                    (at, counted) = (end, end);
                }
                _ => at += 1,
            }
        }
    }
}

/// Line of the first site that has the value as a constant.
fn written_at(name: &str, value: &str, sites: &[&Site]) -> Option<u32> {
    let constants = sites.iter().filter_map(|site| {
        let mut arguments = site.arguments.iter();
        let argument = arguments.find(|argument| argument.name == name)?;
        Some((site.line, argument.value.as_ref()?))
    });
    let mut constants = constants.peekable();
    constants.peek()?;
    let value: Value = serde_json::from_str(value).ok()?;
    let mut same = constants.filter(|(_, constant)| is_same(constant, &value));
    same.next().map(|(line, _)| line)
}

/// Whether two values are the same. `1.0` of a program is sent as `1`.
fn is_same(constant: &Value, value: &Value) -> bool {
    /// Integers up to it are exact as floating-point numbers.
    const EXACT_MAX: f64 = 9_007_199_254_740_991.0;
    match (constant.as_f64(), value.as_f64()) {
        (Some(constant), Some(value)) if constant.abs() <= EXACT_MAX => {
            constant.total_cmp(&value).is_eq()
        }
        _ => constant == value,
    }
}

#[cfg(test)]
mod tests;
