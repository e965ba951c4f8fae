//! Errors of the store, with a hint for the user.

mod callers;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use limbeck_domain::limits::{
    STORE_BYTES_MAX, STORE_KEY_BYTES_MAX, STORE_KEYS_MAX, STORE_VALUE_BYTES_MAX,
};

pub use callers::CallerText;

use crate::disk_space;
use crate::records::{APPROVAL_BYTES_MAX, APPROVALS_PENDING_MAX, PAUSED_MAX};

/// Error of a store operation. [`StoreError::hint`] is the next step, where there is one.
///
/// Its text names the state file and is for the operator; a client or a program reads [`StoreError::for_callers`].
///
/// It is cheap to clone, because one failed commit answers every caller that waited for it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The state file, or the directory it is in, is not safe to use.
    #[error("state file {} {problem}", path.display())]
    Unsafe {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, a fragment that follows the file's name.
        problem: String,
    },
    /// A file beside the database could not be created, read or locked.
    #[error("state file {} cannot be used", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: Arc<io::Error>,
    },
    /// The file exists and cannot be read as a database. It is never replaced by an empty one.
    #[error("state file {} is damaged: {detail}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Error of SQLite or of the decoder.
        detail: String,
    },
    /// The file is a database of some other program.
    #[error("state file {} is a database of another program", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer Limbeck wrote the file.
    #[error(
        "state file {} has format {found}, this version reads formats up to {known}",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Format in the file.
        found: i64,
        /// Newest format that this program reads.
        known: i64,
    },
    /// Another process held the lock of the file until the timeout.
    #[error("state file {} was locked by another process for over {waited_ms} ms", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// Timeout.
        waited_ms: u64,
    },
    /// The file system is full.
    #[error("no disk space left for state file {}", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Any other error of SQLite.
    #[error("state file {} cannot be read or written", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Error of SQLite.
        #[source]
        source: Arc<rusqlite::Error>,
    },
    /// No execution has this id or begins with it.
    #[error("no execution `{id}`")]
    UnknownExecution {
        /// The id that was requested.
        id: String,
    },
    /// More than one execution begins with this.
    #[error("`{prefix}` matches several executions: {}", candidates.join(", "))]
    AmbiguousExecution {
        /// The id that was requested.
        prefix: String,
        /// The newest matching ids.
        candidates: Vec<String>,
    },
    /// An execution with this id was begun before.
    #[error("execution `{id}` already exists")]
    DuplicateExecution {
        /// The id.
        id: String,
    },
    /// An earlier entry of this journal was lost, so nothing may be added after the gap.
    #[error("the journal of execution `{id}` lost an entry, so it takes no more")]
    JournalIncomplete {
        /// The execution.
        id: String,
    },
    /// The execution was paused or ended, or another process took it: this process may not write its journal.
    #[error("execution `{id}` does not belong to this process any more")]
    Lost {
        /// The execution.
        id: String,
    },
    /// No approval of this execution has this id.
    #[error("no approval `{id}`")]
    UnknownApproval {
        /// The id.
        id: String,
    },
    /// An approval with this id was asked for before.
    #[error("approval `{id}` already exists")]
    DuplicateApproval {
        /// The id.
        id: String,
    },
    /// A question, with its arguments and its decisions, is above its bound.
    #[error("the question to a person has {bytes} bytes, at most {APPROVAL_BYTES_MAX} are stored")]
    ApprovalTooLarge {
        /// Its size as JSON.
        bytes: usize,
    },
    /// As many questions of the principal wait for a decision as may. More can be asked when some are decided.
    #[error(
        "{pending} questions of this principal wait for a person, at most {APPROVALS_PENDING_MAX} may"
    )]
    TooManyPending {
        /// Questions that wait already.
        pending: u32,
    },
    /// As many executions of the principal are paused as may be.
    #[error("{paused} executions of this principal are paused, at most {PAUSED_MAX} may be")]
    TooManyPaused {
        /// Executions that are paused already.
        paused: u32,
    },
    /// A key of `store` is empty or above its bound.
    #[error("store key has {bytes} bytes, allowed are 1 to {STORE_KEY_BYTES_MAX}")]
    KeyLength {
        /// Its length.
        bytes: usize,
    },
    /// A value of `store` is above its bound.
    #[error("store value has {bytes} bytes, allowed are at most {STORE_VALUE_BYTES_MAX}")]
    ValueTooLong {
        /// Its length.
        bytes: usize,
    },
    /// The principal has the maximum number of keys.
    #[error("store already holds {STORE_KEYS_MAX} keys, the maximum")]
    TooManyKeys,
    /// The principal has as many bytes of keys and values as it may have.
    #[error("store holds {bytes} bytes, at most {STORE_BYTES_MAX} are allowed together")]
    StateFull {
        /// Bytes of its keys and values.
        bytes: u64,
    },
    /// Too little space is left on the file system.
    #[error(
        "{free_mib} MiB of disk are free for state file {}, fewer than the {floor_mib} MiB that have to be",
        path.display()
    )]
    DiskLow {
        /// The file.
        path: PathBuf,
        /// Free space, in MiB.
        free_mib: u64,
        /// The least free space, in MiB.
        floor_mib: u64,
    },
    /// The journals of a principal's executions that may have written are above their bound, without anything in them that
    /// may be removed before it is a month old.
    #[error(
        "the records of what programs of this principal wrote have {mib} MiB, at most {mib_max} MiB are kept"
    )]
    JournalsFull {
        /// What they have, in MiB.
        mib: u64,
        /// The bound, in MiB.
        mib_max: u64,
    },
    /// The journals and artifacts of a principal have half of what the disk has for those of programs.
    #[error(
        "the journals and artifacts of programs of this principal have {mib} MiB, at most {mib_max} MiB of the disk are for them"
    )]
    DiskShare {
        /// What they have, in MiB.
        mib: u64,
        /// Half of what the disk has for them, in MiB.
        mib_max: u64,
    },
    /// The tool list of one server is too large to be cached.
    #[error("catalog has {bytes} bytes, at most {bytes_max} are kept")]
    CatalogTooLarge {
        /// Its size as JSON.
        bytes: usize,
        /// The bound.
        bytes_max: usize,
    },
    /// A value could not be written as JSON.
    #[error("record cannot be written as JSON: {detail}")]
    Encode {
        /// Error of the encoder.
        detail: String,
    },
    /// The writer has ended; the operation was not stored.
    #[error("state store is closed")]
    Closed,
}

