//! Fake MCP servers inside of the test process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use limbeck_captures::Capture;
use limbeck_domain::{ReadMethod, ServerName, ToolAnnotations, ToolDefinition, ToolId};
use limbeck_policy::{Permit, ReadPermit, ReadRequest};
use limbeck_upstream::{CallContext, RawResult, RawToolResult, ToolList, Upstream, UpstreamError};
use serde_json::value::RawValue;
use serde_json::{Value, json};

type Answer = BoxFuture<'static, Value>;
type Handler = Box<dyn Fn(Value) -> Reply + Send + Sync>;
/// `CallToolResult` as JSON text.
type Reply = BoxFuture<'static, String>;

/// Server whose tools are functions of a test. It records its calls; a call of an unknown tool is an error.
pub struct FakeServer {
    name: ServerName,
    tools: Vec<ToolDefinition>,
    handlers: BTreeMap<String, Handler>,
    resources: Vec<(String, String)>,
    dropped: Vec<String>,
    is_cut: bool,
    calls: Mutex<Vec<String>>,
}

impl fmt::Debug for FakeServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeServer")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl FakeServer {
    /// Creates a server without tools.
    pub fn new(name: &str) -> Self {
        Self {
            name: ServerName::from(name),
            tools: Vec::new(),
            handlers: BTreeMap::new(),
            resources: Vec::new(),
            dropped: Vec::new(),
            is_cut: false,
            calls: Mutex::default(),
        }
    }

    /// Creates a server with the tool list of a published one. Every call of it is an error.
    pub fn captured(capture: &Capture) -> Self {
        Self {
            tools: capture.definitions(),
            ..Self::new(&capture.server)
        }
    }

    /// Adds a read-only tool that returns structured content at once.
    #[must_use]
    pub fn read(self, tool: &str, answer: impl Fn(Value) -> Value + Send + Sync + 'static) -> Self {
        self.tool(tool, Some(true), move |arguments| {
            let structured = answer(arguments);
            Box::pin(async move { json!({"content": [], "structuredContent": structured}) })
        })
    }

    /// Adds a tool that may write and returns structured content at once.
    #[must_use]
    pub fn write(
        self,
        tool: &str,
        answer: impl Fn(Value) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.tool(tool, Some(false), move |arguments| {
            let structured = answer(arguments);
            Box::pin(async move { json!({"content": [], "structuredContent": structured}) })
        })
    }

    /// Adds a tool that returns a whole `CallToolResult` asynchronously.
    #[must_use]
    pub fn tool(
        self,
        tool: &str,
        read_only: Option<bool>,
        answer: impl Fn(Value) -> Answer + Send + Sync + 'static,
    ) -> Self {
        self.add(tool, read_only, move |arguments| {
            let answer = answer(arguments);
            Box::pin(async move { answer.await.to_string() })
        })
    }

    /// Adds a read-only tool whose structured content is always the JSON text `json`.
    #[must_use]
    pub fn read_text(self, tool: &str, json: &str) -> Self {
        let reply = format!(r#"{{"content":[],"structuredContent":{json}}}"#);
        self.add(tool, Some(true), move |_| {
            let reply = reply.clone();
            Box::pin(async move { reply })
        })
    }

    /// Sets the output schema of the tool that was added last.
    ///
    /// # Panics
    ///
    /// When no tool was added.
    #[must_use]
    pub fn declaring(mut self, output_schema: Value) -> Self {
        let tool = self.tools.last_mut().expect("a tool was added");
        tool.output_schema = Some(output_schema);
        self
    }

    /// Says of its list of tools that one was left out.
    #[must_use]
    pub fn leaving_out(mut self, reason: &str) -> Self {
        self.dropped.push(reason.to_owned());
        self
    }

    /// Cuts its list of tools behind those that were added.
    #[must_use]
    pub fn cut(self, reason: &str) -> Self {
        Self {
            is_cut: true,
            ..self.leaving_out(reason)
        }
    }

    /// Adds a text resource, listed on a page of its own.
    #[must_use]
    pub fn resource(mut self, uri: &str, text: &str) -> Self {
        self.resources.push((uri.to_owned(), text.to_owned()));
        self
    }

    fn answer(&self, request: &ReadRequest) -> Result<Value, UpstreamError> {
        let refused = |code, message: &str| UpstreamError::Protocol {
            code,
            message: message.to_owned(),
            data: None,
        };
        let params: Value = serde_json::from_str(&request.params).unwrap_or(Value::Null);
        match request.method {
            ReadMethod::ListResources if !self.resources.is_empty() => {
                let page: usize = params["cursor"]
                    .as_str()
                    .and_then(|cursor| cursor.parse().ok())
                    .unwrap_or_default();
                let (uri, _) = &self.resources[page];
                let mut answer = json!({"resources": [{"uri": uri, "name": uri}]});
                if page + 1 < self.resources.len() {
                    answer["nextCursor"] = (page + 1).to_string().into();
                }
                Ok(answer)
            }
            ReadMethod::ReadResource => {
                let found = self
                    .resources
                    .iter()
                    .find(|(uri, _)| params["uri"] == **uri);
                let (uri, text) = found.ok_or_else(|| refused(-32602, "unknown resource"))?;
                Ok(json!({"contents": [{"uri": uri, "text": text}]}))
            }
            ReadMethod::GetPrompt => Ok(json!({"messages": [params]})),
            ReadMethod::ListResources
            | ReadMethod::ListResourceTemplates
            | ReadMethod::ListPrompts
            | ReadMethod::Complete => Err(refused(-32601, "method not found")),
        }
    }

    fn add(
        mut self,
        tool: &str,
        read_only: Option<bool>,
        reply: impl Fn(Value) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.tools.push(ToolDefinition {
            id: ToolId::new(self.name.clone(), tool),
            title: None,
            description: Some(format!("The {tool} of a test")),
            input_schema: json!({"type": "object"}),
            output_schema: None,
            annotations: ToolAnnotations {
                read_only,
                ..ToolAnnotations::default()
            },
        });
        self.handlers.insert(tool.to_owned(), Box::new(reply));
        self
    }

    /// Name of the server.
    pub fn name(&self) -> &ServerName {
        &self.name
    }

    /// Called tools and requested methods so far, in order.
    pub fn calls(&self) -> Vec<String> {
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Wraps the server for [`crate::World::server`].
    pub fn share(self) -> Arc<Self> {
        Arc::new(self)
    }
}

/// Server that never returns its tool list.
#[derive(Debug)]
pub struct SilentServer;

impl Upstream for SilentServer {
    fn list_tools(&self) -> BoxFuture<'_, Result<ToolList, UpstreamError>> {
        Box::pin(std::future::pending())
    }

    fn call(
        &self,
        _permit: Permit,
        _context: CallContext,
    ) -> BoxFuture<'_, Result<RawToolResult, UpstreamError>> {
        Box::pin(std::future::pending())
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

impl Upstream for FakeServer {
    fn request(
        &self,
        permit: ReadPermit,
        _context: CallContext,
    ) -> BoxFuture<'_, Result<RawResult, UpstreamError>> {
        let request = permit.spend();
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(request.method.to_string());
        let answer = self.answer(&request).map(|answer| {
            let raw = RawValue::from_string(answer.to_string());
            RawResult(raw.expect("a value is JSON"))
        });
        Box::pin(async move { answer })
    }

    fn list_tools(&self) -> BoxFuture<'_, Result<ToolList, UpstreamError>> {
        let list = ToolList {
            tools: self.tools.clone(),
            is_cut: self.is_cut,
            dropped: self.dropped.clone(),
            ..ToolList::default()
        };
        Box::pin(async move { Ok(list) })
    }

    fn call(
        &self,
        permit: Permit,
        context: CallContext,
    ) -> BoxFuture<'_, Result<RawToolResult, UpstreamError>> {
        let call = permit.spend();
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(call.tool.tool.to_string());
        Box::pin(async move {
            let handler =
                self.handlers
                    .get(&*call.tool.tool)
                    .ok_or_else(|| UpstreamError::Protocol {
                        code: -32602,
                        message: format!("no tool {}", call.tool),
                        data: None,
                    })?;
            let arguments = serde_json::from_str(call.arguments.as_str()).unwrap_or(Value::Null);
            let answer = tokio::select! {
                answer = handler(arguments) => answer,
                () = context.cancel.cancelled() => return Err(UpstreamError::Cancelled),
            };
            let raw = RawValue::from_string(answer).map_err(|error| UpstreamError::Protocol {
                code: -32603,
                message: error.to_string(),
                data: None,
            })?;
            Ok(RawToolResult(raw))
        })
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
