//! Records of the repository servers that the user has accepted.
//!
//! A file that came with a repository may be a stranger's. Its entry for a server counts only when the user has
//! accepted exactly that entry: the record is a hash over the whole entry, its file and its name, so that a
//! changed entry, or the same entry in another checkout, needs a new acceptance.
//!
//! The records are one file in the state directory that only its owner can read. Without it nothing is accepted;
//! a damaged one accepts nothing and is an error.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use limbeck_domain::ServerName;
use limbeck_domain::limits::CONFIG_BYTES_MAX;
use serde::{Deserialize, Serialize};

use crate::entry::{EntryScope, ServerEntry, TrustState};
use crate::file_content;
use crate::world::World;

/// Format version of the file.
const VERSION: u32 = 1;
/// Records of all repositories together.
const RECORDS_MAX: usize = 8_192;

/// Servers of a repository to accept.
#[derive(Clone, Copy, Debug)]
pub enum TrustPolicy<'a> {
    /// Every entry: the user asked for that for this start.
    Everything,
    /// Entries with a record.
    Recorded(&'a TrustRecords),
}

/// Origin of an acceptance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AcceptedBy {
    /// The user, with `limbeck trust`.
    User,
    /// The user in the client. The client keeps only the name; the definition was recorded when it was first seen.
    Client,
    /// Revoked by the user. An approval in the client does not count either. Earlier versions stored the other word.
    #[serde(alias = "nobody")]
    Revoked,
}

/// One accepted definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustRecord {
    /// File of the entry.
    pub file: PathBuf,
    /// Name of the server.
    pub server: ServerName,
    /// [`crate::DefinitionText::sha256`].
    pub sha256: String,
    /// Origin of the acceptance.
    pub by: AcceptedBy,
    /// Time of the acceptance, in microseconds since 1970.
    pub at_us: u64,
    /// Fingerprint of the program at that time; absent when the program was not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramFingerprint>,
}

/// Fingerprint of a program: enough to notice a replacement without reading the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramFingerprint {
    /// Path.
    pub path: PathBuf,
    /// Size.
    pub bytes: u64,
    /// Time of the last change, in microseconds since 1970.
    pub modified_us: u64,
}

impl ProgramFingerprint {
    /// Fingerprint of the program at `path`; `None` when its metadata cannot be read.
    pub fn read(world: &World, path: PathBuf) -> Option<Self> {
        let found = fs::metadata(world.on_disk(&path)).ok()?;
        let modified = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Self {
            path,
            bytes: found.len(),
            modified_us: u64::try_from(modified.as_micros()).ok()?,
        })
    }
}

/// Records, one for each server of each file.
#[derive(Clone, Debug, Default)]
pub struct TrustRecords(BTreeMap<(PathBuf, ServerName), TrustRecord>);

/// Content of the file of records.
#[derive(Serialize, Deserialize)]
struct StoredRecords {
    version: u32,
    accepted: Vec<TrustRecord>,
}

impl TrustRecords {
    /// The record of a server of a file.
    pub fn get(&self, file: &Path, server: &ServerName) -> Option<&TrustRecord> {
        self.0.get(&(file.to_owned(), server.clone()))
    }

    /// Adds a record; it replaces an earlier one of the same server.
    pub fn accept(&mut self, record: TrustRecord) {
        let key = (record.file.clone(), record.server.clone());
        self.0.insert(key, record);
    }

    /// Revokes an acceptance; `false` when the server has none to revoke.
    pub fn revoke(&mut self, file: &Path, server: &ServerName) -> bool {
        match self.0.get_mut(&(file.to_owned(), server.clone())) {
            Some(record) if record.by != AcceptedBy::Revoked => {
                record.by = AcceptedBy::Revoked;
                true
            }
            Some(_) | None => false,
        }
    }
}

impl TrustPolicy<'_> {
    /// Trust of an entry; `is_approved` is whether the user approved its name in the client.
    pub(crate) fn judge(self, entry: &ServerEntry, is_approved: bool) -> TrustState {
        let (EntryScope::Repository, Some(text)) = (&entry.origin.scope, &entry.definition_text)
        else {
            return TrustState::Own;
        };
        let records = match self {
            Self::Everything => return TrustState::Accepted,
            Self::Recorded(records) => records,
        };
        match records.get(&entry.origin.file, &entry.name) {
            Some(record) if record.by == AcceptedBy::Revoked => TrustState::Waiting,
            Some(record) if record.sha256 == text.sha256 => TrustState::Accepted,
            Some(_) => TrustState::Changed,
            None if is_approved => TrustState::AcceptedByClient,
            None => TrustState::Waiting,
        }
    }
}

