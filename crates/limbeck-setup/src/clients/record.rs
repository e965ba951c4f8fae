//! Record of one setup in the state directory: the old and new bytes of every file, written before the first is changed.
//!
//! `setup/ID/record.json` names the files; `N.SHA256` has old or new bytes of file N. Only the user can read them.
//! They are outside of every repository's history: the directory has a `.gitignore` for all of it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::kills;
use super::model::FileKind;
use super::table::{CLIENTS, Form};
use crate::file_content::MARK;
use crate::trust::create_directory;

/// Name of the file that describes a setup.
const RECORD: &str = "record.json";
/// Largest record that is read.
const RECORD_BYTES_MAX: u64 = 4 << 20;
/// Setups whose records are kept.
const KEPT_MAX: usize = 10;

/// One setup.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) version: u32,
    pub(super) id: String,
    pub(super) at_us: u64,
    pub(super) state: RecordState,
    pub(super) files: Vec<RecordedFile>,
    /// Servers of Limbeck's own file that took the place of entries which left clients, though an earlier setup or the user
    /// wrote them. In a record without this list, any could be.
    #[serde(default)]
    pub(super) relies_on: Option<Vec<String>>,
    /// Whether it repairs what an earlier setup wrote.
    #[serde(default)]
    pub(super) is_repair: bool,
}

/// How far a setup came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RecordState {
    /// Files are being written, or the process was killed meanwhile.
    Started,
    /// Every file was written or reported.
    Finished,
    /// It is being taken back, or the process that did so was killed meanwhile.
    Undoing,
    /// It was taken back.
    Undone,
    /// It put back the entry that an earlier setup had written, and it is taken back with that setup.
    Repaired,
}

/// One file of a setup.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RecordedFile {
    /// Path in the world.
    pub(super) path: PathBuf,
    /// `secret`, `own`, or the id of a client.
    pub(super) kind: String,
    /// Whether there was a file before.
    pub(super) existed: bool,
    /// SHA-256 of the old bytes; of nothing when there was no file.
    pub(super) before: String,
    /// SHA-256 of the new bytes.
    pub(super) after: String,
    /// Whether the file was written, or at least begun.
    pub(super) is_written: bool,
    /// Names of the entries that left it.
    pub(super) removed: Vec<String>,
    /// Names of the entries that came into it.
    pub(super) added: Vec<String>,
    /// SHA-256 of the bytes that the last replacement takes out and of those that it puts in, written before it begins.
    #[serde(default)]
    pub(super) replacing: Option<[String; 2]>,
}

impl Record {
    /// Whether the process that worked on it was killed.
    pub(super) fn is_unfinished(&self) -> bool {
        matches!(self.state, RecordState::Started | RecordState::Undoing)
    }

    /// Whether it is a setup that was not taken back.
    pub(super) fn is_in_effect(&self) -> bool {
        !matches!(self.state, RecordState::Undone | RecordState::Repaired)
    }

    /// Whether something would be lost if `earlier` were taken back and this setup were not: both changed a client's file, or
    /// a client lost an entry here because `earlier` had moved the same server.
    pub(super) fn relies_on(&self, earlier: &Self) -> bool {
        let written = |record: &Self| -> Vec<RecordedFile> {
            let files = record.files.iter().filter(|file| file.is_written);
            files.cloned().collect()
        };
        let (own, theirs) = (written(self), written(earlier));
        let is_of_both = |file: &RecordedFile| {
            file.is_of_client() && theirs.iter().any(|other| other.path == file.path)
        };
        if own.iter().any(is_of_both) {
            return true;
        }
        let mut moved = theirs
            .iter()
            .filter(|file| file.kind == "own")
            .flat_map(|file| &file.added);
        match &self.relies_on {
            Some(names) => moved.any(|name| names.contains(name)),
            None => moved.next().is_some() && own.iter().any(|file| !file.removed.is_empty()),
        }
    }
}

impl RecordedFile {
    /// Form of its servers; `None` for a file with a secret.
    pub(super) fn form(&self) -> Option<Form> {
        match self.kind.as_str() {
            "secret" => None,
            "own" => Some(Form::Own),
            id => CLIENTS
                .iter()
                .find(|client| client.id == id)
                .map(|client| client.form),
        }
    }

    pub(super) fn is_of_client(&self) -> bool {
        self.kind != "secret" && self.kind != "own"
    }
}

/// Word of a record for a kind of file.
pub(super) fn kind_word(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Secret => "secret",
        FileKind::Own => "own",
        FileKind::Client(id) => id,
    }
}

/// Directory of all records, under a lock that one process has at a time.
pub(super) struct Records {
    directory: PathBuf,
    _lock: File,
}

impl Records {
    /// Opens the directory, which is created.
    pub(super) fn open(state: &Path) -> io::Result<Self> {
        let directory = state.join("setup");
        create_directory(&directory)?;
        let ignore = directory.join(".gitignore");
        if !ignore.exists() {
            write(&ignore, b"*\n")?;
        }
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(directory.join("lock"))?;
        lock.lock()?;
        let records = Self {
            directory,
            _lock: lock,
        };
        records.remove_unrecorded()?;
        Ok(records)
    }

