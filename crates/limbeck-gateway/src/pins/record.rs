//! What a new list of a server changes in the pins of its tools.

use std::collections::BTreeSet;

use limbeck_domain::pin::EARLIER_MAX;
use limbeck_domain::{PinFacts, PinnedDefinition};
use limbeck_store::{PinEvent, ToolPin};

use super::Pins;
use crate::sha256::sha256_hex;

/// A list of a server's tools.
pub(crate) struct Listed<'a> {
    /// The definitions.
    pub(crate) tools: &'a [PinnedDefinition],
    /// Whether there may be more tools.
    pub(crate) is_cut: bool,
    /// When it was received, in microseconds since 1970.
    pub(crate) now_us: u64,
}

/// The pins that a list changes. `known` are those so far; `None` before the first list, which is the baseline.
pub(crate) fn record(known: Option<&Pins>, listed: &Listed<'_>) -> Vec<ToolPin> {
    let mut changed = Vec::new();
    let mut names = BTreeSet::new();
    for tool in listed.tools {
        let name = &*tool.definition.id.tool;
        names.insert(name);
        let text = tool.canonical();
        let sha256 = sha256_hex(text.as_bytes());
        match known.map(|known| known.get(name)) {
            None => changed.push(first(tool, text, sha256, PinEvent::Baseline, listed.now_us)),
            Some(None) => changed.push(first(tool, text, sha256, PinEvent::New, listed.now_us)),
            Some(Some(pin)) if pin.current_sha256 == sha256 => {
                if pin.facts.removed_us.is_some() {
                    changed.push(ToolPin {
                        event: PinEvent::Returned,
                        facts: PinFacts {
                            removed_us: None,
                            ..pin.facts.clone()
                        },
                        ..pin.clone()
                    });
                }
            }
            Some(Some(pin)) => changed.push(renewed(pin, tool, text, sha256, listed.now_us)),
        }
    }
    if !listed.is_cut {
        let gone = known.into_iter().flat_map(Pins::values);
        let gone =
            gone.filter(|pin| pin.facts.removed_us.is_none() && !names.contains(pin.tool.as_str()));
        changed.extend(gone.map(|pin| ToolPin {
            event: PinEvent::Removed,
            facts: PinFacts {
                removed_us: Some(listed.now_us),
                ..pin.facts.clone()
            },
            ..pin.clone()
        }));
    }
    changed
}

fn first(
    tool: &PinnedDefinition,
    text: String,
    sha256: String,
    event: PinEvent,
    now_us: u64,
) -> ToolPin {
    let is_baseline = event == PinEvent::Baseline;
    ToolPin {
        tool: tool.definition.id.tool.to_string(),
        version: 0,
        event,
        pinned_sha256: is_baseline.then(|| sha256.clone()),
        pinned: is_baseline.then(|| text.clone()),
        current_sha256: sha256,
        current: (!is_baseline).then_some(text),
        facts: PinFacts {
            first_us: now_us,
            substance: substance(tool),
            ..PinFacts::default()
        },
    }
}

/// The pin of a tool with another definition than before.
fn renewed(
    pin: &ToolPin,
    tool: &PinnedDefinition,
    text: String,
    sha256: String,
    now_us: u64,
) -> ToolPin {
    let mut facts = pin.facts.clone();
    let substance = substance(tool);
    let was_absent = facts.removed_us.take().is_some();
    let is_pinned = pin.pinned_sha256.as_ref() == Some(&sha256);
    let mut event = PinEvent::Changed;
    // A change of the title alone is neither a way there nor a way back.
    if substance != facts.substance {
        let is_back = facts.earlier.contains(&substance);
        facts.is_back |= is_back;
        facts.is_returned |= was_absent;
        facts.earlier.retain(|earlier| *earlier != facts.substance);
        facts
            .earlier
            .push(std::mem::replace(&mut facts.substance, substance));
        let surplus = facts.earlier.len().saturating_sub(EARLIER_MAX);
        facts.earlier.drain(..surplus);
        if is_back {
            event = PinEvent::Back;
        } else if was_absent {
            event = PinEvent::ReturnedChanged;
        }
    }
    if is_pinned && facts.rejected.take().is_some() {
        // The person who rejected the other definition waits for this one.
        (facts.is_back, facts.is_returned) = (false, false);
    }
    facts.changed_us = Some(now_us);
    ToolPin {
        event,
        current_sha256: sha256,
        current: (!is_pinned).then_some(text),
        facts,
        ..pin.clone()
    }
}

fn substance(tool: &PinnedDefinition) -> String {
    sha256_hex(tool.canonical_without_title().as_bytes())
}

#[cfg(test)]
pub(crate) mod tests {
    use limbeck_domain::{PinDecision, ToolAnnotations, ToolDefinition, ToolId};
    use serde_json::json;

    use super::*;

