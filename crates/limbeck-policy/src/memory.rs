//! What calls have in common with one that a person approved, so that the approval may count for them too.
//!
//! An argument is the same in all of them, type and value, unless it is a text that people read: its name says so (`text`,
//! `title`, `message`), it does not look like a target (an address, a path, a channel), and no condition of a rule names it. Such
//! a text is free, and stays a text. All calls have the same names of arguments.

use std::collections::BTreeMap;

use limbeck_domain::{Remember, RememberOffer};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::{DenialCause, Question};

/// Most arguments of a call whose approval may be remembered: the question names each of them.
const ARGUMENTS_MAX: usize = 24;
/// Most bytes of a value that is free; a longer one is read for nothing.
const FREE_BYTES_MAX: usize = 1 << 20;

/// Words of which the name of a free argument consists: texts that people read. A name is split at `_`, `-`, `.` and capitals; a
/// plural counts as its singular. All other names may say whom a call reaches, which thing it is about or how much it is, in
/// words that no list has all of.
const TEXT_WORDS: &[&str] = &[
    "abstract",
    "annotation",
    "body",
    "caption",
    "comment",
    "content",
    "description",
    "detail",
    "excerpt",
    "explanation",
    "feedback",
    "footer",
    "greeting",
    "heading",
    "headline",
    "html",
    "introduction",
    "markdown",
    "message",
    "note",
    "paragraph",
    "prose",
    "reason",
    "remark",
    "subject",
    "subtitle",
    "summary",
    "text",
    "title",
];
/// Words that may be beside those, and say nothing by themselves.
const BESIDE_TEXT_WORDS: &[&str] = &["full", "long", "md", "new", "plain", "rich", "short", "the"];

impl Question {
    /// For which calls beside this one a person may let the approval count. `pin` is that of the tool's definition now.
    /// `None` where the rules allow it for no other call, and where what the calls have in common cannot be shown.
    pub fn offer(&self, pin: Option<&str>, principal: &str) -> Option<RememberOffer> {
        let at_most = match (self.options().remember, self.cause()) {
            (Remember::None, _) | (_, DenialCause::Fault(_)) => return None,
            // An allowing rule does not win over one that asks.
            (Remember::Always, DenialCause::Rule { .. }) => {
                Remember::For(limbeck_domain::remember::REMEMBER_S_MAX)
            }
            (at_most, _) => at_most,
        };
        let shape = Shape::of(self.arguments().as_str(), self.named_by_rules())?;
        let mut key = Sha256::new();
        let cause = match self.cause() {
            DenialCause::Rule { id, .. } => format!("rule {id}"),
            DenialCause::Preset { preset, .. } => format!("preset {preset}"),
            DenialCause::Fault(_) => return None,
        };
        let parts = [
            principal,
            self.tool().server.as_str(),
            &self.tool().tool,
            pin.unwrap_or_default(),
            self.class().class.as_str(),
            self.class().source.as_str(),
            &cause,
            self.rules_text(),
            &shape.text,
        ];
        for part in parts {
            key.update((part.len() as u64).to_le_bytes());
            key.update(part);
        }
        let digest = key.finalize();
        Some(RememberOffer {
            at_most,
            key: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            same: shape.same,
            any: shape.any,
            session: None,
        })
    }
}

/// Arguments of a call, divided into those that are the same in all calls that are alike and those that are free.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    same: Vec<String>,
    pub(crate) any: Vec<String>,
    /// Names of all arguments, with the JSON text of those that are the same.
    pub(crate) text: String,
}

