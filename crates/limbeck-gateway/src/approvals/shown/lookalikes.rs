//! Warnings about texts that look like something else.
//!
//! Two texts look alike when their skeletons of UTS 39 are equal: each letter is replaced by the one it is confused with. A
//! warning explains; it decides nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;

use limbeck_domain::text::cut;
use unicode_security::MixedScript as _;
use unicode_security::mixed_script::AugmentedScriptSet;

use super::json;
use super::safe;
use crate::lookalike::skeleton;

/// Most warnings shown.
const WARNINGS_MAX: usize = 8;
/// Most bytes of a text that is compared with names.
const TARGET_BYTES_MAX: usize = 256;
/// Most texts that are compared with names.
const TARGETS_MAX: usize = 256;
/// Most bytes of JSON text in which words are looked at.
const LOOKED_AT_BYTES_MAX: usize = 256 << 10;
/// Most characters of a word whose scripts are compared.
const WORD_CHARS_MAX: usize = 64;

/// Collects the warnings about one question.
#[derive(Default)]
pub(super) struct Lookalikes {
    warnings: Vec<String>,
    more: usize,
    /// Texts to compare with names, with what each is.
    targets: Vec<(String, String)>,
    looked_at: usize,
}

impl Lookalikes {
    /// A name that a person relies on. `what` is "server" or "tool".
    pub(super) fn name(&mut self, what: &str, name: &str) {
        let what = format!("the name of the {what}");
        self.look_at(&what, name);
        self.targets.push((what, name.to_owned()));
    }

    /// The value of one argument, as JSON text. Names of members in it are looked at too.
    pub(super) fn argument(&mut self, name: &str, value: &str) {
        let what = format!("argument {}", safe::name(name));
        self.look_at(&format!("the name of {what}"), name);
        for literal in json::strings(value) {
            if self.looked_at >= LOOKED_AT_BYTES_MAX {
                return;
            }
            self.looked_at += literal.len().max(1);
            let text = json::decoded(cut(literal, LOOKED_AT_BYTES_MAX));
            self.look_at(&what, &text);
            if text.len() <= TARGET_BYTES_MAX && self.targets.len() < TARGETS_MAX {
                self.targets.push((what.clone(), text));
            }
        }
    }

    /// Says something of its own.
    pub(super) fn warn(&mut self, warning: String) {
        if self.warnings.contains(&warning) {
            return;
        }
        if self.warnings.len() < WARNINGS_MAX {
            self.warnings.push(warning);
        } else {
            self.more += 1;
        }
    }

    /// Hidden characters, words of several scripts, and directions that mix.
    fn look_at(&mut self, what: &str, text: &str) {
        if text.is_ascii() && !text.bytes().any(|byte| byte.is_ascii_control()) {
            return;
        }
        // Line ends and tabs are ordinary in a text, and shown.
        let is_secret = |c: &char| safe::is_marked(*c) && !matches!(c, '\n' | '\r' | '\t');
        let hidden = text.chars().filter(is_secret).count();
        if hidden > 0 {
            let them = if hidden == 1 {
                "a hidden character"
            } else {
                "hidden characters"
            };
            self.warn(format!("{what} has {them}, shown as <U+...>."));
        }
        let is_part = |c: char| c.is_alphanumeric() || safe::is_marked(c);
        if let Some(word) = text.split(|c| !is_part(c)).find(|word| is_mixed(word)) {
            let word = safe::quoted(word, 80);
            self.warn(format!(
                "{what} has a word of letters of different scripts: {word}."
            ));
        }
        let is_latin = |c: char| c.is_ascii_alphanumeric();
        if text.chars().any(is_right_to_left) && text.chars().any(is_latin) {
            self.warn(format!(
                "{what} has letters that are written from right to left; a screen may show its parts in another order."
            ));
        }
    }