    pub(crate) fn tool(name: &str, description: &str) -> PinnedDefinition {
        PinnedDefinition {
            definition: ToolDefinition {
                id: ToolId::new("s", name),
                title: None,
                description: Some(description.to_owned()),
                input_schema: json!({"type": "object"}),
                output_schema: None,
                annotations: ToolAnnotations::default(),
            },
            hidden: 0,
        }
    }

    /// Takes up one list after the other and returns the pins with the last events.
    pub(crate) fn after(lists: &[&[PinnedDefinition]]) -> (Pins, Vec<PinEvent>) {
        let mut pins: Option<Pins> = None;
        let mut events = Vec::new();
        for (number, tools) in lists.iter().enumerate() {
            let listed = Listed {
                tools,
                is_cut: false,
                now_us: number as u64 + 1,
            };
            let changed = record(pins.as_ref(), &listed);
            events = changed.iter().map(|pin| pin.event).collect();
            let pins = pins.get_or_insert_default();
            for pin in changed {
                pins.insert(pin.tool.clone(), pin);
            }
        }
        (pins.unwrap_or_default(), events)
    }

    #[test]
    fn the_first_list_is_pinned_and_what_comes_later_is_not() {
        let (pins, events) = after(&[&[tool("a", "old")], &[tool("a", "old"), tool("b", "new")]]);
        assert_eq!(events, [PinEvent::New]);
        assert_eq!(
            pins["a"].pinned_sha256.as_ref(),
            Some(&pins["a"].current_sha256)
        );
        assert_eq!(pins["b"].pinned_sha256, None);
        assert!(pins["b"].current.is_some());
        assert_eq!(pins["b"].facts.first_us, 2);
    }

    #[test]
    fn a_change_is_recorded_once_and_the_pin_stays() {
        let (old, new) = ([tool("a", "old")], [tool("a", "new")]);
        let (pins, events) = after(&[&old, &new]);
        assert_eq!(events, [PinEvent::Changed]);
        assert_eq!(pins["a"].facts.changed_us, Some(2));
        assert_ne!(
            pins["a"].pinned_sha256.as_ref(),
            Some(&pins["a"].current_sha256)
        );
        let (pins, events) = after(&[&old, &new, &new]);
        assert_eq!((events, pins["a"].facts.changed_us), (Vec::new(), Some(2)));
        assert!(!pins["a"].facts.is_back);
    }

    #[test]
    fn a_way_back_is_noticed_and_a_title_is_none() {
        let (old, new) = ([tool("a", "old")], [tool("a", "new")]);
        let (pins, events) = after(&[&old, &new, &old]);
        assert_eq!(events, [PinEvent::Back]);
        assert!(pins["a"].facts.is_back && pins["a"].current.is_none());
        // It stays noticed.
        assert!(
            after(&[&old, &new, &old, &[tool("a", "third")]]).0["a"]
                .facts
                .is_back
        );
        let mut titled = tool("a", "old");
        titled.definition.title = Some("A".to_owned());
        let (pins, events) = after(&[&old, &[titled], &old]);
        assert_eq!(events, [PinEvent::Changed]);
        assert!(!pins["a"].facts.is_back);
    }

    #[test]
    fn a_tool_that_was_absent_returns_as_it_was_or_changed() {
        let old = [tool("a", "old")];
        let (pins, events) = after(&[&old, &[]]);
        assert_eq!(
            (events, pins["a"].facts.removed_us),
            (vec![PinEvent::Removed], Some(2))
        );
        let (pins, events) = after(&[&old, &[], &old]);
        assert_eq!(events, [PinEvent::Returned]);
        assert!(!pins["a"].facts.is_returned && pins["a"].facts.removed_us.is_none());
        let (pins, events) = after(&[&old, &[], &[tool("a", "new")]]);
        assert_eq!(events, [PinEvent::ReturnedChanged]);
        assert!(pins["a"].facts.is_returned);
    }

    #[test]
    fn a_list_that_was_cut_removes_nothing() {
        let (pins, _) = after(&[&[tool("a", "old"), tool("b", "old")]]);
        let listed = Listed {
            tools: &[tool("a", "old")],
            is_cut: true,
            now_us: 9,
        };
        assert_eq!(record(Some(&pins), &listed), []);
    }

    #[test]
    fn a_rejected_definition_is_let_go_when_the_pinned_one_is_back() {
        let (mut pins, _) = after(&[&[tool("a", "old")], &[tool("a", "new")]]);
        let pin = pins.get_mut("a").unwrap();
        pin.facts.rejected = Some(PinDecision {
            by: "user:local".to_owned(),
            at_us: 3,
            sha256: pin.current_sha256.clone(),
        });
        let next = |text: &str| {
            let listed = Listed {
                tools: &[tool("a", text)],
                is_cut: false,
                now_us: 4,
            };
            record(Some(&pins), &listed).remove(0)
        };
        let other = next("third");
        assert!(other.facts.rejected.is_some());
        let back = next("old");
        assert!(back.facts.rejected.is_none() && !back.facts.is_back);
    }
}
