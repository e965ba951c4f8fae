//! What holds on each way in: `policy check` and `policy explain` say it where no file names a preset.

use limbeck_policy::rules::{CallFacts, DecidedBy, Effect};
use limbeck_setup::PolicySettings;
use serde_json::{Map, Value, json};

use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::table::TextTable;
use crate::wiring::{self, WayIn, presets_by_way};

/// The decision about a call that comes in one way.
pub(super) struct WayDecision {
    way: WayIn,
    effect: Effect,
    /// The preset, where it decides.
    preset: Option<&'static str>,
    /// The rule or preset as text.
    by: String,
}

/// Preset and source of each way.
pub(super) fn json(settings: &PolicySettings) -> Value {
    let ways = WayIn::SHOWN.into_iter().map(|way| {
        let (preset, source) = way.preset(settings);
        let shown = json!({ "preset": preset.as_str(), "because": source.as_str() });
        (way.as_str().to_owned(), shown)
    });
    Value::Object(ways.collect::<Map<String, Value>>())
}

/// The decision about a call on each way.
pub(super) fn decisions(settings: &PolicySettings, call: &CallFacts<'_>) -> Vec<WayDecision> {
    let decision = |way: WayIn| {
        let policy = way.policy(settings);
        let decision = policy.rules.decide(call);
        let (preset, by) = match &decision.by {
            DecidedBy::Rule(rule) => (None, format!("rule `{}`", rule.id)),
            DecidedBy::Preset { preset, .. } => {
                let (_, source) = way.preset(settings);
                let by = format!("preset `{preset}`: {}", source.as_str());
                (Some(preset.as_str()), by)
            }
        };
        WayDecision {
            way,
            effect: decision.effect,
            preset,
            by,
        }
    };
    WayIn::SHOWN.into_iter().map(decision).collect()
}

pub(super) fn decisions_json(decisions: &[WayDecision]) -> Value {
    let ways = decisions.iter().map(|one| {
        let shown = json!({ "effect": one.effect.as_str(), "preset": one.preset });
        (one.way.as_str().to_owned(), shown)
    });
    Value::Object(ways.collect::<Map<String, Value>>())
}

/// Prints the decisions where they differ.
pub(super) fn print_decisions(printer: &Printer, decisions: &[WayDecision]) {
    let mut pairs = decisions.iter().zip(decisions.iter().skip(1));
    if pairs.all(|(one, other)| one.by == other.by) {
        return;
    }
    printer.data("\n");
    let mut table = TextTable::with_header(["WAY IN", "EFFECT", "BY"]);
    for one in decisions {
        table.row([
            one.way.title().to_owned(),
            one.effect.to_string(),
            one.by.clone(),
        ]);
    }
    printer.table(&table);
}

/// Notes what changes by the first `[policy]` of a user: it makes the defaults stricter.
pub(super) fn note_new_defaults(invocation: &Invocation, before: &PolicySettings) {
    let Ok(configuration) = wiring::read_configuration(invocation) else {
        return;
    };
    let after = presets_by_way(&configuration.settings.policy);
    if after != presets_by_way(before) {
        invocation.printer.note(&format!(
            "no file names a preset; that there is a `[policy]` now changes the defaults: {}",
            after.join("; ")
        ));
        invocation
            .printer
            .hint("put `preset = \"observe\"` into `[policy]` to be asked by rules alone");
    }
}
