//! Requests to run programs with default options, and their values.

use limbeck_domain::{Envelope, Language};
use limbeck_gateway::{AnswerForm, ExecuteRequest, Gateway};
use limbeck_policy::Scope;
use tokio_util::sync::CancellationToken;

/// Request to run a TypeScript program with default options.
pub fn request(program: &str) -> ExecuteRequest {
    request_in(Language::Typescript, program)
}

/// Request to run a Python program with default options.
pub fn python_request(program: &str) -> ExecuteRequest {
    request_in(Language::Python, program)
}

fn request_in(language: Language, program: &str) -> ExecuteRequest {
    ExecuteRequest {
        language,
        program: program.to_owned(),
        input: "null".to_owned(),
        timeout_ms: None,
        scope: Scope::everything(),
        principal: "test".to_owned(),
        origin: "test".to_owned(),
        answer: AnswerForm::default(),
        on_ask: limbeck_gateway::OnAsk::default(),
        models: limbeck_gateway::ModelsRequest::default(),
    }
}

/// Runs a TypeScript program to its end.
pub async fn run(gateway: &Gateway, program: &str) -> Envelope {
    gateway
        .execute(request(program), CancellationToken::new())
        .await
}

/// Runs a Python program to its end.
pub async fn run_python(gateway: &Gateway, program: &str) -> Envelope {
    gateway
        .execute(python_request(program), CancellationToken::new())
        .await
}

/// Value of a completed execution.
///
/// # Panics
///
/// When the execution did not complete, with its envelope.
pub fn value_of(envelope: &Envelope) -> serde_json::Value {
    assert!(envelope.error.is_none(), "program failed: {envelope:?}");
    let text = envelope.value.as_ref().map_or("null", |value| value.get());
    serde_json::from_str(text).expect("the gateway checked that the value is JSON")
}
