//! Servers that are in the configuration and must not be used.

use std::sync::Arc;

use limbeck_catalog::{Absences, AbsentServer};
use limbeck_store::Store;
use limbeck_upstream::{ServerState, UnusableKind, UpstreamPool};

use super::snapshot::cached_list;
use crate::server_source::ServerSource;

/// The servers of `sources` that are disabled or not trusted, and `notices` with the number of those not trusted.
pub(super) fn absences(
    upstreams: &UpstreamPool,
    sources: &[ServerSource],
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
                        "the user reviews its definition with `limbeck trust` in the project's directory, then restarts the client"
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
            "1 server that the repository adds is not used: the user has not trusted it yet. The user reviews it in a terminal, then restarts the client.".to_owned(),
        ),
        count => notices.push(format!(
            "{count} servers that the repository adds are not used: the user has not trusted them yet. The user reviews them in a terminal, then restarts the client."
        )),
    }
    Absences { servers, notices }
}

/// Adds to each disabled server the names of the tools that it had when it was last listed. Such a server was started
/// under this definition once, so its name is not a text of strangers.
pub(super) async fn add_known_tools(
    absences: &mut Absences,
    upstreams: &UpstreamPool,
    store: &Store,
    sources: &[ServerSource],
) {
    for source in sources {
        let Some(absence) = absences.servers.get_mut(&source.name) else {
            continue;
        };
        if !matches!(upstreams.state(&source.name), ServerState::Disabled) {
            continue;
        }
        if let Some(cached) = cached_list(store, source).await {
            let tools = cached.tools.into_iter();
            absence.tools = tools.map(|definition| definition.id.tool).collect();
        }
    }
}
