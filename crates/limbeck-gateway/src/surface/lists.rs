//! Resources and prompts of all exposed servers as one list each, and whose is whose.
//!
//! Lists are asked for anew each time, page by page within bounds. A server that has none of a kind, or
//! fails, adds nothing. Of two resources with one URI the first server's counts; of prompts with one name
//! all are prefixed, as tools are.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use limbeck_domain::limits::{LIST_PAGES_MAX, TOOLS_PER_SERVER_MAX};
use limbeck_domain::{Expose, ReadMethod, ServerName, ToolId};
use limbeck_upstream::CallContext;
use rmcp::ErrorData;
use rmcp::model::{Prompt, Resource, ResourceTemplate};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{Gateway, exposure};

/// How long a client that lists something waits for exposed servers that nobody has listed before.
const FIRST_LIST_PATIENCE: Duration = Duration::from_secs(20);
/// Items of a page of ours.
const PAGE_ITEMS: usize = 1_000;

/// A prompt under the name it is listed by.
pub(super) struct ListedPrompt {
    pub(super) server: ServerName,
    /// Its own name.
    pub(super) name: String,
    pub(super) prompt: Prompt,
}

/// All resources, each with its server.
pub(super) async fn resources(gateway: &Gateway) -> Vec<(ServerName, Resource)> {
    let mut seen = BTreeSet::new();
    let mut all: Vec<(ServerName, Resource)> =
        gather(gateway, ReadMethod::ListResources, "resources").await;
    all.retain(|(_, resource)| seen.insert(resource.uri.clone()));
    all
}

/// All templates, each with its server.
pub(super) async fn templates(gateway: &Gateway) -> Vec<(ServerName, ResourceTemplate)> {
    let mut seen = BTreeSet::new();
    let method = ReadMethod::ListResourceTemplates;
    let mut all: Vec<(ServerName, ResourceTemplate)> =
        gather(gateway, method, "resourceTemplates").await;
    all.retain(|(_, template)| seen.insert(template.uri_template.clone()));
    all
}

/// All prompts.
pub(super) async fn prompts(gateway: &Gateway) -> Vec<ListedPrompt> {
    let all: Vec<(ServerName, Prompt)> = gather(gateway, ReadMethod::ListPrompts, "prompts").await;
    let ids: Vec<ToolId> = all
        .iter()
        .map(|(server, prompt)| ToolId::new(server.clone(), prompt.name.as_str()))
        .collect();
    let names = exposure::names(&ids, &[]);
    let listed = all.into_iter().zip(names);
    listed
        .map(|((server, mut prompt), name)| ListedPrompt {
            server,
            name: std::mem::replace(&mut prompt.name, name),
            prompt,
        })
        .collect()
}

/// Has exposed servers asked for their tools that nobody asked so far. Only those are waited for whose tools
/// are exposed in any case and not in the cache either.
pub(super) async fn know_exposed(gateway: &Gateway) {
    let catalogue = &gateway.shared.catalogue;
    let known = catalogue.snapshot();
    let mut unknown = Vec::new();
    for (server, expose) in gateway.exposable() {
        let is_known = !known.tools_of(&server).is_empty();
        if expose == Expose::Auto || is_known {
            catalogue.ask_later(&server);
        } else {
            unknown.push(server);
        }
    }
    if !unknown.is_empty() {
        catalogue.refresh_all(&unknown, FIRST_LIST_PATIENCE).await;
    }
}

/// The server a resource is asked of: the one that lists it, or the one whose template fits best, or
/// the only one there is.
pub(super) async fn server_of(gateway: &Gateway, uri: &str) -> Option<ServerName> {
    know_exposed(gateway).await;
    if let [only] = &gateway.exposed().servers[..] {
        return Some(only.clone());
    }
    let listed = resources(gateway).await;
    if let Some((server, _)) = listed.into_iter().find(|(_, resource)| resource.uri == uri) {
        return Some(server);
    }
    let fitting = templates(gateway)
        .await
        .into_iter()
        .filter_map(|(server, template)| {
            let prefix = template.uri_template.split('{').next().unwrap_or_default();
            let fits =
                !prefix.is_empty() && uri.starts_with(prefix) || template.uri_template == uri;
            fits.then_some((prefix.len(), server))
        });
    // Of equals the first one listed.
    let best = fitting.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.map(|(_, server)| server)
}

async fn gather<T: DeserializeOwned>(
    gateway: &Gateway,
    method: ReadMethod,
    key: &str,
) -> Vec<(ServerName, T)> {
    know_exposed(gateway).await;
    let exposed = gateway.exposed();
    let servers = exposed.servers.iter();
    let lists = servers.map(|server| async move {
        let items = pages(gateway, server, method, key).await;
        // One bad item never spoils the rest.
        let items = items
            .into_iter()
            .filter_map(|item| serde_json::from_value(item).ok());
        items.map(|item| (server.clone(), item)).collect::<Vec<_>>()
    });
    join_all(lists).await.into_iter().flatten().collect()
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

/// One page of `items`, and the cursor of the next.
///
/// # Errors
///
/// A cursor that we did not give.
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
            .ok_or_else(|| ErrorData::invalid_params("the cursor is none of ours", None))?,
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
}
