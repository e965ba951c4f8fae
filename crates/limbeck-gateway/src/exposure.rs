//! Which tools a client sees beside `search` and `execute`, and under which names.
//!
//! Decided from what is known of a server's tools: from the cache when the gateway starts, and anew
//! whenever the server lists them. A server with `expose = "auto"` of which nothing is known shows
//! nothing; a client that lists tools has it asked in the background and hears of the outcome by
//! `list_changed`. What the ledger says of a server counts as it was when the gateway started.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use limbeck_catalog::{Catalog, ServerTools};
use limbeck_domain::{Expose, ServerName, ToolDefinition, ToolId, text};
use limbeck_store::Store;
use rmcp::model::Tool;
use serde_json::{Map, Value, json};

use crate::catalogue::{Catalogue, ToolExtras};
use crate::{Gateway, ServerSource, ledger, surface, tokens};

/// Tools of a server that `auto` exposes.
const AUTO_TOOLS_MAX: usize = 5;
/// Of a server that programs mostly call alone and at a loss.
const AUTO_LOSING_TOOLS_MAX: usize = 20;
/// Tokens (o200k) of all their definitions together, as JSON.
const AUTO_TOKENS_MAX: usize = 1_500;
/// Characters of a name that every client takes (specification 2025-11-25, "Tool Names").
const NAME_CHARS_MAX: usize = 128;
/// Texts in what a definition says beside the parts we use.
const EXTRA_TEXT_BYTES_MAX: usize = 4 << 10;

/// The latest answer, kept for as long as the catalogue it was made from stands.
#[derive(Debug, Default)]
pub(crate) struct Exposure {
    /// Servers that had better been seen directly, by the ledger as it was when the gateway started: what
    /// clients see does not change under them for what they do.
    better_direct: BTreeSet<ServerName>,
    latest: Mutex<Option<(Arc<Catalog>, Arc<Exposed>)>>,
}

impl Exposure {
    /// Reads the ledger, when there is a server it could matter for.
    pub(crate) async fn open(store: &Store, sources: &[ServerSource]) -> Self {
        if !sources.iter().any(|source| source.expose == Expose::Auto) {
            return Self::default();
        }
        let rows = store.ledger(0).await.unwrap_or_else(|error| {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the ledger could not be read"
            );
            Vec::new()
        });
        Self {
            better_direct: ledger::better_direct(
                &rows
                    .iter()
                    .map(|row| (row.created_us, row.reckoned()))
                    .collect::<Vec<_>>(),
            ),
            latest: Mutex::default(),
        }
    }
}

/// What clients see of the servers behind us.
#[derive(Debug, Default)]
pub(crate) struct Exposed {
    /// Tools that are listed as they are, by server and in the server's order.
    pub(crate) tools: Vec<Listed>,
    /// Their servers.
    pub(crate) servers: Vec<ServerName>,
    /// What `search` finds: servers that are exposed to clients alone are left out.
    pub(crate) searched: Arc<Catalog>,
}

/// One tool that is listed as it is.
#[derive(Debug)]
pub(crate) struct Listed {
    /// What it is in truth.
    pub(crate) id: ToolId,
    /// Its definition under the name it is listed by.
    pub(crate) tool: Tool,
}

impl Exposed {
    /// The tool listed as `name`.
    pub(crate) fn tool(&self, name: &str) -> Option<&Listed> {
        self.tools.iter().find(|listed| listed.tool.name == name)
    }
}

impl Gateway {
    /// What clients see now.
    pub(crate) fn exposed(&self) -> Arc<Exposed> {
        let catalogue = &self.shared.catalogue;
        let catalog = catalogue.snapshot();
        let mut kept = self
            .shared
            .exposure
            .latest
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some((of, exposed)) if Arc::ptr_eq(of, &catalog) => Arc::clone(exposed),
            _ => {
                let better_direct = &self.shared.exposure.better_direct;
                let exposed = Arc::new(expose(catalogue, &catalog, better_direct));
                *kept = Some((catalog, Arc::clone(&exposed)));
                exposed
            }
        }
    }

    /// Servers whose entry says that clients may see their tools, decided or not.
    pub(crate) fn exposable(&self) -> Vec<(ServerName, Expose)> {
        let catalogue = &self.shared.catalogue;
        let servers = catalogue.servers().filter_map(|name| {
            let expose = catalogue.source(name)?.expose;
            (expose != Expose::Code).then(|| (name.clone(), expose))
        });
        servers.collect()
    }
}

fn expose(
    catalogue: &Catalogue,
    catalog: &Arc<Catalog>,
    better_direct: &BTreeSet<ServerName>,
) -> Exposed {
    let mut shown = Vec::new();
    let mut quiet = BTreeSet::new();
    for server in catalog.servers() {
        let mode = catalogue.source(server.name()).map(|source| source.expose);
        match mode.unwrap_or_default() {
            Expose::Code => continue,
            Expose::Auto if !is_small(server, tools_max(server.name(), better_direct)) => continue,
            Expose::Direct => {
                quiet.insert(server.name().clone());
            }
            Expose::Both | Expose::Auto => {}
        }
        shown.push((server, catalogue.extras(server.name())));
    }
    Exposed {
        tools: listed(&shown),
        servers: shown
            .iter()
            .map(|(server, _)| server.name().clone())
            .collect(),
        searched: searched(catalog, &quiet),
    }
}

