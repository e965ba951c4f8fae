//! Text of a stranger, shown so that a reader sees every character of it.
//!
//! The result is ASCII and stays on one line, equal results come from equal texts, and nothing is left out. Other text
//! cleaning removes hidden characters, which is right for a message and wrong for a text that the reader accepts.

use std::fmt::Write as _;
use std::path::Path;

use limbeck_domain::text::is_clean;

/// `text` as it is when it consists of letters, digits and marks that are always visible, else [`quoted`].
pub(crate) fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    // In quotes, so that no string looks like a value of another type.
    let is_other_type =
        matches!(text, "true" | "false" | "null") || text.starts_with(|c: char| c.is_ascii_digit());
    if !text.is_empty() && text.chars().all(plain) && !is_other_type {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// A path as it is, and [`quoted`] where it has characters that are not seen, a new line or several spaces in a row: a repository
/// chooses the names of its directories, and none of them passes for words of a message.
pub fn shown_path(path: &Path) -> String {
    let text = path.display().to_string();
    let is_one_line = !text.contains(['\n', '\t']) && !text.contains("  ");
    match is_one_line && is_clean(&text) {
        true => text,
        false => quoted(&text),
    }
}

/// `text` in double quotes. `\s{N}` is N spaces, used for all but a single space between other characters; `\u{N}` is
/// the character with the hexadecimal number N, used for all but visible ASCII; `\"`, `\\`, `\n`, `\r` and `\t` are as
/// in JSON.
pub(crate) fn quoted(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 2);
    shown.push('"');
    let mut rest = text.chars().peekable();
    let mut is_start = true;
    while let Some(c) = rest.next() {
        match c {
            ' ' => {
                let mut spaces = 1;
                while rest.next_if_eq(&' ').is_some() {
                    spaces += 1;
                }
                if spaces == 1 && !is_start && rest.peek().is_some() {
                    shown.push(' ');
                } else {
                    let _ = write!(shown, "\\s{{{spaces}}}");
                }
            }
            '"' => shown.push_str("\\\""),
            '\\' => shown.push_str("\\\\"),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if c.is_ascii_graphic() => shown.push(c),
            c => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
        }
        is_start = false;
    }
    shown.push('"');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_where_it_could_pass_for_something_else() {
        let shown = |path: &str| shown_path(Path::new(path));
        for path in ["/home/me/.mcp.json", "/Users/me/Application Support/é", ""] {
            assert_eq!(shown(path), path);
        }
        assert_eq!(shown("/a\n  sha256  00"), "\"/a\\n\\s{2}sha256\\s{2}00\"");
        assert_eq!(shown("/ev\u{1b}[2J\u{202e}"), "\"/ev\\u{1b}[2J\\u{202e}\"");
        assert_eq!(shown("/a   b"), "\"/a\\s{3}b\"");
    }

    #[test]
    fn every_character_is_visible_and_every_space_is_counted() {
        for (text, expected) in [
            ("server.py", "server.py"),
            ("two words", "\"two words\""),
            (" a  b ", "\"\\s{1}a\\s{2}b\\s{1}\""),
            ("./run\u{200b}.sh", "\"./run\\u{200b}.sh\""),
            ("\u{430}pple", "\"\\u{430}pple\""),
            ("a\u{a0}b\u{fe0f}", "\"a\\u{a0}b\\u{fe0f}\""),
            ("a\"\\\n\r\t\u{1b}[2J", "\"a\\\"\\\\\\n\\r\\t\\u{1b}[2J\""),
            (r"\s{9}", r#""\\s{9}""#),
            ("", "\"\""),
            ("true", "\"true\""),
            ("1.5", "\"1.5\""),
        ] {
            assert_eq!(word(text), expected, "{text:?}");
        }
        let hidden = format!("echo ok{}; rm -rf ~", " ".repeat(2_100));
        assert_eq!(word(&hidden), "\"echo ok\\s{2100}; rm -rf ~\"");
    }
}
