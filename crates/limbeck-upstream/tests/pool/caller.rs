//! A caller that writes down what it hears and answers as it is told.

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use limbeck_upstream::{
    Answers, Ask, AskKind, CallContext, Caller, Declined, Pool, PoolOptions, Progress,
    RawToolResult, ServerSpec, UpstreamError,
};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::support::*;

/// Answers every question with its words, or never.
pub(crate) struct Listening {
    answers: Answers,
    says: Option<String>,
    heard: Mutex<Vec<Progress>>,
    asked: Mutex<Vec<(AskKind, String)>>,
}

impl Listening {
    /// Answers everything with this JSON text.
    pub(crate) fn saying(json: &str) -> Arc<Self> {
        Self::new(Answers::ALL, Some(json))
    }

    /// Listens, and can be asked nothing.
    pub(crate) fn silent() -> Arc<Self> {
        Self::new(Answers::NONE, Some("{}"))
    }

    /// Takes every question and thinks about it for ever.
    pub(crate) fn thinking() -> Arc<Self> {
        Self::new(Answers::ALL, None)
    }

    fn new(answers: Answers, says: Option<&str>) -> Arc<Self> {
        Arc::new(Self {
            answers,
            says: says.map(str::to_owned),
            heard: Mutex::default(),
            asked: Mutex::default(),
        })
    }

    pub(crate) fn heard(&self) -> Vec<Progress> {
        self.heard.lock().unwrap().clone()
    }

    /// Kinds and params of the questions, in order.
    pub(crate) fn asked(&self) -> Vec<(AskKind, String)> {
        self.asked.lock().unwrap().clone()
    }
}

impl Caller for Listening {
    fn progress(&self, progress: Progress) {
        self.heard.lock().unwrap().push(progress);
    }

    fn answers(&self) -> Answers {
        self.answers
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'_, Result<Box<RawValue>, Declined>> {
        assert_eq!(ask.server.as_str(), "asking");
        let question = (ask.kind, ask.params.get().to_owned());
        self.asked.lock().unwrap().push(question);
        match self.says.clone() {
            Some(says) => async move { Ok(RawValue::from_string(says).unwrap()) }.boxed(),
            None => std::future::pending().boxed(),
        }
    }
}

/// The server that talks back, named `asking`.
pub(crate) fn asking(args: &[&str]) -> ServerSpec {
    server("asking", "asking.py", args, &[])
}

/// A pool of it, beside the healthy one, that declares everything.
pub(crate) fn pool(spec: ServerSpec) -> Pool {
    let options = PoolOptions {
        declares: Answers::ALL,
    };
    Pool::with_options(vec![spec, healthy(&[])], &options)
}

/// Calls with somebody who listens.
pub(crate) async fn call_as(
    pool: &Pool,
    caller: &Arc<Listening>,
    tool: &str,
    arguments: &Value,
) -> Result<RawToolResult, UpstreamError> {
    let caller: Arc<dyn Caller> = caller.clone();
    let context = CallContext::new(CancellationToken::new()).with_caller(Some(caller));
    pool.call(permit("asking", tool, &arguments.to_string()), context)
        .await
}

/// `structuredContent` of a result.
pub(crate) fn content(result: &RawToolResult) -> Value {
    let value: Value = serde_json::from_str(result.get()).unwrap();
    value["structuredContent"].clone()
}
