//! Proposal of a preset to users whose configuration names none.

use limbeck_policy::rules::Layer;
use limbeck_setup::{Configuration, OwnFile, World};

use super::clients::Finding;
use crate::wiring::{presets_by_way, short_place};

/// The proposal; `None` where there is no server, where a preset was chosen, and where the rules cannot be read. A repository's
/// preset is not the user's choice.
pub(super) fn finding(world: &World, configuration: &Configuration) -> Option<Finding> {
    let policy = &configuration.settings.policy;
    let mut presets = policy.presets.iter();
    let is_chosen = presets.any(|(layer, _)| *layer != Layer::Project);
    if is_chosen || policy.fault.is_some() || configuration.servers.is_empty() {
        return None;
    }
    let own = OwnFile::of(world).ok()?;
    let file = short_place(world, &limbeck_setup::shown_path(own.path()));
    Some(Finding {
        code: "G01",
        finding: format!(
            "no file names a preset, so calls that no rule is about are decided by {}",
            presets_by_way(policy).join("; ")
        ),
        remedy: format!(
            "to be asked before programs write on every way in, put `preset = \"balanced\"` into the section `[policy]` of {file}; with `preset = \"observe\"` there calls that no rule is about are sent without a question"
        ),
        fix: false,
        is_proposal: true,
        is_command: false,
    })
}
