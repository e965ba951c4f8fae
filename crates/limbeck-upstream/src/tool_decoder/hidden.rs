//! Characters of a definition that no person sees, counted before they are removed.

use limbeck_domain::text::is_hidden;
use serde_json::Value;

/// Selector of the coloured form of a symbol, which is ordinary behind one.
const EMOJI: char = '\u{fe0f}';
/// Joiner of symbols and of letters, which is ordinary between two.
const JOINER: char = '\u{200d}';

/// Hidden characters in the strings of a JSON text, keys included. Line ends and tabs do not count.
pub(super) fn count(json: &str) -> u32 {
    // Most definitions have none, and reading one costs time.
    if json.is_ascii() && !json.contains('\\') {
        return 0;
    }
    serde_json::from_str(json).map_or(0, |value| of_value(&value))
}

fn of_value(value: &Value) -> u32 {
    match value {
        Value::String(text) => of_text(text),
        Value::Array(items) => items.iter().map(of_value).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| of_text(key) + of_value(value))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn of_text(text: &str) -> u32 {
    let is_symbol =
        |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && (!is_hidden(c) || c == EMOJI));
    let mut count = 0_u32;
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_ordinary = match c {
            '\n' | '\r' | '\t' => true,
            EMOJI => before.is_some_and(|c| !is_hidden(c)),
            JOINER => is_symbol(before) && is_symbol(chars.peek().copied()),
            c => !is_hidden(c),
        };
        if !is_ordinary {
            count = count.saturating_add(1);
        }
        before = Some(c);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_symbols_hide_nothing_and_runs_of_selectors_do() {
        for plain in [
            "\"a\\r\\n\\tb\"",
            "\"\u{26a0}\u{fe0f} careful\"",
            "\"\u{1f468}\u{200d}\u{1f469}\"",
            "5",
            "{",
        ] {
            assert_eq!(count(plain), 0, "{plain:?}");
        }
        for (text, hidden) in [
            ("\"a\\u200bb\"", 1),
            ("\"a\u{fe0f}\u{fe0f}\u{fe01}\"", 2),
            ("\"a\u{200d}b\"", 1),
            ("{\"k\u{202e}\": [\"\\u001b\"]}", 2),
        ] {
            assert_eq!(count(text), hidden, "{text:?}");
        }
    }
}
