//! Servers that are in the configuration and must not be used.

use std::sync::Arc;

use limbeck_catalog::{Absences, AbsentServer};

use limbeck_upstream::{ServerState, UnusableKind, UpstreamPool};

use super::KnownServer;
use crate::server_source::ServerSource;

/// The servers of `sources` that are disabled or not trusted, and `notices` with the number of those not trusted.
pub(super) fn absences(
    upstreams: &UpstreamPool,
    sources: &[&ServerSource],
    mut notices: Vec<String>,
) -> Absences {
    let mut untrusted = 0;
    let servers = sources.iter().filter_map(|source| {
        let absence = match upstreams.state(&source.name) {
            ServerState::Disabled => AbsentServer {
                reason: "it is disabled in its configuration entry".to_owned(),
                hint: Some("the user enables it in its configuration entry".to_owned()),
                tools: Arc::default(),
            },
            ServerState::Unusable(unusable) if unusable.kind == UnusableKind::Untrusted => {
                untrusted += 1;
                AbsentServer {
                    reason: unusable.reason,
                    // Not the command that accepts it: a model with a shell could run that.
                    hint: Some(
                        "the user reviews its definition with `limbeck trust` in the project's directory"
                            .to_owned(),
                    ),
                    tools: Arc::default(),
                }
            }
            _ => return None,
        };
        Some((source.name.clone(), absence))
    });
    let servers = servers.collect();
    // A number alone: their names are text of the repository.
    match untrusted {
        0 => {}
        1 => notices.push(
            "1 server that the repository adds is not used: the user has not trusted it yet. The user reviews it in a terminal.".to_owned(),
        ),
        count => notices.push(format!(
            "{count} servers that the repository adds are not used: the user has not trusted them yet. The user reviews them in a terminal."
        )),
    }
    Absences { servers, notices }
}

/// Adds to each disabled server the names of the tools that it had when it was last listed, of `added` or as they were
/// `before`. Such a server was started under this definition once, so its name is not a text of strangers.
pub(super) fn add_known_tools(
    absences: &mut Absences,
    upstreams: &UpstreamPool,
    before: &Absences,
    added: &[KnownServer],
) {
    for (name, absence) in &mut absences.servers {
        if !matches!(upstreams.state(name), ServerState::Disabled) {
            continue;
        }
        absence.tools = match added.iter().find(|known| known.name() == name) {
            Some(known) => {
                let tools = known.cached.iter().flat_map(|cached| &cached.tools);
                tools.map(|definition| definition.id.tool.clone()).collect()
            }
            None => {
                let before = before.servers.get(name);
                before
                    .map(|absence| absence.tools.clone())
                    .unwrap_or_default()
            }
        };
    }
}
