//! Addresses that a server needs its user to open before a call: the JSON-RPC error -32042.
//!
//! The addresses are not part of the error that a caller gets: a client may open them without asking. They become
//! questions, with the checks and bounds of every question, for a client that can ask its user to open an address. The
//! call is not sent again: whether to repeat it is the caller's choice.
//! <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>

use futures::future::join_all;
use limbeck_domain::ServerName;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::call_context::CallContext;
use crate::call_feedback::CallFeedback;
use crate::error::UpstreamError;
use crate::server_messages::request_kind;
use crate::server_request::ServerRequestKind;
use crate::shown_address::check_url;

/// JSON-RPC error code of a server that needs its user to open an address (`URLElicitationRequiredError`).
pub(crate) const URL_NEEDED: i64 = -32042;
/// Addresses in one error.
const ADDRESSES_MAX: usize = 16;
/// End of the error of a call whose user agreed to open the addresses.
const AGREED: &str = "and the user agreed; make the call again when the user has finished there";

/// Failure of a request that was sent for a call.
pub(crate) struct RequestFailure {
    pub(crate) error: UpstreamError,
    /// What the server needs before the call can succeed.
    pub(crate) url_needed: Option<UrlNeeded>,
}

/// Error of a server that needs its user to open addresses.
pub(crate) struct UrlNeeded {
    /// Message of the server, without secrets.
    said: String,
    /// Parameters of the questions; empty when one of them may not be asked.
    questions: Vec<Box<RawValue>>,
}

impl From<UpstreamError> for RequestFailure {
    fn from(error: UpstreamError) -> Self {
        Self {
            error,
            url_needed: None,
        }
    }
}

impl From<RequestFailure> for UpstreamError {
    fn from(failure: RequestFailure) -> Self {
        failure.error
    }
}

impl UrlNeeded {
    /// Reads the `data` of the error; `said` is its message without secrets.
    pub(crate) fn new(said: String, data: Option<&Value>) -> Self {
        Self {
            said,
            questions: questions(data).unwrap_or_default(),
        }
    }

    /// Whether there is a question to ask.
    pub(crate) fn has_questions(&self) -> bool {
        !self.questions.is_empty()
    }

    /// Asks the client of the call to open the addresses, and returns the error for the caller; `None` when the call
    /// was cancelled meanwhile.
    pub(crate) async fn ask(
        &self,
        server: &ServerName,
        context: &CallContext,
        feedback: &CallFeedback,
    ) -> Option<UpstreamError> {
        let kind = ServerRequestKind::ElicitationUrl;
        let together = self.questions.len();
        let mut asked = Vec::new();
        for params in &self.questions {
            asked.push(feedback.forward_one_of(server, kind, Some(&**params), None, together));
        }
        let answers = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return None,
            answers = join_all(asked) => answers,
        };
        let refused = answers.into_iter().find_map(|answer| match answer {
            Ok(answer) if is_accepted(&answer) => None,
            Ok(_) => Some("and the user did not agree".to_owned()),
            Err(declined) => Some(format!("and the question was not answered ({declined})")),
        });
        let outcome = refused.unwrap_or_else(|| AGREED.to_owned());
        Some(error(server, &outcome, &self.said))
    }
}

/// The error for a caller whose client was not asked.
pub(crate) fn not_asked(server: &ServerName, said: &str) -> UpstreamError {
    error(server, "which is not passed on", said)
}

fn error(server: &ServerName, outcome: &str, said: &str) -> UpstreamError {
    UpstreamError::Protocol {
        code: URL_NEEDED,
        message: format!("server `{server}` asks its user to open an address, {outcome}: {said}"),
        data: None,
    }
}

/// Parameters of the questions in the data of the error. `None` unless all of them are for addresses that may be shown, so
/// that the user is not asked for a part of what the server needs.
fn questions(data: Option<&Value>) -> Option<Vec<Box<RawValue>>> {
    let asked = data?.get("elicitations")?.as_array()?;
    if asked.len() > ADDRESSES_MAX {
        return None;
    }
    let question = |params: &Value| {
        let params = to_raw_value(params).ok()?;
        let kind = request_kind(ServerRequestKind::ElicitationUrl.method(), Some(&*params));
        let may_be_shown = kind == Some(ServerRequestKind::ElicitationUrl);
        (may_be_shown && check_url(&params).is_ok()).then_some(params)
    };
    asked.iter().map(question).collect()
}

fn is_accepted(answer: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Answer {
        action: String,
    }
    serde_json::from_str::<Answer>(answer.get()).is_ok_and(|answer| answer.action == "accept")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_are_asked_for_all_together_or_not_at_all() {
        let page = |url: &str| json!({"mode": "url", "message": "m", "url": url});
        let asked = |pages: &[Value]| {
            let data = json!({ "elicitations": pages });
            UrlNeeded::new(String::new(), Some(&data)).questions.len()
        };
        let good = page("https://pay.example/1");
        assert_eq!(asked(&[good.clone(), page("https://b.example/")]), 2);
        assert_eq!(asked(&vec![good.clone(); ADDRESSES_MAX]), ADDRESSES_MAX);
        for bad in [
            page("http://pay.example/1"),
            page("https://me@pay.example/1"),
            json!({"mode": "form", "message": "m", "url": "https://pay.example/1"}),
            json!({"message": "m", "url": "https://pay.example/1"}),
            json!("https://pay.example/1"),
        ] {
            assert_eq!(asked(&[good.clone(), bad.clone()]), 0, "{bad}");
        }
        assert_eq!(asked(&vec![good; ADDRESSES_MAX + 1]), 0);
        assert!(!UrlNeeded::new(String::new(), None).has_questions());
    }
}
