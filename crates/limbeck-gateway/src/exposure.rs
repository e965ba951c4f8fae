//! Decision which servers clients see the tools of, and what `search` finds.
//!
//! Decided from what is known of a server's tools: from the cache when the gateway starts, and again
//! whenever the server lists them. A server with `expose = "auto"` whose tools are unknown is not exposed;
//! a client's `tools/list` has it asked in the background, and `list_changed` follows when the answer
//! changes the list. The ledger is read once, when the gateway starts.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use limbeck_catalog::{Catalog, ServerTools};
use limbeck_domain::{Expose, ServerName, ToolDefinition};
use limbeck_search::SearchableCatalog;
use serde_json::{Value, json};

use crate::live_catalog::{LiveCatalog, ToolExtras};
use crate::tokens;

/// Tools of a server that `auto` exposes.
const AUTO_TOOLS_MAX: usize = 5;
/// Tools of a server that `auto` exposes when the ledger says that direct calls cost less than programs.
const AUTO_LOSING_TOOLS_MAX: usize = 20;
/// Tokens (o200k) of all their definitions together, as JSON.
const AUTO_TOKENS_MAX: usize = 1_500;

/// Decides which servers clients see. Remembers the decision for as long as the catalog stays the same.
#[derive(Debug)]
pub(crate) struct Exposure {
    live_catalog: LiveCatalog,
    /// Servers whose tools cost less when called directly, by the ledger at start: a client's own calls must not
    /// change its list of tools.
    better_direct: BTreeSet<ServerName>,
    latest: Mutex<Option<(Arc<Catalog>, Arc<Exposed>)>>,
}

/// The servers that clients see, and the catalog that `search` ranks.
#[derive(Debug, Default)]
pub struct Exposed {
    /// Servers whose tools, resources and prompts clients see, by name.
    pub servers: Vec<ExposedServer>,
    /// What `search` finds: every server but those with `expose = "direct"`.
    pub searched: SearchableCatalog,
    /// The others.
    pub listed_directly: BTreeSet<ServerName>,
    /// All servers of the configuration, exposed or not: a listed name with the prefix of one belongs to it.
    pub configured: Vec<ServerName>,
}

/// A server whose tools, resources and prompts clients see.
#[derive(Clone, Debug)]
pub struct ExposedServer {
    /// Its tools, in its own order.
    pub tools: ServerTools,
    /// Members of its tools' definitions that the gateway does not use, by tool.
    pub extras: Arc<ToolExtras>,
}

impl ExposedServer {
    /// Key of its entry.
    pub fn name(&self) -> &ServerName {
        self.tools.name()
    }
}

impl Exposed {
    /// Whether clients see the tools, resources and prompts of `server`.
    pub fn has_server(&self, server: &ServerName) -> bool {
        self.servers.iter().any(|exposed| exposed.name() == server)
    }
}

impl Exposure {
    pub(crate) fn new(live_catalog: LiveCatalog, better_direct: BTreeSet<ServerName>) -> Self {
        Self {
            live_catalog,
            better_direct,
            latest: Mutex::default(),
        }
    }

    /// The servers that clients see now. The same `Arc` for as long as the catalog is the same.
    pub(crate) fn current(&self) -> Arc<Exposed> {
        let searchable = self.live_catalog.searchable();
        let catalog = searchable.catalog();
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        match &*latest {
            Some((of, exposed)) if Arc::ptr_eq(of, catalog) => Arc::clone(exposed),
            _ => {
                let exposed =
                    Arc::new(expose(&self.live_catalog, &searchable, &self.better_direct));
                *latest = Some((Arc::clone(catalog), Arc::clone(&exposed)));
                exposed
            }
        }
    }

    /// Servers whose entry allows that clients see their tools, whether they do now or not.
    pub(crate) fn allowed(&self) -> Vec<(ServerName, Expose)> {
        let servers = self.live_catalog.usable_servers().into_iter();
        let allowed = servers.filter_map(|name| {
            let expose = self.live_catalog.expose(&name)?;
            (expose != Expose::Code).then_some((name, expose))
        });
        allowed.collect()
    }
}

