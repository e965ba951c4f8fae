//! Problems of single values, and what loading reports about a configuration that it accepted.

use crate::escaped_text::shown_path;
use std::fmt;
use std::path::{Path, PathBuf};

/// Problem of one value in a configuration file.
///
/// It never quotes the value, which may be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    /// Byte offset of the value.
    pub(crate) at: usize,
    /// Key path such as `mcpServers.github.args[2]`; empty for the file itself.
    pub key: String,
    /// What is wrong and what is accepted, a lowercase fragment.
    pub problem: String,
    /// Byte offset of the first of two duplicate keys; its line is added to `problem` when lines are known.
    pub(crate) first_at: Option<usize>,
    pub(crate) kind: ValueErrorKind,
    /// Next step, where the problem does not imply it.
    pub(crate) hint: Option<&'static str>,
}

/// Consequence of a [`ValueError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueErrorKind {
    /// The value is not of the accepted form: an error where the file was named with `--config`.
    Malformed,
    /// The value is well-formed and cannot be used here and now: an unset variable, an unencrypted url.
    Unusable,
    /// The value is well-formed and of a kind that this version does not support.
    Unsupported,
}

impl ValueError {
    pub(crate) fn malformed(at: usize, key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            at,
            key: key.into(),
            problem: problem.into(),
            first_at: None,
            kind: ValueErrorKind::Malformed,
            hint: None,
        }
    }

    pub(crate) fn unusable(at: usize, key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            kind: ValueErrorKind::Unusable,
            ..Self::malformed(at, key, problem)
        }
    }

    pub(crate) fn with_hint(self, hint: &'static str) -> Self {
        Self {
            hint: Some(hint),
            ..self
        }
    }

    /// Whether the value is right and only this version does not support it.
    pub fn is_unsupported(&self) -> bool {
        self.kind == ValueErrorKind::Unsupported
    }

    /// Next step, where the problem does not imply it.
    pub fn hint(&self) -> Option<&'static str> {
        self.hint
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "`{}`: ", self.key)?;
        }
        f.write_str(&self.problem)
    }
}

/// Severity of a [`Diagnostic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Information for a user who looks for it, about what is as it should be.
    Detail,
    /// Information.
    Info,
    /// Something may not work as the file's author expects.
    Warning,
    /// Something is ignored because it is wrong.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Detail | Self::Info => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// A finding about configuration that was loaded nevertheless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Severity.
    pub severity: Severity,
    /// The file it is about.
    pub file: PathBuf,
    /// Line and column from 1, where there is a place.
    pub at: Option<(u32, u32)>,
    /// Whether it is about the whole file and not about a value in it; `message` then has no text of the file's author.
    pub is_of_whole_file: bool,
    /// The finding, the key included.
    pub message: String,
}

impl Diagnostic {
    /// A finding about a whole file.
    pub(crate) fn of_file(file: &Path, severity: Severity, message: String) -> Self {
        Self {
            severity,
            file: file.to_owned(),
            at: None,
            is_of_whole_file: true,
            message,
        }
    }
}

/// `file:line:column: message`, without the severity.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", shown_path(&self.file))?;
        if let Some((line, column)) = self.at {
            write!(f, "{line}:{column}:")?;
        }
        write!(f, " {}", self.message)
    }
}
