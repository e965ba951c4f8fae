//! Names of servers that programs could mistake for each other.
//!
//! A program may write a server's name in another style: `git-hub`, `git_hub` and `gitHub` lead to the one server whose
//! name has these letters. So a repository must not add a server whose name reads like one of the user's.

/// All forms in which a program may write `name`, in lower case and without separators; two names with a common form
/// can be mistaken for each other.
pub(crate) struct NameForms {
    identifier: String,
    folds: [String; 2],
}

impl NameForms {
    pub(crate) fn of(name: &str) -> Self {
        let identifier: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        Self {
            folds: [fold(name), fold(&identifier)],
            identifier,
        }
    }

    /// Whether a program that writes one of the two names could mean the other.
    pub(crate) fn reads_like(&self, other: &Self) -> bool {
        self.identifier == other.identifier
            || self
                .folds
                .iter()
                .any(|fold| !fold.is_empty() && other.folds.contains(fold))
    }
}

fn fold(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
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
}
