//! Servers of the repository of the working directory, which never move.

use limbeck_domain::limits::CONFIG_BYTES_MAX;

use super::model::{ServerAction, ServerPlan};
use super::splice;
use super::table::{EntryForm, Form};
use crate::file_content;
use crate::world::World;

/// Servers that the repository of the working directory adds. They stay in its file.
pub(super) fn repository_servers(world: &World) -> Vec<ServerPlan> {
    if world.home.as_ref() == Some(&world.cwd) {
        return Vec::new();
    }
    let path = world.cwd.join(".mcp.json");
    let form = Form::Json(&[&["mcpServers"]], EntryForm::Standard(&[]));
    let read = file_content::read(world, &path, CONFIG_BYTES_MAX);
    let Ok(Some(content)) = read else {
        return Vec::new();
    };
    let entries = splice::entry_texts(&content.text, form).unwrap_or_default();
    entries
        .into_iter()
        .map(|(name, _)| ServerPlan {
            name,
            from: vec![".mcp.json"],
            action: ServerAction::Reference,
            reason: Some(
                "it is of this repository and stays there: accept it with `limbeck trust`"
                    .to_owned(),
            ),
        })
        .collect()
}
