//! What has arrived of an answer, and why one cannot be used.

use limbeck_domain::text;
use serde_json::Value;

use super::{ModelAnswer, ModelError};

/// Bytes of an answer's text: more than any model writes at once.
pub(super) const TEXT_BYTES_MAX: usize = 2 << 20;
/// Bytes of the names of models and reasons.
const NAME_BYTES_MAX: usize = 200;
/// Most tokens that a provider is believed to have counted.
const TOKENS_MAX: u64 = 1 << 40;

/// Why an answer cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AnswerProblem {
    /// It is not what the format says.
    Form(&'static str),
    /// It is larger than this many bytes.
    TooLarge(usize),
    /// The provider reported an error, in its words.
    Reported(String),
    /// It ended before its end.
    Cut { answer_bytes: usize },
}

impl AnswerProblem {
    pub(super) fn into_error(self, origin: String, shown: impl Fn(&str) -> String) -> ModelError {
        match self {
            Self::Form(problem) => ModelError::Answer {
                origin,
                problem: problem.to_owned(),
            },
            Self::TooLarge(limit) => ModelError::Answer {
                origin,
                problem: format!("more than {limit} bytes"),
            },
            Self::Reported(said) => ModelError::Reported {
                said: shown(&said),
                origin,
            },
            Self::Cut { answer_bytes } => ModelError::Cut {
                origin,
                reason: "the stream ended before the answer did".to_owned(),
                answer_bytes,
            },
        }
    }
}

/// What has arrived of an answer.
#[derive(Debug, Default)]
pub(super) struct PartialAnswer {
    pub(super) answer: ModelAnswer,
    pub(super) has_ended: bool,
}

impl PartialAnswer {
    /// Adds text; what is no text adds none.
    pub(super) fn text(&mut self, text: &Value) -> Result<(), AnswerProblem> {
        let text = text.as_str().unwrap_or_default();
        if self.answer.text.len() + text.len() > TEXT_BYTES_MAX {
            return Err(AnswerProblem::TooLarge(TEXT_BYTES_MAX));
        }
        self.answer.text.push_str(text);
        Ok(())
    }

    pub(super) fn model(&mut self, model: &Value) {
        if let Some(model) = model.as_str().filter(|model| !model.is_empty()) {
            self.answer.model = Some(text::clean_line(model, NAME_BYTES_MAX));
        }
    }

    /// The newest counts; a later event has the whole.
    pub(super) fn tokens(&mut self, input: &Value, output: &Value) {
        let count = |count: &Value| count.as_u64().map(|count| count.min(TOKENS_MAX));
        self.answer.input_tokens = count(input).or(self.answer.input_tokens);
        self.answer.output_tokens = count(output).or(self.answer.output_tokens);
    }

    pub(super) fn stop(&mut self, reason: Option<String>) {
        if self.answer.stop_reason.is_none() {
            self.answer.stop_reason = reason;
        }
    }

    /// The provider has said that this is all.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }

    /// Refuses an answer with an error in it.
    pub(super) fn reported(&self, error: &Value) -> Result<(), AnswerProblem> {
        match error {
            Value::Null => Ok(()),
            Value::String(said) => Err(AnswerProblem::Reported(said.clone())),
            other => {
                let said = other["message"].as_str().or(other["type"].as_str());
                Err(AnswerProblem::Reported(said.unwrap_or_default().to_owned()))
            }
        }
    }
}

/// A reason that the protocol has no name for, as the provider names it.
pub(super) fn stop_reason(reason: &str) -> String {
    text::clean_line(reason, NAME_BYTES_MAX)
}
