//! Artifacts: content too large or too binary for a model, stored under an id derived from the content.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Prefix of every id.
const PREFIX: &str = "art_";
/// Hexadecimal digits after the prefix: 128 bits of a SHA-256, so that collisions cannot be found.
const DIGITS: usize = 32;

/// Id of an artifact: `art_` and the first 32 hexadecimal digits of the SHA-256 of its media type and content.
///
/// It names content and grants no access: a principal has to own an artifact of this id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArtifactId(String);

impl ArtifactId {
    /// The id of content with this digest.
    pub fn of_digest(digest: &[u8; 32]) -> Self {
        let mut id = String::with_capacity(PREFIX.len() + DIGITS);
        id.push_str(PREFIX);
        for byte in &digest[..DIGITS / 2] {
            for half in [byte >> 4, byte & 15] {
                id.push(char::from_digit(u32::from(half), 16).unwrap_or('0'));
            }
        }
        Self(id)
    }

    /// Parses an id; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let is_id = digits.len() == DIGITS
            && digits
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_id.then(|| Self(text.to_owned()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Description of an artifact in a result, for the model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ArtifactView {
    /// Id; absent when the content could not be stored, and then `open` names another place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<ArtifactId>,
    /// Part of the result: `value`, `stdout`, `stderr`, `error` or `emitted text`.
    pub what: String,
    /// Type of a value, in the notation of TypeScript; absent for text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// Sizes.
    pub counts: ArtifactCounts,
    /// First, middle and last items of arrays, first keys of objects, beginnings of strings, with markers for what is
    /// left out. Absent for text, whose beginning and end are shown in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Box<RawValue>>,
    /// Expression with which a later program reads it.
    pub open: String,
}

/// Sizes of an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactCounts {
    /// Bytes of its content.
    pub bytes: usize,
    /// Tokens (o200k_base) of its content, extrapolated from the part that was counted.
    pub tokens_estimate: usize,
    /// Items of an array, keys of an object; absent for everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<usize>,
    /// Lines of a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_parses_as_it_is_displayed_and_other_texts_do_not() {
        let id = ArtifactId::of_digest(&[0xa5; 32]);
        assert_eq!(id.as_str(), "art_a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5");
        assert_eq!(ArtifactId::parse(id.as_str()), Some(id));
        for other in ["", "art_", "a5a5", "art_A5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5"] {
            assert_eq!(ArtifactId::parse(other), None, "{other}");
        }
    }
}
