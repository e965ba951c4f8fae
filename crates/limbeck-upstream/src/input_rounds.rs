//! Calls that need several rounds: the server requests input first, or returns a task.
//!
//! Since revision 2026-07-28 a server that needs input of the user or the client's model returns
//! `input_required`, and the client repeats the request with the responses (SEP-2322, multi round-trip
//! requests). The observer of the call provides them. The number of rounds is bounded; the server's state is
//! sent back unchanged, with the same request of the same caller.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::try_join_all;
use limbeck_domain::text;
use rmcp::model::InputResponses;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::call_context::CallContext;
use crate::call_feedback::CallFeedback;
use crate::connection::Connection;
use crate::error::UpstreamError;
use crate::request_room::HeldBytes;
use crate::server_messages::request_kind;
use crate::server_request::{DeclinedError, ServerRequestKind};
use crate::tasks;
use crate::time::in_ms;
use crate::upstream_request::{RetryParams, UpstreamRequest};
use crate::url_needed::{RequestFailure, UrlNeeded};

/// Rounds of one call; `rmcp` has the same limit.
const ROUNDS_MAX: usize = 10;
/// Input requests in one result.
const INPUTS_MAX: usize = 16;
/// Bytes of the server's `requestState`.
const STATE_BYTES_MAX: usize = 1 << 20;

/// Sends `request` and answers the input requests of the server until there is a result. `limit` is the
/// server's time in all rounds together, `held` the room of the request.
///
/// # Errors
///
/// Any error of a call, and [`UpstreamError::InputNeeded`] when the client cannot provide the input.
pub(crate) async fn send(
    connection: &Arc<Connection>,
    request: &UpstreamRequest,
    limit: Duration,
    context: &CallContext,
    held: HeldBytes,
) -> Result<Box<RawValue>, UpstreamError> {
    let timed_out = |error| match error {
        // Report the limit of the whole call, not what was left of it for this round.
        UpstreamError::CallTimeout { .. } => UpstreamError::CallTimeout { ms: in_ms(limit) },
        error => error,
    };
    let feedback = CallFeedback::new(context, Some(held));
    let mut left = limit;
    let mut retry = RetryParams::default();
    for round in 0..=ROUNDS_MAX {
        let request = request.request(retry)?;
        let answered = connection
            .request_for_call(request, left, context, &feedback)
            .await;
        let (answer, worked) = match answered {
            Ok(answered) => answered,
            Err(failure) => {
                let error = asked_to_open(connection, failure, context, &feedback).await;
                return Err(timed_out(error));
            }
        };
        // Only the time of the server counts; answers of the client have a limit of their own.
        left = left.saturating_sub(worked);
        retry = match ResultKind::of(&answer)? {
            ResultKind::Complete => return Ok(answer),
            ResultKind::Task => {
                let done = tasks::follow(connection, &answer, left, context, &feedback).await;
                return done.map_err(timed_out);
            }
            // No request would carry the answer, so the client is not asked.
            ResultKind::InputRequired(_) if round == ROUNDS_MAX => break,
            ResultKind::InputRequired(wanted) => RetryParams {
                responses: respond(connection, wanted.requests, context, &feedback).await?,
                state: wanted.state,
            },
        };
    }
    Err(UpstreamError::InvalidAnswer {
        reason: format!("it requested input more than {ROUNDS_MAX} times"),
    })
}

/// The error of a request that failed. Where the server needs its user to open addresses first, and the client can ask
/// for that, the user was asked.
async fn asked_to_open(
    connection: &Connection,
    failure: RequestFailure,
    context: &CallContext,
    feedback: &CallFeedback,
) -> UpstreamError {
    let RequestFailure { error, url_needed } = failure;
    let Some(needed) = url_needed.filter(UrlNeeded::has_questions) else {
        return error;
    };
    if check_supported(connection, ServerRequestKind::ElicitationUrl, context).is_err() {
        return error;
    }
    let server = connection.server_messages().server();
    let asked = needed.ask(server, context, feedback).await;
    asked.unwrap_or(error)
}

/// Kind of a result.
enum ResultKind {
    Complete,
    InputRequired(InputRequests),
    Task,
}

struct InputRequests {
    requests: BTreeMap<String, Box<RawValue>>,
    state: Option<String>,
}

impl ResultKind {
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
        // Large results are not parsed a second time: hardly any contains these strings.
        let text = answer.get();
        if !text.contains("\"input_required\"") && !text.contains("\"task\"") {
            return Ok(Self::Complete);
        }
        let Ok(outside) = serde_json::from_str::<Outside<'_>>(text) else {
            // An invalid result is reported by the caller's own parser.
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
                "it sent {} input requests at once, more than {INPUTS_MAX}",
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
                "it asks for input without a request or a state".to_owned(),
            ));
        }
        Ok(Self::InputRequired(InputRequests { requests, state }))
    }
}

