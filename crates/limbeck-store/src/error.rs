//! Why the store could not do something, and what a person can do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use limbeck_domain::limits::{STORE_KEY_BYTES_MAX, STORE_KEYS_MAX, STORE_VALUE_BYTES_MAX};

/// Why a store operation failed. [`StoreError::hint`] is the next step, where there is one.
///
/// It is cheap to clone because one failed commit answers everybody who waited for it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The state file, or the directory it is in, is not safe to use.
    #[error("state file {} {problem}", path.display())]
    Unsafe {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, to be read after its name.
        problem: String,
    },
    /// A file beside the database could not be made, read or locked.
    #[error("state file {} cannot be used", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: Arc<io::Error>,
    },
    /// The file is there and cannot be read as a database. It is never replaced by an empty one.
    #[error("state file {} is damaged: {detail}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite or the decoder said.
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
        "state file {} has format {found}, this program reads up to {known}",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Format in the file.
        found: i64,
        /// Newest format known here.
        known: i64,
    },
    /// Another process held the file for longer than we wait.
    #[error("state file {} was locked for over {waited_ms} ms", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long we waited.
        waited_ms: u64,
    },
    /// No room left where the file is.
    #[error("no room left for state file {}", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Anything else SQLite reports.
    #[error("state file {} failed", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: Arc<rusqlite::Error>,
    },
    /// No execution has this id or begins with it.
    #[error("no execution `{id}`")]
    UnknownExecution {
        /// What was asked for.
        id: String,
    },
    /// More than one execution begins with this.
    #[error("`{prefix}` is the beginning of several executions: {}", candidates.join(", "))]
    AmbiguousExecution {
        /// What was asked for.
        prefix: String,
        /// The newest few of them.
        candidates: Vec<String>,
    },
    /// An execution with this id was begun before.
    #[error("execution `{id}` exists already")]
    DuplicateExecution {
        /// The id.
        id: String,
    },
    /// An earlier entry of this journal was lost, so nothing may be added after the gap.
    #[error("journal of execution `{id}` lost an entry")]
    JournalIncomplete {
        /// The execution.
        id: String,
    },
    /// A key of `store` is empty or above its bound.
    #[error("store key has {bytes} bytes, it may have 1 to {STORE_KEY_BYTES_MAX}")]
    KeyLength {
        /// Its length.
        bytes: usize,
    },
    /// A value of `store` is above its bound.
    #[error("store value has {bytes} bytes, it may have {STORE_VALUE_BYTES_MAX}")]
    ValueTooLong {
        /// Its length.
        bytes: usize,
    },
    /// The principal has as many keys as it may have.
    #[error("store holds {STORE_KEYS_MAX} keys already")]
    TooManyKeys,
    /// The catalogue of one server is too large to be kept.
    #[error("catalogue has {bytes} bytes, {bytes_max} are kept")]
    CatalogueTooLarge {
        /// Its size as JSON.
        bytes: usize,
        /// The bound.
        bytes_max: usize,
    },
    /// A value could not be written as JSON.
    #[error("record cannot be written as JSON: {detail}")]
    Encode {
        /// What the encoder said.
        detail: String,
    },
    /// The writer has ended; nothing was stored.
    #[error("state store is closed")]
    Closed,
}

impl StoreError {
    /// One next step for a person, when there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unsafe { path, .. } => Some(format!(
                "move `{}` away or choose another file; state belongs to one user alone",
                path.display()
            )),
            Self::Damaged { path, .. } => Some(format!(
                "restore a backup, or keep it for a look and start with empty state: `mv '{0}' '{0}.damaged'`",
                path.display()
            )),
            Self::Foreign { path } => Some(format!(
                "choose another file than `{}` for Limbeck's state",
                path.display()
            )),
            Self::Newer { path, .. } => Some(format!(
                "update Limbeck, or move `{}` away to start with empty state",
                path.display()
            )),
            Self::Full { path } => Some(format!(
                "free some room where `{}` is, then try again",
                path.display()
            )),
            Self::UnknownExecution { .. } => {
                Some("`limbeck executions` lists the ones that are kept".to_owned())
            }
            Self::AmbiguousExecution { .. } => Some("give more of the id".to_owned()),
            Self::TooManyKeys => {
                Some("delete keys that are no longer needed: `store.set(key, null)`".to_owned())
            }
            Self::Io { .. }
            | Self::Busy { .. }
            | Self::Sqlite { .. }
            | Self::DuplicateExecution { .. }
            | Self::JournalIncomplete { .. }
            | Self::KeyLength { .. }
            | Self::ValueTooLong { .. }
            | Self::CatalogueTooLarge { .. }
            | Self::Encode { .. }
            | Self::Closed => None,
        }
    }

    /// Sorts what SQLite said by what a reader can do about it.
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
            _ => Self::Sqlite {
                path,
                source: Arc::new(error),
            },
        }
    }

    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
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
