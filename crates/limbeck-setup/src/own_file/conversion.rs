//! An entry of another program in the form of Limbeck's own file.

use limbeck_domain::Expose;
use toml_edit::{Array, InlineTable, Table, Value};

use super::NewServer;
use super::workspace::Workspace;
use crate::diagnostic::ValueError;
use crate::document::ConfigPlace;
use crate::entry::{HttpKind, ServerEntry, Transport};
use crate::entry_reader::EntryDialect;

/// Reference of editors to the directory of the project.
const WORKSPACE_FOLDER: &str = "${workspaceFolder}";

/// The entry at `place` in the form of Limbeck's own file. `entry` is the same entry as it was read, for settings that
/// hold no reference. A server of a workspace starts there, as its client starts it.
pub(super) fn table(
    dialect: EntryDialect,
    place: &ConfigPlace<'_>,
    entry: &ServerEntry,
    workspace: Option<&Workspace>,
) -> Result<Table, ValueError> {
    let written = Written { dialect, workspace };
    let url = ["url", "httpUrl", "serverUrl", "uri"]
        .iter()
        .find_map(|key| place.get(key).transpose())
        .transpose()?;
    let server = match (place.get("command")?, url) {
        (Some(command), _) => NewServer::Stdio {
            command: written.text(&command)?,
            args: match place.get("args")? {
                Some(args) => args
                    .list()?
                    .iter()
                    .map(|arg| written.text(arg))
                    .collect::<Result<_, _>>()?,
                None => Vec::new(),
            },
            env: written.env(place)?,
            cwd: {
                let own = place
                    .get("cwd")?
                    .map(|cwd| written.text(&cwd))
                    .transpose()?;
                match workspace {
                    Some(workspace) => {
                        let cwd = workspace.start_directory(own.as_deref());
                        Some(cwd.map_err(|problem| place.malformed(problem))?)
                    }
                    None => own,
                }
            },
        },
        (None, Some(url)) => NewServer::Http {
            url: written.text(&url)?,
            headers: written.headers(place)?,
        },
        (None, None) => return Err(place.malformed("has neither `command` nor `url`")),
    };
    let mut table = server.table();
    if let Ok(Transport::Http { kind, .. }) = &entry.definition {
        let kind = match kind {
            HttpKind::Auto => None,
            HttpKind::Streamable => Some("http"),
            HttpKind::Sse => Some("sse"),
        };
        if let Some(kind) = kind {
            table.insert("type", toml_edit::value(kind));
        }
    }
    if let Some(oauth) = written.oauth(place)? {
        table.insert("oauth", toml_edit::value(oauth));
    }
    insert_settings(&mut table, place, entry)?;
    Ok(table)
}

/// [`table`] of an entry of the user.
pub(crate) fn own_table(
    dialect: EntryDialect,
    place: &ConfigPlace<'_>,
    entry: &ServerEntry,
) -> Result<Table, ValueError> {
    table(dialect, place, entry, None)
}

/// Settings without references.
fn insert_settings(
    table: &mut Table,
    place: &ConfigPlace<'_>,
    entry: &ServerEntry,
) -> Result<(), ValueError> {
    let mut number = |key: &str, value: Option<u64>| {
        if let Some(value) = value.and_then(|value| i64::try_from(value).ok()) {
            table.insert(key, toml_edit::value(value));
        }
    };
    number("timeout_ms", entry.timeout_ms);
    number("start_timeout_ms", entry.start_timeout_ms);
    number("idle_timeout_ms", entry.idle_timeout_ms);
    number("concurrency", entry.concurrency.map(|count| count as u64));
    if entry.disabled {
        table.insert("disabled", toml_edit::value(true));
    }
    if !entry.observe {
        table.insert("observe", toml_edit::value(false));
    }
    if entry.oauth.shared {
        table.insert("shared_credentials", toml_edit::value(true));
    }
    if let Some(description) = &entry.description {
        table.insert("description", toml_edit::value(description));
    }
    if entry.expose != Expose::default()
        && let Some(expose) = place.get("expose")?
    {
        table.insert("expose", toml_edit::value(expose.text()?));
    }
    if let Some(allowed) = place.get("allow_http")?
        && allowed.boolean()?
    {
        table.insert("allow_http", toml_edit::value(true));
    }
    if let Some(networks) = place.get("allow_networks")? {
        let networks = networks.list()?;
        let networks: Result<Array, _> = networks.iter().map(ConfigPlace::text).collect();
        table.insert("allow_networks", toml_edit::value(networks?));
    }
    let rules = &entry.tool_rules;
    match rules.only.as_slice() {
        [] => {}
        [only] => {
            let only: Array = only.iter().map(String::as_str).collect();
            table.insert("enabled_tools", toml_edit::value(only));
        }
        _ => return Err(place.malformed("has several lists of enabled tools")),
    }
    if !rules.except.is_empty() {
        let except: Array = rules.except.iter().map(String::as_str).collect();
        table.insert("disabled_tools", toml_edit::value(except));
    }
    Ok(())
}

