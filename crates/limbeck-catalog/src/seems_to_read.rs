//! Tools that seem to read: by the hint of their server, or by their name.
//!
//! For the words of warnings alone. A warning that speaks of a write where nothing was written makes a model look for what it
//! changed, or do it again. What is sent, asked, recorded and repeated depends on the class that the policy gives a tool.

use crate::tool::Tool;
use crate::words;

/// First words of the names of tools that read.
const READING: [&str; 4] = ["get", "list", "read", "search"];
/// Words of names that say more than the first one: `get_or_create_user`.
const JOINING: [&str; 3] = ["and", "or", "then"];

impl Tool {
    /// Whether a warning about the tool may not speak of a write: its server hints that it reads, or says nothing and its name
    /// begins as those of reading tools do.
    pub fn seems_to_read(&self) -> bool {
        let hints = self.definition().annotations;
        match (hints.read_only, hints.destructive) {
            (Some(true), _) => true,
            (Some(false), _) | (None, Some(true)) => false,
            (None, _) => has_reading_name(&self.id().tool),
        }
    }
}

fn has_reading_name(name: &str) -> bool {
    let mut parts = words::tokens(name).flat_map(words::subwords);
    let is_one_of =
        |words: &[&str], part: &str| words.iter().any(|word| part.eq_ignore_ascii_case(word));
    parts.next().is_some_and(|first| is_one_of(&READING, first))
        && !parts.any(|part| is_one_of(&JOINING, part))
}

#[cfg(test)]
mod tests {
    use super::has_reading_name;

    #[test]
    fn a_name_that_begins_with_a_reading_word_and_joins_no_other_is_that_of_a_read() {
        for name in ["get_issue", "listFiles", "read", "search-code", "Get_2"] {
            assert!(has_reading_name(name), "{name}");
        }
        for name in [
            "getaway_book",
            "get_or_create_user",
            "readAndDelete",
            "write_file",
            "issue_get",
            "",
        ] {
            assert!(!has_reading_name(name), "{name}");
        }
    }
}
