//! Servers and tools as programs and people see them.

use std::time::Duration;

use limbeck_catalog::{Catalog, Detail, Tool};
use limbeck_domain::{CallError, CallForm, EffectClass, Language, ServerName, ToolTarget};
use limbeck_policy::Scope;
use limbeck_upstream::{CallContext, ServerState, UnusableKind};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::broker::{Broker, CallReport, Journal};
use crate::{Gateway, LOCAL, Shared};

/// Bytes of a reason why a server is not available, where the model reads it.
const REASON_BYTES_MAX: usize = 300;

/// One server with its tools.
#[derive(Clone, Debug, Serialize)]
pub struct ServerReport {
    /// Key of its entry.
    pub name: String,
    /// File and place of its entry.
    pub source: String,
    /// `ready`, `not_started`, `starting`, `backing_off`, `failed`, `disabled`, `untrusted`, `unsupported`,
    /// `stopped`.
    pub state: &'static str,
    /// How it is reached: `stdio`, `in-process`, `none` when it cannot be.
    pub transport: &'static str,
    /// How it speaks, once connected: `legacy` or `modern`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub era: Option<&'static str>,
    /// Protocol revision agreed on, once connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Requests that wait for its answer.
    pub under_way: usize,
    /// Requests that wait for their turn.
    pub queued: usize,
    /// Why it is not ready, or the last thing that went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What a person can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    /// The end of what it wrote to standard error, when it failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// Its tools, in its own order.
    pub tools: Vec<ToolReport>,
    /// Tools that were left out, with reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
}

/// One tool.
#[derive(Clone, Debug, Serialize)]
pub struct ToolReport {
    /// Name the server gave it.
    pub name: String,
    /// Exact callable expression.
    pub call: String,
    /// TypeScript signature.
    pub signature: String,
    /// First sentence of its description.
    pub description: String,
    /// What a call may do.
    pub effect: EffectClass,
    /// When its definition was last seen to differ from what it was, in microseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_us: Option<u64>,
    /// Results that were not what its declared output schema says.
    #[serde(skip_serializing_if = "is_zero")]
    pub contradictions: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Gateway {
    /// The servers, or one of them, with their tools; asks every server for its list, waiting at
    /// most `patience`.
    ///
    /// # Errors
    ///
    /// [`CallError`] when `server` names none.
    pub async fn servers(
        &self,
        server: Option<&str>,
        patience: Duration,
    ) -> Result<Vec<ServerReport>, CallError> {
        let catalogue = &self.shared.catalogue;
        let names: Vec<ServerName> = match server {
            Some(name) => vec![catalogue.snapshot().resolve_server(name)?],
            None => catalogue.servers().cloned().collect(),
        };
        catalogue.refresh_all(&names, patience).await;
        Ok(names
            .iter()
            .map(|name| server_report(&self.shared, name))
            .collect())
    }

    /// The tools known at this moment, of all servers.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.shared.catalogue.snapshot()
    }

    /// Calls one tool outside of any execution, so without a journal, and gives its result as sent.
    ///
    /// # Errors
    ///
    /// [`CallError`] for every reason a call inside a program fails, but `isError`.
    pub async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: &str,
        context: impl Into<CallContext>,
    ) -> Result<CallReport, CallError> {
        let CallContext { cancel, caller, .. } = context.into();
        let broker = Broker {
            shared: Arc::clone(&self.shared),
            scope: Arc::new(Scope::everything()),
            principal: LOCAL.into(),
            journal: Journal::new(
                self.shared.store.clone(),
                limbeck_domain::ExecutionId::new("call"),
            ),
            reads: cancel.child_token(),
            cancel,
            caller,
            language: Language::Typescript,
            emissions: Arc::default(),
            backlog: Arc::default(),
        };
        let target = ToolTarget {
            server: Some(server.to_owned()),
            tool: tool.to_owned(),
            form: CallForm::Raw,
        };
        broker.call_once(&target, arguments).await
    }
}

fn server_report(shared: &Shared, name: &ServerName) -> ServerReport {
    let catalog = shared.catalogue.snapshot();
    let report = shared.upstreams.report(name);
    let (state, era, error) = standing(shared, &catalog, name, &report.state);
    let error = error.or(report.last_error);
    let protocol = match report.state {
        ServerState::Ready { protocol, .. } => Some(protocol).filter(|text| !text.is_empty()),
        _ => None,
    };
    let changed = shared.catalogue.changed(name);
    let source = shared.catalogue.source(name);
    ServerReport {
        name: name.to_string(),
        source: source
            .map(|source| source.source.clone())
            .unwrap_or_default(),
        state,
        transport: report.transport,
        era,
        protocol,
        under_way: report.under_way,
        queued: report.queued,
        next_step: report.next_step,
        stderr: error
            .as_ref()
            .map(|_| report.stderr_tail)
            .unwrap_or_default(),
        error,
        tools: catalog
            .tools_of(name)
            .iter()
            .map(|tool| tool_report(tool, changed.get(&*tool.id().tool).copied()))
            .collect(),
        dropped: shared.catalogue.dropped(name),
    }
}

fn tool_report(tool: &Tool, changed_us: Option<u64>) -> ToolReport {
    ToolReport {
        name: tool.id().tool.to_string(),
        call: tool.call_expression(),
        signature: tool.signature(Language::Typescript).to_owned(),
        description: tool.summary(),
        effect: tool.effect(),
        changed_us,
        contradictions: tool
            .observed()
            .map_or(0, |observed| observed.contradictions),
    }
}

/// A word for a state, the era, and why it is none to be content with.
type Standing = (&'static str, Option<&'static str>, Option<String>);

