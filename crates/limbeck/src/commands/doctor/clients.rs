//! Findings about files of clients and Limbeck's own.

use limbeck_setup::{ClientFinding, SetupState};
use serde::Serialize;

use crate::commands::setup::state_directory;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// One finding, with its remedy.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    /// Stable code.
    pub(super) code: &'static str,
    pub(super) finding: String,
    /// What to do: a command, or a sentence.
    pub(super) remedy: String,
    /// Whether `doctor --fix CODE` does it.
    pub(super) fix: bool,
    /// Whether it is a proposal, and nothing is wrong.
    #[serde(skip)]
    pub(super) is_proposal: bool,
    /// Whether the remedy is a command.
    #[serde(skip)]
    pub(super) is_command: bool,
}

/// Findings about clients, or about the one that is named.
pub(super) fn findings(invocation: &Invocation, client: Option<&str>) -> Vec<Finding> {
    let Ok(directory) = state_directory(invocation) else {
        return Vec::new();
    };
    let found = SetupState::of(&invocation.world, directory).findings();
    let is_wanted = |finding: &ClientFinding| client.is_none() || finding.client == client;
    let findings = found.into_iter().filter(is_wanted);
    findings.map(Finding::from).collect()
}

impl From<ClientFinding> for Finding {
    fn from(found: ClientFinding) -> Self {
        Self {
            code: found.code,
            finding: found.finding,
            remedy: found.remedy,
            fix: found.fix.is_some(),
            is_proposal: false,
            is_command: found.is_command,
        }
    }
}

/// Prints findings, each with its remedy.
pub(super) fn print(printer: &Printer, findings: &[Finding]) {
    for finding in findings {
        let text = format!("{} ({})", finding.finding, finding.code);
        match finding.is_proposal {
            true => printer.note(&text),
            false => printer.warning(&text),
        }
        match finding.is_command {
            true => printer.hint(&format!("run `{}`", finding.remedy)),
            false => printer.hint(&finding.remedy),
        }
    }
}

/// Prints one finding about clients.
pub(super) fn print_one(printer: &Printer, finding: &ClientFinding) {
    print(printer, &[Finding::from(finding.clone())]);
}
