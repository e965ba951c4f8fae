//! What a text looks like: two texts look alike when their skeletons of UTS 39 are equal, in which each letter is replaced by
//! the one it is confused with.

use std::borrow::Cow;

use limbeck_domain::text::is_hidden;

/// Whether a character is one that no person sees, or ends a line.
pub(crate) fn is_marked(c: char) -> bool {
    is_hidden(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Skeleton of a text by UTS 39, without hidden characters.
pub(crate) fn skeleton(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return ascii_skeleton(text);
    }
    let seen: String = text.chars().filter(|c| !is_marked(*c)).collect();
    Cow::Owned(unicode_security::skeleton(&seen).collect())
}

/// [`skeleton`] of an ASCII text: thousands of known names are compared for each question.
fn ascii_skeleton(text: &str) -> Cow<'_, str> {
    let is_confused = |c: char| ascii_prototype(c).is_some() || is_marked(c);
    if !text.contains(is_confused) {
        return Cow::Borrowed(text);
    }
    let mut skeleton = String::with_capacity(text.len() + 8);
    for c in text.chars().filter(|c| !is_marked(*c)) {
        match ascii_prototype(c) {
            Some(prototype) => skeleton.push_str(prototype),
            None => skeleton.push(c),
        }
    }
    Cow::Owned(skeleton)
}

/// What `confusables.txt` has for an ASCII character; a test compares this with the crate's table.
fn ascii_prototype(c: char) -> Option<&'static str> {
    match c {
        '"' => Some("''"),
        '%' => Some("\u{b0}/\u{2080}"),
        '0' => Some("O"),
        '1' | 'I' | '|' => Some("l"),
        '`' => Some("'"),
        'm' => Some("rn"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_table_of_ascii_is_that_of_the_crate() {
        for c in (' '..='~').map(String::from) {
            let known: String = unicode_security::skeleton(&c).collect();
            assert_eq!(ascii_skeleton(&c), known, "{c}");
        }
    }
}
