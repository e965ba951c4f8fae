//! Texts of Limbeck's own files, into which servers move.

use std::path::Path;

use limbeck_domain::limits::CONFIG_BYTES_MAX;
use toml_edit::{DocumentMut, Table};

use super::found::ClientFile;
use super::model::SetupError;
use crate::file_content;
use crate::world::World;

/// Text of one of Limbeck's own files; empty when the file does not exist.
pub(super) fn own_file_text(world: &World, path: &Path) -> Result<String, SetupError> {
    let unusable = |problem: String| SetupError::OwnFile {
        file: path.to_owned(),
        problem,
    };
    let read = file_content::read(world, path, CONFIG_BYTES_MAX);
    let Some(content) = read.map_err(|error| unusable(error.problem()))? else {
        return Ok(String::new());
    };
    if let Some(exposure) = content.exposure {
        return Err(unusable(exposure));
    }
    let document: DocumentMut = content
        .text
        .parse()
        .map_err(|_| unusable("cannot be parsed".to_owned()))?;
    match document.get("servers") {
        Some(servers) if servers.is_inline_table() => {
            Err(unusable("has its servers on one line".to_owned()))
        }
        _ => Ok(content.text),
    }
}

/// Servers of such a text.
pub(super) fn own_servers(text: &str) -> Vec<(String, Table)> {
    let Ok(document) = text.parse::<DocumentMut>() else {
        return Vec::new();
    };
    let servers = document
        .get("servers")
        .and_then(|item| item.as_table_like());
    let tables = servers.into_iter().flat_map(|servers| servers.iter());
    tables
        .filter_map(|(name, item)| Some((name.to_owned(), item.clone().into_table().ok()?)))
        .collect()
}

/// A section of Limbeck's own file. The comment is inside of it, so that it goes with the entry.
pub(super) fn section(name: &str, table: &Table, origin: &ClientFile) -> String {
    let mut servers = Table::new();
    servers.set_implicit(true);
    servers.insert(name, toml_edit::Item::Table(table.clone()));
    let mut document = DocumentMut::new();
    document.insert("servers", toml_edit::Item::Table(servers));
    let text = document.to_string();
    let path = limbeck_domain::text::clean_line(&origin.path.display().to_string(), 400);
    match text.split_once('\n') {
        Some((header, rest)) => {
            format!("{header}\n# from {} ({path})\n{rest}", origin.client.title)
        }
        None => text,
    }
}
