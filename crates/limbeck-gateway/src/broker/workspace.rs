//! `workspace` of a program: files that outlive it, kept in the state of its principal within the bounds of `store`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use limbeck_domain::limits::STORE_VALUE_BYTES_MAX;
use limbeck_domain::text::clean_line;
use limbeck_domain::{CallCode, CallError};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Broker;
use crate::store_errors::query_error;

/// Begins the keys of files.
const KEY_PREFIX: &str = "limbeck:workspace:";
/// Path of a file: with the prefix it is a key.
const PATH_BYTES_MAX: usize = 200;
/// Files of one listing.
const LISTED_MAX: usize = 5_000;

/// Body of [`limbeck_domain::HostOp::Workspace`].
#[derive(Deserialize)]
pub(super) struct WorkspaceBody {
    #[serde(rename = "do")]
    action: WorkspaceAction,
    #[serde(default)]
    path: String,
    #[serde(flatten)]
    content: FileContent,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WorkspaceAction {
    List,
    Read,
    Write,
    Remove,
}

/// Content of a file, as its value in the store and in an answer.
#[derive(Debug, Default, Serialize, Deserialize)]
struct FileContent {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Of a file that is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl WorkspaceBody {
    pub(super) fn writes(&self) -> bool {
        match self.action {
            WorkspaceAction::Write | WorkspaceAction::Remove => true,
            WorkspaceAction::List | WorkspaceAction::Read => false,
        }
    }
}

impl Broker {
    pub(super) async fn workspace(&self, body: WorkspaceBody) -> Result<String, CallError> {
        let store = &self.context.store;
        let principal = &*self.principal;
        if let WorkspaceAction::List = body.action {
            let prefix = match body.path.trim_matches('/') {
                "" | "." => String::new(),
                path => format!("{}/", path_of(path)?),
            };
            let prefix = format!("{KEY_PREFIX}{prefix}");
            let files = store.kv_list(principal, &prefix, LISTED_MAX);
            let files = files.await.map_err(|error| query_error(&error))?;
            let files = files.iter().filter_map(|(key, bytes)| {
                let path = key.strip_prefix(KEY_PREFIX)?;
                Some(json!({"path": path, "bytes": bytes}))
            });
            return Ok(json!(files.collect::<Vec<_>>()).to_string());
        }
        let path = path_of(&body.path)?;
        let key = format!("{KEY_PREFIX}{path}");
        match body.action {
            WorkspaceAction::Write => {
                let value = checked(&path, &body.content)?;
                let written = store.kv_set(principal, &key, Some(value)).await;
                written.map_err(|error| query_error(&error))?;
                Ok("null".to_owned())
            }
            WorkspaceAction::Read | WorkspaceAction::List => {
                let found = store.kv_get(principal, &key).await;
                found
                    .map_err(|error| query_error(&error))?
                    .ok_or_else(|| missing(&path))
            }
            WorkspaceAction::Remove => {
                let found = store.kv_get(principal, &key).await;
                let found = found.map_err(|error| query_error(&error))?.is_some();
                let removed = store.kv_set(principal, &key, None).await;
                removed.map_err(|error| query_error(&error))?;
                Ok(found.to_string())
            }
        }
    }
}

/// The value of a file that is to be written.
fn checked(path: &str, content: &FileContent) -> Result<String, CallError> {
    let error = |code: CallCode, message: String| Err(CallError::new(code, message));
    match (&content.text, &content.base64) {
        (Some(_), None) => {}
        (None, Some(base64)) if STANDARD.decode(base64).is_ok() => {}
        _ => {
            let message = format!("file `{path}` has neither a text nor bytes");
            return error(CallCode::InvalidArguments, message);
        }
    }
    let value = json!(content).to_string();
    if value.len() > STORE_VALUE_BYTES_MAX {
        let bytes = value.len();
        let message =
            format!("file `{path}` takes {bytes} bytes, at most {STORE_VALUE_BYTES_MAX} are kept");
        return error(CallCode::LimitExceeded, message);
    }
    Ok(value)
}

/// A path within the workspace: without what programs write before it, and never above.
fn path_of(path: &str) -> Result<String, CallError> {
    let within = ["/workspace/", "/projects/"]
        .iter()
        .find_map(|root| path.strip_prefix(root))
        .unwrap_or(path);
    let parts: Vec<&str> = within
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let joined = parts.join("/");
    let is_odd = joined.is_empty()
        || parts.contains(&"..")
        || joined.len() > PATH_BYTES_MAX
        || joined.chars().any(char::is_control);
    if is_odd {
        let shown = clean_line(path, 80);
        let message = format!(
            "`{shown}` is no path in the workspace: relative, without `..`, of at most {PATH_BYTES_MAX} bytes"
        );
        return Err(CallError::new(CallCode::InvalidArguments, message));
    }
    Ok(joined)
}

fn missing(path: &str) -> CallError {
    let message = format!("the workspace has no file `{path}`");
    CallError::new(CallCode::InvalidArguments, message)
        .with_hint("`workspace.list()` lists the files")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_within_the_workspace() {
        for (path, expected) in [
            ("a.txt", "a.txt"),
            ("/workspace/a/./b.txt", "a/b.txt"),
            ("/projects/a//b.txt", "a/b.txt"),
            ("/a.txt", "a.txt"),
        ] {
            assert_eq!(path_of(path).unwrap(), expected);
        }
        let long = "a".repeat(PATH_BYTES_MAX + 1);
        for path in ["", "/", "../a", "a/../../b", "a\n", &long] {
            assert!(path_of(path).is_err(), "{path:?}");
        }
    }
}
