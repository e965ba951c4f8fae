//! A program's question to a model, read from its host call and checked against what the run may ask.

use limbeck_domain::limits::CALL_ARGS_BYTES_MAX;
use limbeck_domain::text::clean_line;
use limbeck_domain::{CallCode, CallError, CompactArguments, ModelTerms};
use limbeck_policy::{MODEL_SERVER, ModelAction, ModelRequest};
use limbeck_upstream::models::Speaker;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::models::Models;
use crate::models::quota::estimate;

/// Tokens of an answer, unless the program asks for another number.
const ANSWER_TOKENS_DEFAULT: u64 = 1_000;
/// Most tokens of one answer; more are lowered to this.
const ANSWER_TOKENS_MAX: u64 = 10_000;
/// Messages of one question.
const MESSAGES_MAX: usize = 1_000;
/// Bytes of a model's name.
const MODEL_BYTES_MAX: usize = 200;
/// Bytes of a refused system prompt or model that an error shows.
const SHOWN_BYTES_MAX: usize = 100;

/// A question that may be put.
#[derive(Clone, Debug)]
pub(super) struct Prompt {
    pub(super) system: Option<String>,
    pub(super) messages: Vec<(Speaker, String)>,
    /// The model; `None` where the client chooses it.
    pub(super) model: Option<String>,
    /// Tokens that the answer may have, before the quota is looked at.
    pub(super) max_tokens: u64,
    /// JSON Schema of the value that is wanted.
    pub(super) schema: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    messages: Vec<Message>,
    #[serde(default)]
    system_prompt: Option<String>,
    #[serde(default)]
    max_tokens: Option<f64>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    schema: Option<Value>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Block(Block),
    Blocks(Vec<Block>),
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    text: Option<String>,
}

/// The question of a host call, as rules and people know it.
pub(super) fn request_of(body: &str) -> Result<ModelRequest, CallError> {
    if body.len() > CALL_ARGS_BYTES_MAX {
        return Err(CallError::new(
            CallCode::LimitExceeded,
            format!(
                "question of {} bytes, at most {CALL_ARGS_BYTES_MAX} are allowed",
                body.len()
            ),
        ));
    }
    let mut body: Map<String, Value> =
        serde_json::from_str(body).map_err(|_| malformed("it is not a JSON object"))?;
    let action = body.remove("do");
    let action = action.as_ref().and_then(Value::as_str);
    let action = action.and_then(ModelAction::named);
    let action = action.ok_or_else(|| malformed("it is neither `ask` nor `think`"))?;
    let (arguments, _) = CompactArguments::parse(&Value::Object(body).to_string())
        .map_err(|error| malformed(&error.to_string()))?;
    Ok(ModelRequest { action, arguments })
}

/// The name of an action in errors, `llm.ask`.
pub(super) fn label(action: ModelAction) -> String {
    format!("{MODEL_SERVER}.{}", action.as_str())
}

fn malformed(problem: &str) -> CallError {
    let message = format!("the question to a model cannot be read: {problem}");
    CallError::new(CallCode::InvalidArguments, message)
}