/// Where a server stands. One that answers and of which no tool is known, because its list was refused, has failed.
fn standing(
    shared: &Shared,
    catalog: &Catalog,
    name: &ServerName,
    state: &ServerState,
) -> Standing {
    match (state_words(state), shared.catalogue.failure(name)) {
        (("ready", era, None), Some(error)) => {
            let is_empty = catalog.tools_of(name).is_empty();
            let state = if is_empty { "failed" } else { "ready" };
            let error = format!("its tools could not be listed: {error}");
            (state, era, Some(error))
        }
        (words, _) => words,
    }
}

fn state_words(state: &ServerState) -> Standing {
    match state {
        ServerState::NotConfigured => ("not_configured", None, None),
        ServerState::NotStarted => ("not_started", None, None),
        ServerState::Starting => ("starting", None, None),
        ServerState::Ready { era, .. } => ("ready", Some(era.as_str()), None),
        ServerState::BackingOff { error, .. } => ("backing_off", None, Some(error.clone())),
        ServerState::Failed { error } => ("failed", None, Some(error.clone())),
        ServerState::Disabled => ("disabled", None, None),
        ServerState::Unusable(unusable) => {
            let state = match unusable.kind {
                UnusableKind::Unsupported => "unsupported",
                UnusableKind::Invalid => "failed",
                UnusableKind::Untrusted => "untrusted",
            };
            (state, None, Some(unusable.reason.clone()))
        }
        ServerState::Stopped => ("stopped", None, None),
    }
}

/// Servers nothing is known of because they do not work, as `name: reason`; `but` are left out.
pub(crate) fn unavailable(shared: &Shared, but: &[ServerName]) -> Vec<String> {
    let catalog = shared.catalogue.snapshot();
    catalog
        .servers()
        .filter(|server| server.tools().is_empty() && !but.contains(server.name()))
        .filter_map(|server| {
            let state = shared.upstreams.state(server.name());
            let (_, _, error) = standing(shared, &catalog, server.name(), &state);
            let error = limbeck_domain::text::clean_line(&error?, REASON_BYTES_MAX);
            Some(format!("{}: {error}", server.name()))
        })
        .collect()
}

/// Members that JavaScript asks of every object: a guest takes them for tools only where it knows that they are.
/// `ASKED_OF_OBJECTS` of the guest's `tools.js` says the same.
const ASKED_OF_OBJECTS: [&str; 4] = ["toJSON", "toString", "valueOf", "constructor"];

/// What `tools` can list without asking: part of what an execution starts from.
pub(crate) fn server_names_json(shared: &Shared) -> Value {
    let catalog = shared.catalogue.snapshot();
    let listed = catalog.servers().map(|server| {
        let mut entry = json!({"name": server.name(), "tools": server.tools().len()});
        let names = server.tools().iter().map(|tool| &*tool.id().tool);
        let namesakes: Vec<&str> = names
            .filter(|name| ASKED_OF_OBJECTS.contains(name))
            .collect();
        if !namesakes.is_empty() {
            entry["namesakes"] = json!(namesakes);
        }
        entry
    });
    listed.collect()
}

/// The answer of `servers()` in a program: every server, and of its tools those `scope` covers.
pub(crate) fn servers_json(shared: &Shared, scope: &Scope) -> Value {
    let catalog = shared.catalogue.snapshot();
    catalog
        .servers()
        .map(|server| {
            let state = shared.upstreams.state(server.name());
            let (state, _, error) = standing(shared, &catalog, server.name(), &state);
            let tools = server.tools();
            let covered = tools.iter().filter(|tool| scope.covers(tool.id())).count();
            // The line of a server that says nothing of itself is made of the names of its tools.
            let line = if covered == tools.len() {
                server.line()
            } else {
                Default::default()
            };
            let mut entry = json!({
                "name": server.name(),
                "tools": covered,
                "state": state,
                "description": line,
            });
            if let (Some(error), Value::Object(entry)) = (error, &mut entry) {
                entry.insert("error".to_owned(), error.into());
            }
            entry
        })
        .collect()
}

/// The answer of `describe(server, tool)` in a program, with the keys of every older form.
pub(crate) fn tool_json(tool: &Tool, language: Language) -> Value {
    let definition = tool.definition();
    let id = tool.id();
    let mut entry = json!({
        "name": format!("mcp__{}__{}", id.server, id.tool),
        "server": id.server,
        "tool": id.tool,
        "call": tool.call_expression(),
        "signature": tool.signature(language),
        "declaration": tool.declaration(Detail::Full, language),
        "effect": tool.effect(),
        "description": definition.description.as_deref().unwrap_or_default(),
        "inputSchema": definition.input_schema,
        "parameters": definition.input_schema,
    });
    if let (Some(schema), Value::Object(entry)) = (&definition.output_schema, &mut entry) {
        entry.insert("outputSchema".to_owned(), schema.clone());
    }
    entry
}

/// The answer of `describe(server)` in a program: the tools its scope covers, with their whole
/// definitions when `full`.
pub(crate) fn server_json(
    catalog: &Catalog,
    server: &ServerName,
    scope: &Scope,
    language: Language,
    full: bool,
) -> Value {
    let tools = catalog.tools_of(server);
    let tools: Vec<Value> = tools
        .iter()
        .filter(|tool| scope.covers(tool.id()))
        .map(|tool| {
            if full {
                return tool_json(tool, language);
            }
            json!({
                "tool": tool.id().tool,
                "call": tool.call_expression(),
                "signature": tool.signature(language),
                "description": tool.summary(),
                "effect": tool.effect(),
            })
        })
        .collect();
    let line = catalog.server(server).map(|server| server.line());
    json!({"server": server, "description": line.unwrap_or_default(), "tools": tools})
}
