//! What can be wrong with configuration, and for whom it is an error.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

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
        fault: Box<Fault>,
    },
}

impl ConfigError {
    /// What is wrong, without the file, which whoever tells it names already.
    pub(crate) fn problem(&self) -> String {
        match self {
            Self::Missing { .. } => "does not exist".to_owned(),
            Self::Unreadable { source, .. } => format!("cannot be read: {source}"),
            Self::Unusable { problem, .. } => problem.clone(),
            Self::Invalid { fault, .. } => fault.to_string(),
        }
    }

    /// One next step for a person.
    pub fn hint(&self) -> String {
        match self {
            Self::Missing { .. } => {
                "`--config` takes any file with an `mcpServers` object".to_owned()
            }
            Self::Unreadable { file, .. } => {
                format!("make it readable: `chmod u+r '{}'`", file.display())
            }
            Self::Unusable { file, .. } => accepted_form(file, false),
            Self::Invalid { file, fault, .. } => match fault.step {
                Some(step) => step.to_owned(),
                None => accepted_form(file, is_of_http(&fault.key)),
            },
        }
    }
}

fn accepted_form(file: &Path, of_http: bool) -> String {
    let suffix = file.extension();
    let toml = suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case("toml"));
    let form = match (toml, of_http) {
        (true, false) => r#"[servers.NAME] command = "…", args = ["…"], env = { KEY = "…" }"#,
        (true, true) => r#"[servers.NAME] url = "https://…", headers = { NAME = "…" }"#,
        (false, false) => {
            r#"{"mcpServers": {"NAME": {"command": "…", "args": ["…"], "env": {"KEY": "…"}}}}"#
        }
        (false, true) => {
            r#"{"mcpServers": {"NAME": {"url": "https://…", "headers": {"NAME": "…"}}}}"#
        }
    };
    format!("the accepted form is {form}")
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
    /// What to do about it, where that is not plain from the problem.
    pub(crate) step: Option<&'static str>,
}

/// What a fault spoils.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The file is not what its author meant: an error where the file was named explicitly.
    Malformed,
    /// The entry is well-formed and cannot be used here and now: an unset variable, a url in the clear.
    Unusable,
    /// The entry is well-formed and of a kind that this version has no use for.
    Unsupported,
}

impl Fault {
    pub(crate) fn malformed(at: usize, key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            at,
            key: key.into(),
            problem: problem.into(),
            also: None,
            weight: Weight::Malformed,
            step: None,
        }
    }

    pub(crate) fn unusable(at: usize, key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            weight: Weight::Unusable,
            ..Self::malformed(at, key, problem)
        }
    }

    pub(crate) fn with_step(self, step: &'static str) -> Self {
        Self {
            step: Some(step),
            ..self
        }
    }

    /// Whether the entry is right and this version alone is what it lacks.
    pub fn is_unsupported(&self) -> bool {
        self.weight == Weight::Unsupported
    }

    /// One next step, where the problem does not say it itself.
    pub fn step(&self) -> Option<&'static str> {
        self.step
    }
}

/// Last keys of places that only an entry of a server over HTTP has.
const HTTP_KEYS: &[&str] = &["headers", "httpUrl", "serverUrl", "uri", "url"];

/// Whether `key` leads into an entry of a server over HTTP.
fn is_of_http(key: &str) -> bool {
    key.split('.').skip(2).any(|part| HTTP_KEYS.contains(&part))
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