impl Shape {
    /// `None` for a call that cannot be divided: its arguments are not an object, are too many, or have a name twice.
    pub(crate) fn of(arguments: &str, named_by_rules: &[String]) -> Option<Self> {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(arguments).ok()?;
        // A name that is given twice has a value that is not seen here.
        if members.len() > ARGUMENTS_MAX || members.len() != count_members(arguments)? {
            return None;
        }
        let (mut same, mut any, mut text) = (Vec::new(), Vec::new(), String::new());
        for (name, value) in members {
            let is_named = named_by_rules.contains(&name);
            let quoted = Value::from(name.as_str());
            if is_named || !is_text_name(&name) || !is_free(value.get()) {
                text.push_str(&format!("{quoted}:{},", value.get()));
                same.push(name);
            } else {
                text.push_str(&format!("{quoted},"));
                any.push(name);
            }
        }
        Some(Self { same, any, text })
    }
}

/// Members of a JSON object as they are written, a name that is given twice counted twice.
fn count_members(object: &str) -> Option<usize> {
    let (mut members, mut depth, mut is_empty) = (1_usize, 0_usize, true);
    let mut bytes = object.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                is_empty &= depth == 0;
                depth += 1;
            }
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b',' if depth == 1 => members += 1,
            b'"' => {
                is_empty = false;
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Some(if is_empty { 0 } else { members })
}

/// Whether a name consists of [`TEXT_WORDS`] and words that may be beside them.
fn is_text_name(name: &str) -> bool {
    let mut words: Vec<String> = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    let is_text = |word: &String| {
        let singular = word.strip_suffix('s').unwrap_or(word);
        TEXT_WORDS.contains(&&**word) || TEXT_WORDS.contains(&singular)
    };
    let is_beside = |word: &String| BESIDE_TEXT_WORDS.contains(&&**word);
    words.iter().any(is_text) && words.iter().all(|word| is_text(word) || is_beside(word))
}

/// Whether a value, as JSON text, is a text that does not look like a target.
fn is_free(json: &str) -> bool {
    if json.len() > FREE_BYTES_MAX {
        return false;
    }
    // A list may name more targets, a switch changes what the call does, and a lone surrogate is not read at all.
    match serde_json::from_str::<Value>(json) {
        Ok(Value::String(text)) => !is_target_value(&text),
        Ok(_) | Err(_) => false,
    }
}

/// Whether a text is one word that has the form of an address, a path, a channel or a variable, or has an address or a path among
/// its words.
fn is_target_value(text: &str) -> bool {
    let text = text.trim();
    let is_word = !text.contains(char::is_whitespace);
    let has_mark = text.contains(['@', '/', '\\', ':']);
    (is_word && (has_mark || text.starts_with(['#', '~', '$', '+', '.', '-'])))
        || text.split_whitespace().any(is_address)
}

/// Whether a word of a text is an address or a path: `https://x`, `bob@example.com`, `example.com`, `/etc/passwd`, `#general`.
fn is_address(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !"#@/~.".contains(c));
    let word = word.trim_end_matches(['.', '/']);
    let is_path = ["/", "~/", "../", "./"]
        .iter()
        .any(|start| word.starts_with(start))
        && word.len() > 1;
    let has_name = |mark| {
        let parts = word.split_once(mark);
        parts.is_some_and(|(before, behind): (&str, &str)| !before.is_empty() && !behind.is_empty())
    };
    let is_named = word.len() > 1 && word.starts_with(['#', '@']);
    is_path || is_named || word.contains("://") || has_name('@') || is_host(word)
}

/// Whether a word has the form of a host's name, which that of a file has too: labels with dots between them, the last of two
/// letters or more.
fn is_host(word: &str) -> bool {
    let host = word.split(['/', ':', '?', '#']).next().unwrap_or(word);
    let labels: Vec<&str> = host.split('.').collect();
    let is_label = |label: &&str| {
        !label.is_empty()
            && label
                .chars()
                .all(|c| c.is_alphanumeric() || c == '-' || c == '_')
    };
    let last = labels.last().copied().unwrap_or_default();
    labels.len() > 1
        && labels.iter().all(is_label)
        && last.chars().count() > 1
        && last.chars().all(char::is_alphabetic)
}

#[cfg(test)]
mod tests;
