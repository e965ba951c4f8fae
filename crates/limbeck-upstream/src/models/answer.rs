//! Reader of answers: a stream of server-sent events, or one JSON document. Bounded while it reads.

use bytes::Bytes;
use serde_json::Value;

use super::ModelAnswer;
use super::partial_answer::{AnswerProblem, PartialAnswer};
use super::wire::WireFormat;
use crate::http::events::EventParser;

/// Bytes of one event.
const EVENT_BYTES_MAX: usize = 1 << 20;
/// Bytes of all that is received for one answer. Each event of a few letters has some hundred bytes around them.
const RECEIVED_BYTES_MAX: usize = 64 << 20;
/// Bytes of an answer that is one document.
const DOCUMENT_BYTES_MAX: usize = 8 << 20;

/// How an answer arrives.
enum Arrives {
    /// Not known before its first character.
    Unknown,
    Events(EventParser),
    Document(Vec<u8>),
}

/// Reader of one answer.
pub(super) struct AnswerReader {
    format: WireFormat,
    arrives: Arrives,
    partial: PartialAnswer,
    received: usize,
}

impl AnswerReader {
    pub(super) fn new(format: WireFormat, content_type: Option<&str>) -> Self {
        let content_type = content_type.unwrap_or_default().to_ascii_lowercase();
        let arrives = if content_type.contains("event-stream") {
            Arrives::Events(EventParser::new(EVENT_BYTES_MAX))
        } else if content_type.contains("json") {
            Arrives::Document(Vec::new())
        } else {
            Arrives::Unknown
        };
        Self {
            format,
            arrives,
            partial: PartialAnswer::default(),
            received: 0,
        }
    }

    /// Whether nothing more has to be read.
    pub(super) fn has_ended(&self) -> bool {
        self.partial.has_ended
    }

    /// Bytes of the answer's text so far.
    pub(super) fn answer_bytes(&self) -> usize {
        self.partial.answer.text.len()
    }

    /// Takes the next bytes.
    pub(super) fn read(&mut self, mut chunk: Bytes) -> Result<(), AnswerProblem> {
        self.received = self.received.saturating_add(chunk.len());
        if self.received > RECEIVED_BYTES_MAX {
            return Err(AnswerProblem::TooLarge(RECEIVED_BYTES_MAX));
        }
        if matches!(self.arrives, Arrives::Unknown)
            && let Some(first) = chunk.iter().find(|byte| !byte.is_ascii_whitespace())
        {
            self.arrives = match first {
                b'{' | b'[' => Arrives::Document(Vec::new()),
                _ => Arrives::Events(EventParser::new(EVENT_BYTES_MAX)),
            };
        }
        match &mut self.arrives {
            Arrives::Unknown => Ok(()),
            Arrives::Document(document) => {
                if document.len() + chunk.len() > DOCUMENT_BYTES_MAX {
                    return Err(AnswerProblem::TooLarge(DOCUMENT_BYTES_MAX));
                }
                document.extend_from_slice(&chunk);
                Ok(())
            }
            Arrives::Events(parser) => {
                while !self.partial.has_ended {
                    let event = parser.next(&mut chunk);
                    let event = event.map_err(|_| AnswerProblem::TooLarge(EVENT_BYTES_MAX))?;
                    let Some(event) = event else {
                        break;
                    };
                    if event.data.trim_ascii() == b"[DONE]" {
                        self.partial.end();
                        break;
                    }
                    let event: Value = serde_json::from_slice(&event.data)
                        .map_err(|_| AnswerProblem::Form("an event that is not JSON"))?;
                    self.format.event(&event, &mut self.partial)?;
                }
                Ok(())
            }
        }
    }

    /// The whole answer.
    pub(super) fn finish(mut self) -> Result<ModelAnswer, AnswerProblem> {
        match &self.arrives {
            Arrives::Unknown => return Err(AnswerProblem::Form("nothing")),
            Arrives::Document(document) => {
                let answer =
                    serde_json::from_slice(document).map_err(|error| match error.is_eof() {
                        true => AnswerProblem::Cut { answer_bytes: 0 },
                        false => AnswerProblem::Form("what is not JSON"),
                    })?;
                self.format.whole(&answer, &mut self.partial)?;
            }
            // A reason for the end is the end, also where the last event is missing: some servers leave it out.
            Arrives::Events(_) => {
                if !self.partial.has_ended && self.partial.answer.stop_reason.is_none() {
                    return Err(AnswerProblem::Cut {
                        answer_bytes: self.answer_bytes(),
                    });
                }
            }
        }
        Ok(self.partial.answer)
    }
}

#[cfg(test)]
mod tests;
