//! Findings about files of clients: servers that a client starts beside Limbeck.

use limbeck_domain::text::clean_line;
use limbeck_setup::{FoundClients, SetupRequest, World};
use serde::Serialize;

use crate::printer::Printer;
use crate::wiring::short_place;

/// Longest list of servers in a finding, in bytes.
const NAMES_BYTES_MAX: usize = 300;

/// One finding, with its remedy.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    /// Stable code.
    pub(super) code: &'static str,
    pub(super) finding: String,
    /// What to do: a command, or a sentence.
    pub(super) remedy: String,
    /// Whether `doctor` could do it itself.
    pub(super) fix: bool,
    /// Whether it is a proposal, and nothing is wrong.
    #[serde(skip)]
    pub(super) is_proposal: bool,
}

/// Findings about every client that starts Limbeck. What cannot be read is of no client: setup reports it.
pub(super) fn findings(world: &World) -> Vec<Finding> {
    let Ok(found) = FoundClients::read(world, SetupRequest::default()) else {
        return Vec::new();
    };
    let finding = |client: limbeck_setup::ServersBeside| {
        let names: Vec<String> = client
            .servers
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        let path = short_place(world, &client.path.display().to_string());
        Finding {
            code: "C04",
            finding: format!(
                "{} starts servers beside Limbeck, in {path}: {}",
                client.title,
                clean_line(&names.join(", "), NAMES_BYTES_MAX)
            ),
            remedy: format!("limbeck setup --client {}", client.id),
            fix: false,
            is_proposal: false,
        }
    };
    found.beside().into_iter().map(finding).collect()
}

/// Prints findings, each with its remedy.
pub(super) fn print(printer: &Printer, findings: &[Finding]) {
    for finding in findings {
        let text = format!("{} ({})", finding.finding, finding.code);
        if finding.is_proposal {
            printer.note(&text);
            printer.hint(&finding.remedy);
        } else {
            printer.warning(&text);
            printer.hint(&format!("run `{}`", finding.remedy));
        }
    }
}
