//! A file that is being read, to convert offsets into lines.

use std::cell::Cell;

use crate::diagnostic::{Diagnostic, Severity, ValueError};
use crate::document::{ConfigPlace, LineIndex};
use crate::entry::Origin;
use crate::error::ConfigError;

use super::sources::ConfigSource;

/// A file that is being read.
pub(super) struct OpenFile<'a> {
    pub(super) source: &'a ConfigSource,
    lines: LineIndex<'a>,
    /// Findings so far, those that were not reported included.
    findings: Cell<usize>,
    /// Highest severity of a finding that was not reported.
    unreported: Cell<Option<Severity>>,
}

/// Findings reported about one file; a person corrects a few and looks again.
const FINDINGS_MAX: usize = 50;

impl<'a> OpenFile<'a> {
    pub(super) fn new(source: &'a ConfigSource, text: &'a str) -> Self {
        Self {
            source,
            lines: LineIndex::new(text),
            findings: Cell::new(0),
            unreported: Cell::new(None),
        }
    }

    /// Whether another finding about this file may be reported; counts it.
    pub(super) fn may_report(&self, severity: Severity) -> bool {
        self.findings.set(self.findings.get() + 1);
        let may = self.findings.get() <= FINDINGS_MAX;
        if !may {
            self.unreported
                .set(self.unreported.get().max(Some(severity)));
        }
        may
    }

    /// A finding that counts those that were not reported.
    pub(super) fn remaining_findings(&self) -> Option<Diagnostic> {
        Some(Diagnostic {
            severity: self.unreported.get()?,
            file: self.source.path.clone(),
            at: None,
            is_of_whole_file: false,
            message: format!("{} more findings", self.findings.get() - FINDINGS_MAX),
        })
    }

    /// Line of a key or value, from 1.
    pub(super) fn line(&self, place: &ConfigPlace<'_>) -> u32 {
        self.lines.line(place.at)
    }

    pub(super) fn origin(&self, place: &ConfigPlace<'_>) -> Origin {
        Origin {
            file: self.source.path.clone(),
            line: self.line(place),
            scope: self.source.scope.clone(),
        }
    }

    /// An error that ends loading.
    pub(super) fn error(&self, error: ValueError) -> ConfigError {
        let (line, column) = self.lines.position(error.at);
        ConfigError::Invalid {
            file: self.source.path.clone(),
            line,
            column,
            error: Box::new(self.with_first_line(error)),
        }
    }

    /// A finding that does not end loading, with its hint: nothing else shows it.
    pub(super) fn diagnostic(&self, severity: Severity, error: ValueError) -> Diagnostic {
        let hint = error.hint.map(|hint| format!("; {hint}"));
        Diagnostic {
            severity,
            file: self.source.path.clone(),
            at: Some(self.lines.position(error.at)),
            is_of_whole_file: error.key.is_empty(),
            message: self.with_first_line(error).to_string() + &hint.unwrap_or_default(),
        }
    }

    /// Adds the line of the first of two duplicate keys to the problem.
    pub(super) fn with_first_line(&self, mut error: ValueError) -> ValueError {
        if let Some(first_at) = error.first_at.take() {
            let line = self.lines.line(first_at);
            error.problem = format!("{}, first on line {line}", error.problem);
        }
        error
    }
}
