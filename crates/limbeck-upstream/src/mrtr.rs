//! Asks until there is a result: a server may want to know something first, or hand out a task.
//!
//! Since revision 2026-07-28 a server that needs something of the user or the client's model ends its
//! answer with `input_required` and is asked again with the responses (SEP-2322). The caller of the call
//! is asked for them. Rounds are bounded; the server's state is given back as it came, to the same
//! question of the same caller.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use limbeck_domain::text;
use rmcp::model::InputResponses;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::connection::{Connection, in_ms};
use crate::hearing::Hearing;
use crate::listener::kind_of;
use crate::question::{Question, Retry};
use crate::{AskKind, CallContext, UpstreamError, tasks};

/// How often one question may be answered with another; `rmcp` has the same number.
const ROUNDS_MAX: usize = 10;
/// Questions in one answer.
const INPUTS_MAX: usize = 16;
/// The server's state, which we carry for it.
const STATE_BYTES_MAX: usize = 1 << 20;

/// Asks `question` and whatever the server asks back, within `limit` of the server's time in all.
///
/// # Errors
///
/// Those of a call, and [`UpstreamError::InputNeeded`] when nobody can give the server what it wants.
pub(crate) async fn ask(
    connection: &Arc<Connection>,
    question: &Question,
    limit: Duration,
    context: &CallContext,
) -> Result<Box<RawValue>, UpstreamError> {
    let timed_out = |error| match error {
        // What was left for a round is not what the caller was promised.
        UpstreamError::CallTimeout { .. } => UpstreamError::CallTimeout { ms: in_ms(limit) },
        error => error,
    };
    let hearing = Hearing::new(context.caller.clone());
    let mut left = limit;
    let mut retry = Retry::default();
    for _ in 0..=ROUNDS_MAX {
        let request = question.request(retry)?;
        let (answer, worked) = connection
            .ask(request, left, context)
            .await
            .map_err(timed_out)?;
        left = left.saturating_sub(worked);
        retry = match Kind::of(&answer)? {
            Kind::Complete => return Ok(answer),
            Kind::Task => {
                let done = tasks::follow(connection, &answer, left, context, &hearing).await;
                return done.map_err(timed_out);
            }
            Kind::InputRequired(wanted) => Retry {
                responses: respond(connection, wanted.requests, context, &hearing).await?,
                state: wanted.state,
            },
        };
    }
    Err(UpstreamError::InvalidAnswer {
        reason: format!("it asked for input more than {ROUNDS_MAX} times"),
    })
}

/// What an answer is.
enum Kind {
    Complete,
    InputRequired(Wanted),
    Task,
}

struct Wanted {
    requests: BTreeMap<String, Box<RawValue>>,
    state: Option<String>,
}

impl Kind {
    fn of(answer: &RawValue) -> Result<Self, UpstreamError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Outside<'a> {
            #[serde(borrow, default)]
            result_type: Option<&'a RawValue>,
            #[serde(default)]
            input_requests: Option<BTreeMap<String, Box<RawValue>>>,
            #[serde(borrow, default)]
            request_state: Option<&'a RawValue>,
        }
        // The words appear in hardly any result, so that large ones are not parsed again.
        let text = answer.get();
        if !text.contains("\"input_required\"") && !text.contains("\"task\"") {
            return Ok(Self::Complete);
        }
        let Ok(outside) = serde_json::from_str::<Outside<'_>>(text) else {
            // Whatever it is, it is for the caller to read.
            return Ok(Self::Complete);
        };
        match outside.result_type.map(RawValue::get) {
            Some("\"input_required\"") => {}
            Some("\"task\"") => return Ok(Self::Task),
            _ => return Ok(Self::Complete),
        }
        let requests = outside.input_requests.unwrap_or_default();
        if requests.len() > INPUTS_MAX {
            return Err(invalid(format!(
                "it asks {} questions at once, more than {INPUTS_MAX}",
                requests.len()
            )));
        }
        let state = match outside.request_state {
            Some(state) if state.get().len() > STATE_BYTES_MAX => {
                return Err(invalid(format!(
                    "its request state has {} bytes, more than {STATE_BYTES_MAX}",
                    state.get().len()
                )));
            }
            Some(state) => Some(
                serde_json::from_str(state.get())
                    .map_err(|_| invalid("its request state is not a text".to_owned()))?,
            ),
            None => None,
        };
        if requests.is_empty() && state.is_none() {
            return Err(invalid(
                "it asks for input and does not say for which".to_owned(),
            ));
        }
        Ok(Self::InputRequired(Wanted { requests, state }))
    }
}

