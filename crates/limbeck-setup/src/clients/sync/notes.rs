//! What is remembered between two syncs, in `setup/sync.json` of the state directory.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::REPAIR_EVERY_US;
use crate::clients::model::{ClientAction, ClientPlan};
use crate::clients::record::Records;
use crate::clients::table::CLIENTS;
use crate::world::World;

/// Name of the file.
const NAME: &str = "sync.json";

/// Notes about every file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::clients) struct SyncNotes {
    files: BTreeMap<PathBuf, FileNotes>,
}

/// Notes about one file of a client.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct FileNotes {
    /// Names of the entries that a setup left in it.
    pub(super) seen: Vec<String>,
    /// Whether a setup looked at it.
    pub(super) is_known: bool,
    /// Whether it was there at a setup that was not asked about its client.
    pub(super) is_left_out: bool,
    /// How it looked from outside when a sync read it last.
    looked: Option<String>,
    /// Times of repairs, in microseconds since 1970.
    repairs_us: Vec<u64>,
    /// Whether a second repair was needed too soon.
    pub(super) is_stopped: bool,
    /// Whether the user took Limbeck's entry out.
    pub(super) is_removed: bool,
}

impl SyncNotes {
    /// The notes; what cannot be read is forgotten.
    pub(in crate::clients) fn read(records: &Records) -> Self {
        let bytes = records.read_beside(NAME);
        let notes = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        notes.unwrap_or_default()
    }

    pub(super) fn write(&self, records: &Records) -> io::Result<()> {
        let bytes = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        records.write_beside(NAME, &bytes)
    }

    /// Notes that a setup ended: files that it looked at start again, and clients that it was not asked about are left out.
    pub(in crate::clients) fn note_setup(
        world: &World,
        records: &Records,
        clients: &[ClientPlan],
    ) -> io::Result<()> {
        let mut notes = Self::read(records);
        for client in clients {
            let file = notes.files.entry(client.path.clone()).or_default();
            (file.is_known, file.is_left_out) = (true, false);
            file.seen.clone_from(&client.left);
            file.looked = None;
            if matches!(client.action, ClientAction::Write | ClientAction::Unchanged) {
                file.repairs_us.clear();
                (file.is_stopped, file.is_removed) = (false, false);
            }
        }
        for path in CLIENTS.iter().flat_map(|client| client.paths(world)) {
            let is_there = fs::symlink_metadata(world.on_disk(&path)).is_ok();
            let file = notes.files.entry(path).or_default();
            file.is_left_out |= is_there && !file.is_known;
        }
        notes.write(records)
    }

    /// Notes about one file.
    pub(super) fn of(&mut self, path: &Path) -> &mut FileNotes {
        self.files.entry(path.to_owned()).or_default()
    }

    /// Notes a repair, which is about to begin.
    pub(super) fn note_repair(&mut self, path: &Path, now_us: u64) {
        let file = self.of(path);
        file.repairs_us.retain(|at| is_recent(*at, now_us));
        file.repairs_us.push(now_us);
        file.looked = None;
    }
}

impl FileNotes {
    /// Whether the file was repaired within 24 hours.
    pub(super) fn was_repaired(&self, now_us: u64) -> bool {
        self.repairs_us.iter().any(|at| is_recent(*at, now_us))
    }

    /// Whether the file looks as it did when a sync read it.
    pub(super) fn looks_the_same(&self, world: &World, path: &Path) -> bool {
        self.looked.as_ref() == Some(&look(world, path))
    }

    /// Notes how the file looks, before it is read.
    pub(super) fn note_look(&mut self, world: &World, path: &Path) {
        self.looked = Some(look(world, path));
    }
}

/// A repair at a time that has not come yet counts: the clock was set back.
fn is_recent(at_us: u64, now_us: u64) -> bool {
    now_us.saturating_sub(at_us) < REPAIR_EVERY_US
}

/// How a file looks from outside: its size, its time and its place on the disk, behind links. It is not opened.
fn look(world: &World, path: &Path) -> String {
    let Ok(found) = fs::metadata(world.on_disk(path)) else {
        return "absent".to_owned();
    };
    let modified = found.modified().ok();
    let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let nanos = since.map_or(0, |since| since.as_nanos());
    format!("{} {nanos} {}", found.len(), place(&found))
}

#[cfg(unix)]
fn place(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
fn place(_: &fs::Metadata) -> u64 {
    0
}
