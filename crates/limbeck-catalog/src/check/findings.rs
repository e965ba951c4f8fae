//! What a check tells, for programs that read it and as the verdict a guest is given.

use limbeck_domain::{ServerName, SiteError, Verdict, text};
use serde::Serialize;

/// Bytes of a finding's message, and of its hint.
const TEXT_BYTES_MAX: usize = 1 << 10;

/// What is wrong with a program's calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Calls that would be refused, by line and column. The program should not start.
    pub errors: Vec<Finding>,
    /// What the reader should know although the program may run, by line and column.
    pub warnings: Vec<Finding>,
    /// Servers whose lists an error is drawn from: one that is no longer new may be the reason.
    #[serde(skip)]
    pub drawn_from: Vec<ServerName>,
}

/// One thing about one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Line in the program, from 1.
    pub line: u32,
    /// Column in the line, from 1.
    pub column: u32,
    /// Stable word for what it is about.
    pub kind: FindingKind,
    /// What is wrong and what was expected, a lowercase fragment of at most 1 KiB.
    pub message: String,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What to write instead, where that is likely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<Edit>,
}

/// What a finding is about.
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
    /// Arguments that are not named.
    Positional,
    /// A result is used before it is there.
    MissingAwait,
    /// The result has no such part.
    Result,
    /// A tool that may write is called in a loop that nothing in its head ends.
    EndlessWrite,
    /// The tools of the server are not known.
    Unchecked,
    /// More findings than are told.
    More,
}

/// A change of the text at the place of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// What stands there: the next occurrence from the place of the finding on.
    pub replace: String,
    /// What should.
    pub with: String,
}

impl Edit {
    pub(super) fn new(replace: impl Into<String>, with: impl Into<String>) -> Self {
        Self {
            replace: replace.into(),
            with: with.into(),
        }
    }
}

impl Finding {
    pub(super) fn new((line, column): (u32, u32), kind: FindingKind, message: String) -> Self {
        Self {
            line,
            column,
            kind,
            message: shortened(message),
            hint: None,
            edit: None,
        }
    }

    pub(super) fn with_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.map(shortened);
        self
    }

    pub(super) fn with_edit(mut self, edit: Option<Edit>) -> Self {
        self.edit = edit;
        self
    }
}

impl Findings {
    /// Whether the program may start, for the guest.
    pub fn verdict(&self) -> Verdict {
        let errors = self.errors.iter().map(|finding| SiteError {
            line: finding.line,
            column: finding.column,
            message: finding.message.clone(),
            hint: finding.hint.clone(),
        });
        let warnings = self.warnings.iter();
        let warnings =
            warnings.map(|finding| format!("line {}: {}", finding.line, finding.message));
        Verdict {
            errors: errors.collect(),
            warnings: warnings.collect(),
        }
    }
}

fn shortened(message: String) -> String {
    if message.len() <= TEXT_BYTES_MAX {
        return message;
    }
    format!("{}…", text::cut(&message, TEXT_BYTES_MAX - '…'.len_utf8()))
}
