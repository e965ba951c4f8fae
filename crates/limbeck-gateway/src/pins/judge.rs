//! Decision which tools are held.

use std::sync::Arc;

use limbeck_domain::{PinnedDefinition, ServerName, ToolAnnotations};
use limbeck_policy::pins::{Change, ChangeKind, Verdict, changes};
use limbeck_policy::rules::Preset;
use limbeck_store::ToolPin;

use super::lock::PinLock;
use super::names::KnownNames;

/// What decides about all tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct PinRules {
    /// The preset in force.
    pub(crate) preset: Preset,
    /// The lock file of the repository.
    pub(crate) lock: Arc<PinLock>,
}

impl PinRules {
    /// Whether a tool may be held because of its definition.
    pub(crate) fn may_hold(&self) -> bool {
        match self.preset {
            Preset::Observe => false,
            Preset::Balanced | Preset::Strict | Preset::Readonly | Preset::Unattended => true,
        }
    }
}

/// What holds for one tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Judged {
    /// What is different from what was accepted, with what it leads to.
    pub(crate) changes: Vec<(Change, Verdict)>,
    /// Hints in the place of those of its server.
    pub(crate) hints: Option<ToolAnnotations>,
}

impl Judged {
    /// Whether it is neither called nor shown.
    pub(crate) fn is_held(&self) -> bool {
        self.worst() == Some(Verdict::Hold)
    }

    /// The worst of what the changes lead to.
    pub(crate) fn worst(&self) -> Option<Verdict> {
        self.changes.iter().map(|(_, verdict)| *verdict).max()
    }
}

/// Judges a tool of `server`. `pin` is `None` for one that was never recorded, such as one of a list of an older version.
pub(crate) fn judge(
    server: &ServerName,
    tool: &Arc<str>,
    pin: Option<&ToolPin>,
    rules: &PinRules,
    names: &KnownNames,
) -> Judged {
    let mut found = Vec::new();
    let mut hints = None;
    let is_pinned = pin.is_none_or(|pin| pin.pinned_sha256.is_some());
    let facts = pin.map(|pin| &pin.facts);
    let is_accepted = facts.is_some_and(|facts| facts.accepted.is_some());
    if !is_pinned {
        found.push(Change::new(
            ChangeKind::NewTool,
            "not in the first list of its server",
        ));
    } else if !is_accepted {
        found.push(Change::new(
            ChangeKind::FirstList,
            "of the first list, which no person has accepted",
        ));
    }
    if let Some(pin) =
        pin.filter(|pin| is_pinned && pin.pinned_sha256.as_ref() != Some(&pin.current_sha256))
    {
        let (changed, looser) = compared(pin, names);
        found.extend(changed);
        hints = looser;
    }
    if let Some(facts) = facts {
        if facts.is_back {
            found.push(Change::new(
                ChangeKind::ChangedBack,
                "its definition is, or was, one that it had before",
            ));
        }
        if facts.is_returned {
            found.push(Change::new(
                ChangeKind::ChangedBack,
                "it was absent and came back with another definition",
            ));
        }
        if facts.rejected.is_some() {
            found.push(Change::new(
                ChangeKind::Rejected,
                "its definition was rejected",
            ));
        }
    }
    if !is_accepted {
        let first_us = facts.map_or(u64::MAX, |facts| facts.first_us);
        let problem = names.problem(server, tool, first_us, !is_pinned);
        found.extend(problem.map(|problem| Change::new(ChangeKind::Name, problem)));
    }
    let current = pin.map(|pin| pin.current_sha256.as_str());
    let difference = rules.lock.difference(server.as_str(), tool, current);
    found.extend(difference.map(|text| Change::new(ChangeKind::Lock, text)));
    if !is_pinned && rules.may_hold() {
        hints = pin.and_then(hints_of_new);
    }
    let verdict = |change: Change| {
        let verdict = change.verdict(rules.preset);
        (change, verdict)
    };
    let mut changes: Vec<_> = found.into_iter().map(verdict).collect();
    // The usual state is no change.
    changes.retain(|(change, verdict)| {
        change.kind != ChangeKind::FirstList || *verdict == Verdict::Hold
    });
    Judged { changes, hints }
}

/// The changes since a definition was pinned, and the hints that count in the place of looser ones.
fn compared(pin: &ToolPin, names: &KnownNames) -> (Vec<Change>, Option<ToolAnnotations>) {
    let read = |text: &Option<String>| text.as_deref().and_then(PinnedDefinition::from_canonical);
    let (Some(old), Some(new)) = (read(&pin.pinned), read(&pin.current)) else {
        let text = "its definition differs, and the difference cannot be shown";
        return (vec![Change::new(ChangeKind::Type, text)], None);
    };
    let found = changes(&old, &new, names);
    let is_looser = found
        .iter()
        .any(|change| change.kind == ChangeKind::AnnotationsLoosened);
    (found, is_looser.then_some(old.definition.annotations))
}

