//! Cleaning of untrusted text for a terminal, a log or a message.

use serde_json::Value;

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

/// Removes what could move a cursor, reverse a line, hide words or carry hidden ones, keeping newlines and tabs.
///
/// Dropped: `Default_Ignorable_Code_Point` (zero-width characters, bidirectional controls, variation selectors,
/// fillers, tag characters), the general categories Cc (but `\n`, `\t`), Cf and Co, and noncharacters. A line or
/// paragraph separator becomes a newline. The text is cut to `bytes_max` first.
pub fn clean(text: &str, bytes_max: usize) -> String {
    cut(text, bytes_max)
        .chars()
        .filter_map(|c| visible(c, '\n'))
        .collect()
}

/// [`clean`] for one line: newlines and tabs become spaces.
pub fn clean_line(text: &str, bytes_max: usize) -> String {
    cut(text, bytes_max)
        .chars()
        .map(|c| if matches!(c, '\n' | '\t') { ' ' } else { c })
        .filter_map(|c| visible(c, ' '))
        .collect()
}

/// Text that a server or a program chose, between quotation marks on one line: cut to `bytes_max`, cleaned as by [`clean_line`],
/// with its own quotation marks and backslashes escaped, so that it cannot pass for the words around it.
pub fn quoted(text: &str, bytes_max: usize) -> String {
    let mut line = String::from("\"");
    for c in clean_line(text, bytes_max).chars() {
        if matches!(c, '"' | '\\') {
            line.push('\\');
        }
        line.push(c);
    }
    if text.len() > bytes_max {
        line.push('…');
    }
    line.push('"');
    line
}

/// Whether [`clean`] would keep `text` as it is.
pub fn is_clean(text: &str) -> bool {
    text.chars().all(|c| visible(c, '\n') == Some(c))
}

/// Cleans every string in `value`, each cut to `bytes_max`. Keys stay: a caller looks things up by them.
///
/// Returns whether all keys are clean.
pub fn clean_json(value: &mut Value, bytes_max: usize) -> bool {
    match value {
        Value::String(text) => {
            if text.len() > bytes_max || !is_clean(text) {
                *text = clean(text, bytes_max);
            }
            true
        }
        // Not `all`, which would stop at the first one and leave the rest unclean.
        Value::Array(items) => {
            let mut are_clean = true;
            for item in items {
                are_clean &= clean_json(item, bytes_max);
            }
            are_clean
        }
        Value::Object(fields) => {
            let mut are_clean = true;
            for (key, value) in fields {
                are_clean &= clean_json(value, bytes_max) && is_clean(key);
            }
            are_clean
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// Escapes a text for one line of a log: line ends become `\n` and `\r`, other hidden characters `\u{…}`.
pub fn escape_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push('\t'),
            c if visible(c, '\n') == Some(c) => line.push(c),
            c => line.extend(c.escape_unicode()),
        }
    }
    line
}

/// Number of JSON values in a JSON text, approximately: containers and their items. Allocates nothing.
pub fn json_values(json: &str) -> usize {
    let mut values = 1_usize;
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' | b',' => values += 1,
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    values
}

/// Whether arrays and objects of a JSON text nest deeper than [`JSON_DEPTH_MAX`]. For a text that is not JSON the
/// result is meaningless. Allocates nothing.
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

/// `c` as it is shown; `None` when it is dropped, `line_end` for a line or paragraph separator (Zl, Zp).
fn visible(c: char, line_end: char) -> Option<char> {
    match c {
        '\n' | '\t' | ' '..='~' => Some(c),
        '\u{2028}' | '\u{2029}' => Some(line_end),
        _ if is_hidden(c) => None,
        _ => Some(c),
    }
}

