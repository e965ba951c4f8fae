//! Which servers of repositories the user has accepted.
//!
//! A file that came with a repository is a stranger's. What it says of a server counts only when the user
//! accepted exactly that: the record is a hash over the whole entry, the file it stands in and the name, so
//! that an entry that changes, or the same words in another checkout, are asked about again.
//!
//! The records are one file in the state directory, its owner's alone. Without it nothing is accepted; a
//! damaged one accepts nothing and says so.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use limbeck_domain::ServerName;
use limbeck_domain::limits::CONFIG_BYTES_MAX;
use serde::{Deserialize, Serialize};

use crate::entry::{Scope, ServerEntry, Trust};
use crate::file;

/// The form of the file.
const VERSION: u32 = 1;
/// Records kept, all repositories together.
const RECORDS_MAX: usize = 8_192;

/// Whose word counts for servers of a repository.
#[derive(Clone, Copy, Debug)]
pub enum Trusting<'a> {
    /// Every entry is accepted: the user said so for this one start.
    Everything,
    /// What is recorded.
    Recorded(&'a TrustRecords),
}

/// Who accepted a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AcceptedBy {
    /// The user, with `limbeck trust`.
    User,
    /// The user in the client, which keeps the name; what it stood for was recorded when it was first seen.
    Client,
    /// Nobody any more: the user took it back, and what the client says does not count either.
    Nobody,
}

/// One accepted definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustRecord {
    /// The file it stands in.
    pub file: PathBuf,
    /// The server's name.
    pub server: ServerName,
    /// [`crate::Written::sha256`].
    pub sha256: String,
    /// Whose word it was.
    pub by: AcceptedBy,
    /// When, in microseconds since 1970.
    pub at_us: u64,
    /// The program it starts, as it was then; absent when none was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramMark>,
}

/// By what a program is known again: enough to notice that it is another one, without reading it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramMark {
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// When it was changed last, in microseconds since 1970.
    pub modified_us: u64,
}

impl ProgramMark {
    /// The program at `path`; `None` when it cannot be looked at.
    pub fn of(path: PathBuf) -> Option<Self> {
        let found = fs::metadata(&path).ok()?;
        let modified = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Self {
            path,
            bytes: found.len(),
            modified_us: u64::try_from(modified.as_micros()).ok()?,
        })
    }
}

/// All accepted definitions, one for each server of each file.
#[derive(Clone, Debug, Default)]
pub struct TrustRecords(BTreeMap<(PathBuf, ServerName), TrustRecord>);

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    accepted: Vec<TrustRecord>,
}

impl TrustRecords {
    /// The record of a server of a file.
    pub fn get(&self, file: &Path, server: &ServerName) -> Option<&TrustRecord> {
        self.0.get(&(file.to_owned(), server.clone()))
    }

    /// Adds a record, in place of an earlier one of the same server.
    pub fn accept(&mut self, record: TrustRecord) {
        let key = (record.file.clone(), record.server.clone());
        self.0.insert(key, record);
    }

    /// Takes back what was accepted; `false` when nothing was.
    pub fn revoke(&mut self, file: &Path, server: &ServerName) -> bool {
        match self.0.get_mut(&(file.to_owned(), server.clone())) {
            Some(record) if record.by != AcceptedBy::Nobody => {
                record.by = AcceptedBy::Nobody;
                true
            }
            Some(_) | None => false,
        }
    }
}

impl Trusting<'_> {
    /// Where an entry stands, of which the client's user may have accepted the name.
    pub(crate) fn judge(self, entry: &ServerEntry, by_client: bool) -> Trust {
        let (Scope::Repository, Some(written)) = (&entry.origin.scope, &entry.written) else {
            return Trust::Own;
        };
        let records = match self {
            Self::Everything => return Trust::Accepted,
            Self::Recorded(records) => records,
        };
        match records.get(&entry.origin.file, &entry.name) {
            Some(record) if record.by == AcceptedBy::Nobody => Trust::Waiting,
            Some(record) if record.sha256 == written.sha256 => Trust::Accepted,
            Some(_) => Trust::Changed,
            None if by_client => Trust::AcceptedByClient,
            None => Trust::Waiting,
        }
    }
}

/// Why records cannot be had or kept.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file is there and is not one to believe.
    #[error("the record of trusted servers, {}, {problem}", .file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it, to be read after its name.
        problem: String,
    },
    /// It cannot be read or written.
    #[error("the record of trusted servers, {}, cannot be {verb}", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What was attempted.
        verb: &'static str,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// There is no room for more.
    #[error("the record of trusted servers holds {RECORDS_MAX} already")]
    Full,
}

impl TrustError {
    /// One next step for a person.
    pub fn hint(&self) -> String {
        match self {
            Self::Damaged { file, .. } => format!(
                "restore it, or remove it and accept the servers again: `rm '{}'`, then `limbeck trust`",
                file.display()
            ),
            Self::Io { .. } => {
                "name a state directory that can be written: `--state-dir DIR`".to_owned()
            }
            Self::Full => {
                "take back what is no longer used: `limbeck trust --revoke SERVER`".to_owned()
            }
        }
    }
}

/// The file of records.
#[derive(Clone, Debug)]
pub struct TrustFile(PathBuf);

impl TrustFile {
    /// The file at `path`, which need not be there.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// What is recorded; nothing when there is no file.
    ///
    /// # Errors
    ///
    /// [`TrustError::Damaged`] for a file that is no record of ours, or that others could have written.
    pub fn read(&self) -> Result<TrustRecords, TrustError> {
        let damaged = |problem: String| TrustError::Damaged {
            file: self.0.clone(),
            problem,
        };
        let content = match file::read(&self.0, CONFIG_BYTES_MAX) {
            Ok(Some(content)) => content,
            Ok(None) => return Ok(TrustRecords::default()),
            Err(error) => return Err(damaged(error.problem())),
        };
        if let Some(exposed) = content.exposed {
            return Err(damaged(exposed));
        }
        let stored: Stored = serde_json::from_str(&content.text)
            .map_err(|error| damaged(format!("is damaged: {error}")))?;
        if stored.version != VERSION {
            let problem = format!("has the form {}, known is {VERSION}", stored.version);
            return Err(damaged(problem));
        }
        let mut records = TrustRecords::default();
        for record in stored.accepted {
            records.accept(record);
        }
        Ok(records)
    }

    /// Changes the records under a lock, so that two who do so at once both have their way. The new file
    /// replaces the old one whole.
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
        make_directory(directory).map_err(failed)?;
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
        let stored = Stored {
            version: VERSION,
            accepted: records.0.into_values().collect(),
        };
        // Nobody but its owner can read it, from the first moment.
        let mut fresh = tempfile::NamedTempFile::new_in(directory)?;
        serde_json::to_writer_pretty(&mut fresh, &stored)?;
        fresh.write_all(b"\n")?;
        fresh.as_file().sync_all()?;
        fresh.persist(&self.0)?;
        Ok(())
    }
}

/// Makes `directory` for its owner alone; one that is there stays as it is.
fn make_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