fn expose(
    live_catalog: &LiveCatalog,
    searchable: &SearchableCatalog,
    better_direct: &BTreeSet<ServerName>,
) -> Exposed {
    let mut exposed = Vec::new();
    let mut not_searched = BTreeSet::new();
    for server in searchable.catalog().servers() {
        match live_catalog.expose(server.name()).unwrap_or_default() {
            Expose::Code => continue,
            Expose::Auto if !is_small(server, tools_max(server.name(), better_direct)) => continue,
            Expose::Direct => {
                not_searched.insert(server.name().clone());
            }
            Expose::Both | Expose::Auto => {}
        }
        exposed.push(ExposedServer {
            tools: server.clone(),
            extras: live_catalog.extras(server.name()),
        });
    }
    Exposed {
        servers: exposed,
        searched: without(searchable, &not_searched),
        listed_directly: not_searched,
        configured: live_catalog.servers(),
    }
}

fn without(searchable: &SearchableCatalog, servers: &BTreeSet<ServerName>) -> SearchableCatalog {
    if servers.is_empty() {
        return searchable.clone();
    }
    let kept = searchable
        .catalog()
        .servers()
        .filter(|server| !servers.contains(server.name()));
    let absences = Arc::clone(searchable.catalog().absences());
    let catalog = Catalog::new(kept.cloned().collect()).with_absences(absences);
    SearchableCatalog::new(Arc::new(catalog))
}

fn tools_max(server: &ServerName, better_direct: &BTreeSet<ServerName>) -> usize {
    if better_direct.contains(server) {
        AUTO_LOSING_TOOLS_MAX
    } else {
        AUTO_TOOLS_MAX
    }
}

/// Whether `auto` exposes the server.
fn is_small(server: &ServerTools, tools_max: usize) -> bool {
    let tools = server.tools();
    if tools.is_empty() || tools.len() > tools_max {
        return false;
    }
    let definitions: Vec<Value> = tools
        .iter()
        .map(|tool| definition_json(tool.definition(), &tool.id().tool))
        .collect();
    let json = Value::Array(definitions).to_string();
    tokens::at_most(&json, AUTO_TOKENS_MAX - 1).is_some()
}

/// The definition of a tool as a client lists it under `name`, without the parts that the gateway does not use.
pub fn definition_json(definition: &ToolDefinition, name: &str) -> Value {
    let mut json = json!({"name": name});
    if let Some(title) = &definition.title {
        json["title"] = title.as_str().into();
    }
    // Clients expect a description, so a missing one becomes an empty text.
    json["description"] = definition.description.as_deref().unwrap_or_default().into();
    json["inputSchema"] = match &definition.input_schema {
        schema @ Value::Object(_) => schema.clone(),
        _ => json!({"type": "object"}),
    };
    if let Some(schema @ Value::Object(_)) = &definition.output_schema {
        json["outputSchema"] = schema.clone();
    }
    let hints = [
        ("readOnlyHint", definition.annotations.read_only),
        ("destructiveHint", definition.annotations.destructive),
        ("idempotentHint", definition.annotations.idempotent),
    ];
    for (hint, value) in hints {
        if let Some(value) = value {
            json["annotations"][hint] = value.into();
        }
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(tools: usize, description: &str) -> ServerTools {
        let tool = |n| ToolDefinition {
            id: limbeck_domain::ToolId::new("s", format!("t{n}")),
            title: None,
            description: Some(description.to_owned()),
            input_schema: json!({"type": "object"}),
            output_schema: None,
            annotations: Default::default(),
        };
        ServerTools::new("s".into(), (0..tools).map(tool).collect(), None)
    }

    #[test]
    fn auto_takes_five_small_tools_and_neither_six_nor_large_ones_without_evidence() {
        let is_small = |server: &ServerTools| is_small(server, AUTO_TOOLS_MAX);
        assert!(is_small(&server(5, "short")));
        assert!(!is_small(&server(6, "short")));
        assert!(!is_small(&server(0, "")));
        // 5 times 290 words are about 1,450 tokens with what surrounds them above the bound.
        assert!(!is_small(&server(5, &"word ".repeat(290))));
        assert!(is_small(&server(5, &"word ".repeat(250))));
    }

    #[test]
    fn evidence_lets_auto_take_more_tools_and_no_larger_definitions() {
        let losing = BTreeSet::from([ServerName::from("s")]);
        let tools_max = tools_max(&"s".into(), &losing);
        assert!(is_small(&server(20, "short"), tools_max));
        assert!(!is_small(&server(21, "short"), tools_max));
        assert!(!is_small(&server(20, &"word ".repeat(100)), tools_max));
        assert_eq!(super::tools_max(&"other".into(), &losing), AUTO_TOOLS_MAX);
    }
}
