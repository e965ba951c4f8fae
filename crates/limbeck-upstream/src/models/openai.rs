//! Chat completions, the interface of OpenAI.

use serde_json::{Value, json};
use url::Url;

use super::addresses::below;
use super::partial_answer::{AnswerProblem, PartialAnswer, stop_reason};
use super::wire::ProviderKind;
use super::{ModelPrompt, Speaker};

pub(super) fn url(base: &Url) -> Url {
    below(base, &["chat", "completions"])
}

pub(super) fn body(kind: ProviderKind, question: &ModelPrompt) -> Value {
    let system = question.system.iter().map(|text| ("system", text));
    let messages = question.messages.iter().map(|(speaker, text)| {
        let role = match speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        (role, text)
    });
    let messages: Vec<Value> = system
        .chain(messages)
        .map(|(role, content)| json!({"role": role, "content": content}))
        .collect();
    let mut body = json!({
        "model": question.model,
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    body[limit_key(kind, &question.model)] = question.max_tokens.into();
    body
}

/// OpenAI's newer models refuse `max_tokens`, which all others know.
fn limit_key(kind: ProviderKind, model: &str) -> &'static str {
    let is_older = model.starts_with("gpt-3") || model.starts_with("gpt-4");
    if kind == ProviderKind::OpenAi && !is_older {
        "max_completion_tokens"
    } else {
        "max_tokens"
    }
}

pub(super) fn event(event: &Value, into: &mut PartialAnswer) -> Result<(), AnswerProblem> {
    into.reported(&event["error"])?;
    into.model(&event["model"]);
    into.tokens(
        &event["usage"]["prompt_tokens"],
        &event["usage"]["completion_tokens"],
    );
    let choice = &event["choices"][0];
    into.text(&choice["delta"]["content"])?;
    into.text(&choice["delta"]["refusal"])?;
    into.stop(choice["finish_reason"].as_str().map(reason));
    Ok(())
}

pub(super) fn whole(answer: &Value, into: &mut PartialAnswer) -> Result<(), AnswerProblem> {
    into.reported(&answer["error"])?;
    let choice = &answer["choices"][0];
    if !choice["message"].is_object() {
        return Err(AnswerProblem::Form("no `choices` with a message"));
    }
    into.model(&answer["model"]);
    into.tokens(
        &answer["usage"]["prompt_tokens"],
        &answer["usage"]["completion_tokens"],
    );
    into.text(&choice["message"]["content"])?;
    into.text(&choice["message"]["refusal"])?;
    into.stop(Some(reason(
        choice["finish_reason"].as_str().unwrap_or("stop"),
    )));
    Ok(())
}

fn reason(finish: &str) -> String {
    match finish {
        "stop" => "endTurn".to_owned(),
        "length" => "maxTokens".to_owned(),
        other => stop_reason(other),
    }
}
