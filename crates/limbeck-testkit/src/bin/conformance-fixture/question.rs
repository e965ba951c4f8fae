//! Requests to the client: nested requests in the legacy protocol, `input_required` results in the modern one.

use std::collections::BTreeMap;

use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, InputRequiredResult, InputResponses, ProtocolVersion, ServerRequest,
};
use rmcp::service::{RequestContext, RoleServer, ServiceError};
use serde_json::{Value, json};

use crate::handler::typed;

/// Request to the client.
pub(crate) struct Question {
    key: &'static str,
    method: &'static str,
    params: Value,
}

/// Outcome of requests to the client.
pub(crate) enum Asked {
    /// Responses in the order of the requests.
    Answered(Vec<Value>),
    /// The client must repeat the call with its responses.
    InputRequired(InputRequiredResult),
}

impl Question {
    /// A form; every property is required.
    pub(crate) fn form(key: &'static str, message: &str, properties: Value) -> Self {
        let required: Vec<&String> = properties
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name)
            .collect();
        let schema = json!({"type": "object", "properties": properties, "required": required});
        Self::form_of(key, message, schema)
    }

    /// A form with a schema of its own.
    pub(crate) fn form_of(key: &'static str, message: &str, schema: Value) -> Self {
        Self {
            key,
            method: "elicitation/create",
            params: json!({"message": message, "requestedSchema": schema}),
        }
    }

    /// A completion of the client's model.
    pub(crate) fn completion(key: &'static str, prompt: &str, max_tokens: u32) -> Self {
        let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
        Self {
            key,
            method: "sampling/createMessage",
            params: json!({"messages": [message], "maxTokens": max_tokens}),
        }
    }

    /// Roots of the client.
    pub(crate) fn roots(key: &'static str) -> Self {
        Self {
            key,
            method: "roots/list",
            params: json!({}),
        }
    }

    fn request(&self) -> Value {
        json!({"method": self.method, "params": self.params})
    }

    /// Whether `answer` has the form that the method's result has.
    fn accepts(&self, answer: &Value) -> bool {
        match self.method {
            "elicitation/create" => answer["action"].is_string(),
            "sampling/createMessage" => !answer["content"].is_null(),
            _ => answer["roots"].is_array(),
        }
    }

    fn is_declared(&self, capabilities: &ClientCapabilities) -> bool {
        match self.method {
            "elicitation/create" => capabilities.elicitation.is_some(),
            "sampling/createMessage" => capabilities.sampling.is_some(),
            _ => capabilities.roots.is_some(),
        }
    }
}

/// Whether the client uses the revision without nested requests.
pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Requests that the capabilities of the client allow.
pub(crate) fn declared(
    context: &RequestContext<RoleServer>,
    questions: Vec<Question>,
) -> Vec<Question> {
    let capabilities = context.client_capabilities().unwrap_or_default();
    let mut questions = questions;
    questions.retain(|question| question.is_declared(&capabilities));
    questions
}

/// Sends all `questions`; `responses` are those of a repeated call.
///
/// # Errors
///
/// A client that cannot be reached or that rejected a request.
pub(crate) async fn ask(
    context: &RequestContext<RoleServer>,
    responses: Option<InputResponses>,
    questions: Vec<Question>,
) -> Result<Asked, ErrorData> {
    if !is_modern(context) {
        let mut answers = Vec::new();
        for question in &questions {
            answers.push(nested(context, question).await?);
        }
        return Ok(Asked::Answered(answers));
    }
    let responses = responses.unwrap_or_default();
    let answers: Option<Vec<Value>> = questions
        .iter()
        .map(|question| {
            let answer = responses.get(question.key)?;
            question.accepts(answer).then(|| answer.clone())
        })
        .collect();
    match answers {
        Some(answers) => Ok(Asked::Answered(answers)),
        None => required(&questions, None).map(Asked::InputRequired),
    }
}

/// Result with the requests `questions` and the request state `state`.
pub(crate) fn required(
    questions: &[Question],
    state: Option<String>,
) -> Result<InputRequiredResult, ErrorData> {
    let requests: BTreeMap<&str, Value> = questions
        .iter()
        .map(|question| (question.key, question.request()))
        .collect();
    let mut result = json!({"resultType": "input_required", "inputRequests": requests});
    if let Some(state) = state {
        result["requestState"] = state.into();
    }
    typed(result)
}

/// Sends a nested request while the call of the client is in flight.
async fn nested(
    context: &RequestContext<RoleServer>,
    question: &Question,
) -> Result<Value, ErrorData> {
    let request: ServerRequest = typed(question.request())?;
    let answer = context
        .peer
        .send_request(request)
        .await
        .map_err(|error| match error {
            ServiceError::McpError(error) => error,
            other => ErrorData::internal_error(other.to_string(), None),
        })?;
    serde_json::to_value(answer).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}
