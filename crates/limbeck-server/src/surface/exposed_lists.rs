//! Merged lists of the resources, templates and prompts of exposed servers.
//!
//! Every list is fetched from the servers again, page by page within bounds. A server that fails, or has no
//! such list, adds nothing. A resource whose URI several servers list is left out: a program reads it by its
//! server, `servers.NAME.resources.read(uri)`. So is one in the gateway's own address space. Prompts with the same name are all prefixed, as tools are.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::future::join_all;
use limbeck_domain::limits::{LIST_PAGES_MAX, TOOLS_PER_SERVER_MAX, UPSTREAM_LINE_BYTES_MAX};
use limbeck_domain::{Expose, ReadMethod, ServerName, ToolId, text};
use limbeck_upstream::CallContext;
use rmcp::ErrorData;
use rmcp::model::{Prompt, Resource, ResourceTemplate};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use limbeck_gateway::Gateway;
use limbeck_gateway::exposure::ExposedServer;

use super::client_names::client_names;
use super::own_addresses::{is_own_address, may_be_own_address};

/// How long a client's list waits for exposed servers that were never listed before.
const EXPOSED_LIST_TIMEOUT: Duration = Duration::from_secs(20);
/// Items of a page sent to a client.
const PAGE_ITEMS: usize = 1_000;

/// Prompt under its client name.
pub(super) struct ListedPrompt {
    pub(super) server: ServerName,
    /// Name at its server.
    pub(super) name: String,
    pub(super) prompt: Prompt,
}

/// Lists all resources, each with its server.
pub(super) async fn resources(gateway: &Gateway) -> Vec<(ServerName, Resource)> {
    let mut all: Vec<(ServerName, Resource)> =
        gather(gateway, ReadMethod::ListResources, "resources").await;
    all.retain(|(_, resource)| !is_own_address(&resource.uri));
    without_collisions(all, |resource| &resource.uri)
}

/// Lists all resource templates, each with its server.
pub(super) async fn templates(gateway: &Gateway) -> Vec<(ServerName, ResourceTemplate)> {
    let method = ReadMethod::ListResourceTemplates;
    let mut all: Vec<(ServerName, ResourceTemplate)> =
        gather(gateway, method, "resourceTemplates").await;
    all.retain(|(_, template)| !may_be_own_address(&template.uri_template));
    without_collisions(all, |template| &template.uri_template)
}

/// The items without those whose URI several servers list: none of them is more entitled to it than another, and a
/// client that reads it would tell one server what it wants of the other.
fn without_collisions<T>(
    mut all: Vec<(ServerName, T)>,
    uri_of: impl Fn(&T) -> &String,
) -> Vec<(ServerName, T)> {
    let mut owners: BTreeMap<String, Option<ServerName>> = BTreeMap::new();
    for (server, item) in &all {
        owners
            .entry(uri_of(item).clone())
            .and_modify(|owner| *owner = owner.take().filter(|owner| owner == server))
            .or_insert_with(|| Some(server.clone()));
    }
    // The first of several items of one server.
    all.retain(|(_, item)| {
        let owner = owners.get_mut(uri_of(item));
        owner.is_some_and(|owner| owner.take().is_some())
    });
    all
}

/// Lists all prompts.
pub(super) async fn prompts(gateway: &Gateway) -> Vec<ListedPrompt> {
    let all: Vec<(ServerName, Prompt)> = gather(gateway, ReadMethod::ListPrompts, "prompts").await;
    let ids: Vec<ToolId> = all
        .iter()
        .map(|(server, prompt)| ToolId::new(server.clone(), prompt.name.as_str()))
        .collect();
    let names = client_names(&ids, &gateway.exposed().configured, &[]);
    let listed = all.into_iter().zip(names);
    listed
        .map(|((server, mut prompt), name)| ListedPrompt {
            server,
            name: std::mem::replace(&mut prompt.name, name),
            prompt,
        })
        .collect()
}

/// Lists the tools of exposed servers that were not listed in this process. Waits only for servers whose tools
/// are exposed unconditionally (`direct`, `both`) and that are not in the cache.
pub(super) async fn discover_exposed(gateway: &Gateway) {
    let live_catalog = gateway.live_catalog();
    let known = live_catalog.snapshot();
    let mut unknown = Vec::new();
    for (server, expose) in gateway.exposable() {
        let is_known = !known.tools_of(&server).is_empty();
        if expose == Expose::Auto || is_known {
            live_catalog.ask_later(&server);
        } else {
            unknown.push(server);
        }
    }
    if !unknown.is_empty() {
        live_catalog
            .refresh_all(&unknown, EXPOSED_LIST_TIMEOUT)
            .await;
    }
}

/// Server that a resource is read from: the only exposed server, or the one that lists the resource, or the only
/// one with a matching template. No server has an address of the gateway.
pub(super) async fn server_of(gateway: &Gateway, uri: &str) -> Option<ServerName> {
    if is_own_address(uri) {
        return None;
    }
    discover_exposed(gateway).await;
    if let [only] = &gateway.exposed().servers[..] {
        return Some(only.name().clone());
    }
    let listed = resources(gateway).await;
    if let Some((server, _)) = listed.into_iter().find(|(_, resource)| resource.uri == uri) {
        return Some(server);
    }
    let templates = templates(gateway).await;
    let fitting = templates.iter().filter(|(_, template)| {
        let prefix = template.uri_template.split('{').next().unwrap_or_default();
        !prefix.is_empty() && uri.starts_with(prefix) || template.uri_template == uri
    });
    // Not the longest one: a server could take the reads of another with a longer prefix.
    let servers: BTreeSet<&ServerName> = fitting.map(|(server, _)| server).collect();
    match servers.into_iter().collect::<Vec<_>>()[..] {
        [only] => Some(only.clone()),
        _ => None,
    }
}