    /// Removes the bytes, which have secrets, of a setup that was killed before it had a record and so before it wrote a file.
    fn remove_unrecorded(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let is_id = |name: &str| {
                let parts = name.split_once('-');
                let is_number =
                    |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
                parts.is_some_and(|(day, number)| is_number(day) && is_number(number))
            };
            let is_setup =
                entry.file_type()?.is_dir() && entry.file_name().to_str().is_some_and(is_id);
            if is_setup && fs::symlink_metadata(entry.path().join(RECORD)).is_err() {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    /// Id of the next setup of the day `day`, such as `20261123-1`.
    pub(super) fn next_id(&self, day: &str) -> io::Result<String> {
        let mut number = 1_u32;
        loop {
            let id = format!("{day}-{number}");
            if !self.directory.join(&id).exists() {
                return Ok(id);
            }
            number = number
                .checked_add(1)
                .ok_or_else(|| io::Error::other("too many setups"))?;
        }
    }

    /// Every record, oldest first. One that cannot be read is left out.
    pub(super) fn all(&self) -> io::Result<Vec<Record>> {
        let mut records = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path().join(RECORD);
            let is_small = fs::metadata(&path).is_ok_and(|found| found.len() <= RECORD_BYTES_MAX);
            if !is_small {
                continue;
            }
            let record: Result<Record, _> = serde_json::from_slice(&fs::read(&path)?);
            records.extend(record.ok());
        }
        records.sort_by_key(|record| (record.at_us, number(&record.id)));
        Ok(records)
    }

    /// Writes a record: a reader sees the old one or the new one.
    pub(super) fn write(&self, record: &Record) -> io::Result<()> {
        let directory = self.directory.join(&record.id);
        create_directory(&directory)?;
        let text = serde_json::to_vec_pretty(record).map_err(io::Error::other)?;
        let fresh = directory.join("record.new");
        write(&fresh, &text)?;
        kills::point();
        fs::rename(&fresh, directory.join(RECORD))?;
        sync(&directory)?;
        kills::point();
        sync(&self.directory)
    }

    /// Writes old or new bytes of one file. Those that a record names already stay.
    pub(super) fn write_bytes(&self, id: &str, index: usize, bytes: &[u8]) -> io::Result<()> {
        let directory = self.directory.join(id);
        create_directory(&directory)?;
        write(&directory.join(name(index, &digest(bytes))), bytes)?;
        kills::point();
        Ok(())
    }

    /// The bytes of one file, which are those that were recorded.
    pub(super) fn bytes(&self, record: &Record, index: usize, which: Which) -> io::Result<Vec<u8>> {
        let file = record.files.get(index);
        let file = file.ok_or_else(|| io::Error::other("the record has no such file"))?;
        let expected = match which {
            Which::Before => &file.before,
            Which::After => &file.after,
        };
        let directory = self.directory.join(&record.id);
        let bytes = fs::read(directory.join(name(index, expected)))?;
        if *expected == digest(&bytes) {
            Ok(bytes)
        } else {
            Err(io::Error::other("the recorded bytes were changed"))
        }
    }

    /// Removes the records of setups that were taken back, and the oldest ones.
    pub(super) fn prune(&self) -> io::Result<()> {
        let records = self.all()?;
        for is_repair in [false, true] {
            let is_of_kind =
                |record: &&Record| (record.state == RecordState::Repaired) == is_repair;
            let of_kind: Vec<&Record> = records.iter().filter(is_of_kind).collect();
            let old = of_kind.len().saturating_sub(KEPT_MAX);
            for record in of_kind.into_iter().take(old) {
                if !record.is_unfinished() && !is_last_of_a_client(record, &records) {
                    fs::remove_dir_all(self.directory.join(&record.id))?;
                }
            }
        }
        Ok(())
    }

    /// Text of the new bytes of one file.
    pub(super) fn text_after(&self, record: &Record, index: usize) -> Option<String> {
        let bytes = self.bytes(record, index, Which::After).ok()?;
        let bytes = bytes.strip_prefix(MARK).unwrap_or(&bytes);
        String::from_utf8(bytes.to_vec()).ok()
    }

    /// Reads a small file of the directory; `None` when it is not there or too large.
    pub(super) fn read_beside(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.directory.join(name);
        let is_small = fs::metadata(&path).is_ok_and(|found| found.len() <= RECORD_BYTES_MAX);
        is_small.then(|| fs::read(path).ok()).flatten()
    }

    /// Writes a small file of the directory: a reader sees the old one or the new one.
    pub(super) fn write_beside(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let fresh = self.directory.join(format!("{name}.new"));
        write(&fresh, bytes)?;
        fs::rename(&fresh, self.directory.join(name))
    }
}

/// Whether the record is the last one about a client's file: what changed since is seen in comparison with it.
fn is_last_of_a_client(record: &Record, all: &[Record]) -> bool {
    let is_written =
        |record: &&Record| !matches!(record.state, RecordState::Undone | RecordState::Undoing);
    record.files.iter().any(|file| {
        let has_it = |other: &&Record| {
            let mut files = other.files.iter();
            files.any(|other| other.is_written && other.path == file.path)
        };
        let last = all.iter().filter(is_written).rfind(has_it);
        file.is_of_client() && last.is_some_and(|last| last.id == record.id)
    })
}

/// Which bytes of a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Which {
    Before,
    After,
}

/// Name of the file with the bytes of this digest.
fn name(index: usize, digest: &str) -> String {
    format!("{index}.{digest}")
}

/// SHA-256 in hexadecimal.
pub(super) fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Number behind the day of an id.
fn number(id: &str) -> u32 {
    let number = id.rsplit_once('-').map(|(_, number)| number.parse());
    number.and_then(Result::ok).unwrap_or_default()
}

/// Writes a file that its owner alone can read.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    options.create(true).truncate(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync(directory: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}