/// Reader of values as they are written.
struct Written<'a> {
    dialect: EntryDialect,
    workspace: Option<&'a Workspace>,
}

impl Written<'_> {
    fn text(&self, place: &ConfigPlace<'_>) -> Result<String, ValueError> {
        let text = place.text()?;
        // In the user's own file it would be the directory of each use, and not the project that the user accepted.
        if let Some(workspace) = self.workspace
            && self.dialect != EntryDialect::Codex
            && text.contains(WORKSPACE_FOLDER)
        {
            let directory = workspace.path();
            let directory = directory.map_err(|problem| place.malformed(problem))?;
            return Ok(text.replace(WORKSPACE_FOLDER, &directory));
        }
        // Codex replaces nothing, and Limbeck's own file has no escape for `${`.
        if self.dialect == EntryDialect::Codex && text.contains("${") {
            return Err(place.malformed("has `${`, which Limbeck would replace"));
        }
        Ok(text.to_owned())
    }

    fn pairs(&self, place: &ConfigPlace<'_>) -> Result<Vec<(String, String)>, ValueError> {
        let pair =
            |(name, value): (&str, ConfigPlace<'_>)| Ok((name.to_owned(), self.text(&value)?));
        place.entries()?.into_iter().map(pair).collect()
    }

    fn env(&self, place: &ConfigPlace<'_>) -> Result<Vec<(String, String)>, ValueError> {
        let mut env = match place.get("env")? {
            Some(env) => self.pairs(&env)?,
            None => Vec::new(),
        };
        if self.dialect == EntryDialect::Codex
            && let Some(names) = place.get("env_vars")?
        {
            for name in names.list()? {
                let name = name.text()?;
                env.push((name.to_owned(), format!("${{{name}}}")));
            }
        }
        Ok(env)
    }

    fn headers(&self, place: &ConfigPlace<'_>) -> Result<Vec<(String, String)>, ValueError> {
        let key = match self.dialect {
            EntryDialect::Codex => "http_headers",
            EntryDialect::Client | EntryDialect::Limbeck => "headers",
        };
        let mut headers = match place.get(key)? {
            Some(headers) => self.pairs(&headers)?,
            None => Vec::new(),
        };
        if self.dialect == EntryDialect::Codex {
            if let Some(found) = place.get("env_http_headers")? {
                for (name, variable) in self.pairs(&found)? {
                    headers.push((name, format!("${{{variable}}}")));
                }
            }
            if let Some(found) = place.get("bearer_token_env_var")? {
                let value = format!("Bearer ${{{}}}", found.text()?);
                headers.push(("Authorization".to_owned(), value));
            }
        }
        Ok(headers)
    }

    fn oauth(&self, place: &ConfigPlace<'_>) -> Result<Option<Value>, ValueError> {
        if let Some(found) = place.get("oauth")? {
            return self.value(&found).map(Some);
        }
        if self.dialect == EntryDialect::Codex
            && let Some(scopes) = place.get("scopes")?
        {
            let mut oauth = InlineTable::new();
            oauth.insert("scopes", self.value(&scopes)?);
            return Ok(Some(Value::InlineTable(oauth)));
        }
        // Cursor's form.
        let Some(auth) = place.get("auth")?.filter(|auth| auth.entries().is_ok()) else {
            return Ok(None);
        };
        let mut oauth = InlineTable::new();
        for (theirs, ours) in [
            ("CLIENT_ID", "client_id"),
            ("CLIENT_SECRET", "client_secret"),
            ("scopes", "scopes"),
        ] {
            if let Some(found) = auth.get(theirs)? {
                oauth.insert(ours, self.value(&found)?);
            }
        }
        Ok(Some(Value::InlineTable(oauth)))
    }

    fn value(&self, place: &ConfigPlace<'_>) -> Result<Value, ValueError> {
        if place.text().is_ok() {
            return self.text(place).map(Value::from);
        }
        if let Ok(boolean) = place.boolean() {
            return Ok(Value::from(boolean));
        }
        if let Ok(list) = place.list() {
            let values = list.iter().map(|item| self.value(item));
            return Ok(Value::Array(values.collect::<Result<_, _>>()?));
        }
        if let Ok(entries) = place.entries() {
            let mut table = InlineTable::new();
            for (key, value) in entries {
                // OpenCode writes `scope`.
                let key = if key == "scope" { "scopes" } else { key };
                table.insert(key, self.value(&value)?);
            }
            return Ok(Value::InlineTable(table));
        }
        let number = place.number(0, i64::MAX.unsigned_abs())?;
        Ok(Value::from(i64::try_from(number).unwrap_or(i64::MAX)))
    }
}