/// The hints of a tool that no person accepted: what it says of itself is believed where it makes it stricter.
fn hints_of_new(pin: &ToolPin) -> Option<ToolAnnotations> {
    let current = pin
        .current
        .as_deref()
        .and_then(PinnedDefinition::from_canonical);
    let said = current
        .map(|current| current.definition.annotations)
        .unwrap_or_default();
    let hints = ToolAnnotations {
        destructive: said
            .destructive
            .filter(|destructive| *destructive && said.read_only != Some(true)),
        ..ToolAnnotations::default()
    };
    (hints != said).then_some(hints)
}

#[cfg(test)]
mod tests {
    use limbeck_domain::PinDecision;
    use serde_json::json;

    use super::super::record::tests::{after, tool};
    use super::*;

    fn judged(pin: &ToolPin, preset: Preset) -> Judged {
        let rules = PinRules {
            preset,
            ..PinRules::default()
        };
        let name = Arc::from(pin.tool.as_str());
        judge(
            &"s".into(),
            &name,
            Some(pin),
            &rules,
            &KnownNames::default(),
        )
    }

    fn held(pin: &ToolPin) -> [bool; 3] {
        [Preset::Observe, Preset::Balanced, Preset::Strict]
            .map(|preset| judged(pin, preset).is_held())
    }

    #[test]
    fn strict_holds_the_first_list_until_it_is_accepted() {
        let (mut pins, _) = after(&[&[tool("a", "old")]]);
        let pin = pins.get_mut("a").unwrap();
        assert_eq!(held(pin), [false, false, true]);
        assert_eq!(judged(pin, Preset::Balanced).changes, []);
        pin.facts.accepted = Some(PinDecision {
            by: "user:local".to_owned(),
            at_us: 2,
            sha256: pin.current_sha256.clone(),
        });
        assert_eq!(held(pin), [false; 3]);
    }

    #[test]
    fn a_new_tool_is_of_no_class_and_a_way_back_holds() {
        let mut new = tool("b", "new");
        new.definition.annotations.read_only = Some(true);
        let (pins, _) = after(&[&[tool("a", "old")], &[tool("a", "old"), new]]);
        assert_eq!(held(&pins["b"]), [false, false, true]);
        assert_eq!(
            judged(&pins["b"], Preset::Balanced).hints,
            Some(ToolAnnotations::default())
        );
        assert_eq!(judged(&pins["b"], Preset::Observe).hints, None);
        let (old, new) = ([tool("a", "old")], [tool("a", "new")]);
        assert_eq!(held(&after(&[&old, &new]).0["a"]), [false, false, true]);
        assert_eq!(
            held(&after(&[&old, &new, &old]).0["a"]),
            [false, true, true]
        );
        assert_eq!(held(&after(&[&old, &[], &new]).0["a"]), [false, true, true]);
    }

    #[test]
    fn looser_hints_hold_and_the_old_ones_count_where_nothing_is_held() {
        let mut old = tool("a", "old");
        old.definition.annotations.destructive = Some(true);
        let mut new = old.clone();
        new.definition.annotations.destructive = Some(false);
        let (pins, _) = after(&[&[old.clone()], &[new]]);
        assert_eq!(held(&pins["a"]), [false, true, true]);
        assert_eq!(
            judged(&pins["a"], Preset::Observe).hints,
            Some(old.definition.annotations)
        );
    }

    #[test]
    fn what_cannot_be_compared_is_held() {
        let (mut pins, _) = after(&[&[tool("a", "old")], &[tool("a", "new")]]);
        let pin = pins.get_mut("a").unwrap();
        pin.pinned = None;
        assert_eq!(held(pin), [false, true, true]);
    }

    #[test]
    fn a_lock_file_only_holds() {
        let (pins, _) = after(&[&[tool("a", "old")], &[tool("a", "old"), tool("b", "new")]]);
        let lock = |sha256: &str| {
            let text = json!({"version": 1, "servers": {"s": {"a": {"sha256": sha256}}}});
            PinLock::parse(&text.to_string()).unwrap()
        };
        let held = |lock: PinLock, preset, tool: &str| {
            let rules = PinRules {
                preset,
                lock: Arc::new(lock),
            };
            let name = Arc::from(tool);
            judge(
                &"s".into(),
                &name,
                pins.get(tool),
                &rules,
                &KnownNames::default(),
            )
            .is_held()
        };
        let same = pins["a"].current_sha256.as_str();
        assert!(!held(lock(same), Preset::Balanced, "a"));
        assert!(held(lock("00"), Preset::Balanced, "a"));
        assert!(!held(lock("00"), Preset::Observe, "a"));
        // It names the server, and not this tool.
        assert!(held(lock(same), Preset::Balanced, "b"));
        // What holds without it holds with it.
        assert!(held(lock(same), Preset::Strict, "a"));
    }
}