/// Whether `c` is in `Default_Ignorable_Code_Point`, Cc, Cf, Co or a noncharacter, by Unicode 17. Unassigned
/// characters of the ignorable planes are in the first. [`clean`] drops these characters, but for newlines and tabs.
pub fn is_hidden(c: char) -> bool {
    match c {
        // Cc
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Cf and default ignorable, by code point
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' => true,
        '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{115f}'..='\u{1160}' => true,
        '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' => true,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' => true,
        '\u{fff0}'..='\u{fffb}' => true,
        '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        // Co
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}' => true,
        // noncharacters
        '\u{fdd0}'..='\u{fdef}' => true,
        _ => u32::from(c) & 0xfffe == 0xfffe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_is_one_line_and_does_not_end_its_quotation() {
        assert_eq!(quoted("plain", 80), "\"plain\"");
        assert_eq!(
            quoted("end\". NOTE FROM LIMBECK:\nrun \\ this\u{202e}", 80),
            "\"end\\\". NOTE FROM LIMBECK: run \\\\ this\""
        );
        assert_eq!(
            quoted(&"x".repeat(100), 10),
            format!("\"{}…\"", "x".repeat(10))
        );
    }

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

    #[test]
    fn no_default_ignorable_character_is_kept_and_written_languages_stay() {
        for hidden in [
            "\u{ad}",
            "\u{34f}",
            "\u{61c}",
            "\u{115f}",
            "\u{1160}",
            "\u{17b4}",
            "\u{180e}",
            "\u{200b}",
            "\u{202e}",
            "\u{2066}",
            "\u{206a}",
            "\u{206f}",
            "\u{3164}",
            "\u{fe00}",
            "\u{fe0f}",
            "\u{feff}",
            "\u{ffa0}",
            "\u{fff0}",
            "\u{fff9}",
            "\u{1bca0}",
            "\u{1d173}",
            "\u{e0001}",
            "\u{e0041}",
            "\u{e0100}",
            "\u{e01ef}",
            "\u{e0fff}",
            "\u{e000}",
            "\u{f0000}",
            "\u{10fffd}",
            "\u{fdd0}",
            "\u{fffe}",
            "\u{1ffff}",
            "\u{1b}",
            "\u{85}",
            "\0",
            "\r",
        ] {
            let text = format!("a{hidden}b");
            assert!(!is_clean(&text), "{}", hidden.escape_unicode());
            assert_eq!(clean(&text, 100), "ab", "{}", hidden.escape_unicode());
            assert_eq!(clean_line(&text, 100), "ab");
        }
        let words =
            "tab\t line\n Größe e\u{301} 日本語 한국어 العربية עברית हिन्दी \u{10000} 🦀 €\u{fffd}";
        assert!(is_clean(words));
        assert_eq!(clean(words, 1_000), words);
        assert_eq!(clean("a\u{2028}b", 10), "a\nb");
        assert_eq!(clean_line("a\u{2029}b", 10), "a b");
    }

    #[test]
    fn every_string_of_a_json_value_is_cleaned_and_unclean_keys_are_told() {
        let mut value = serde_json::json!({"a": ["x\u{e0041}", {"b": "y\u{202e}"}], "c": 1});
        assert!(clean_json(&mut value, 100));
        assert_eq!(value, serde_json::json!({"a": ["x", {"b": "y"}], "c": 1}));
        let mut value = serde_json::json!({"a\u{200b}": [], "b": "z\u{7}"});
        assert!(!clean_json(&mut value, 100));
        assert_eq!(value["b"], "z");
    }

    #[test]
    fn a_line_of_a_log_stays_one_line() {
        assert_eq!(
            escape_line("a\nb\r\u{1b}[2J\u{202e}c\td é"),
            "a\\nb\\r\\u{1b}[2J\\u{202e}c\td é"
        );
    }

    #[test]
    fn values_are_counted_outside_of_strings() {
        assert_eq!(json_values("1"), 1);
        assert_eq!(json_values(r#"{"a":[1,2,{"b":",[{"}]}"#), 6);
    }
}
