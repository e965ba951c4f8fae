//! Listings of upstream servers: their state, their tools, and why they are unavailable.

use std::sync::Arc;
use std::time::Duration;

use limbeck_catalog::Catalog;
use limbeck_domain::{CallError, ServerName};
use limbeck_policy::Scope;
use limbeck_upstream::{ServerState, UnusableKind, UpstreamPool};
use serde_json::{Value, json};

use crate::live_catalog::LiveCatalog;
use crate::program_listings;
use crate::server_reports::{ServerReport, ToolReport};

/// Bytes of a reason why a server is not available, where the model reads it.
const REASON_BYTES_MAX: usize = 300;

/// Lists upstream servers from their connections and the tools known of them.
#[derive(Clone, Debug)]
pub(crate) struct Listings {
    live_catalog: LiveCatalog,
    upstreams: Arc<UpstreamPool>,
}

/// State of one server as listings name it.
struct ServerStatus {
    /// A word such as `ready` or `failed`.
    state: &'static str,
    /// Generation of the protocol it speaks, once connected.
    generation: Option<&'static str>,
    /// Why it does not work, or not fully.
    error: Option<String>,
}

impl Listings {
    pub(crate) fn new(live_catalog: LiveCatalog, upstreams: Arc<UpstreamPool>) -> Self {
        Self {
            live_catalog,
            upstreams,
        }
    }

    /// The servers, or one of them, with their tools. Asks every server for its list and waits at most
    /// `patience` for the answers.
    ///
    /// # Errors
    ///
    /// [`CallError`] when no server is called `server`.
    pub(crate) async fn reports(
        &self,
        server: Option<&str>,
        patience: Duration,
    ) -> Result<Vec<ServerReport>, CallError> {
        let names: Vec<ServerName> = match server {
            Some(name) => vec![self.named(name)?],
            None => self.live_catalog.servers(),
        };
        self.live_catalog.refresh_all(&names, patience).await;
        Ok(names.iter().map(|name| self.report(name)).collect())
    }

    /// The servers as they are now. Asks none of them.
    pub(crate) fn reports_now(&self) -> Vec<ServerReport> {
        let names = self.live_catalog.servers();
        names.iter().map(|name| self.report(name)).collect()
    }

    /// The server that a user names, absent ones included.
    fn named(&self, name: &str) -> Result<ServerName, CallError> {
        let exact = ServerName::from(name);
        if self.live_catalog.source(&exact).is_some() {
            return Ok(exact);
        }
        Ok(self.live_catalog.snapshot().resolve_server(name)?)
    }

    fn report(&self, name: &ServerName) -> ServerReport {
        let catalog = self.live_catalog.snapshot();
        let report = self.upstreams.report(name);
        let status = self.status(&catalog, name, &report.state);
        let error = status.error.or(report.last_error);
        let protocol = match report.state {
            ServerState::Ready { protocol, .. } => Some(protocol).filter(|text| !text.is_empty()),
            _ => None,
        };
        let changed = self.live_catalog.changed(name);
        let source = self.live_catalog.source(name);
        ServerReport {
            name: name.to_string(),
            source: source.map(|source| source.source).unwrap_or_default(),
            state: status.state,
            transport: report.transport,
            generation: status.generation,
            protocol,
            in_flight: report.in_flight,
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
                .map(|tool| ToolReport::of(tool, changed.get(&*tool.id().tool).copied()))
                .collect(),
            dropped: self.live_catalog.dropped(name),
            held: self.live_catalog.held(name),
            switched_off: catalog
                .server(name)
                .map(|server| {
                    server
                        .switched_off()
                        .iter()
                        .map(ToString::to_string)
                        .collect()
                })
                .unwrap_or_default(),
        }
    }

    /// Status of a server. A server that answers but whose tool list failed counts as failed while none of its
    /// tools is known.
    fn status(&self, catalog: &Catalog, name: &ServerName, state: &ServerState) -> ServerStatus {
        let status = ServerStatus::of(state);
        let (true, Some(error)) = (status.is_ready(), self.live_catalog.failure(name)) else {
            return status;
        };
        let is_empty = catalog.tools_of(name).is_empty();
        ServerStatus {
            state: if is_empty { "failed" } else { "ready" },
            error: Some(format!("its tools could not be listed: {error}")),
            ..status
        }
    }

