//! Messages, the interface of Anthropic.

use serde_json::{Value, json};
use url::Url;

use super::addresses::{below, names_version};
use super::partial_answer::{AnswerProblem, PartialAnswer, stop_reason};
use super::{ModelPrompt, Speaker};

pub(super) fn url(base: &Url) -> Url {
    if names_version(base, &["v1"]) {
        return below(base, &["messages"]);
    }
    below(base, &["v1", "messages"])
}

pub(super) fn body(question: &ModelPrompt) -> Value {
    let messages: Vec<Value> = question
        .messages
        .iter()
        .map(|(speaker, text)| {
            let role = match speaker {
                Speaker::User => "user",
                Speaker::Assistant => "assistant",
            };
            json!({"role": role, "content": text})
        })
        .collect();
    let mut body = json!({
        "model": question.model,
        "max_tokens": question.max_tokens,
        "messages": messages,
        "stream": true,
    });
    if let Some(system) = &question.system {
        body["system"] = system.as_str().into();
    }
    body
}

pub(super) fn event(event: &Value, into: &mut PartialAnswer) -> Result<(), AnswerProblem> {
    match event["type"].as_str() {
        Some("error") => {
            into.reported(&event["error"])?;
            return Err(AnswerProblem::Reported(String::new()));
        }
        Some("message_start") => {
            into.model(&event["message"]["model"]);
            usage(&event["message"]["usage"], into);
        }
        Some("content_block_start") => into.text(&event["content_block"]["text"])?,
        Some("content_block_delta") => into.text(&event["delta"]["text"])?,
        Some("message_delta") => {
            usage(&event["usage"], into);
            into.stop(event["delta"]["stop_reason"].as_str().map(reason));
        }
        Some("message_stop") => into.end(),
        // `ping`, `content_block_stop`, and kinds that were added later.
        Some(_) | None => {}
    }
    Ok(())
}

pub(super) fn whole(answer: &Value, into: &mut PartialAnswer) -> Result<(), AnswerProblem> {
    into.reported(&answer["error"])?;
    let Some(blocks) = answer["content"].as_array() else {
        return Err(AnswerProblem::Form("no `content`, a list"));
    };
    into.model(&answer["model"]);
    usage(&answer["usage"], into);
    for block in blocks {
        into.text(&block["text"])?;
    }
    into.stop(Some(reason(
        answer["stop_reason"].as_str().unwrap_or("end_turn"),
    )));
    Ok(())
}

/// Tokens that were read from a cache, or written to one, are a part of the prompt.
fn usage(usage: &Value, into: &mut PartialAnswer) {
    let names = [
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
    ];
    let counts = names.iter().filter_map(|name| usage[name].as_u64());
    let input = counts.reduce(u64::saturating_add);
    into.tokens(&json!(input), &usage["output_tokens"]);
}

fn reason(reason: &str) -> String {
    match reason {
        "end_turn" => "endTurn".to_owned(),
        "max_tokens" => "maxTokens".to_owned(),
        "stop_sequence" => "stopSequence".to_owned(),
        other => stop_reason(other),
    }
}