/// Puts the server's questions to the caller, one after the other; a person reads one at a time.
///
/// # Errors
///
/// [`UpstreamError::InputNeeded`] when there is nobody who could answer, or a question that has no way to be
/// declined was.
pub(crate) async fn respond(
    connection: &Connection,
    requests: BTreeMap<String, Box<RawValue>>,
    context: &CallContext,
    hearing: &Hearing,
) -> Result<Option<InputResponses>, UpstreamError> {
    if requests.is_empty() {
        return Ok(None);
    }
    let mut questions = Vec::new();
    for (key, request) in requests {
        let (kind, params) = question_of(&request)?;
        can_be_asked(connection, kind, context)?;
        questions.push((key, kind, params));
    }
    let mut responses = InputResponses::new();
    for (key, kind, params) in questions {
        let server = connection.listener().server();
        let response = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(UpstreamError::Cancelled),
            () = connection.closed() => return Err(connection.lost_now()),
            answer = hearing.ask(server, kind, params.as_deref()) => response(kind, answer)?,
        };
        responses.insert(key, response);
    }
    Ok(Some(responses))
}

fn response(
    kind: AskKind,
    answer: Result<Box<RawValue>, crate::Declined>,
) -> Result<Value, UpstreamError> {
    match (answer, kind) {
        (Ok(raw), _) => serde_json::from_str(raw.get()).map_err(|error| invalid(error.to_string())),
        (Err(_), AskKind::ElicitationForm | AskKind::ElicitationUrl) => {
            Ok(json!({"action": "decline"}))
        }
        (Err(declined), AskKind::Sampling | AskKind::Roots) => Err(UpstreamError::InputNeeded {
            method: kind.method(),
            reason: declined.reason,
        }),
    }
}

fn question_of(request: &RawValue) -> Result<(AskKind, Option<Box<RawValue>>), UpstreamError> {
    #[derive(Deserialize)]
    struct Inner {
        method: String,
        #[serde(default)]
        params: Option<Box<RawValue>>,
    }
    let inner: Inner = serde_json::from_str(request.get())
        .map_err(|error| invalid(format!("it asks something that is no request: {error}")))?;
    match kind_of(&inner.method, inner.params.as_deref()) {
        Some(kind) => Ok((kind, inner.params)),
        None => Err(invalid(format!(
            "it asks for `{}`, which no client can be asked for",
            text::clean_line(&inner.method, 128)
        ))),
    }
}

fn can_be_asked(
    connection: &Connection,
    kind: AskKind,
    context: &CallContext,
) -> Result<(), UpstreamError> {
    let reason = match &context.caller {
        _ if !connection.listener().declares().can(kind) => {
            "this gateway did not declare that it could be asked"
        }
        None => "nobody who made the call can be asked",
        Some(caller) if !caller.answers().can(kind) => {
            "the client that made the call cannot be asked"
        }
        Some(_) => return Ok(()),
    };
    Err(UpstreamError::InputNeeded {
        method: kind.method(),
        reason: reason.to_owned(),
    })
}

fn invalid(reason: String) -> UpstreamError {
    UpstreamError::InvalidAnswer { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Result<Kind, UpstreamError> {
        Kind::of(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn a_request_for_input_is_no_result_and_the_words_alone_are() {
        let wanted = r#"{"resultType":"input_required","requestState":" a\u0000\"b"}"#;
        let Ok(Kind::InputRequired(wanted)) = kind(wanted) else {
            panic!("not read");
        };
        assert_eq!(wanted.state.as_deref(), Some(" a\0\"b"));
        assert!(kind(r#"{"resultType":"input_required"}"#).is_err());
        for complete in [
            r#"{"resultType":"complete","content":["\"input_required\"","input_required"]}"#,
            r#"{"structuredContent":{"resultType":"input_required"}}"#,
            r#"{"type":"task"}"#,
            r#"{"resultType":null,"a":"task"}"#,
        ] {
            assert!(matches!(kind(complete), Ok(Kind::Complete)), "{complete}");
        }
        assert!(matches!(kind(r#"{"resultType":"task"}"#), Ok(Kind::Task)));
    }

    #[test]
    fn a_state_or_a_number_of_questions_beyond_bounds_is_refused() {
        let state = "S".repeat(STATE_BYTES_MAX);
        let large = format!(r#"{{"resultType":"input_required","requestState":"{state}"}}"#);
        assert!(kind(&large).is_err());
        let questions: Vec<String> = (0..=INPUTS_MAX).map(|n| format!(r#""{n}":{{}}"#)).collect();
        let many = questions.join(",");
        let many = format!(r#"{{"resultType":"input_required","inputRequests":{{{many}}}}}"#);
        assert!(kind(&many).is_err());
    }
}
