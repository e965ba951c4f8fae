//! Shapes of secrets and of personal data: what a text may have that is not in the configuration.
//!
//! A shape is a guess: what looks like a key may be none, and a key may look like something else. So the rules are off until
//! the user sets them, for each direction apart.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Where a text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// To clients, and to readers of what commands print: answers, errors, progress.
    ToModel,
    /// To logs and records.
    Logs,
    /// To servers, in the arguments of calls.
    ToServers,
}

/// What is done with a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShapeAction {
    /// It stays, with its name.
    Mark,
    /// Its name takes its place.
    Mask,
    /// Its name takes the place of the whole text that it is in.
    Block,
}

impl ShapeAction {
    /// Names of all.
    pub const NAMES: &'static [&'static str] = &["mark", "mask", "block"];

    /// The action of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "mark" => Self::Mark,
            "mask" => Self::Mask,
            "block" => Self::Block,
            _ => return None,
        })
    }
}

/// One shape of the set that is built in.
struct Shape {
    name: &'static str,
    group: &'static str,
    pattern: &'static str,
    /// Whether a match is one; patterns alone say too much about numbers.
    check: fn(&str) -> bool,
}

/// Names of groups of shapes, which rules accept in their place.
const GROUPS: &[&str] = &["secrets", "personal"];

const SHAPES: &[Shape] = &[
    secret("aws_key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    secret(
        "github_token",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})\b",
    ),
    secret("slack_token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}"),
    secret("openai_key", r"\bsk-(?:[a-z]+-)*[A-Za-z0-9_-]{20,250}"),
    secret("stripe_key", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,250}\b"),
    secret("google_key", r"\bAIza[A-Za-z0-9_-]{35}"),
    secret(
        "jwt",
        r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    ),
    secret(
        "private_key",
        r"-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]{0,32}PRIVATE KEY-----|\z)",
    ),
    Shape {
        name: "email",
        group: "personal",
        pattern: r"\b[A-Za-z0-9][A-Za-z0-9._%+-]*@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,24}\b",
        check: |_| true,
    },
    Shape {
        name: "iban",
        group: "personal",
        pattern: r"\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b",
        check: is_iban,
    },
    Shape {
        name: "card",
        group: "personal",
        pattern: r"\b[2-6][0-9]{3}(?:[ -]?[0-9]{2,6}){2,4}\b",
        check: is_card,
    },
];

const fn secret(name: &'static str, pattern: &'static str) -> Shape {
    Shape {
        name,
        group: "secrets",
        pattern,
        check: |_| true,
    }
}

static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = SHAPES.iter().map(|shape| Regex::new(shape.pattern));
    patterns
        .collect::<Result<_, _>>()
        .expect("the patterns are constant and a test compiles them")
});

/// What is done with which shapes, by direction. Without rules nothing is looked for.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ShapeRules {
    /// Index of a shape, direction, action.
    rules: Vec<(usize, Direction, ShapeAction)>,
}

impl fmt::Debug for ShapeRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = self.rules.iter();
        let rules =
            rules.map(|(shape, direction, action)| (SHAPES[*shape].name, direction, action));
        f.debug_list().entries(rules).finish()
    }
}

/// A name that no shape and no group has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no shape `{name}`; there are {}", known_names())]
pub struct UnknownShapeError {
    name: String,
}

fn known_names() -> String {
    let names = SHAPES.iter().map(|shape| shape.name);
    let names: Vec<&str> = GROUPS.iter().copied().chain(names).collect();
    names.join(", ")
}

impl ShapeRules {
    /// Adds a rule for a shape or a group. Of several rules for one shape the strictest holds.
    ///
    /// # Errors
    ///
    /// [`UnknownShapeError`]
    pub fn add(
        &mut self,
        name: &str,
        direction: Direction,
        action: ShapeAction,
    ) -> Result<(), UnknownShapeError> {
        let named: Vec<usize> = (0..SHAPES.len())
            .filter(|index| [SHAPES[*index].name, SHAPES[*index].group].contains(&name))
            .collect();
        if named.is_empty() {
            return Err(UnknownShapeError {
                name: name.to_owned(),
            });
        }
        for shape in named {
            let rules = self.rules.iter_mut();
            let mut same = rules.filter(|rule| (rule.0, rule.1) == (shape, direction));
            match same.next() {
                Some(rule) => rule.2 = rule.2.max(action),
                None => self.rules.push((shape, direction, action)),
            }
        }
        Ok(())
    }

    /// Whether there is a rule for this direction.
    pub(crate) fn concern(&self, direction: Direction) -> bool {
        self.rules.iter().any(|rule| rule.1 == direction)
    }

