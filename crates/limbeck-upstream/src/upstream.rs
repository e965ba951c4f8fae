//! Interface between the pool and a server.

use futures::future::BoxFuture;
use limbeck_policy::{Permit, ReadPermit};
use serde_json::value::RawValue;

use crate::call_context::CallContext;
use crate::error::UpstreamError;
use crate::report::ToolList;
use crate::watch::ResourceWatch;

/// JSON-RPC error code of an unknown method.
const METHOD_NOT_FOUND: i64 = -32601;

/// One server of the pool. In-process implementations serve tests and benchmarks.
pub trait Upstream: Send + Sync + 'static {
    /// Lists all tools of the server, connecting first when needed.
    fn list_tools(&self) -> BoxFuture<'_, Result<ToolList, UpstreamError>>;

    /// Sends the permitted call once and waits for its result.
    ///
    /// Cancelling `context.cancel` ends the wait with [`UpstreamError::Cancelled`] and cancels the request at
    /// the server; `context.observer` receives progress and the server's requests.
    fn call(
        &self,
        permit: Permit,
        context: CallContext,
    ) -> BoxFuture<'_, Result<RawToolResult, UpstreamError>>;

    /// Sends a permitted read and waits for its result.
    ///
    /// Servers with tools only need not implement it.
    fn request(
        &self,
        permit: ReadPermit,
        context: CallContext,
    ) -> BoxFuture<'_, Result<RawResult, UpstreamError>> {
        let _ = context;
        let method = permit.spend().method;
        Box::pin(async move {
            Err(UpstreamError::Protocol {
                code: METHOD_NOT_FOUND,
                message: format!("the server has no `{}`", method.as_str()),
                data: None,
            })
        })
    }

    /// Subscribes to changes of the resource `uri` until the watch is dropped, connecting first when needed.
    ///
    /// Servers with tools only need not implement it.
    fn watch(&self, uri: String) -> BoxFuture<'_, Result<ResourceWatch, UpstreamError>> {
        let message = format!("the server has no resource `{uri}`");
        Box::pin(async move {
            Err(UpstreamError::Protocol {
                code: METHOD_NOT_FOUND,
                message,
                data: None,
            })
        })
    }

    /// Disconnects permanently. When it returns nothing of the server is left running.
    fn shutdown(&self) -> BoxFuture<'_, ()>;
}

/// Result of a tool call: a JSON object in the text the server sent.
#[derive(Clone, Debug)]
pub struct RawToolResult(pub Box<RawValue>);

impl RawToolResult {
    /// The JSON text.
    pub fn get(&self) -> &str {
        self.0.get()
    }
}

/// Result of a [`limbeck_policy::ReadRequest`]: a JSON object in the text the server sent.
#[derive(Clone, Debug)]
pub struct RawResult(pub Box<RawValue>);

impl RawResult {
    /// The JSON text.
    pub fn get(&self) -> &str {
        self.0.get()
    }
}
