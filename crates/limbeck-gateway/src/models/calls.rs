//! Questions that an execution put to models, counted while they end, and read again from the journal of one that is continued.

use std::collections::BTreeMap;

use limbeck_domain::text::cut;
use limbeck_domain::{CallError, CallId, HostOp, JournalEntry, ModelTerms};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Questions that are kept one by one.
const CALLS_KEPT_MAX: usize = 100;
/// Bytes of a prompt or an answer that is kept.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// What a program gets of a question, in full; the guest gives its program the text or the value.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ModelAnswerJson {
    /// Text of the answer.
    pub(crate) text: String,
    /// The value, where the program asked for one that fits a schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<Box<RawValue>>,
    /// `client`, or the name of the provider.
    pub(crate) via: String,
    /// The rounds that it took: more than one where the first answer did not fit.
    pub(crate) rounds: Vec<ModelRound>,
    /// What is left of the quota.
    pub(crate) left: LeftJson,
}

/// What is left of a quota.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct LeftJson {
    pub(crate) rounds: u32,
    pub(crate) tokens: u64,
}

/// One round of a question.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelRound {
    /// The model that answered.
    pub(crate) model: String,
    /// Why its answer ended.
    pub(crate) stop_reason: String,
    /// Tokens of the prompt, counted by the provider or estimated.
    pub(crate) input_tokens: u64,
    /// Tokens of the answer.
    pub(crate) output_tokens: u64,
    /// Time that it took, in milliseconds.
    pub(crate) took_ms: u64,
    /// When it was put, in milliseconds since 1970.
    pub(crate) at_ms: u64,
}

impl ModelRound {
    pub(crate) fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// One round, with what was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCall {
    /// The model that answered.
    pub model: String,
    /// The conversation, a list of messages.
    pub messages: Value,
    /// System prompt, where the program gave one.
    pub system_prompt: String,
    /// The answer, its first 16 KiB; empty of a round whose answer did not fit.
    pub text: String,
    /// Why it ended.
    pub stop_reason: String,
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Time that it took, in milliseconds.
    pub took_ms: u64,
    /// When it was put, as RFC 3339 has it.
    pub at: String,
}

/// Questions of one execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelCalls {
    /// Whether it might ask.
    pub is_enabled: bool,
    /// Rounds that were answered, in the order in which they ended; the first 100.
    pub calls: Vec<ModelCall>,
    /// Rounds in all, those without an answer too.
    pub rounds: u32,
    /// Tokens in all.
    pub tokens: u64,
    /// Time of the answered rounds, in milliseconds.
    pub took_ms: u64,
    /// Rounds that are left.
    pub rounds_left: u32,
    /// Tokens that are left.
    pub tokens_left: u64,
}

/// Count of the questions of one execution.
#[derive(Debug, Default)]
pub(crate) struct ModelTally {
    open: BTreeMap<CallId, Asked>,
    calls: ModelCalls,
}

/// What a program asked.
#[derive(Debug)]
struct Asked {
    messages: Value,
    system_prompt: String,
}

impl ModelTally {
    /// Counts what an entry of the journal says about a question. One that was refused before it left is not counted.
    pub(crate) fn note(&mut self, entry: &JournalEntry) {
        match entry {
            JournalEntry::Call {
                call, sent: true, ..
            } if call.op == HostOp::Llm => {
                self.open.insert(call.id, asked(&call.body));
            }
            JournalEntry::Outcome {
                id,
                result,
                not_sent,
                ..
            } => {
                if let Some(asked) = self.open.remove(id).filter(|_| !not_sent) {
                    self.ended(asked, result);
                }
            }
            _ => {}
        }
    }

    fn ended(&mut self, asked: Asked, result: &Result<String, CallError>) {
        let answer = result.as_ref().ok();
        let answer = answer.and_then(|text| serde_json::from_str::<ModelAnswerJson>(text).ok());
        let Some(answer) = answer else {
            self.calls.rounds = self.calls.rounds.saturating_add(1);
            return;
        };
        let last = answer.rounds.len().saturating_sub(1);
        for (place, round) in answer.rounds.into_iter().enumerate() {
            let calls = &mut self.calls;
            calls.rounds = calls.rounds.saturating_add(1);
            calls.tokens = calls.tokens.saturating_add(round.tokens());
            calls.took_ms = calls.took_ms.saturating_add(round.took_ms);
            if calls.calls.len() == CALLS_KEPT_MAX {
                continue;
            }
            let is_last = place == last;
            calls.calls.push(ModelCall {
                model: round.model,
                messages: asked.messages.clone(),
                system_prompt: asked.system_prompt.clone(),
                text: match is_last {
                    true => cut(&answer.text, TEXT_BYTES_MAX).to_owned(),
                    false => String::new(),
                },
                stop_reason: round.stop_reason,
                input_tokens: round.input_tokens,
                output_tokens: round.output_tokens,
                took_ms: round.took_ms,
                at: timestamp(round.at_ms),
            });
        }
    }