impl Prompt {
    /// Reads a question and checks its system prompt and model.
    ///
    /// # Errors
    ///
    /// What is wrong, or not allowed. Nothing was put.
    pub(super) fn read(
        request: &ModelRequest,
        terms: &ModelTerms,
        models: &Models,
    ) -> Result<Self, CallError> {
        let label = label(request.action);
        let wrong = |problem: String| {
            CallError::new(CallCode::InvalidArguments, format!("{label}: {problem}"))
        };
        let arguments: Arguments = serde_json::from_str(request.arguments.as_str())
            .map_err(|error| wrong(format!("{error}")).with_hint(hint_of(request.action)))?;
        let given = match (request.action, arguments.prompt) {
            (ModelAction::Ask, Some(prompt)) => vec![Message {
                role: "user".to_owned(),
                content: Content::Text(prompt),
            }],
            (ModelAction::Ask, None) => {
                return Err(
                    wrong("the prompt is missing".to_owned()).with_hint(hint_of(request.action))
                );
            }
            (ModelAction::Think, _) => arguments.messages,
        };
        if given.is_empty() || given.len() > MESSAGES_MAX {
            return Err(wrong(format!("1 to {MESSAGES_MAX} messages are taken"))
                .with_hint(hint_of(request.action)));
        }
        let mut system = arguments.system_prompt.filter(|text| !text.is_empty());
        let mut messages = Vec::with_capacity(given.len());
        for message in given {
            let text = message.content.text().map_err(&wrong)?;
            match message.role.as_str() {
                "user" => messages.push((Speaker::User, text)),
                "assistant" => messages.push((Speaker::Assistant, text)),
                // In each place it is checked like a system prompt and put like one.
                "system" => system = Some(joined(system, &text)),
                other => {
                    let other = clean_line(other, SHOWN_BYTES_MAX);
                    return Err(wrong(format!(
                        "`{other}` is not a role; `user`, `assistant` and `system` are"
                    )));
                }
            }
        }
        if messages.is_empty() {
            return Err(wrong("no message of a user".to_owned()));
        }
        let system = system.or_else(|| terms.system_prompt.clone());
        check_system(&label, system.as_deref(), terms)?;
        let asked = arguments.model.filter(|model| !model.is_empty());
        if asked
            .as_ref()
            .is_some_and(|model| model.len() > MODEL_BYTES_MAX)
        {
            return Err(wrong("the name of the model is too long".to_owned()));
        }
        let model = models.model_for(asked.as_deref(), terms);
        let model = model.map_err(|allowed| not_allowed(&label, asked.as_deref(), &allowed))?;
        let max_tokens = match arguments.max_tokens {
            None => ANSWER_TOKENS_DEFAULT,
            Some(number) if number >= 1.0 && number.is_finite() => {
                // The bound is exact, and a larger number is lowered to it.
                number.min(ANSWER_TOKENS_MAX as f64) as u64
            }
            Some(_) => return Err(wrong("`maxTokens` must be 1 or more".to_owned())),
        };
        Ok(Self {
            system,
            messages,
            model,
            max_tokens,
            schema: arguments.schema.filter(|schema| !schema.is_null()),
        })
    }

    /// Tokens of the prompt, estimated.
    pub(super) fn tokens(&self) -> u64 {
        let messages = self.messages.iter().map(|(_, text)| text.as_str());
        estimate(self.system.as_deref().into_iter().chain(messages))
    }

    /// Adds a sentence to the last message, where it is the user's.
    pub(super) fn add(&mut self, text: &str) {
        match self.messages.last_mut() {
            Some((Speaker::User, last)) => {
                last.push_str("\n\n");
                last.push_str(text);
            }
            Some((Speaker::Assistant, _)) | None => {
                self.messages.push((Speaker::User, text.to_owned()));
            }
        }
    }
}

impl Content {
    fn text(self) -> Result<String, String> {
        let blocks = match self {
            Self::Text(text) => return Ok(text),
            Self::Block(block) => vec![block],
            Self::Blocks(blocks) => blocks,
        };
        let texts = blocks.into_iter().map(|block| match block {
            Block {
                kind: None,
                text: Some(text),
            } => Ok(text),
            Block {
                kind: Some(kind),
                text: Some(text),
            } if kind == "text" => Ok(text),
            Block { kind, .. } => {
                let kind = clean_line(kind.as_deref().unwrap_or("?"), SHOWN_BYTES_MAX);
                Err(format!(
                    "a message has a block of the type `{kind}`; models are asked in text"
                ))
            }
        });
        Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
    }
}

fn joined(system: Option<String>, more: &str) -> String {
    match system {
        Some(system) => format!("{system}\n\n{more}"),
        None => more.to_owned(),
    }
}

fn hint_of(action: ModelAction) -> &'static str {
    match action {
        ModelAction::Ask => "write `llm.ask(\"…\")`",
        ModelAction::Think => "write `llm.think([{role: \"user\", content: \"…\"}])`",
    }
}

/// Refuses a system prompt that is not in the list, where there is one.
fn check_system(label: &str, system: Option<&str>, terms: &ModelTerms) -> Result<(), CallError> {
    let (Some(system), Some(allowed)) = (system, &terms.system_prompts) else {
        return Ok(());
    };
    // The caller of the execution, and not its program, chose that one; the list of the user counts for it all the same.
    if system.is_empty() || allowed.iter().any(|prompt| prompt == system) {
        return Ok(());
    }
    let shown = clean_line(system, SHOWN_BYTES_MAX);
    let message = format!("{label}: the system prompt is not in the allowlist: `{shown}`");
    Err(CallError::new(CallCode::Denied, message).with_hint(
        "leave the system prompt out, or use one that the user allows (`system_prompts` of [llm])",
    ))
}