fn searched(catalog: &Arc<Catalog>, quiet: &BTreeSet<ServerName>) -> Arc<Catalog> {
    if quiet.is_empty() {
        return Arc::clone(catalog);
    }
    let servers = catalog
        .servers()
        .filter(|server| !quiet.contains(server.name()));
    Arc::new(Catalog::new(servers.cloned().collect()))
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

fn listed(servers: &[(&ServerTools, Arc<ToolExtras>)]) -> Vec<Listed> {
    let ids: Vec<ToolId> = servers
        .iter()
        .flat_map(|(server, _)| server.tools().iter().map(|tool| tool.id().clone()))
        .collect();
    let mut names = names(&ids, &surface::BUILT_IN).into_iter();
    let mut listed = Vec::new();
    for (server, extras) in servers {
        for tool in server.tools() {
            let name = names.next().unwrap_or_default();
            let extra = extras.get(&*tool.id().tool);
            listed.push(Listed {
                id: tool.id().clone(),
                tool: definition(tool.definition(), &name, extra),
            });
        }
    }
    listed
}

/// The names that tools are listed by, in the order of `ids`: their own, or `server__tool` where several have
/// the same or it is one of `reserved`.
///
/// All tools of one name are prefixed, so no server takes a name away from another by coming first.
pub(crate) fn names(ids: &[ToolId], reserved: &[&str]) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for id in ids {
        *counts.entry(plain(&id.tool)).or_default() += 1;
    }
    let is_free = |name: &str| counts.get(name) == Some(&1) && !reserved.contains(&name);
    let mut taken: BTreeSet<String> = reserved.iter().map(|&name| name.to_owned()).collect();
    taken.extend(counts.keys().filter(|name| is_free(name)).cloned());
    let mut named = Vec::new();
    for id in ids {
        let own = plain(&id.tool);
        if is_free(&own) {
            named.push(own);
            continue;
        }
        let prefixed = plain(&format!("{}__{}", id.server, id.tool));
        let mut name = prefixed.clone();
        let mut number = 2;
        while !taken.insert(name.clone()) {
            let suffix = format!("_{number}");
            let room = NAME_CHARS_MAX.saturating_sub(suffix.len());
            name = format!("{}{suffix}", text::cut(&prefixed, room));
            number += 1;
        }
        named.push(name);
    }
    named
}

/// The name with nothing in it that a client may refuse.
fn plain(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let plain = name.chars().map(|c| if allowed(c) { c } else { '_' });
    plain.take(NAME_CHARS_MAX).collect()
}

/// The definition as the SDK lists it; parts that it cannot take are left out.
fn definition(definition: &ToolDefinition, name: &str, extra: Option<&Map<String, Value>>) -> Tool {
    let plain = definition_json(definition, name);
    let whole = extra.and_then(|extra| {
        let mut whole = plain.clone();
        for (key, value) in extra {
            whole[key] = cleaned(value);
        }
        serde_json::from_value(whole).ok()
    });
    whole
        .or_else(|| serde_json::from_value(plain).ok())
        .unwrap_or_else(|| Tool::new(name.to_owned(), "", Map::new()))
}

fn definition_json(definition: &ToolDefinition, name: &str) -> Value {
    let mut json = json!({"name": name});
    if let Some(title) = &definition.title {
        json["title"] = title.as_str().into();
    }
    // A tool without a description is a tool whose name says it all.
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

/// `value` without the characters that make a text look like another.
fn cleaned(value: &Value) -> Value {
    match value {
        Value::String(text) => text::clean(text, EXTRA_TEXT_BYTES_MAX).into(),
        Value::Array(items) => items.iter().map(cleaned).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, value)| (key.clone(), cleaned(value)))
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[(&str, &str)]) -> Vec<ToolId> {
        let id = |&(server, tool): &(&str, &str)| ToolId::new(server, tool);
        names.iter().map(id).collect()
    }

    fn server(tools: usize, description: &str) -> ServerTools {
        let tool = |n| ToolDefinition {
            id: ToolId::new("s", format!("t{n}")),
            title: None,
            description: Some(description.to_owned()),
            input_schema: json!({"type": "object"}),
            output_schema: None,
            annotations: Default::default(),
        };
        ServerTools::new("s".into(), (0..tools).map(tool).collect(), None)
    }

    #[test]
    fn names_that_collide_are_all_prefixed_and_built_in_ones_stay_ours() {
        let ids = ids(&[
            ("a", "read"),
            ("a", "search"),
            ("b", "read"),
            ("b", "a__read"),
            ("b", "odd name!"),
        ]);
        let names = names(&ids, &["search", "execute"]);
        assert_eq!(
            names,
            ["a__read_2", "a__search", "b__read", "a__read", "odd_name_"]
        );
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

    #[test]
    fn a_definition_keeps_what_we_do_not_use_and_loses_only_what_cannot_be_sent() {
        let server = server(1, "d");
        let of = |extra: Value| {
            let extra = extra.as_object().cloned();
            let tool = definition(server.tools()[0].definition(), "t", extra.as_ref());
            serde_json::to_value(tool).unwrap()
        };
        let whole = of(json!({
            "annotations": {"title": "T\u{202e}", "openWorldHint": true},
            "_meta": {"a/b": [1]},
            "icons": [{"src": "https://x.invalid/i.png"}]
        }));
        assert_eq!(whole["annotations"]["title"], "T");
        assert_eq!(whole["annotations"]["openWorldHint"], true);
        assert_eq!(whole["_meta"]["a/b"][0], 1);
        assert_eq!(whole["icons"][0]["src"], "https://x.invalid/i.png");
        let odd = of(json!({"annotations": {"openWorldHint": "perhaps"}}));
        assert_eq!(odd["name"], "t");
        assert_eq!(odd["inputSchema"]["type"], "object");
    }
}
