//! Content generation, the interface of Google Gemini.

use serde_json::{Value, json};
use url::Url;

use super::addresses::{below, names_version};
use super::partial_answer::{AnswerProblem, PartialAnswer, stop_reason};
use super::{ModelPrompt, Speaker};

pub(super) fn url(base: &Url, model: &str) -> Url {
    let model = model.strip_prefix("models/").unwrap_or(model);
    let call = format!("{model}:streamGenerateContent");
    let mut url = if names_version(base, &["v1", "v1beta"]) {
        below(base, &["models", &call])
    } else {
        below(base, &["v1beta", "models", &call])
    };
    url.query_pairs_mut().append_pair("alt", "sse");
    url
}

pub(super) fn body(question: &ModelPrompt) -> Value {
    let contents: Vec<Value> = question
        .messages
        .iter()
        .map(|(speaker, text)| {
            let role = match speaker {
                Speaker::User => "user",
                Speaker::Assistant => "model",
            };
            json!({"role": role, "parts": [{"text": text}]})
        })
        .collect();
    let mut body = json!({
        "contents": contents,
        "generationConfig": {"maxOutputTokens": question.max_tokens},
    });
    if let Some(system) = &question.system {
        body["systemInstruction"] = json!({"parts": [{"text": system}]});
    }
    body
}

pub(super) fn event(event: &Value, into: &mut PartialAnswer) -> Result<(), AnswerProblem> {
    into.reported(&event["error"])?;
    if let Some(blocked) = event["promptFeedback"]["blockReason"].as_str() {
        return Err(AnswerProblem::Reported(format!(
            "the prompt was blocked, {blocked}"
        )));
    }
    into.model(&event["modelVersion"]);
    let usage = &event["usageMetadata"];
    let counts = ["candidatesTokenCount", "thoughtsTokenCount"];
    let counts = counts.iter().filter_map(|name| usage[name].as_u64());
    let output = counts.reduce(u64::saturating_add);
    into.tokens(&usage["promptTokenCount"], &json!(output));
    let candidate = &event["candidates"][0];
    let parts = candidate["content"]["parts"].as_array();
    // What a model thinks is not its answer.
    let parts = parts.into_iter().flatten();
    for part in parts.filter(|part| part["thought"] != true) {
        into.text(&part["text"])?;
    }
    into.stop(candidate["finishReason"].as_str().map(reason));
    Ok(())
}

/// An answer without server-sent events is a list of what they would be, or one of them.
pub(super) fn whole(answer: &Value, into: &mut PartialAnswer) -> Result<(), AnswerProblem> {
    let parts = match answer {
        Value::Array(parts) => parts.as_slice(),
        one => std::slice::from_ref(one),
    };
    for part in parts {
        event(part, into)?;
    }
    if parts.iter().all(|part| !part["candidates"].is_array()) {
        return Err(AnswerProblem::Form("no `candidates`, a list"));
    }
    into.stop(Some("endTurn".to_owned()));
    Ok(())
}

fn reason(reason: &str) -> String {
    match reason {
        "STOP" => "endTurn".to_owned(),
        "MAX_TOKENS" => "maxTokens".to_owned(),
        other => stop_reason(other),
    }
}
