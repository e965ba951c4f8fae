//! Names of servers that programs and readers could mistake for each other.
//!
//! A program may write a server's name in another style: `git-hub`, `git_hub` and `gitHub` lead to the one server whose
//! name has these letters. A reader sees one name where letters only look the same: `bank` with a Cyrillic `а`, `github`
//! with a capital `I` for an `l`. So a repository must not add a server whose name reads like one of the user's.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::escaped_text;

/// All forms in which a program may write `name`, in lower case and without separators, and what a reader sees of it;
/// two names with a common form can be mistaken for each other.
pub(crate) struct NameForms {
    identifier: String,
    folds: [String; 2],
    look: String,
}

impl NameForms {
    pub(crate) fn of(name: &str) -> Self {
        let identifier: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        Self {
            folds: [fold(name), fold(&identifier)],
            look: look(name),
            identifier,
        }
    }

    /// Whether a program that writes one of the two names could mean the other, or a reader could.
    pub(crate) fn reads_like(&self, other: &Self) -> bool {
        self.identifier == other.identifier
            || (!self.look.is_empty() && self.look == other.look)
            || self
                .folds
                .iter()
                .any(|fold| !fold.is_empty() && other.folds.contains(fold))
    }
}

/// Why a server of a repository must not have this name; `None` when it may.
///
/// Unicode has many letters that look like those of another alphabet, and more come with each version. So the name of a
/// stranger's server consists of visible ASCII and spaces, and a look-alike of another alphabet cannot be written.
pub(crate) fn unreadable_for_a_repository(name: &str) -> Option<String> {
    if name.chars().all(|c| c.is_ascii_graphic() || c == ' ') {
        return None;
    }
    let shown = escaped_text::quoted(name);
    Some(format!(
        "is left out, because its name, {shown}, has characters that can look like others; name a repository's \
         server with ASCII letters, digits, `-` and `_`"
    ))
}

fn fold(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// What a reader sees: letters without marks and in their usual width, those that many fonts draw alike as one, in
/// lower case and without separators.
fn look(name: &str) -> String {
    let seen: String = name
        .nfkd()
        .filter(|c| c.is_alphanumeric() && !is_combining_mark(*c))
        .map(|c| match c {
            '1' | 'I' => 'l',
            '0' => 'o',
            c => c,
        })
        .flat_map(char::to_lowercase)
        .collect();
    seen.replace("rn", "m").replace("vv", "w")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_of_one_name_read_alike() {
        let alike = |a: &str, b: &str| NameForms::of(a).reads_like(&NameForms::of(b));
        for (a, b) in [
            ("git-hub", "git_hub"),
            ("git-hub", "GitHub"),
            ("a.b", "a b"),
            ("caf\u{e9}", "caf"),
            ("!!", "__"),
        ] {
            assert!(alike(a, b) && alike(b, a), "{a} {b}");
        }
        assert!(!alike("github", "gitlab") && !alike("!!", "?"));
    }

    #[test]
    fn names_that_look_the_same_read_alike() {
        let alike = |a: &str, b: &str| NameForms::of(a).reads_like(&NameForms::of(b));
        for (a, b) in [
            ("caf\u{e9}", "cafe"),
            ("\u{ff42}\u{ff41}\u{ff4e}\u{ff4b}", "bank"),
            ("b\u{1ea1}nk", "bank"),
            ("BILLING", "BlLLlNG"),
            ("billing", "bi11ing"),
            ("modem", "modern"),
            ("store-0", "store-o"),
        ] {
            assert!(alike(a, b) && alike(b, a), "{a} {b}");
        }
        assert!(!alike("bank", "tank") && !alike("s1", "s2") && !alike("mail", "rail"));
    }

    #[test]
    fn a_repository_names_its_servers_in_visible_ascii() {
        for name in ["b\u{430}nk", "\u{ff42}ank", "b\u{1ea1}nk", "ba\u{200b}nk"] {
            let problem = unreadable_for_a_repository(name).unwrap();
            assert!(problem.contains(&escaped_text::quoted(name)), "{problem}");
            assert!(problem.is_ascii(), "{problem}");
        }
        // The controls.
        for name in ["bank", "my-server_2", "shop.eu", "My Server", "@scope/name"] {
            assert_eq!(unreadable_for_a_repository(name), None);
        }
    }
}