    /// The warnings, after the texts were compared with `names`.
    pub(super) fn warnings<'a>(mut self, names: impl Iterator<Item = Cow<'a, str>>) -> Vec<String> {
        let targets = std::mem::take(&mut self.targets);
        let mut by_skeleton: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, (_, text)) in targets.iter().enumerate() {
            if !text.is_empty() {
                let skeleton = skeleton(text).into_owned();
                by_skeleton.entry(skeleton).or_default().push(at);
            }
        }
        for known in names.filter(|known| known.len() <= TARGET_BYTES_MAX) {
            let alike = by_skeleton.get(&*skeleton(&known)).into_iter().flatten();
            for (what, text) in alike.filter_map(|at| targets.get(*at)) {
                if *text != *known {
                    let (text, known) = (safe::quoted(text, 80), safe::quoted(&known, 80));
                    self.warn(format!(
                        "{what}: {text} looks like {known} and is not the same."
                    ));
                }
            }
        }
        if self.more > 0 {
            self.warnings
                .push(format!("and {} more warnings.", self.more));
        }
        self.warnings
    }
}

/// The strings of a JSON text that a later text may imitate.
pub(super) fn targets_of(json: &str) -> impl Iterator<Item = String> {
    let json = cut(json, LOOKED_AT_BYTES_MAX);
    json::strings(json)
        .filter(|literal| (1..=TARGET_BYTES_MAX).contains(&literal.len()))
        .take(TARGETS_MAX)
        .map(json::decoded)
}

/// Whether a word has letters of scripts that no language writes together. Latin beside Chinese, Japanese or Korean letters
/// is usual, as the level "highly restrictive" of UTS 39 has it.
fn is_mixed(word: &str) -> bool {
    if word.is_ascii() {
        return false;
    }
    let seen = word.chars().filter(|c| !safe::is_marked(*c));
    let seen: String = seen.take(WORD_CHARS_MAX).collect();
    if seen.is_single_script() {
        return false;
    }
    let others: String = seen.chars().filter(|c| !c.is_ascii()).collect();
    let scripts = AugmentedScriptSet::for_str(&others);
    !(scripts.hanb || scripts.jpan || scripts.kore)
}

/// Letters of Hebrew, Arabic and the other scripts of these blocks.
fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings_of(text: &str, known: &[&str]) -> Vec<String> {
        let mut lookalikes = Lookalikes::default();
        let value = serde_json::to_string(text).unwrap();
        lookalikes.argument("to", &value);
        lookalikes.warnings(known.iter().map(|name| Cow::Borrowed(*name)))
    }

    #[test]
    fn twins_of_other_letters_and_hidden_characters_look_like_the_name() {
        for (twin, known) in [
            ("g\u{456}thub", "github"),
            ("gith\u{200b}ub", "github"),
            ("\u{441}\u{43e}\u{441}\u{43e}", "coco"),
            ("paypaI", "paypal"),
            ("rnail", "mail"),
        ] {
            let found = warnings_of(twin, &["gitlab", known]).join("\n");
            let alike = format!("looks like \"{known}\"");
            assert!(found.contains(&alike), "{twin}: {found}");
        }
        // The controls: the name itself, and another name.
        assert_eq!(warnings_of("github", &["github"]), Vec::<String>::new());
        assert_eq!(warnings_of("githug", &["github"]), Vec::<String>::new());
    }

    #[test]
    fn letters_of_different_scripts_in_one_word_are_reported_and_ordinary_writing_is_not() {
        for mixed in ["p\u{430}ypal", "приvет", "αlpha", "x p\u{430}y y"] {
            let found = warnings_of(mixed, &[]);
            assert!(
                found.iter().any(|w| w.contains("different scripts")),
                "{mixed}"
            );
        }
        for plain in [
            "Größe",
            "привет world",
            "USB-кабель",
            "東京タワー",
            "Tシャツ",
            "한국어abc",
            "हिन्दी",
            "naïve α",
        ] {
            assert_eq!(warnings_of(plain, &[]), Vec::<String>::new(), "{plain}");
        }
        let found = warnings_of("שלום 100 x", &[]);
        assert!(
            found.iter().any(|w| w.contains("right to left")),
            "{found:?}"
        );
    }

    #[test]
    fn warnings_are_few_and_count_the_others() {
        let mut lookalikes = Lookalikes::default();
        for number in 0..30 {
            lookalikes.warn(number.to_string());
            lookalikes.warn(number.to_string());
        }
        let found = lookalikes.warnings(std::iter::empty());
        assert_eq!(found.len(), WARNINGS_MAX + 1);
        assert!(found.last().is_some_and(|last| last.starts_with("and ")));
    }
}