    /// Rounds and tokens that were used.
    pub(crate) fn used(&self) -> (u32, u64) {
        (self.calls.rounds, self.calls.tokens)
    }

    /// The questions so far, of an execution with these terms.
    pub(crate) fn calls(&self, terms: &ModelTerms) -> ModelCalls {
        ModelCalls {
            is_enabled: terms.enabled,
            rounds_left: terms.rounds.saturating_sub(self.calls.rounds),
            tokens_left: terms.tokens.saturating_sub(self.calls.tokens),
            ..self.calls.clone()
        }
    }
}

fn timestamp(at_ms: u64) -> String {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(at_ms) * 1_000_000);
    let at = at.ok().and_then(|at| at.format(&Rfc3339).ok());
    at.unwrap_or_default()
}

/// What the body of a host call asks, cut.
fn asked(body: &str) -> Asked {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let text_of = |value: &Value| match value {
        Value::String(text) => cut(text, TEXT_BYTES_MAX).to_owned(),
        other => cut(&other.to_string(), TEXT_BYTES_MAX).to_owned(),
    };
    let messages = match &body["messages"] {
        Value::Array(messages) => messages
            .iter()
            .take(CALLS_KEPT_MAX)
            .map(|message| {
                serde_json::json!({"role": message["role"], "content": text_of(&message["content"])})
            })
            .collect(),
        _ => vec![serde_json::json!({"role": "user", "content": text_of(&body["prompt"])})],
    };
    Asked {
        messages: Value::Array(messages),
        system_prompt: match &body["systemPrompt"] {
            Value::Null => String::new(),
            given => text_of(given),
        },
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{CallCode, EffectClass, HostCall};
    use serde_json::json;

    use super::*;

    fn call(
        tally: &mut ModelTally,
        id: u32,
        body: &Value,
        result: Result<Value, CallError>,
        not_sent: bool,
    ) {
        tally.note(&JournalEntry::Call {
            call: HostCall {
                id: CallId(id),
                op: HostOp::Llm,
                head: String::new(),
                body: body.to_string(),
            },
            tool: None,
            arguments_removed: None,
            key: None,
            sent_us: None,
            effect: EffectClass::Read,
            sent: true,
            plan_line: None,
        });
        tally.note(&JournalEntry::Outcome {
            id: CallId(id),
            result: result.map(|value| value.to_string()),
            took_us: 1,
            not_sent,
        });
    }

    #[test]
    fn rounds_are_counted_from_what_the_journal_has() {
        let round = |tokens: u64| {
            json!({
                "model": "m", "stopReason": "endTurn", "inputTokens": 1, "outputTokens": tokens, "tookMs": 5, "atMs": 7,
            })
        };
        let answer = json!({
            "text": "{}", "value": {}, "via": "client", "rounds": [round(2), round(3)], "left": {"rounds": 1, "tokens": 1},
        });
        let mut tally = ModelTally::default();
        let body = json!({"do": "ask", "prompt": "p", "systemPrompt": "s"});
        call(&mut tally, 1, &body, Ok(answer), false);
        let error = CallError::new(CallCode::Denied, "no");
        call(&mut tally, 2, &body, Err(error.clone()), false);
        call(&mut tally, 3, &body, Err(error), true);
        let terms = ModelTerms {
            enabled: true,
            rounds: 4,
            tokens: 10,
            ..ModelTerms::default()
        };
        let calls = tally.calls(&terms);
        assert_eq!((calls.rounds, calls.tokens, calls.took_ms), (3, 7, 10));
        assert_eq!((calls.rounds_left, calls.tokens_left), (1, 3));
        let [first, second] = &calls.calls[..] else {
            panic!("{calls:?}");
        };
        assert_eq!((first.text.as_str(), second.text.as_str()), ("", "{}"));
        assert_eq!(second.messages, json!([{"role": "user", "content": "p"}]));
        assert_eq!(second.system_prompt, "s");
    }
}
