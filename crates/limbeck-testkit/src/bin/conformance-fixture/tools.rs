//! Tools: their list and their results.

mod rounds;

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ListToolsResult,
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use crate::content;
use crate::handler::{Change, Fixture, result};
use crate::question::{self, Asked, Question};

/// Pause between two notifications of a call.
const STEP: Duration = Duration::from_millis(50);

pub(crate) fn list(has_extra: bool) -> Result<ListToolsResult, ErrorData> {
    let mut tools = vec![
        simple("test_simple_text"),
        simple("test_image_content"),
        simple("test_audio_content"),
        simple("test_embedded_resource"),
        simple("test_multiple_content_types"),
        simple("test_error_handling"),
        simple("test_tool_with_logging"),
        simple("test_tool_with_progress"),
        simple("test_reconnection"),
        with_text("test_sampling", "prompt"),
        with_text("test_elicitation", "message"),
        simple("test_elicitation_sep1034_defaults"),
        simple("test_elicitation_sep1330_enums"),
        tool("json_schema_2020_12_tool", rich_schema()),
        tool("test_custom_header", mirrored_schema()),
        simple("test_trigger_tool_change"),
        simple("test_trigger_prompt_change"),
        simple("test_missing_capability"),
        simple("test_streaming_elicitation"),
        simple("test_logging_tool"),
    ];
    tools.extend(rounds::NAMES.map(simple));
    if has_extra {
        tools.push(simple("test_extra_tool"));
    }
    result(json!({"tools": tools}))
}

/// Definition of one tool, for the check of mirrored headers.
pub(crate) fn get(name: &str) -> Option<Tool> {
    let tools = list(true).ok()?.tools;
    tools.into_iter().find(|tool| tool.name == name)
}

