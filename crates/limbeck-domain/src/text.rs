//! Text from outside, made fit for a terminal, a log or a message.

use crate::limits::JSON_DEPTH_MAX;

/// Cuts `text` to at most `bytes_max` bytes on a character boundary.
pub fn cut(text: &str, bytes_max: usize) -> &str {
    if text.len() <= bytes_max {
        return text;
    }
    let mut end = bytes_max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Removes what could move a cursor, reverse a line or hide words, keeping newlines and tabs.
///
/// Dropped: C0 (but `\n`, `\t`), DEL, C1, zero-width, bidirectional controls, tag characters
/// and interlinear annotations; the classes of security.md §6.11. Cut to `bytes_max` first.
pub fn clean(text: &str, bytes_max: usize) -> String {
    cut(text, bytes_max)
        .chars()
        .filter(|c| !is_hidden(*c))
        .collect()
}

/// [`clean`] for one line: newlines and tabs become spaces.
pub fn clean_line(text: &str, bytes_max: usize) -> String {
    cut(text, bytes_max)
        .chars()
        .map(|c| if matches!(c, '\n' | '\t') { ' ' } else { c })
        .filter(|c| !is_hidden(*c))
        .collect()
}

/// Whether arrays and objects of a JSON text nest deeper than [`JSON_DEPTH_MAX`]. In a text that is not
/// JSON the answer means nothing; nothing is allocated either way.
pub fn is_too_deep(json: &str) -> bool {
    let mut depth = 0_usize;
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                if depth > JSON_DEPTH_MAX {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    false
}

fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' => true,
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_never_splits_a_character() {
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("aé", 3), "aé");
        assert_eq!(cut("", 0), "");
    }

    #[test]
    fn depth_is_counted_outside_strings_only() {
        let max = JSON_DEPTH_MAX;
        assert!(!is_too_deep(&("[".repeat(max) + &"]".repeat(max))));
        assert!(is_too_deep(&("[".repeat(max + 1) + &"]".repeat(max + 1))));
        assert!(!is_too_deep(&format!(r#"["{}\"["]"#, "[".repeat(max + 1))));
    }

    #[test]
    fn escapes_and_hidden_characters_are_removed_and_words_stay() {
        assert_eq!(clean("a\u{1b}[31mb\u{202e}c\nd", 100), "a[31mbc\nd");
        assert_eq!(clean_line("a\nb\tc\u{200b}d", 100), "a b cd");
    }
}