    /// Servers without known tools that do not work, as `name: reason`, except those in `but`.
    pub(crate) fn unavailable(&self, but: &[ServerName]) -> Vec<String> {
        let catalog = self.live_catalog.snapshot();
        catalog
            .servers()
            .filter(|server| server.tools().is_empty() && !but.contains(server.name()))
            .filter_map(|server| {
                let state = self.upstreams.state(server.name());
                let error = self.status(&catalog, server.name(), &state).error?;
                let error = limbeck_domain::text::clean_line(&error, REASON_BYTES_MAX);
                Some(format!("{}: {error}", server.name()))
            })
            .collect()
    }

    /// Servers whose lists of tools were cut, as `name: how`.
    pub(crate) fn incomplete(&self, catalog: &Catalog) -> Vec<String> {
        let cut = catalog.servers().filter_map(|server| {
            let cut = self.cut(catalog, server.name())?;
            Some(format!("{}: {cut}", server.name()))
        });
        cut.collect()
    }

    /// How the list of a server's tools was cut, with the number of those that are known. `None` for a whole list, and for
    /// a server without tools.
    pub(crate) fn cut(&self, catalog: &Catalog, name: &ServerName) -> Option<String> {
        let known = catalog.tools_of(name).len();
        let reason = self.live_catalog.cut(name)?;
        let reason = limbeck_domain::text::clean_line(&reason, REASON_BYTES_MAX);
        let tools = match known {
            0 => return None,
            1 => "1 tool is".to_owned(),
            more => format!("{more} tools are"),
        };
        Some(format!("{tools} known; {reason}"))
    }

    /// Servers and tools that `tools` lists in a program without a host call, with the states of the servers.
    pub(crate) fn start_json(&self, scope: &Scope) -> Value {
        let catalog = self.live_catalog.snapshot();
        let state = |name: &ServerName| {
            self.status(&catalog, name, &self.upstreams.state(name))
                .state
        };
        let cut = |name: &ServerName| self.cut(&catalog, name);
        program_listings::server_names_json(&catalog, scope, state, cut)
    }

    /// Answer of `servers()` in a program: every server that `scope` reaches, with the number of tools that it covers.
    pub(crate) fn servers_json(&self, scope: &Scope) -> Value {
        let catalog = self.live_catalog.snapshot();
        catalog
            .servers()
            .filter(|server| scope.reaches(server.name().as_str()))
            .map(|server| {
                let state = self.upstreams.state(server.name());
                let status = self.status(&catalog, server.name(), &state);
                let tools = server.tools();
                let covered = tools.iter().filter(|tool| scope.covers(tool.id())).count();
                // Without a description the line names the server's tools, which a narrower scope must not show.
                let line = if covered == tools.len() {
                    server.line()
                } else {
                    Default::default()
                };
                let mut entry = json!({
                    "name": server.name(),
                    "tools": covered,
                    "state": status.state,
                    "description": line,
                });
                let cut = self.cut(&catalog, server.name());
                // A narrower scope must not show how many tools there are.
                if let Some(cut) = cut.filter(|_| covered == tools.len()) {
                    entry["incomplete"] = cut.into();
                }
                if let (Some(error), Value::Object(entry)) = (status.error, &mut entry) {
                    entry.insert("error".to_owned(), error.into());
                }
                entry
            })
            .collect()
    }
}

impl ServerStatus {
    fn is_ready(&self) -> bool {
        self.state == "ready" && self.error.is_none()
    }

    fn of(state: &ServerState) -> Self {
        let (state, generation, error) = match state {
            ServerState::NotConfigured => ("not_configured", None, None),
            ServerState::NotStarted => ("not_started", None, None),
            ServerState::Starting => ("starting", None, None),
            ServerState::Ready { generation, .. } => ("ready", Some(generation.as_str()), None),
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
        };
        Self {
            state,
            generation,
            error,
        }
    }
}
