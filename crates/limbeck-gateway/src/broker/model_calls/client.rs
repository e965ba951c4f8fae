//! A question to the model of the client, `sampling/createMessage`.

use limbeck_domain::text::clean_line;
use limbeck_domain::{CallCode, CallError, ServerName};
use limbeck_policy::ModelPermit;
use limbeck_upstream::models::{ModelAnswer, Speaker};
use limbeck_upstream::{CallObserver, ServerRequest, ServerRequestKind};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::super::model_prompt::Prompt;

/// Name that the question shows in place of a server's.
const ASKER: &str = "limbeck";
/// Bytes of what a client says.
const SAID_BYTES_MAX: usize = 300;
/// Bytes of the names of models and reasons.
const NAME_BYTES_MAX: usize = 200;

/// Why a client gave no answer.
pub(super) enum NoAnswer {
    /// It does not know the request.
    Cannot,
    /// It refused or failed.
    Failed(CallError),
}

/// Asks the client's model.
pub(super) async fn ask(
    caller: &dyn CallObserver,
    permit: &ModelPermit,
    prompt: &Prompt,
    max_tokens: u64,
) -> Result<ModelAnswer, NoAnswer> {
    let failed = |code: CallCode, message: String| NoAnswer::Failed(CallError::new(code, message));
    let params = to_raw_value(&params(prompt, max_tokens))
        .map_err(|error| failed(CallCode::GatewayFault, error.to_string()))?;
    let request = ServerRequest {
        server: ServerName::new(ASKER),
        kind: ServerRequestKind::Sampling,
        key: Some(format!("llm_{}", permit.request().action.as_str())),
        together: 1,
        execution: None,
        params,
    };
    let answer = caller.request(request).await.map_err(|declined| {
        if declined.is_unsupported {
            return NoAnswer::Cannot;
        }
        let reason = clean_line(&declined.reason, SAID_BYTES_MAX);
        let error = CallError::new(
            CallCode::Denied,
            format!("the client did not answer the question to its model: {reason}"),
        );
        NoAnswer::Failed(error.with_hint(
            "do not ask again in another way: the user decides what is asked; `return` the data and answer yourself",
        ))
    })?;
    read(answer.get()).ok_or_else(|| {
        failed(
            CallCode::UpstreamError,
            "the client answered the question to its model without a text".to_owned(),
        )
    })
}

fn params(prompt: &Prompt, max_tokens: u64) -> Value {
    let messages: Vec<Value> = prompt
        .messages
        .iter()
        .map(|(speaker, text)| {
            let role = match speaker {
                Speaker::User => "user",
                Speaker::Assistant => "assistant",
            };
            json!({"role": role, "content": {"type": "text", "text": text}})
        })
        .collect();
    let mut params = json!({
        "messages": messages,
        "maxTokens": max_tokens,
        "includeContext": "none",
    });
    if let Some(system) = &prompt.system {
        params["systemPrompt"] = system.as_str().into();
    }
    if let Some(model) = &prompt.model {
        params["modelPreferences"] = json!({"hints": [{"name": model}]});
    }
    params
}

/// The answer of a client; `None` where it has no text.
fn read(answer: &str) -> Option<ModelAnswer> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    let blocks = match &answer["content"] {
        Value::Array(blocks) => blocks.as_slice(),
        one => std::slice::from_ref(one),
    };
    let texts: Vec<&str> = blocks
        .iter()
        .filter(|block| block["type"] == "text")
        .filter_map(|block| block["text"].as_str())
        .collect();
    if texts.is_empty() {
        return None;
    }
    let named = |name: &str| {
        let name = answer[name].as_str().filter(|name| !name.is_empty());
        name.map(|name| clean_line(name, NAME_BYTES_MAX))
    };
    Some(ModelAnswer {
        text: texts.join("\n"),
        model: named("model"),
        stop_reason: named("stopReason"),
        // The protocol does not say.
        input_tokens: None,
        output_tokens: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_in_both_forms_and_an_image_is_no_answer() {
        let one = json!({"role": "assistant", "content": {"type": "text", "text": "a"}, "model": "m", "stopReason": "endTurn"});
        let many = json!({"content": [{"type": "text", "text": "a"}, {"type": "image"}], "model": "m", "stopReason": "endTurn"});
        for answer in [one, many] {
            let read = read(&answer.to_string()).unwrap();
            assert_eq!(
                (read.text.as_str(), read.model.as_deref()),
                ("a", Some("m"))
            );
        }
        for wrong in [r#"{"content":{"type":"image"}}"#, "{}", "[]", "7"] {
            assert!(read(wrong).is_none(), "{wrong}");
        }
    }
}
