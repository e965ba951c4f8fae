//! Servers of all clients, each once.

use std::collections::{BTreeMap, HashSet};

use limbeck_domain::ServerName;
use toml_edit::Table;

use super::found::{ClientFile, EntryKind, FoundServer};
use super::identity::identity;
use super::own_text::own_servers;
use super::secrets;
use crate::entry::ServerEntry;
use crate::world::World;

/// Longest name of a server with its number, in characters.
const NAME_CHARS_MAX: usize = 60;

/// One server, of one or several clients.
#[derive(Debug)]
pub(super) struct DistinctServer {
    identity: String,
    pub(super) entry: ServerEntry,
    pub(super) table: Table,
    /// Places of its entries: the file, and the name there.
    pub(super) from: Vec<(usize, String)>,
    /// Whether Limbeck's own files have it already.
    pub(super) is_known: bool,
    pub(super) is_disabled: bool,
}

/// Gathers the entries of the files that `is_used` names into servers, each with a name that neither another one nor one in
/// `own_files`, the texts of Limbeck's own files, has.
pub(super) fn distinct(
    world: &World,
    files: &[&ClientFile],
    is_used: impl Fn(usize) -> bool,
    own_files: [&str; 2],
    elsewhere: &[ClientFile],
) -> Vec<DistinctServer> {
    let read_too = read_too(world, elsewhere);
    let mut taken: HashSet<String> = HashSet::new();
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for text in own_files {
        for (name, table) in own_servers(text) {
            let resolved = |value: &str| secrets::resolved(world, value);
            if let Some(identity) = identity(world, &table, &resolved) {
                known.entry(identity).or_insert_with(|| name.clone());
            }
            taken.insert(name);
        }
    }
    let mut servers: Vec<DistinctServer> = Vec::new();
    for (index, file) in files.iter().enumerate() {
        if !is_used(index) {
            continue;
        }
        for entry in file.entries.as_deref().unwrap_or_default() {
            let EntryKind::Server(server) = &entry.kind else {
                continue;
            };
            let FoundServer { entry: read, table } = &**server;
            let Some(identity) = identity(world, table, &|_| None) else {
                continue;
            };
            let place = (index, entry.name.clone());
            if let Some(same) = servers.iter_mut().find(|same| same.identity == identity) {
                same.from.push(place);
                // In use in one client is in use.
                if !read.disabled {
                    same.is_disabled = false;
                    same.table.remove("disabled");
                    same.entry.disabled = false;
                }
                continue;
            }
            let name = match known.get(&identity) {
                Some(name) => name.clone(),
                None => {
                    let is_other = |name: &str| {
                        let found = read_too.get(name);
                        found.is_some_and(|found| *found != identity)
                    };
                    free_name(&entry.name, |name| taken.contains(name) || is_other(name))
                }
            };
            taken.insert(name.clone());
            let mut read = read.clone();
            read.name = ServerName::new(name.as_str());
            servers.push(DistinctServer {
                is_known: known.contains_key(&identity),
                identity,
                is_disabled: read.disabled,
                entry: read,
                table: table.clone(),
                from: vec![place],
            });
        }
    }
    servers
}

/// Servers that Limbeck reads from a file that stays as it is, by their names: one that moves under the same name would
/// replace another one.
fn read_too(world: &World, files: &[ClientFile]) -> BTreeMap<String, String> {
    let entries = files
        .iter()
        .flat_map(|file| file.entries.as_deref().unwrap_or_default());
    let servers = entries.filter_map(|entry| match &entry.kind {
        EntryKind::Server(server) => {
            let identity = identity(world, &server.table, &|_| None)?;
            Some((entry.name.clone(), identity))
        }
        EntryKind::Own(_) | EntryKind::Earlier(_) | EntryKind::Unusable(_) => None,
    });
    servers.collect()
}

/// A name that no other server has: the client's own, or the same with a number.
fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    if !is_taken(name) {
        return name.to_owned();
    }
    let stem: String = name.chars().take(NAME_CHARS_MAX).collect();
    let mut numbered = (2_u32..).map(|number| format!("{stem}{number}"));
    let free = numbered.find(|name| !is_taken(name));
    free.unwrap_or(stem)
}
