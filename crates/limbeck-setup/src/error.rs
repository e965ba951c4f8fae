//! What can be wrong with configuration, and for whom it is an error.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why configuration could not be loaded. Only files that were named explicitly can cause it.
///
/// No variant quotes a value: a file holds secrets.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file named explicitly is not there.
    #[error("configuration file {} does not exist", file.display())]
    Missing {
        /// The file.
        file: PathBuf,
    },
    /// It is there and cannot be read.
    #[error("configuration file {} cannot be read", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is not a text file of a size we read.
    #[error("configuration file {} {problem}", file.display())]
    Unusable {
        /// The file.
        file: PathBuf,
        /// What is wrong with it, to be read after its name.
        problem: String,
    },
    /// Something in it has the wrong form.
    #[error("{}:{line}:{column}: {fault}", file.display())]
    Invalid {
        /// The file.
        file: PathBuf,
        /// Line, from 1.
        line: u32,
        /// Column in characters, from 1.
        column: u32,
        /// What is wrong.
        fault: Fault,
    },
}

impl ConfigError {
    /// One next step for a person.
    pub fn hint(&self) -> String {
        match self {
            Self::Missing { .. } => {
                "`--config` takes any file with an `mcpServers` object".to_owned()
            }
            Self::Unreadable { file, .. } => {
                format!("make it readable: `chmod u+r '{}'`", file.display())
            }
            Self::Unusable { file, .. } | Self::Invalid { file, .. } => {
                let form = match file.extension() {
                    Some(suffix) if suffix.eq_ignore_ascii_case("toml") => {
                        r#"[servers.NAME] command = "…", args = ["…"], env = { KEY = "…" }"#
                    }
                    _ => {
                        r#"{"mcpServers": {"NAME": {"command": "…", "args": ["…"], "env": {"KEY": "…"}}}}"#
                    }
                };
                format!("the accepted form is {form}")
            }
        }
    }
}

/// One thing that is wrong at one place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Byte offset in the text.
    pub(crate) at: usize,
    /// Keys that lead there: `mcpServers.github.args[2]`; empty for the file itself.
    pub key: String,
    /// What is wrong and what is accepted, a lowercase fragment.
    pub problem: String,
    /// Another place that has to do with it, named by its line once the text is at hand.
    pub(crate) also: Option<usize>,
    pub(crate) weight: Weight,
}

/// What a fault spoils.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The file is not what its author meant: an error where the file was named explicitly.
    Malformed,
    /// The entry is well-formed and cannot be used here and now: an unset variable, a transport we lack.
    Unusable,
}

impl Fault {
    pub(crate) fn malformed(at: usize, key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            at,
            key: key.into(),
            problem: problem.into(),
            also: None,
            weight: Weight::Malformed,
        }
    }

    pub(crate) fn unusable(at: usize, key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            weight: Weight::Unusable,
            ..Self::malformed(at, key, problem)
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "`{}`: ", self.key)?;
        }
        f.write_str(&self.problem)
    }
}

/// How much a [`Note`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Good to know.
    Info,
    /// Something does not do what its author may expect.
    Warning,
    /// Something is not used because it is broken.
    Error,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// Something a person should know about configuration that was loaded all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// How much it matters.
    pub level: Level,
    /// The file it is about.
    pub file: PathBuf,
    /// Line and column from 1, where there is a place.
    pub at: Option<(u32, u32)>,
    /// What there is to know, the key included.
    pub message: String,
}

/// `file:line:column: message`, without the level.
impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some((line, column)) = self.at {
            write!(f, "{line}:{column}:")?;
        }
        write!(f, " {}", self.message)
    }
}