pub(crate) async fn call(
    fixture: &Fixture,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    if rounds::NAMES.contains(&&*request.name) {
        return rounds::call(fixture, request, context).await;
    }
    let argument = |name: &str| {
        let value = request.arguments.as_ref().and_then(|all| all.get(name));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let blocks = match &*request.name {
        "test_simple_text" => vec![content::text("This is a simple text response for testing.")],
        "test_image_content" => vec![content::image()],
        "test_audio_content" => vec![content::audio()],
        "test_embedded_resource" => vec![content::embedded(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )],
        "test_multiple_content_types" => vec![
            content::text("Multiple content types test:"),
            content::image(),
            content::embedded(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            ),
        ],
        "test_error_handling" => {
            let text = "This tool intentionally returns an error for testing";
            let result: CallToolResult =
                result(json!({"isError": true, "content": [content::text(text)]}))?;
            return Ok(result.into());
        }
        "test_tool_with_logging" | "test_logging_tool" => {
            log_steps(context).await;
            vec![content::text("Tool with logging executed successfully")]
        }
        "test_tool_with_progress" => {
            report_progress(context).await;
            vec![content::text("Tool with progress executed successfully")]
        }
        "test_reconnection" => vec![content::text("Reconnection test completed")],
        "json_schema_2020_12_tool" | "test_extra_tool" => vec![content::text("Done")],
        "test_custom_header" => vec![content::text(format!("Value: {}", argument("value")))],
        "test_trigger_tool_change" => {
            fixture.change(Change::Tools, context).await;
            vec![content::text("The list of tools has changed")]
        }
        "test_trigger_prompt_change" => {
            fixture.change(Change::Prompts, context).await;
            vec![content::text("The list of prompts has changed")]
        }
        "test_missing_capability" => {
            let declared = context.client_capabilities().unwrap_or_default();
            if declared.sampling.is_none() {
                let needed = ClientCapabilities::builder().enable_sampling().build();
                return Err(ErrorData::missing_required_client_capability(needed));
            }
            vec![content::text("The capability is there")]
        }
        "test_sampling" => {
            let question = Question::completion("completion", &argument("prompt"), 100);
            return asked(context, request, question, "LLM response", |answer| {
                answer["content"]["text"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            })
            .await;
        }
        name @ ("test_elicitation"
        | "test_elicitation_sep1034_defaults"
        | "test_elicitation_sep1330_enums"
        | "test_streaming_elicitation") => {
            let question = elicitation(name, &argument("message"));
            return asked(
                context,
                request,
                question,
                "User response",
                Value::to_string,
            )
            .await;
        }
        other => {
            let message = format!("no tool {other}");
            return Err(ErrorData::invalid_params(message, None));
        }
    };
    complete(blocks)
}

pub(crate) fn complete(blocks: Vec<Value>) -> Result<CallToolResponse, ErrorData> {
    let result: CallToolResult = result(json!({"content": blocks}))?;
    Ok(result.into())
}

async fn asked(
    context: &RequestContext<RoleServer>,
    request: CallToolRequestParams,
    question: Question,
    label: &str,
    show: impl Fn(&Value) -> String,
) -> Result<CallToolResponse, ErrorData> {
    match question::ask(context, request.input_responses, vec![question]).await? {
        Asked::InputRequired(result) => Ok(result.into()),
        Asked::Answered(answers) => complete(vec![content::text(format!(
            "{label}: {}",
            show(&answers[0])
        ))]),
    }
}

fn elicitation(tool: &str, message: &str) -> Question {
    match tool {
        "test_elicitation" => Question::form(
            "user",
            message,
            json!({
                "username": {"type": "string", "description": "User's response"},
                "email": {"type": "string", "description": "User's email address"}
            }),
        ),
        "test_elicitation_sep1034_defaults" => Question::form_of(
            "defaults",
            "Please check the defaults",
            json!({"type": "object", "properties": {
                "name": {"type": "string", "description": "Name", "default": "John Doe"},
                "age": {"type": "integer", "description": "Age", "default": 30},
                "score": {"type": "number", "description": "Score", "default": 95.5},
                "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
                "verified": {"type": "boolean", "description": "Verified", "default": true}
            }, "required": []}),
        ),
        "test_elicitation_sep1330_enums" => Question::form_of(
            "choices",
            "Please choose",
            json!({"type": "object", "properties": {
                "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
                "titledSingle": {"type": "string", "oneOf": titled(["First Option", "Second Option", "Third Option"])},
                "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
                "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
                "titledMulti": {"type": "array", "items": {"anyOf": titled(["First Choice", "Second Choice", "Third Choice"])}}
            }, "required": []}),
        ),
        _ => Question::form(
            "confirmation",
            "Please confirm",
            json!({"ok": {"type": "boolean"}}),
        ),
    }
}

fn titled(titles: [&str; 3]) -> Vec<Value> {
    let value = |(n, title)| json!({"const": format!("value{}", n + 1), "title": title});
    titles.into_iter().enumerate().map(value).collect()
}

/// Sends three log messages. A modern client receives those of the level in its request, a legacy client all.
async fn log_steps(context: &RequestContext<RoleServer>) {
    let wanted = !question::is_modern(context) || context.meta.log_level().is_some();
    for step in [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ] {
        if wanted {
            let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, step.into());
            // A client that has disconnected receives no log.
            let _ = context.peer.notify_logging_message(message).await;
        }
        tokio::time::sleep(STEP).await;
    }
}

async fn report_progress(context: &RequestContext<RoleServer>) {
    for progress in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let mut report = ProgressNotificationParam::new(token, progress);
            report.total = Some(100.0);
            report.message = Some(format!("Completed step {progress} of 100"));
            let _ = context.peer.notify_progress(report).await;
        }
        tokio::time::sleep(STEP).await;
    }
}

fn simple(name: &str) -> Value {
    tool(name, json!({"type": "object", "properties": {}}))
}

fn with_text(name: &str, argument: &str) -> Value {
    let properties =
        json!({argument: {"type": "string", "description": format!("The {argument}")}});
    tool(
        name,
        json!({"type": "object", "properties": properties, "required": [argument]}),
    )
}

fn tool(name: &str, schema: Value) -> Value {
    let description = format!("The tool {name} of the conformance suite");
    json!({"name": name, "description": description, "inputSchema": schema})
}

fn mirrored_schema() -> Value {
    let value = json!({"type": "string", "description": "Mirrored", "x-mcp-header": "Value"});
    json!({"type": "object", "properties": {"value": value}, "required": ["value"]})
}

/// Schema whose keywords must all reach the client.
fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"}
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    })
}
