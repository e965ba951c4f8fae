//! What a client's file had after the last setup or repair of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::clients::found::ClientFile;
use crate::clients::record::{Record, RecordState, Records};
use crate::clients::table::{Client, client_of};
use crate::document::{self, ConfigPlace};
use crate::world::World;

/// One file as it was left.
#[derive(Debug)]
pub(super) struct Baseline {
    /// The file as it was left, its entries included.
    pub(super) file: ClientFile,
    /// Keys of the document beside its servers.
    pub(super) keys: Vec<String>,
}

impl Baseline {
    /// Names of its entries.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let entries = self.file.entries.as_deref().unwrap_or_default();
        entries.iter().map(|entry| entry.name.as_str())
    }
}

/// The last written bytes of each client's file of setups in effect.
pub(super) fn baselines(
    world: &World,
    records: &Records,
    all: &[Record],
) -> BTreeMap<PathBuf, Baseline> {
    let mut found = BTreeMap::new();
    // A repair is of a setup: without one in effect it is taken back as well.
    let is_set_up = |record: &Record| record.state == RecordState::Finished;
    let Some(first) = all.iter().position(is_set_up) else {
        return found;
    };
    for record in all.iter().skip(first) {
        if !matches!(record.state, RecordState::Finished | RecordState::Repaired) {
            continue;
        }
        for (index, file) in record.files.iter().enumerate() {
            let client = client_of(&file.kind).filter(|_| file.is_written);
            let is_after_setup = is_set_up(record) || found.contains_key(&file.path);
            let Some(client) = client.filter(|_| is_after_setup) else {
                continue;
            };
            if let Some(text) = records.text_after(record, index) {
                let baseline = baseline(world, client, file.path.clone(), text);
                found.insert(file.path.clone(), baseline);
            }
        }
    }
    found
}

fn baseline(world: &World, client: &'static Client, path: PathBuf, text: String) -> Baseline {
    let keys = keys_of(client, &text);
    let file = ClientFile::of_text(world, client, path, text);
    Baseline { file, keys }
}

/// Keys of a document beside its servers.
pub(super) fn keys_of(client: &Client, text: &str) -> Vec<String> {
    let Ok(node) = document::parse(text, client.form.syntax()) else {
        return Vec::new();
    };
    let root = ConfigPlace::root(&node);
    let servers = client.form.path_of(&root).first().copied();
    let entries = root.entries().unwrap_or_default().into_iter();
    let keys = entries.map(|(key, _)| key.to_owned());
    keys.filter(|key| Some(key.as_str()) != servers).collect()
}

/// Whether a document has a table of servers.
pub(super) fn has_servers(client: &Client, text: &str) -> bool {
    document::parse(text, client.form.syntax()).is_ok_and(|node| {
        let servers = client.form.servers(&ConfigPlace::root(&node));
        servers.is_ok_and(|servers| servers.is_some())
    })
}
