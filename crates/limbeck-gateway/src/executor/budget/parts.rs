//! Parts of an answer that can be large: taken out of it, and put back.

use std::cell::OnceCell;

use limbeck_domain::{ArtifactId, ArtifactView, Envelope};
use serde_json::value::RawValue;

use super::views::{ValueOutline, text_view, value_view};
use crate::artifacts::{JSON, TEXT, id_of};
use crate::tokens;

/// Bytes of a token, in a text that is read: of white space alone a token has more.
const TOKEN_BYTES_MAX: usize = 32;

/// Part of an answer that can be large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerPart {
    /// A value that is not a text.
    Value,
    /// A value that is a text; it is taken out as that text, and not as JSON.
    Text,
    Stdout,
    Stderr,
    Error,
    /// The text of an emitted block, by its place.
    Emitted(usize),
}

impl AnswerPart {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Value | Self::Text => "value",
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Error => "error",
            Self::Emitted(_) => "emitted text",
        }
    }

    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Value => JSON,
            Self::Text | Self::Stdout | Self::Stderr | Self::Error | Self::Emitted(_) => TEXT,
        }
    }

    /// Tokens of a text as the answer has it, `None` above `max`. Printed text and errors are in it as JSON texts, in
    /// which every line end is two characters more. A text that no answer of `max` tokens has room for is not read.
    pub(super) fn tokens(self, text: &str, max: usize) -> Option<usize> {
        if text.len() > max.saturating_mul(TOKEN_BYTES_MAX) {
            return None;
        }
        match self {
            Self::Value | Self::Emitted(_) => tokens::at_most(text, max),
            Self::Text | Self::Stdout | Self::Stderr | Self::Error => {
                tokens::at_most(&serde_json::to_string(text).ok()?, max)
            }
        }
    }

    /// Takes the part out of the answer.
    fn take(self, envelope: &mut Envelope) -> String {
        let text = match self {
            Self::Value | Self::Text => {
                let value = envelope.value.take();
                return value.map_or_else(String::new, |value| Box::<str>::from(value).into());
            }
            Self::Stdout => Some(&mut envelope.stdout),
            Self::Stderr => Some(&mut envelope.stderr),
            Self::Error => envelope.error.as_mut().map(|error| &mut error.message),
            Self::Emitted(place) => {
                let block = envelope.emitted.get_mut(place);
                block.and_then(|block| block.text.as_mut())
            }
        };
        text.map(std::mem::take).unwrap_or_default()
    }

    /// Puts a text where the part was.
    pub(super) fn put(self, envelope: &mut Envelope, text: String) {
        match self {
            Self::Value => envelope.value = RawValue::from_string(text).ok(),
            Self::Text => envelope.value = serde_json::value::to_raw_value(&text).ok(),
            Self::Stdout => envelope.stdout = text,
            Self::Stderr => envelope.stderr = text,
            Self::Error => {
                if let Some(error) = &mut envelope.error {
                    error.message = text;
                }
            }
            Self::Emitted(place) => {
                if let Some(block) = envelope.emitted.get_mut(place) {
                    block.text = Some(text);
                }
            }
        }
    }
}

/// A part that was taken out of its answer.
pub(super) struct Piece {
    pub(super) part: AnswerPart,
    pub(super) text: String,
    /// Its tokens, one above the budget when it has more.
    pub(super) tokens: usize,
    id: OnceCell<ArtifactId>,
    /// Description of the text as an artifact, which is the same for every share.
    view: OnceCell<ArtifactView>,
    /// Outline of a value.
    outline: OnceCell<ValueOutline>,
}

impl Piece {
    pub(super) fn take_from(envelope: &mut Envelope, budget: usize) -> Vec<Self> {
        let all = [
            AnswerPart::Value,
            AnswerPart::Stdout,
            AnswerPart::Stderr,
            AnswerPart::Error,
        ];
        let emitted = (0..envelope.emitted.len()).map(AnswerPart::Emitted);
        let mut pieces = Vec::new();
        for part in all.into_iter().chain(emitted) {
            let text = part.take(envelope);
            let returned = || serde_json::from_str::<String>(&text).ok();
            let (part, text) = match part {
                AnswerPart::Value if text.starts_with('"') => match returned() {
                    Some(returned) => (AnswerPart::Text, returned),
                    None => (part, text),
                },
                _ => (part, text),
            };
            if !text.is_empty() || part == AnswerPart::Text {
                pieces.push(Self {
                    part,
                    tokens: part.tokens(&text, budget).unwrap_or(budget + 1),
                    text,
                    id: OnceCell::new(),
                    view: OnceCell::new(),
                    outline: OnceCell::new(),
                });
            }
        }
        pieces
    }

    /// View of a value, with a sample of at most `share` tokens.
    pub(super) fn value_view(&self, share: usize) -> ArtifactView {
        let outline = self.outline.get_or_init(|| ValueOutline::of(&self.text));
        value_view(&self.text, outline, share)
    }

    /// View of a piece that is not a value.
    pub(super) fn text_view(&self) -> ArtifactView {
        let described = || text_view(&self.text);
        self.view.get_or_init(described).clone()
    }

    pub(super) fn id(&self) -> &ArtifactId {
        let hashed = || id_of(self.part.media_type(), self.text.as_bytes());
        self.id.get_or_init(hashed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_not_read_when_no_answer_has_room_for_it() {
        let spaces = |count| " ".repeat(count);
        let part = AnswerPart::Emitted(0);
        // Its tokens alone would fit.
        let long = spaces(2_000 * TOKEN_BYTES_MAX + 1);
        assert!(tokens::at_most(&long, 2_000).is_some());
        assert_eq!(part.tokens(&long, 2_000), None);
        assert!(part.tokens(&spaces(10_000), 2_000).is_some());
    }
}