async fn gather<T: DeserializeOwned>(
    gateway: &Gateway,
    method: ReadMethod,
    key: &str,
) -> Vec<(ServerName, T)> {
    discover_exposed(gateway).await;
    let exposed = gateway.exposed();
    let servers = exposed.servers.iter().map(ExposedServer::name);
    let lists = servers.map(|server| async move {
        let items = pages(gateway, server, method, key).await;
        // Items that the SDK cannot parse are skipped.
        let items = items
            .into_iter()
            .filter_map(clean_item)
            .filter_map(|item| serde_json::from_value(item).ok());
        items.map(|item| (server.clone(), item)).collect::<Vec<_>>()
    });
    join_all(lists).await.into_iter().flatten().collect()
}

/// An item without hidden characters in its texts; `None` with such characters in what it is called by.
fn clean_item(mut item: Value) -> Option<Value> {
    let called = |item: &Value| ["name", "uri", "uriTemplate"].map(|key| item.get(key).cloned());
    let before = called(&item);
    let has_clean_keys = text::clean_json(&mut item, UPSTREAM_LINE_BYTES_MAX);
    (has_clean_keys && called(&item) == before).then_some(item)
}

async fn pages(
    gateway: &Gateway,
    server: &ServerName,
    method: ReadMethod,
    key: &str,
) -> Vec<Value> {
    let (mut items, mut cursor) = (Vec::new(), None::<String>);
    let mut seen = BTreeSet::new();
    for _ in 0..LIST_PAGES_MAX {
        let params = match &cursor {
            Some(cursor) => json!({ "cursor": cursor }),
            None => json!({}),
        };
        let context = CallContext::new(CancellationToken::new());
        let page = gateway
            .read_directly(server, method, params.to_string(), context)
            .await;
        let page = match page {
            Ok(page) => page,
            Err(failure) => {
                tracing::debug!(%server, %method, ?failure, "a list is missing");
                break;
            }
        };
        let Ok(mut page) = serde_json::from_str::<Value>(page.get()) else {
            break;
        };
        if let Value::Array(found) = page[key].take() {
            items.extend(found);
        }
        items.truncate(TOOLS_PER_SERVER_MAX);
        match page["nextCursor"].as_str() {
            Some(next) if items.len() < TOOLS_PER_SERVER_MAX && seen.insert(next.to_owned()) => {
                cursor = Some(next.to_owned());
            }
            _ => break,
        }
    }
    items
}

/// Page of `items` at `cursor`, and the cursor of the next page.
///
/// # Errors
///
/// A cursor that this gateway did not return.
pub(super) fn page<T>(
    items: Vec<T>,
    cursor: Option<&str>,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let start = match cursor {
        None => 0,
        Some(cursor) => cursor
            .parse()
            .ok()
            .filter(|start| *start > 0 && *start < items.len())
            .ok_or_else(|| {
                ErrorData::invalid_params(
                    "unknown cursor: pass the `nextCursor` of an earlier answer, unchanged",
                    None,
                )
            })?,
    };
    let end = items.len().min(start + PAGE_ITEMS);
    let next = (end < items.len()).then(|| end.to_string());
    let page = items.into_iter().skip(start).take(end - start).collect();
    Ok((page, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_and_foreign_cursors_are_refused() {
        let items: Vec<usize> = (0..PAGE_ITEMS + 5).collect();
        let (first, next) = page(items.clone(), None).unwrap();
        assert_eq!(first.len(), PAGE_ITEMS);
        let (second, end) = page(items.clone(), next.as_deref()).unwrap();
        assert_eq!((second.len(), second[0], end), (5, PAGE_ITEMS, None));
        for bad in ["", "0", "-1", "9999999", "x"] {
            assert!(page(items.clone(), Some(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_several_servers_list_is_left_out_and_the_rest_stays_with_its_server() {
        let all = [
            ("a", "x:1"),
            ("a", "x:2"),
            ("b", "x:2"),
            ("b", "x:3"),
            ("b", "x:3"),
            ("c", "x:2"),
        ];
        let all = all.map(|(server, uri)| (ServerName::from(server), uri.to_owned()));
        let left = without_collisions(all.to_vec(), |uri| uri);
        let left: Vec<(&str, &str)> = left
            .iter()
            .map(|(server, uri)| (server.as_str(), &**uri))
            .collect();
        assert_eq!(left, [("a", "x:1"), ("b", "x:3")]);
    }

    #[test]
    fn items_are_cleaned_and_those_with_a_hidden_name_are_left_out() {
        let item = json!({"uri": "x:1", "name": "n", "description": "d\u{202e}"});
        assert_eq!(clean_item(item).unwrap()["description"], "d");
        assert!(clean_item(json!({"uri": "x:\u{200b}1", "name": "n"})).is_none());
        assert!(clean_item(json!({"uri": "x:1", "name": "n\u{3164}"})).is_none());
    }
}