/// Forwards the input requests to the observer of the call, all at once; a client may show them one at a time.
///
/// # Errors
///
/// [`UpstreamError::InputNeeded`] when the client cannot answer a request, or declines one whose protocol has
/// no way to decline.
pub(crate) async fn respond(
    connection: &Connection,
    requests: BTreeMap<String, Box<RawValue>>,
    context: &CallContext,
    feedback: &CallFeedback,
) -> Result<Option<InputResponses>, UpstreamError> {
    if requests.is_empty() {
        return Ok(None);
    }
    let mut inputs = Vec::new();
    for (key, request) in requests {
        let (kind, params) = parse_input_request(&request)?;
        // All requests are checked before any is forwarded, so that the user is not asked when the call
        // fails anyway.
        check_supported(connection, kind, context)?;
        inputs.push((key, kind, params));
    }
    let server = connection.server_messages().server();
    let together = inputs.len();
    let answers = inputs.into_iter().map(|(key, kind, params)| {
        let feedback = feedback.clone();
        async move {
            let handle_request = feedback.forward_one_of(
                server,
                kind,
                params.as_deref(),
                Some(key.clone()),
                together,
            );
            let answer = response(kind, handle_request.await)?;
            Ok::<_, UpstreamError>((key, answer))
        }
    });
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => Err(UpstreamError::Cancelled),
        () = connection.closed() => Err(connection.lost_now()),
        // The server does not see these answers until all are there, so a closed connection ends the wait at
        // once.
        answers = try_join_all(answers) => Ok(Some(answers?.into_iter().collect())),
    }
}

fn response(
    kind: ServerRequestKind,
    answer: Result<Box<RawValue>, DeclinedError>,
) -> Result<Value, UpstreamError> {
    match (answer, kind) {
        (Ok(raw), _) => serde_json::from_str(raw.get()).map_err(|error| invalid(error.to_string())),
        (Err(_), ServerRequestKind::ElicitationForm | ServerRequestKind::ElicitationUrl) => {
            Ok(json!({"action": "decline"}))
        }
        (Err(declined), ServerRequestKind::Sampling | ServerRequestKind::Roots) => {
            Err(UpstreamError::InputNeeded {
                method: kind.method(),
                reason: declined.reason,
            })
        }
    }
}

fn parse_input_request(
    request: &RawValue,
) -> Result<(ServerRequestKind, Option<Box<RawValue>>), UpstreamError> {
    #[derive(Deserialize)]
    struct Inner {
        method: String,
        #[serde(default)]
        params: Option<Box<RawValue>>,
    }
    let inner: Inner = serde_json::from_str(request.get())
        .map_err(|error| invalid(format!("its question is not a valid request: {error}")))?;
    match request_kind(&inner.method, inner.params.as_deref()) {
        Some(kind) => Ok((kind, inner.params)),
        None => Err(invalid(format!(
            "it requested `{}`, which clients do not support as input",
            text::clean_line(&inner.method, 128)
        ))),
    }
}

fn check_supported(
    connection: &Connection,
    kind: ServerRequestKind,
    context: &CallContext,
) -> Result<(), UpstreamError> {
    let reason = match &context.observer {
        _ if !connection.server_messages().declared().can(kind) => {
            "this gateway did not declare support for it"
        }
        None => "the call has no client that can be asked",
        Some(observer) if !observer.capabilities().can(kind) => {
            "the client that made the call does not support it"
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

    fn kind(text: &str) -> Result<ResultKind, UpstreamError> {
        ResultKind::of(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn a_request_for_input_is_not_a_result_and_its_words_alone_are() {
        let wanted = r#"{"resultType":"input_required","requestState":" a\u0000\"b"}"#;
        let Ok(ResultKind::InputRequired(wanted)) = kind(wanted) else {
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
            assert!(
                matches!(kind(complete), Ok(ResultKind::Complete)),
                "{complete}"
            );
        }
        assert!(matches!(
            kind(r#"{"resultType":"task"}"#),
            Ok(ResultKind::Task)
        ));
    }

    #[test]
    fn a_state_or_a_number_of_requests_beyond_bounds_is_rejected() {
        let state = "S".repeat(STATE_BYTES_MAX);
        let large = format!(r#"{{"resultType":"input_required","requestState":"{state}"}}"#);
        assert!(kind(&large).is_err());
        let inputs: Vec<String> = (0..=INPUTS_MAX).map(|n| format!(r#""{n}":{{}}"#)).collect();
        let many = inputs.join(",");
        let many = format!(r#"{{"resultType":"input_required","inputRequests":{{{many}}}}}"#);
        assert!(kind(&many).is_err());
    }
}
