//! Prompts, and the completion of their arguments.

use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, ListPromptsResult, Reference,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use crate::content;
use crate::handler::result;
use crate::question::{self, Asked, Question};

const CITIES: [&str; 3] = ["paris", "park", "party"];

pub(crate) fn list(has_extra: bool) -> Result<ListPromptsResult, ErrorData> {
    let argument =
        |name: &str| json!({"name": name, "description": format!("The {name}"), "required": true});
    let mut prompts = vec![
        prompt("test_simple_prompt", json!([])),
        prompt(
            "test_prompt_with_arguments",
            json!([argument("arg1"), argument("arg2")]),
        ),
        prompt(
            "test_prompt_with_embedded_resource",
            json!([argument("resourceUri")]),
        ),
        prompt("test_prompt_with_image", json!([])),
        prompt("test_input_required_result_prompt", json!([])),
    ];
    if has_extra {
        prompts.push(prompt("test_extra_prompt", json!([])));
    }
    result(json!({"prompts": prompts}))
}

fn prompt(name: &str, arguments: Value) -> Value {
    json!({"name": name, "description": format!("The prompt {name}"), "arguments": arguments})
}

pub(crate) async fn get(
    request: GetPromptRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    let argument = |name: &str| {
        let value = request.arguments.as_ref().and_then(|all| all.get(name));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let messages = match request.name.as_str() {
        "test_simple_prompt" | "test_extra_prompt" => {
            vec![content::text("This is a simple prompt for testing.")]
        }
        "test_prompt_with_arguments" => vec![content::text(format!(
            "Prompt with arguments: arg1='{}', arg2='{}'",
            argument("arg1"),
            argument("arg2")
        ))],
        "test_prompt_with_embedded_resource" => vec![
            content::embedded(
                &argument("resourceUri"),
                "text/plain",
                "Embedded resource content for testing.",
            ),
            content::text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => vec![
            content::image(),
            content::text("Please analyze the image above."),
        ],
        "test_input_required_result_prompt" => {
            let question = Question::form(
                "user_context",
                "What context should the prompt use?",
                json!({"context": {"type": "string"}}),
            );
            match question::ask(context, request.input_responses, vec![question]).await? {
                Asked::InputRequired(result) => return Ok(result.into()),
                Asked::Answered(answers) => {
                    let context = &answers[0]["content"]["context"];
                    vec![content::text(format!("Prompt with context {context}"))]
                }
            }
        }
        other => {
            return Err(ErrorData::invalid_params(
                format!("no prompt {other}"),
                None,
            ));
        }
    };
    let messages: Vec<Value> = messages
        .into_iter()
        .map(|content| json!({"role": "user", "content": content}))
        .collect();
    let result: GetPromptResult = result(json!({"messages": messages}))?;
    Ok(result.into())
}

pub(crate) fn complete(request: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
    let known = matches!(&request.r#ref, Reference::Prompt(prompt) if prompt.name == "test_prompt_with_arguments");
    let values: Vec<&str> = CITIES
        .into_iter()
        .filter(|city| known && city.starts_with(&request.argument.value))
        .collect();
    result(json!({"completion": {"values": values, "total": values.len(), "hasMore": false}}))
}
