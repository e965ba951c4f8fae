//! What a caller of the gateway reads of an error of the store: its kind and one next step.
//!
//! A caller is a client or a program. It may belong to another user than the gateway, so that no path of the host and no
//! text of SQLite or of the system is in what it reads. The operator's log has the error itself.

use super::StoreError;

/// Next step where only the operator can find the cause.
const LOG: &str = "the operator of the gateway finds the cause in its log";
/// Next step where the disk is full.
const SPACE: &str =
    "the operator of the gateway frees disk space or chooses another `--state-dir`; then try again";
/// Next step where another process uses the file.
const AGAIN: &str = "try again in a moment";

/// An error of the store in words for a caller. It contains no path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerText {
    /// What failed.
    pub message: String,
    /// Next step, where there is one.
    pub hint: Option<String>,
}

impl StoreError {
    /// The error in words for a client or a program, which learn no path of the host.
    pub fn for_callers(&self) -> CallerText {
        let (message, hint) = match self {
            Self::Unsafe { .. } => ("the state file is not safe to use".to_owned(), LOG),
            Self::Io { .. } => (
                "a file beside the state file cannot be used".to_owned(),
                LOG,
            ),
            Self::Damaged { .. } => ("the state file is damaged".to_owned(), LOG),
            Self::Foreign { .. } => (
                "the state file is a database of another program".to_owned(),
                LOG,
            ),
            Self::Newer { .. } => ("a newer version wrote the state file".to_owned(), LOG),
            Self::Sqlite { .. } => ("the state file cannot be read or written".to_owned(), LOG),
            Self::Busy { waited_ms, .. } => (
                format!("the state file was locked by another process for over {waited_ms} ms"),
                AGAIN,
            ),
            Self::Full { .. } => ("no disk space is left for the state file".to_owned(), SPACE),
            Self::DiskLow {
                free_mib,
                floor_mib,
                ..
            } => (
                format!(
                    "{free_mib} MiB of disk are free for the state file, fewer than the {floor_mib} MiB that have to be"
                ),
                SPACE,
            ),
            // These name what the caller itself sent or may have.
            Self::UnknownExecution { .. }
            | Self::AmbiguousExecution { .. }
            | Self::DuplicateExecution { .. }
            | Self::JournalIncomplete { .. }
            | Self::Lost { .. }
            | Self::UnknownApproval { .. }
            | Self::DuplicateApproval { .. }
            | Self::ApprovalTooLarge { .. }
            | Self::TooManyPending { .. }
            | Self::TooManyPaused { .. }
            | Self::KeyLength { .. }
            | Self::ValueTooLong { .. }
            | Self::TooManyKeys
            | Self::StateFull { .. }
            | Self::JournalsFull { .. }
            | Self::DiskShare { .. }
            | Self::CatalogTooLarge { .. }
            | Self::Encode { .. }
            | Self::Closed => {
                return CallerText {
                    message: self.to_string(),
                    hint: self.hint(),
                };
            }
        };
        CallerText {
            message,
            hint: Some(hint.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::*;

    const PATH: &str = "/home/alice/state.db";

    #[test]
    fn no_path_is_in_what_a_caller_reads_and_the_error_itself_has_it() {
        let path = || PathBuf::from(PATH);
        let detail = || format!("cannot open {PATH}");
        let errors = [
            StoreError::Unsafe {
                path: path(),
                problem: detail(),
            },
            StoreError::Io {
                path: path(),
                source: Arc::new(io::Error::other(detail())),
            },
            StoreError::Damaged {
                path: path(),
                detail: detail(),
            },
            StoreError::Foreign { path: path() },
            StoreError::Newer {
                path: path(),
                found: 2,
                known: 1,
            },
            StoreError::Busy {
                path: path(),
                waited_ms: 5,
            },
            StoreError::Full { path: path() },
            StoreError::Sqlite {
                path: path(),
                source: Arc::new(rusqlite::Error::InvalidPath(path())),
            },
            StoreError::DiskLow {
                path: path(),
                free_mib: 1,
                floor_mib: 2,
            },
        ];
        for error in errors {
            let CallerText { message, hint } = error.for_callers();
            assert!(!message.contains("alice"), "{message}");
            let hint = hint.unwrap_or_else(|| panic!("no next step: {message}"));
            assert!(!hint.contains("alice"), "{hint}");
            // The control: the operator reads where the file is.
            assert!(error.to_string().contains(PATH), "{error}");
        }
        // What a caller can mend itself is said in full.
        let own = StoreError::StateFull { bytes: 7 };
        assert_eq!(own.for_callers().message, own.to_string());
        assert_eq!(own.for_callers().hint, own.hint());
    }
}
