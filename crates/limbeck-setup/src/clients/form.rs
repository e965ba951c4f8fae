//! Reader of a client's servers, in the form of its file.

use serde_json::{Map, Value};

use super::table::{EntryForm, Form};
use crate::diagnostic::ValueError;
use crate::document::{ConfigPlace, Syntax};
use crate::entry_reader::EntryDialect;

/// Largest number that a client writes as a time, in milliseconds.
const TIME_MS_MAX: u64 = 24 * 60 * 60 * 1000;

impl Form {
    pub(super) fn syntax(self) -> Syntax {
        match self {
            Self::Json(..) => Syntax::Json,
            Self::Codex | Self::Toml | Self::Own => Syntax::Toml,
        }
    }

    pub(super) fn dialect(self) -> EntryDialect {
        match self {
            Self::Json(..) | Self::Toml => EntryDialect::Client,
            Self::Codex => EntryDialect::Codex,
            Self::Own => EntryDialect::Limbeck,
        }
    }

    /// The table of servers at `root`; `None` when it has none.
    pub(super) fn servers<'d>(
        self,
        root: &ConfigPlace<'d>,
    ) -> Result<Option<ConfigPlace<'d>>, ValueError> {
        let paths: &[&[&str]] = match self {
            Self::Json(paths, _) => paths,
            Self::Codex | Self::Toml => &[&["mcp_servers"]],
            Self::Own => &[&["servers"]],
        };
        for path in paths {
            let mut place = Some(root.clone());
            for key in *path {
                place = match place {
                    Some(place) => place.get(key)?,
                    None => None,
                };
            }
            let Some(place) = place else { continue };
            let entries = place.entries()?;
            let is_entry = path.len() > 1
                && entries.iter().any(|(key, value)| {
                    ["command", "url"].contains(key) && value.entries().is_err()
                });
            if !is_entry {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// The keys that lead to the table of servers that [`Self::servers`] returns.
    pub(super) fn path_of(self, root: &ConfigPlace<'_>) -> &'static [&'static str] {
        match self {
            Self::Codex | Self::Toml => &["mcp_servers"],
            Self::Own => &["servers"],
            Self::Json(paths, _) => {
                let found = paths.iter().find(|path| {
                    let alone: &'static [&'static [&'static str]] = std::slice::from_ref(*path);
                    Self::Json(alone, EntryForm::CommandList)
                        .servers(root)
                        .is_ok_and(|found| found.is_some())
                });
                found.or(paths.last()).copied().unwrap_or_default()
            }
        }
    }

    /// The entry at `place` as JSON in the form of `mcpServers`; `None` when it is in that form already.
    pub(super) fn standard(self, place: &ConfigPlace<'_>) -> Result<Option<String>, ValueError> {
        match self {
            Self::Json(_, EntryForm::CommandList) => {
                let entry = command_list(place)?;
                let document = Value::Object(Map::from_iter([("entry".to_owned(), entry)]));
                Ok(Some(document.to_string()))
            }
            Self::Json(_, EntryForm::Standard(_)) | Self::Codex | Self::Toml | Self::Own => {
                Ok(None)
            }
        }
    }
}

/// An entry of OpenCode and Kilo Code.
fn command_list(place: &ConfigPlace<'_>) -> Result<Value, ValueError> {
    let mut entry = Map::new();
    if let Some(command) = place.get("command")? {
        let words = command.list()?;
        let words: Vec<String> = words.iter().map(text).collect::<Result<_, _>>()?;
        let Some((program, args)) = words.split_first() else {
            return Err(command.malformed("is empty"));
        };
        entry.insert("command".to_owned(), program.as_str().into());
        entry.insert("args".to_owned(), args.into());
    }
    if let Some(url) = place.get("url")? {
        entry.insert("url".to_owned(), text(&url)?.into());
    }
    for (theirs, ours) in [("environment", "env"), ("headers", "headers")] {
        if let Some(pairs) = place.get(theirs)? {
            let pair = |(name, value): (&str, ConfigPlace<'_>)| {
                Ok((name.to_owned(), Value::from(text(&value)?)))
            };
            let pairs = pairs.entries()?.into_iter().map(pair);
            let pairs: Map<String, Value> = pairs.collect::<Result<_, ValueError>>()?;
            entry.insert(ours.to_owned(), pairs.into());
        }
    }
    if let Some(cwd) = place.get("cwd")? {
        entry.insert("cwd".to_owned(), text(&cwd)?.into());
    }
    for key in ["enabled", "disabled"] {
        if let Some(flag) = place.get(key)? {
            entry.insert(key.to_owned(), flag.boolean()?.into());
        }
    }
    if let Some(timeout) = place.get("timeout")?
        && let Ok(ms) = timeout.number(1, TIME_MS_MAX)
    {
        // The time of a request for the list of tools, which is a part of a start.
        entry.insert("start_timeout_ms".to_owned(), ms.max(30_000).into());
    }
    if let Some(oauth) = place.get("oauth")?.filter(|oauth| oauth.boolean().is_err()) {
        return Err(oauth.malformed("is not moved: sign in again with `limbeck auth login`"));
    }
    Ok(entry.into())
}

/// A text whose references `{env:NAME}` are written as `${NAME}`.
fn text(place: &ConfigPlace<'_>) -> Result<String, ValueError> {
    let written = place.text()?;
    if written.contains("{file:") {
        return Err(place.malformed("has a reference to a file, which is not moved"));
    }
    let mut out = String::with_capacity(written.len() + 1);
    let mut rest = written;
    while let Some((before, from)) = rest.split_once("{env:") {
        let Some((name, after)) = from.split_once('}') else {
            break;
        };
        // `${env:NAME}` is the form of other clients.
        let before = before.strip_suffix('$').unwrap_or(before);
        out.push_str(before);
        out.push_str(&format!("${{{name}}}"));
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}
