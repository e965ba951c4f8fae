//! Changes of the behaviour hints.

use limbeck_domain::{EffectClass, ToolAnnotations, ToolDefinition};

use super::{Change, ChangeKind};

/// Place of a class among all, the loosest first. Unknown is behind write, because nothing is said about it.
pub fn looseness(class: EffectClass) -> u8 {
    match class {
        EffectClass::Read => 0,
        EffectClass::Write => 1,
        EffectClass::Unknown => 2,
        EffectClass::Destructive => 3,
    }
}

/// The change of the hints; `None` when they say the same.
pub(super) fn change(old: &ToolDefinition, new: &ToolDefinition) -> Option<Change> {
    if old.annotations == new.annotations {
        return None;
    }
    let (was, is) = (looseness(old.effect()), looseness(new.effect()));
    // That a write may be repeated is said by a hint alone.
    let begins_to_repeat =
        new.annotations.idempotent == Some(true) && old.annotations.idempotent != Some(true);
    let kind = if is < was || (begins_to_repeat && is > 0) {
        ChangeKind::AnnotationsLoosened
    } else {
        ChangeKind::AnnotationsTightened
    };
    let text = format!(
        "hints were {}, are {}",
        shown(&old.annotations),
        shown(&new.annotations)
    );
    Some(Change::new(kind, text))
}

fn shown(hints: &ToolAnnotations) -> String {
    let all = [
        ("readOnlyHint", hints.read_only),
        ("destructiveHint", hints.destructive),
        ("idempotentHint", hints.idempotent),
    ];
    let given: Vec<String> = all
        .into_iter()
        .filter_map(|(name, hint)| Some(format!("{name} {}", hint?)))
        .collect();
    if given.is_empty() {
        "none".to_owned()
    } else {
        given.join(", ")
    }
}