/// Error of reading or writing the records.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file exists and cannot be trusted.
    #[error("the record of trusted servers, {}, {problem}", .file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it, a fragment that follows the file's name.
        problem: String,
    },
    /// The file cannot be read or written.
    #[error("the record of trusted servers, {}, cannot be {verb}", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What was attempted: `read` or `written`.
        verb: &'static str,
        /// Error of the system.
        #[source]
        error: io::Error,
    },
    /// The maximum number of records is reached.
    #[error("the record of trusted servers already has {RECORDS_MAX} entries, the maximum")]
    Full,
}

impl TrustError {
    /// Next step for the user.
    pub fn hint(&self) -> String {
        match self {
            Self::Damaged { file, .. } => format!(
                "restore it, or remove it and accept the servers again: `rm '{}'`, then `limbeck trust`",
                file.display()
            ),
            Self::Io { .. } => {
                "choose a state directory that you can write to: `--state-dir DIR`".to_owned()
            }
            Self::Full => {
                "withdraw trust that is no longer used: `limbeck trust --revoke SERVER`".to_owned()
            }
        }
    }
}

/// The file of records.
#[derive(Clone, Debug)]
pub struct TrustFile(PathBuf);

impl TrustFile {
    /// The file at `path`, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Reads the records; empty when the file does not exist.
    ///
    /// # Errors
    ///
    /// [`TrustError::Damaged`] for a file of another form, or that another user could have written.
    pub fn read(&self) -> Result<TrustRecords, TrustError> {
        let damaged = |problem: String| TrustError::Damaged {
            file: self.0.clone(),
            problem,
        };
        let content = match file_content::read_file(&self.0, &self.0, CONFIG_BYTES_MAX) {
            Ok(Some(content)) => content,
            Ok(None) => return Ok(TrustRecords::default()),
            Err(error) => return Err(damaged(error.problem())),
        };
        if let Some(exposure) = content.exposure {
            return Err(damaged(exposure));
        }
        let stored: StoredRecords = serde_json::from_str(&content.text)
            .map_err(|error| damaged(format!("is damaged: {error}")))?;
        if stored.version != VERSION {
            let problem = format!(
                "has format version {}, this version reads {VERSION}",
                stored.version
            );
            return Err(damaged(problem));
        }
        let mut records = TrustRecords::default();
        for record in stored.accepted {
            records.accept(record);
        }
        Ok(records)
    }

    /// Changes the records under a lock, so that two processes at the same time do not undo each other's change.
    /// The new file replaces the old one atomically.
    ///
    /// # Errors
    ///
    /// [`TrustError`]; the old records stay.
    pub fn change<T>(&self, change: impl FnOnce(&mut TrustRecords) -> T) -> Result<T, TrustError> {
        let failed = |error| TrustError::Io {
            file: self.0.clone(),
            verb: "written",
            error,
        };
        let directory = self.0.parent().unwrap_or(Path::new("."));
        create_directory(directory).map_err(failed)?;
        // The lock is on a file beside the records: replacing the records would drop a lock on them.
        let _lock = self.lock().map_err(failed)?;
        let mut records = self.read()?;
        let changed = change(&mut records);
        if records.0.len() > RECORDS_MAX {
            return Err(TrustError::Full);
        }
        self.write(directory, records).map_err(failed)?;
        Ok(changed)
    }

    fn lock(&self) -> io::Result<File> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(self.0.with_extension("lock"))?;
        file.lock()?;
        Ok(file)
    }

    fn write(&self, directory: &Path, records: TrustRecords) -> io::Result<()> {
        let stored = StoredRecords {
            version: VERSION,
            accepted: records.0.into_values().collect(),
        };
        // A temporary file has mode 0600 from its creation, so no other user can read the records.
        let mut fresh = tempfile::NamedTempFile::new_in(directory)?;
        serde_json::to_writer_pretty(&mut fresh, &stored)?;
        fresh.write_all(b"\n")?;
        fresh.as_file().sync_all()?;
        fresh.persist(&self.0)?;
        Ok(())
    }
}

/// Creates `directory` for its owner alone; an existing one is left as it is.
pub(crate) fn create_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revocation_by_an_earlier_version_is_read() {
        for word in ["revoked", "nobody"] {
            let read: AcceptedBy = serde_json::from_value(word.into()).unwrap();
            assert_eq!(read, AcceptedBy::Revoked, "{word}");
        }
        let written = serde_json::to_value(AcceptedBy::Revoked).unwrap();
        assert_eq!(written, "revoked");
        // The control: a word of no version.
        assert!(serde_json::from_value::<AcceptedBy>("other".into()).is_err());
    }
}
