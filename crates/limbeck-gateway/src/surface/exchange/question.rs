//! A question of a server, and the ways it reaches the client and comes back answered.

use limbeck_upstream::{Answers, Ask, AskKind, Declined};
use rmcp::model::{ClientCapabilities, InputRequest, ServerRequest};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::Kind;

/// One question, and whoever waits for its answer.
pub(super) struct Question {
    pub(super) ask: Ask,
    pub(super) reply: oneshot::Sender<Result<Box<RawValue>, Declined>>,
}

impl Question {
    /// A person who is asked must know who wants to know. One server's tool is called by its name; in a program
    /// it could be any server.
    pub(super) fn naming_its_server(mut self, kind: Kind) -> Self {
        if kind == Kind::Program {
            let server = self.ask.server.clone();
            self.reword(|message| format!("[{server}] {message}"));
        }
        self
    }

    fn reword(&mut self, reworded: impl FnOnce(&str) -> String) {
        let Ok(mut params) = serde_json::from_str::<Value>(self.ask.params.get()) else {
            return;
        };
        if let Some(message) = params.get("message").and_then(Value::as_str) {
            params["message"] = reworded(message).into();
        }
        if let Ok(params) = serde_json::value::to_raw_value(&params) {
            self.ask.params = params;
        }
    }

    fn request(&self) -> Value {
        let params: &RawValue = &self.ask.params;
        json!({"method": self.ask.kind.method(), "params": params})
    }

    /// The question as a modern client is asked it; nothing when the SDK cannot ask it.
    pub(super) fn input_request(&self) -> Option<InputRequest> {
        serde_json::from_value(self.request()).ok()
    }

    /// Gives the server `answer` when it is one. Otherwise the question is back, and says what is wrong.
    pub(super) fn answer(mut self, answer: &Value) -> Option<Self> {
        if let Err(problem) = self.judge(answer) {
            self.reword(|message| format!("{message}\n(The last answer did not fit: {problem}.)"));
            return Some(self);
        }
        let answer = serde_json::value::to_raw_value(answer)
            .map_err(|_| Declined::new("the client's answer cannot be read"));
        // The server may have given up meanwhile.
        let _ = self.reply.send(answer);
        None
    }

    pub(super) fn decline(self, reason: &str) {
        let _ = self.reply.send(Err(Declined::new(reason)));
    }

    /// Asks a legacy client in a request of ours.
    pub(super) async fn put_to(self, context: &RequestContext<RoleServer>) {
        let answer = tokio::select! {
            answer = self.nested(context) => answer,
            () = context.ct.cancelled() => Err("the request was cancelled".to_owned()),
        };
        let asked_in_vain = match answer {
            Ok(answer) => self.answer(&answer),
            Err(reason) => return self.decline(&reason),
        };
        if let Some(question) = asked_in_vain {
            question.decline("the client's answer does not fit the question");
        }
    }

    async fn nested(&self, context: &RequestContext<RoleServer>) -> Result<Value, String> {
        let request: ServerRequest =
            serde_json::from_value(self.request()).map_err(|error| error.to_string())?;
        let answer = context.peer.send_request(request).await;
        let answer = answer.map_err(|error| error.to_string())?;
        serde_json::to_value(&answer).map_err(|error| error.to_string())
    }

    /// Whether `answer` is one to this question: what a server is told about a form fits the form.
    fn judge(&self, answer: &Value) -> Result<(), String> {
        if !answer.is_object() {
            return Err("it is not an object".to_owned());
        }
        if self.ask.kind != AskKind::ElicitationForm {
            return Ok(());
        }
        match answer["action"].as_str() {
            Some("accept") => {}
            Some("decline" | "cancel") => return Ok(()),
            _ => return Err("its `action` is none".to_owned()),
        }
        let params: Value = serde_json::from_str(self.ask.params.get()).unwrap_or_default();
        match limbeck_catalog::misfit(&params["requestedSchema"], &answer["content"]) {
            Some(problem) => Err(problem),
            None => Ok(()),
        }
    }
}

/// What the client of a request declared to answer.
pub(crate) fn answers(capabilities: &ClientCapabilities) -> Answers {
    let elicitation = capabilities.elicitation.as_ref();
    Answers {
        // A client of revision 2025-06-18 declares no kind and means forms.
        elicitation_form: elicitation
            .is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none()),
        elicitation_url: elicitation.is_some_and(|kinds| kinds.url.is_some()),
        sampling: capabilities.sampling.is_some(),
        roots: capabilities.roots.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::ServerName;

    use super::*;

    type Answered = oneshot::Receiver<Result<Box<RawValue>, Declined>>;

    fn form() -> (Question, Answered) {
        let params = json!({"message": "Who?", "requestedSchema": {
            "type": "object",
            "properties": {"age": {"type": "integer", "minimum": 1}},
            "required": ["age"]
        }});
        let (reply, answered) = oneshot::channel();
        let ask = Ask {
            server: ServerName::new("people"),
            kind: AskKind::ElicitationForm,
            key: None,
            together: 1,
            params: serde_json::value::to_raw_value(&params).unwrap(),
        };
        (Question { ask, reply }, answered)
    }

    #[test]
    fn what_fits_the_form_reaches_the_server_as_it_is() {
        for answer in [
            json!({"action": "accept", "content": {"age": 7}}),
            json!({"action": "decline"}),
            json!({"action": "cancel", "content": {"age": "no"}}),
        ] {
            let (question, mut answered) = form();
            assert!(question.answer(&answer).is_none(), "{answer}");
            let passed = answered.try_recv().unwrap().unwrap();
            assert_eq!(serde_json::from_str::<Value>(passed.get()).unwrap(), answer);
        }
    }

    #[test]
    fn what_does_not_fit_never_reaches_the_server_and_the_question_says_why() {
        for (answer, problem) in [
            (json!(12345), "not an object"),
            (json!({"content": {"age": 7}}), "`action`"),
            (json!({"action": "accept"}), "object"),
            (json!({"action": "accept", "content": {}}), "age"),
            (json!({"action": "accept", "content": {"age": 0}}), "/age"),
            (json!({"action": "accept", "content": {"age": "7"}}), "/age"),
        ] {
            let (question, mut answered) = form();
            let question = question.answer(&answer).expect("it is back");
            assert!(answered.try_recv().is_err(), "{answer}");
            let request = question.naming_its_server(Kind::Program).request();
            let message = request["params"]["message"].as_str().unwrap();
            assert!(message.starts_with("[people] Who?\n"), "{message}");
            assert!(message.contains(problem), "{answer}: {message}");
        }
    }
}
