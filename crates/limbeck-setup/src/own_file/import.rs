//! Import of another program's entries into the user's own file.
//!
//! What an entry says is copied as it is written: references such as `${NAME}` stay references, so that no secret of
//! the environment is written into a file.

use std::path::Path;

use limbeck_domain::limits::SERVERS_MAX;
use limbeck_domain::{Expose, ServerName};
use toml_edit::{Array, DocumentMut, InlineTable, Table, Value};

use super::{Existing, NewServer, OwnFile, OwnFileError, insert, is_wrong};
use crate::diagnostic::ValueError;
use crate::document::{self, ConfigPlace, LineIndex, Syntax};
use crate::entry::{Scope, ServerEntry, Transport};
use crate::entry_reader::{self, EntryDialect, EntryReader};
use crate::error::ConfigError;
use crate::file_content;
use crate::load::{CLIENT_STATE_BYTES_MAX, client_servers};
use crate::self_reference;
use crate::variables::Variables;

/// One entry of the imported file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedEntry {
    /// Name of the server.
    pub name: ServerName,
    /// Command or url, as a line for the user.
    pub target: String,
    /// Why it was not imported; `None` when it was.
    pub left_out: Option<ImportFailure>,
}

/// Why an entry was not imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportFailure {
    /// The file has a server of this name already.
    Exists,
    /// It is Limbeck itself, or a gateway that Limbeck replaces.
    Gateway,
    /// It cannot be used, for the reason given.
    Wrong(String),
}

impl OwnFile<'_> {
    /// Copies the servers of `file`, a configuration of any known client, and returns what was done with each. With
    /// `dry_run` nothing is written.
    ///
    /// # Errors
    ///
    /// [`OwnFileError`]; the file is as it was.
    pub fn import(
        &self,
        file: &Path,
        existing: Existing,
        dry_run: bool,
    ) -> Result<Vec<ImportedEntry>, OwnFileError> {
        let path = self.world.cwd.join(file);
        let read = file_content::read(self.world, &path, CLIENT_STATE_BYTES_MAX)?;
        let content = read.ok_or_else(|| ConfigError::Missing { file: path.clone() })?;
        let invalid = |error: ValueError| {
            let (line, column) = LineIndex::new(&content.text).position(error.at);
            ConfigError::Invalid {
                file: path.clone(),
                line,
                column,
                error: Box::new(error),
            }
        };
        let syntax = match path.extension() {
            Some(suffix) if suffix.eq_ignore_ascii_case("toml") => Syntax::Toml,
            _ => Syntax::Json,
        };
        let root = document::parse(&content.text, syntax).map_err(invalid)?;
        let root = ConfigPlace::root(&root);
        let tables = client_servers(&root, syntax).map_err(invalid)?;
        let mut found = Vec::new();
        for (dialect, servers) in tables {
            for (key, place) in servers.entries().map_err(invalid)? {
                if found.len() >= SERVERS_MAX {
                    break;
                }
                let name = entry_reader::server_name(key, &place).map_err(invalid)?;
                found.push(self.converted(dialect, name, &place, &path));
            }
        }
        let mut report = Vec::new();
        if dry_run {
            self.insert_all(&mut self.present()?, found, existing, &mut report)?;
        } else {
            self.change(|document| self.insert_all(document, found, existing, &mut report))?;
        }
        Ok(report)
    }

    /// The file as it is.
    fn present(&self) -> Result<DocumentMut, OwnFileError> {
        let text = self.read(&self.world.on_disk(&self.path))?;
        text.parse()
            .map_err(|_| self.refused("it cannot be parsed"))
    }

    fn insert_all(
        &self,
        document: &mut DocumentMut,
        found: Vec<(ImportedEntry, Option<Table>)>,
        existing: Existing,
        report: &mut Vec<ImportedEntry>,
    ) -> Result<Vec<String>, OwnFileError> {
        let mut names = Vec::new();
        for (mut imported, table) in found {
            if let Some(table) = table {
                let servers = self.servers(document)?;
                let name = imported.name.as_str();
                if servers.contains_key(name) && existing == Existing::Keep {
                    imported.left_out = Some(ImportFailure::Exists);
                } else {
                    insert(servers, name, table);
                    names.push(name.to_owned());
                }
            }
            report.push(imported);
        }
        Ok(names)
    }

    fn converted(
        &self,
        dialect: EntryDialect,
        name: ServerName,
        place: &ConfigPlace<'_>,
        file: &Path,
    ) -> (ImportedEntry, Option<Table>) {
        let reader = EntryReader {
            dialect,
            variables: Variables { world: self.world },
            scope: Scope::User,
            file,
        };
        let entry = reader.read(name.clone(), place, 1).entry;
        let table = match &entry.definition {
            Err(error) if is_wrong(error) => Err(error.to_string()),
            Ok(_) | Err(_) => table(dialect, place, &entry).map_err(|error| error.to_string()),
        };
        let target = ["command", "url", "httpUrl", "serverUrl", "uri"]
            .iter()
            .find_map(|key| place.get(key).ok().flatten())
            .map(|place| place.escaped())
            .unwrap_or_default();
        let left_out = match &table {
            _ if is_gateway(&entry) => Some(ImportFailure::Gateway),
            Ok(_) => None,
            Err(problem) => Some(ImportFailure::Wrong(problem.clone())),
        };
        let table = table.ok().filter(|_| left_out.is_none());
        let imported = ImportedEntry {
            name,
            target,
            left_out,
        };
        (imported, table)
    }
}

fn is_gateway(entry: &ServerEntry) -> bool {
    let starts_gateway = match &entry.definition {
        Ok(Transport::Stdio { command, args, .. }) => {
            self_reference::earlier_gateway(command, args).is_some()
        }
        Ok(Transport::Http { .. }) | Err(_) => false,
    };
    starts_gateway || self_reference::is_product_name(entry.name.as_str())
}

/// The entry at `place` in the form of Limbeck's own file. `entry` is the same entry as it was read, for settings that
/// hold no reference.
fn table(
    dialect: EntryDialect,
    place: &ConfigPlace<'_>,
    entry: &ServerEntry,
) -> Result<Table, ValueError> {
    let written = Written { dialect };
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
            cwd: match place.get("cwd")? {
                Some(cwd) => Some(written.text(&cwd)?),
                None => None,
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
            crate::entry::HttpKind::Auto => None,
            crate::entry::HttpKind::Streamable => Some("http"),
            crate::entry::HttpKind::Sse => Some("sse"),
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
struct Written {
    dialect: EntryDialect,
}

impl Written {
    fn text(&self, place: &ConfigPlace<'_>) -> Result<String, ValueError> {
        let text = place.text()?;
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