fn not_allowed(label: &str, asked: Option<&str>, allowed: &[String]) -> CallError {
    let shown = |name: &str| format!("`{}`", clean_line(name, SHOWN_BYTES_MAX));
    let what = match asked {
        Some(model) => format!("the model {} is not in the allowlist", shown(model)),
        None => "no model is in the allowlists of both the user and the request".to_owned(),
    };
    let error = CallError::new(CallCode::Denied, format!("{label}: {what}"));
    let names: Vec<String> = allowed.iter().take(10).map(|name| shown(name)).collect();
    match names.is_empty() {
        true => error.with_hint("leave the model out; `models` of [llm] is the user's list"),
        false => error.with_hint(format!(
            "leave the model out, or name {}",
            names.join(" or ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::models::ModelsConfig;

    fn read(body: Value, terms: &ModelTerms) -> Result<Prompt, CallError> {
        let request = request_of(&body.to_string())?;
        Prompt::read(&request, terms, &Models::new(ModelsConfig::default()))
    }

    fn of(body: Value) -> Result<Prompt, CallError> {
        read(body, &ModelTerms::default())
    }

    #[test]
    fn a_prompt_and_a_conversation_are_read_with_text_in_any_of_its_forms() {
        let prompt = of(json!({"do": "ask", "prompt": "p", "maxTokens": 99_999})).unwrap();
        assert_eq!(prompt.messages, [(Speaker::User, "p".to_owned())]);
        assert_eq!((prompt.system, prompt.max_tokens), (None, 10_000));
        let prompt = of(json!({"do": "think", "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "assistant", "content": {"type": "text", "text": "c"}},
        ], "systemPrompt": "first"}));
        let prompt = prompt.unwrap();
        assert_eq!(prompt.system.as_deref(), Some("first\n\ns"));
        let expected = [(Speaker::User, "a\nb"), (Speaker::Assistant, "c")];
        assert_eq!(
            prompt.messages,
            expected.map(|(who, text)| (who, text.to_owned()))
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (body, problem) in [
            (json!({"do": "ask"}), "the prompt is missing"),
            (json!({"do": "think", "messages": []}), "1 to 1000 messages"),
            (
                json!({"do": "think", "messages": [{"role": "robot", "content": "x"}]}),
                "`robot` is not a role",
            ),
            (
                json!({"do": "think", "messages": [{"role": "user", "content": [{"type": "image"}]}]}),
                "type `image`",
            ),
            (
                json!({"do": "think", "messages": [{"role": "user", "content": 7}]}),
                "llm.think",
            ),
            (
                json!({"do": "ask", "prompt": "p", "maxTokens": 0}),
                "`maxTokens`",
            ),
            (
                json!({"do": "sing", "prompt": "p"}),
                "neither `ask` nor `think`",
            ),
            (json!([]), "not a JSON object"),
        ] {
            let error = of(body).unwrap_err();
            assert_eq!(error.code, CallCode::InvalidArguments);
            assert!(error.message.contains(problem), "{error}");
        }
    }

    #[test]
    fn a_system_prompt_is_checked_also_where_it_is_a_message() {
        let terms = ModelTerms {
            system_prompts: Some(vec!["Be terse".to_owned()]),
            ..ModelTerms::default()
        };
        let ask = |system: &str| {
            read(
                json!({"do": "ask", "prompt": "p", "systemPrompt": system}),
                &terms,
            )
        };
        assert!(ask("Be terse").is_ok() && ask("").is_ok());
        assert_eq!(ask("Be rude").unwrap_err().code, CallCode::Denied);
        let think = |system: &str| {
            let messages =
                json!([{"role": "system", "content": system}, {"role": "user", "content": "p"}]);
            read(json!({"do": "think", "messages": messages}), &terms)
        };
        assert!(think("Be terse").is_ok());
        assert_eq!(think("Be rude").unwrap_err().code, CallCode::Denied);
    }
}