    /// The first shape in `text` that is not to go in this direction at all.
    pub(crate) fn blocked(&self, direction: Direction, text: &str) -> Option<&'static str> {
        let rules = self.rules.iter();
        let mut blocking = rules.filter(|rule| (rule.1, rule.2) == (direction, ShapeAction::Block));
        blocking.find_map(|(shape, ..)| {
            let mut found = PATTERNS[*shape].find_iter(text);
            let is_found = found.any(|part| (SHAPES[*shape].check)(part.as_str()));
            is_found.then_some(SHAPES[*shape].name)
        })
    }

    /// `text` after the rules for `direction`.
    pub(crate) fn text<'a>(&self, direction: Direction, text: &'a str) -> Cow<'a, str> {
        let mut found: Vec<(Range<usize>, usize, ShapeAction)> = Vec::new();
        for (shape, _, action) in self.rules.iter().filter(|rule| rule.1 == direction) {
            for part in PATTERNS[*shape].find_iter(text) {
                if (SHAPES[*shape].check)(part.as_str()) {
                    found.push((part.range(), *shape, *action));
                }
            }
        }
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let blocked = found
            .iter()
            .find(|(.., action)| *action == ShapeAction::Block);
        if let Some((_, shape, _)) = blocked {
            return Cow::Owned(format!("[blocked: {}]", SHAPES[*shape].name));
        }
        found.sort_by_key(|(range, ..)| (range.start, std::cmp::Reverse(range.end)));
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for (range, shape, action) in found {
            if range.start < done {
                continue;
            }
            let name = SHAPES[shape].name;
            out.push_str(&text[done..range.start]);
            match action {
                ShapeAction::Mark => out.push_str(&format!("[{name}: {}]", &text[range.clone()])),
                ShapeAction::Mask | ShapeAction::Block => {
                    out.push_str(&format!("[redacted: {name}]"));
                }
            }
            done = range.end;
        }
        out.push_str(&text[done..]);
        Cow::Owned(out)
    }
}

/// Check digits of ISO 13616: the rearranged number is 1 modulo 97.
fn is_iban(text: &str) -> bool {
    let compact: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
    if !(15..=34).contains(&compact.len()) {
        return false;
    }
    let (head, rest) = compact.split_at(4);
    let value = |rest: u32, byte: &u8| match char::from(*byte).to_digit(36) {
        Some(digit @ 0..=9) => (rest * 10 + digit) % 97,
        Some(letter) => (rest * 100 + letter) % 97,
        None => rest,
    };
    rest.iter().chain(head).fold(0, value) == 1
}

/// The check digit of payment cards (Luhn), over 13 to 19 digits.
fn is_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let doubled = |(place, digit): (usize, &u32)| match place % 2 {
        1 if 2 * digit > 9 => 2 * digit - 9,
        1 => 2 * digit,
        _ => *digit,
    };
    let sum: u32 = digits.iter().rev().enumerate().map(doubled).sum();
    (13..=19).contains(&digits.len()) && sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(name: &str, action: ShapeAction) -> ShapeRules {
        let mut rules = ShapeRules::default();
        rules.add(name, Direction::ToModel, action).unwrap();
        rules
    }

    #[test]
    fn each_shape_is_found_and_what_is_like_it_stays() {
        // Put together here, so that no scanner of sources takes them for keys.
        let long = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
        for (name, text) in [
            ("aws_key", "AKIA".to_owned() + "IOSFODNN7EXAMPLE"),
            ("github_token", format!("ghp_{long}")),
            ("slack_token", format!("xoxb-{}", "123456789012-abcdef")),
            ("openai_key", format!("sk-proj-{long}")),
            ("stripe_key", format!("sk_live_{long}")),
            ("google_key", format!("AIza{}", &long[..35])),
            ("jwt", format!("eyJ{long}.eyJ{long}.{long}")),
            (
                "private_key",
                format!(
                    "-----BEGIN {} KEY-----\nMII\n-----END {0} KEY-----",
                    "PRIVATE"
                ),
            ),
            ("email", "anna.b+c@mail.example.org".to_owned()),
            ("iban", "DE89 3704 0044 0532 0130 00".to_owned()),
            ("iban", "GB82WEST12345698765432".to_owned()),
            ("card", "4111 1111 1111 1111".to_owned()),
            ("card", "378282246310005".to_owned()),
        ] {
            let masked = rules(name, ShapeAction::Mask);
            let text = format!("see {text}, please");
            let expected = format!("see [redacted: {name}], please");
            assert_eq!(masked.text(Direction::ToModel, &text), expected);
            // The control: the other direction has no rule.
            assert_eq!(masked.text(Direction::Logs, &text), text);
        }
        let all = {
            let mut all = rules("secrets", ShapeAction::Mask);
            all.add("personal", Direction::ToModel, ShapeAction::Mask)
                .unwrap();
            all
        };
        for text in [
            "DE89370400440532013001 and 4111 1111 1111 1112",
            "anna at example.org, a@b, sk-learn, AKIA, eyJ.eyJ",
            "2026-11-28 01:22:16, 550e8400-e29b-41d4-a716-446655440000, 1732723200000",
        ] {
            assert_eq!(all.text(Direction::ToModel, text), text);
        }
    }

    #[test]
    fn a_shape_is_marked_masked_or_takes_its_text_along() {
        let text = "to a@b.org and c@d.org";
        for (action, expected) in [
            (
                ShapeAction::Mark,
                "to [email: a@b.org] and [email: c@d.org]",
            ),
            (
                ShapeAction::Mask,
                "to [redacted: email] and [redacted: email]",
            ),
            (ShapeAction::Block, "[blocked: email]"),
        ] {
            assert_eq!(
                rules("email", action).text(Direction::ToModel, text),
                expected
            );
        }
        // The strictest of several.
        let mut both = rules("personal", ShapeAction::Mask);
        both.add("email", Direction::ToModel, ShapeAction::Mark)
            .unwrap();
        assert!(
            both.text(Direction::ToModel, text)
                .contains("[redacted: email]")
        );
        assert_eq!(both.blocked(Direction::ToModel, text), None);
        let block = rules("email", ShapeAction::Block);
        assert_eq!(block.blocked(Direction::ToModel, text), Some("email"));
        let unknown = both
            .add("mail", Direction::Logs, ShapeAction::Mark)
            .unwrap_err();
        assert!(
            unknown
                .to_string()
                .contains("there are secrets, personal, aws_key")
        );
    }
}
