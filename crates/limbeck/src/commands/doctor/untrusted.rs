//! Finding about servers of a repository that wait for the user's trust.

use limbeck_domain::text::clean_line;
use limbeck_setup::{Configuration, TrustState};

use super::clients::Finding;

/// Longest list of servers, in bytes.
const NAMES_BYTES_MAX: usize = 300;

/// The finding; `None` when no server waits.
pub(super) fn finding(configuration: &Configuration) -> Option<Finding> {
    let waits = |trust: TrustState| matches!(trust, TrustState::Waiting | TrustState::Changed);
    let servers = configuration.servers.iter();
    let names: Vec<String> = servers
        .filter(|server| waits(server.trust))
        .map(|server| format!("`{}`", server.name))
        .collect();
    if names.is_empty() {
        return None;
    }
    Some(Finding {
        code: "C08",
        finding: format!(
            "servers of this repository wait for your trust: {}",
            clean_line(&names.join(", "), NAMES_BYTES_MAX)
        ),
        remedy: "limbeck trust".to_owned(),
        fix: false,
        is_proposal: false,
        is_command: true,
    })
}
