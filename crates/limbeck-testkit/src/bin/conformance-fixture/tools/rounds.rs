//! Tools with several rounds of `input_required`, with and without request state.

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::SealOptions;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use super::complete;
use crate::content;
use crate::handler::Fixture;
use crate::question::{self, Asked, Question};

pub(super) const NAMES: [&str; 8] = [
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
];

/// How long a state is good for.
const STATE_TTL: Duration = Duration::from_secs(600);

pub(super) async fn call(
    fixture: &Fixture,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let name = request.name.clone();
    let questions = match &*name {
        "test_input_required_result_elicitation" => vec![user_name()],
        "test_input_required_result_sampling" => {
            let prompt = "What is the capital of France?";
            vec![Question::completion("capital_question", prompt, 100)]
        }
        "test_input_required_result_list_roots" => vec![Question::roots("client_roots")],
        "test_input_required_result_multiple_inputs" => vec![
            user_name(),
            Question::completion("greeting", "Generate a greeting", 50),
            Question::roots("client_roots"),
        ],
        "test_input_required_result_capabilities" => question::declared(
            context,
            vec![
                user_name(),
                Question::completion("greeting", "Generate a greeting", 50),
            ],
        ),
        "test_input_required_result_multi_round" => return rounds(fixture, request, context).await,
        _ => {
            let confirm = json!({"ok": {"type": "boolean"}});
            vec![Question::form("confirm", "Please confirm", confirm)]
        }
    };
    let needs_state = matches!(
        &*name,
        "test_input_required_result_request_state"
            | "test_input_required_result_multiple_inputs"
            | "test_input_required_result_tampered_state"
    );
    if needs_state && question::is_modern(context) {
        return stateful(fixture, request, questions);
    }
    match question::ask(context, request.input_responses, questions).await? {
        Asked::InputRequired(result) => Ok(result.into()),
        Asked::Answered(answers) => complete(vec![content::text(greeting(&answers))]),
    }
}

/// One round whose answers count only together with the state they were asked with.
fn stateful(
    fixture: &Fixture,
    request: CallToolRequestParams,
    questions: Vec<Question>,
) -> Result<CallToolResponse, ErrorData> {
    let (Some(state), Some(_)) = (&request.request_state, &request.input_responses) else {
        let state = seal(fixture, &request.name, 1);
        return Ok(question::required(&questions, Some(state))?.into());
    };
    open(fixture, &request.name, state)?;
    complete(vec![content::text("state-ok")])
}

/// Two requests, one after the other.
async fn rounds(
    fixture: &Fixture,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let first = || {
        let name = json!({"name": {"type": "string"}});
        Question::form("step1", "Step 1: What is your name?", name)
    };
    let second = || {
        let color = json!({"color": {"type": "string"}});
        Question::form("step2", "Step 2: What is your favorite color?", color)
    };
    if !question::is_modern(context) {
        question::ask(context, None, vec![first(), second()]).await?;
        return complete(vec![content::text("Both steps are done")]);
    }
    let done = match &request.request_state {
        None => 0,
        Some(state) => open(fixture, &request.name, state)?,
    };
    let next = match done {
        0 => first(),
        1 => second(),
        _ => return complete(vec![content::text("Both steps are done")]),
    };
    let state = seal(fixture, &request.name, done + 1);
    Ok(question::required(&[next], Some(state))?.into())
}

fn user_name() -> Question {
    let name = json!({"name": {"type": "string"}});
    Question::form("user_name", "What is your name?", name)
}

fn greeting(answers: &[Value]) -> String {
    let first = answers.first().unwrap_or(&Value::Null);
    match first["content"]["name"].as_str() {
        Some(name) => format!("Hello, {name}!"),
        None => format!("Answered: {first}"),
    }
}

fn seal(fixture: &Fixture, tool: &str, round: u64) -> String {
    let options = SealOptions::new()
        .associated_data(tool.as_bytes())
        .ttl(STATE_TTL);
    fixture.codec().seal_with(&round.to_le_bytes(), &options)
}

fn open(fixture: &Fixture, tool: &str, state: &str) -> Result<u64, ErrorData> {
    let refused =
        |reason: String| ErrorData::invalid_params(format!("requestState: {reason}"), None);
    let round = fixture
        .codec()
        .open_with(state, tool.as_bytes())
        .map_err(|error| refused(error.to_string()))?;
    let round = round
        .try_into()
        .map_err(|_| refused("is not of this tool".to_owned()))?;
    Ok(u64::from_le_bytes(round))
}
