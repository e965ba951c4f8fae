//! Observer that records progress and requests and answers as configured.

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use limbeck_upstream::{
    CallContext, CallObserver, ClientCapabilities, DeclinedError, PoolOptions, ProgressUpdate,
    RawToolResult, ServerRequest, ServerRequestKind, ServerSpec, UpstreamError, UpstreamPool,
};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::pool::support::*;

/// Answers every question with its words, or never.
pub(crate) struct RecordingObserver {
    answers: ClientCapabilities,
    says: Option<String>,
    received: Mutex<Vec<ProgressUpdate>>,
    asked: Mutex<Vec<(ServerRequestKind, String)>>,
}

impl RecordingObserver {
    /// Answers everything with this JSON text.
    pub(crate) fn saying(json: &str) -> Arc<Self> {
        Self::new(ClientCapabilities::ALL, Some(json))
    }

    /// Listens, and can be asked nothing.
    pub(crate) fn silent() -> Arc<Self> {
        Self::new(ClientCapabilities::NONE, Some("{}"))
    }

    /// Takes every question and thinks about it for ever.
    pub(crate) fn thinking() -> Arc<Self> {
        Self::new(ClientCapabilities::ALL, None)
    }

    fn new(answers: ClientCapabilities, says: Option<&str>) -> Arc<Self> {
        Arc::new(Self {
            answers,
            says: says.map(str::to_owned),
            received: Mutex::default(),
            asked: Mutex::default(),
        })
    }

    pub(crate) fn received(&self) -> Vec<ProgressUpdate> {
        self.received.lock().unwrap().clone()
    }

    /// Kinds and params of the questions, in order.
    pub(crate) fn asked(&self) -> Vec<(ServerRequestKind, String)> {
        self.asked.lock().unwrap().clone()
    }
}

impl CallObserver for RecordingObserver {
    fn progress(&self, progress: ProgressUpdate) {
        self.received.lock().unwrap().push(progress);
    }

    fn capabilities(&self) -> ClientCapabilities {
        self.answers
    }

    fn request(&self, ask: ServerRequest) -> BoxFuture<'_, Result<Box<RawValue>, DeclinedError>> {
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
pub(crate) fn pool(spec: ServerSpec) -> UpstreamPool {
    let options = PoolOptions {
        declares: ClientCapabilities::ALL,
        ..PoolOptions::default()
    };
    UpstreamPool::with_options(vec![spec, healthy(&[])], &options)
}

/// Calls a tool with an observer.
pub(crate) async fn call_as(
    pool: &UpstreamPool,
    caller: &Arc<RecordingObserver>,
    tool: &str,
    arguments: &Value,
) -> Result<RawToolResult, UpstreamError> {
    let caller: Arc<dyn CallObserver> = caller.clone();
    let context = CallContext::new(CancellationToken::new()).with_observer(Some(caller));
    pool.call(permit("asking", tool, &arguments.to_string()), context)
        .await
}

/// `structuredContent` of a result.
pub(crate) fn content(result: &RawToolResult) -> Value {
    let value: Value = serde_json::from_str(result.get()).unwrap();
    value["structuredContent"].clone()
}
