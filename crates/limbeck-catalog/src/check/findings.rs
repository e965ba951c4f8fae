//! Findings of a check, and the verdict that the program's worker gets.

use limbeck_domain::{ServerName, SiteError, Verdict, text};
use serde::Serialize;

/// Most bytes of a finding's message, and of its hint.
const TEXT_BYTES_MAX: usize = 1 << 10;

/// Errors and warnings about a program's calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Calls that would be rejected, by line and column. The program should not start.
    pub errors: Vec<Finding>,
    /// Problems that do not stop the program, by line and column.
    pub warnings: Vec<Finding>,
    /// Reads of properties that the type of a result does not list, as far as a run has no warning of them: the type may be
    /// incomplete. They explain a value that turns out to be empty.
    #[serde(skip)]
    pub doubts: Vec<Finding>,
    /// Calls that may write in loops without an end condition, in a run. They explain a program that a limit ended.
    #[serde(skip)]
    pub of_endless: Vec<Finding>,
    /// Servers whose tool lists an error depends on. Listing them again may resolve the error.
    #[serde(skip)]
    pub drawn_from: Vec<ServerName>,
}

/// One error or warning about one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Line in the program, from 1.
    pub line: u32,
    /// Column in the line, from 1.
    pub column: u32,
    /// Stable identifier of the kind.
    pub kind: FindingKind,
    /// The problem and what was expected, a lowercase fragment of at most 1 KiB.
    pub message: String,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Suggested edit, where one is likely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<Edit>,
}

/// Kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The program cannot be parsed.
    Syntax,
    /// The server does not exist.
    UnknownServer,
    /// The tool does not exist.
    UnknownTool,
    /// The program may not call the tool.
    Denied,
    /// An argument is missing, unknown or of a wrong value.
    Arguments,
    /// Arguments are passed by position.
    Positional,
    /// A call is not awaited.
    MissingAwait,
    /// The result has no such part.
    Result,
    /// A tool that may write is called in a loop without an end condition in its head.
    EndlessWrite,
    /// The call was not checked because the server's tools are unknown.
    Unchecked,
    /// Number of errors that are not listed.
    More,
}

/// Replacement of a text in the program, at the position of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// Text to replace: its first occurrence from the position of the finding on.
    pub replace: String,
    /// Replacement.
    pub with: String,
}

impl Edit {
    pub(crate) fn new(replace: impl Into<String>, with: impl Into<String>) -> Self {
        Self {
            replace: replace.into(),
            with: with.into(),
        }
    }
}

impl Finding {
    pub(crate) fn new((line, column): (u32, u32), kind: FindingKind, message: String) -> Self {
        Self {
            line,
            column,
            kind,
            message: shortened(message),
            hint: None,
            edit: None,
        }
    }

    /// Whether it reads as `other` does: a program that reads a property twice in a line needs one line about it.
    pub(crate) fn says(&self, other: &Self) -> bool {
        (self.line, &self.message) == (other.line, &other.message)
    }

    pub(crate) fn with_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.map(shortened);
        self
    }

    pub(crate) fn with_edit(mut self, edit: Option<Edit>) -> Self {
        self.edit = edit;
        self
    }
}

impl Findings {
    /// The findings as the worker gets them: with errors the program does not start.
    pub fn verdict(&self) -> Verdict {
        let errors = self.errors.iter().map(|finding| SiteError {
            line: finding.line,
            column: finding.column,
            message: finding.message.clone(),
            hint: finding.hint.clone(),
        });
        Verdict {
            errors: errors.collect(),
            warnings: self.warnings.iter().map(Finding::line).collect(),
        }
    }
}

impl Finding {
    /// Line of the program, message and hint in one sentence.
    pub fn line(&self) -> String {
        let hint = self.hint.as_deref();
        let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
        format!("line {}: {}{hint}", self.line, self.message)
    }
}

fn shortened(message: String) -> String {
    if message.len() <= TEXT_BYTES_MAX {
        return message;
    }
    format!("{}…", text::cut(&message, TEXT_BYTES_MAX - '…'.len_utf8()))
}