impl StoreError {
    /// Next step for the user, where there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unsafe { path, .. } => Some(format!(
                "move `{}` away, or choose a state directory that only you can write to",
                path.display()
            )),
            Self::Damaged { path, .. } => Some(format!(
                "restore a backup, or rename the file and start with empty state: `mv '{0}' '{0}.damaged'`",
                path.display()
            )),
            Self::Foreign { path } => Some(format!(
                "choose a file other than `{}` for Limbeck's state",
                path.display()
            )),
            Self::Newer { path, .. } => Some(format!(
                "update Limbeck, or move `{}` away to start with empty state",
                path.display()
            )),
            Self::Full { path } | Self::DiskLow { path, .. } => Some(format!(
                "free disk space where `{}` is, or choose another `--state-dir`, then try again",
                path.display()
            )),
            Self::Io { path, .. } | Self::Sqlite { path, .. } => Some(format!(
                "check that `{}` is on a disk that works and that you may write to, or choose another \
                 `--state-dir`",
                path.display()
            )),
            Self::Busy { path, .. } => Some(format!(
                "another process has kept `{}` locked; end it, or try again",
                path.display()
            )),
            Self::Closed => Some("the gateway is ending: start it again".to_owned()),
            Self::ValueTooLong { .. } => {
                Some("store less in one key, or keep it as an artifact".to_owned())
            }
            Self::UnknownExecution { .. } => {
                Some("`limbeck executions` lists the recorded executions".to_owned())
            }
            Self::AmbiguousExecution { .. } => Some("give more characters of the id".to_owned()),
            Self::TooManyKeys | Self::StateFull { .. } => {
                Some("delete keys that are no longer needed: `store.set(key, null)`".to_owned())
            }
            Self::JournalsFull { .. } => Some(
                "records of writes are kept for 30 days: wait until the oldest are removed, or choose another \
                 `--state-dir`"
                    .to_owned(),
            ),
            Self::DiskShare { .. } => Some(
                "old results and artifacts are being removed: try again in a moment; if that does not help, free disk space or choose \
                 another `--state-dir`"
                    .to_owned(),
            ),
            Self::Lost { id } => Some(format!("`limbeck executions {id}` shows what it does now")),
            Self::UnknownApproval { .. } | Self::TooManyPending { .. } => Some(
                "`limbeck approvals` lists the questions that wait for a decision".to_owned(),
            ),
            Self::TooManyPaused { .. } => Some(
                "decide or cancel some of those that `limbeck executions` lists as paused".to_owned(),
            ),
            Self::ApprovalTooLarge { .. } => Some("send smaller arguments".to_owned()),
            Self::DuplicateExecution { .. }
            | Self::DuplicateApproval { .. }
            | Self::JournalIncomplete { .. }
            | Self::KeyLength { .. }
            | Self::CatalogTooLarge { .. }
            | Self::Encode { .. } => None,
        }
    }

    /// Sorts errors of SQLite by what the user can do about them.
    pub(crate) fn from_sqlite(path: &Path, waited_ms: u64, error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::Damaged {
                path,
                detail: error.to_string(),
            },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Busy { path, waited_ms }
            }
            Some(ErrorCode::DiskFull) => Self::Full { path },
            // The file that connections share beside the database cannot grow on a full disk.
            Some(ErrorCode::SystemIoFailure) if disk_space::is_full(&path) => Self::Full { path },
            _ => Self::Sqlite {
                path,
                source: Arc::new(error),
            },
        }
    }

    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::StorageFull {
            return Self::Full {
                path: path.to_owned(),
            };
        }
        Self::Io {
            path: path.to_owned(),
            source: Arc::new(error),
        }
    }

    pub(crate) fn encode(error: &serde_json::Error) -> Self {
        Self::Encode {
            detail: error.to_string(),
        }
    }
}
