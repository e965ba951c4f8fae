//! Why a file of a client is not changed, known before any server of it moves.

use super::found::ClientFile;
use super::model::ClientAction;
use super::splice::{self, Change};
use super::target::Target;
use super::verify::is_as_intended;
use crate::world::World;

/// Why a file is not changed.
#[derive(Clone, Debug)]
pub(super) struct FileProblem {
    pub(super) action: ClientAction,
    pub(super) reason: String,
}

/// Looks at a file. One without servers that gets no entry is not looked at.
pub(super) fn problem_of(world: &World, file: &ClientFile, is_wanted: bool) -> Option<FileProblem> {
    let entries = match &file.entries {
        Ok(entries) => entries,
        Err(reason) => {
            return Some(FileProblem {
                action: ClientAction::Refuse,
                reason: reason.clone(),
            });
        }
    };
    if entries.is_empty() && !is_wanted {
        return None;
    }
    if let Err(reason) = Target::of(world, &file.path) {
        return Some(FileProblem {
            action: ClientAction::Print,
            reason,
        });
    }
    // Whether every server could be taken out; a form that cannot be changed is known before anything moves.
    let change = Change {
        removed: entries.iter().map(|entry| entry.name.as_str()).collect(),
        added: vec![(
            "limbeck setup",
            splice::own_entry(file.client.form, "limbeck", &[]),
        )],
    };
    let text = file.text.as_deref().unwrap_or_default();
    let changed = splice::changed(text, file.client.form, &change);
    let problem = changed.and_then(|after| is_as_intended(text, &after, file.client.form, &change));
    problem.err().map(|reason| FileProblem {
        action: ClientAction::Refuse,
        reason,
    })
}
