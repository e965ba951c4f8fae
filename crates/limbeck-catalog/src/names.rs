//! Names in programs: identifiers, callable expressions and the styles of a name.
//!
//! A tool keeps the name its server gave it. A model that has read the name once tends to write it in
//! the style of its language, so `read-file`, `readFile` and `READ_FILE` must all resolve to `read_file`.
//! Two forms do that: [`identifier`] replaces characters that an identifier cannot contain, and [`fold`] drops
//! case and every character that is not a letter or digit.

use limbeck_domain::{Language, text};

/// Reserved words of Python, and `self`, the parameter of methods in stubs.
const PYTHON_RESERVED: [&str; 36] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "self", "try",
    "while", "with", "yield",
];

/// Whether `name` is an identifier of TypeScript. Only ASCII is accepted, so that no two names that look the same
/// differ.
pub fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'$'))
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$'))
}

/// Whether `name` is an identifier of Python and not reserved. Only ASCII is accepted.
pub fn is_python_identifier(name: &str) -> bool {
    is_identifier(name) && !name.contains('$') && !PYTHON_RESERVED.contains(&name)
}

/// `name` with everything but `[A-Za-z0-9_]` replaced by `_`, and `_` before a leading digit.
pub fn identifier(name: &str) -> String {
    let mut safe = String::with_capacity(name.len() + 1);
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        safe.push('_');
    }
    safe.extend(name.chars().map(|c| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => c,
        _ => '_',
    }));
    safe
}

/// Name of a tool as an earlier Python system made it: lower case, runs of other characters as `_`, `_` before a leading
/// digit and behind a reserved word.
pub(crate) fn earlier_alias(name: &str) -> String {
    let mut alias = String::with_capacity(name.len());
    let mut after_other = false;
    for c in name.chars().flat_map(char::to_lowercase) {
        let keeps = matches!(c, 'a'..='z' | '0'..='9' | '_');
        if keeps {
            alias.push(c);
        } else if !after_other {
            alias.push('_');
        }
        after_other = !keeps;
    }
    if alias.is_empty() || alias.starts_with(|first: char| first.is_ascii_digit()) {
        alias.insert(0, '_');
    }
    if PYTHON_RESERVED.contains(&alias.as_str()) && alias != "self" {
        alias.push('_');
    }
    alias
}

/// Letters and digits of `name` in lower case: equal for all styles of one name. May be empty.
pub fn fold(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Folded form of a name in a program, to be compared with the folded forms of tool names. Empty for a name with
/// invisible characters.
///
/// Styles differ in case and in the characters between words. A name with invisible characters, such as NUL, a
/// zero-width space or a mark that reverses text, is not a style of the name it looks like.
pub fn style(name: &str) -> String {
    let visible = |c: char| c.is_alphanumeric() || c.is_ascii_graphic() || c == ' ';
    if name.chars().all(visible) {
        fold(name)
    } else {
        String::new()
    }
}

/// Callable expression of a tool, such as `tools.server.tool`. Names that are not identifiers in both TypeScript and
/// Python are quoted in brackets, so that one expression is valid in both.
pub fn call_expression(server: &str, tool: &str) -> String {
    let mut call = String::from("tools");
    push_member(&mut call, server);
    push_member(&mut call, tool);
    call
}

fn push_member(call: &mut String, name: &str) {
    if is_python_identifier(name) {
        call.push('.');
        call.push_str(name);
    } else {
        call.push('[');
        call.push_str(&quoted(name));
        call.push(']');
    }
}

/// `name` as a key of a TypeScript object type.
pub fn property_key(name: &str) -> String {
    if is_identifier(name) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

/// `text` as a double-quoted literal with the same value in TypeScript and JSON, and in Python unless it has
/// invisible characters beyond the first Unicode plane (see [`quoted_in`]).
///
/// Characters that end a line, move the cursor or hide text are escaped, so the literal stays on one line and
/// shows its whole content.
pub fn quoted(text: &str) -> String {
    quoted_in(text, Language::Typescript)
}

/// `text` as a double-quoted literal of one language, escaped as in [`quoted`].
pub fn quoted_in(text: &str, language: Language) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for c in text.chars() {
        match c {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\t' => literal.push_str("\\t"),
            c if must_escape(c) => push_unicode_escape(&mut literal, c, language),
            c => literal.push(c),
        }
    }
    literal.push('"');
    literal
}

fn must_escape(c: char) -> bool {
    let mut buffer = [0; 4];
    matches!(c, '\u{2028}' | '\u{2029}')
        || (!c.is_ascii_graphic() && text::clean(c.encode_utf8(&mut buffer), 4).is_empty())
}

fn push_unicode_escape(literal: &mut String, c: char, language: Language) {
    if language == Language::Python && u32::from(c) > 0xffff {
        literal.push_str(&format!("\\U{:08x}", u32::from(c)));
        return;
    }
    let mut units = [0; 2];
    for unit in c.encode_utf16(&mut units) {
        literal.push_str(&format!("\\u{unit:04x}"));
    }
}

/// `text` as one line of a comment: without invisible characters, without `*/`, and without directives to a type
/// checker such as `@ts-ignore`.
pub(crate) fn comment_line(text: &str, bytes_max: usize) -> String {
    let cut = text::cut(text, bytes_max);
    let line = text::clean_line(cut, bytes_max)
        .replace(['\u{2028}', '\u{2029}', '\r'], " ")
        .replace("@ts-", "@ts ")
        .replace("*/", "*\\/");
    let mut words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    if cut.len() < text.len() {
        words.push('…');
    }
    words
}

/// First sentence of a description, on one line, at most `bytes_max` bytes.
///
/// A sentence ends at a full stop, question or exclamation mark before white space, and before a line that
/// does not start in lower case, because descriptions use lines for lists and headings.
pub(crate) fn first_sentence(text: &str, bytes_max: usize) -> String {
    let mut lines = text.trim_start().lines().map(str::trim);
    let mut paragraph = lines.next().unwrap_or_default().to_owned();
    for line in lines.take_while(|line| line.starts_with(|c: char| c.is_lowercase())) {
        if paragraph.len() > bytes_max {
            break;
        }
        paragraph.push(' ');
        paragraph.push_str(line);
    }
    let line = comment_line(&paragraph, bytes_max);
    let end = line
        .char_indices()
        .zip(line.chars().skip(1))
        .find(|((at, c), next)| {
            matches!(c, '.' | '?' | '!') && next.is_whitespace() && !is_abbreviation(&line[..*at])
        })
        .map_or(line.len(), |((at, _), _)| at + 1);
    line[..end].to_owned()
}

/// Whether the full stop after `before` belongs to `e.g`, `i.e`, `etc` or a single letter.
fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit([' ', '(']).next().unwrap_or_default();
    matches!(word, "e.g" | "i.e" | "etc" | "vs" | "approx") || word.chars().count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_style_of_a_name_folds_to_one_form() {
        for style in [
            "read_file",
            "readFile",
            "read-file",
            "READ_FILE",
            "read.file",
        ] {
            assert_eq!(fold(style), "readfile");
        }
        assert_eq!(style("Read file"), "readfile");
        assert_eq!(identifier("1mcp/x"), "_1mcp_x");
        assert_eq!(fold("!?"), "");
    }

    #[test]
    fn a_name_with_invisible_characters_is_not_a_style() {
        for hidden in [
            "\0", "\n", "\u{ad}", "\u{200b}", "\u{202e}", "\u{feff}", "\u{301}",
        ] {
            assert_eq!(style(&format!("read{hidden}file")), "", "{hidden:?}");
        }
        assert_eq!(style("caf\u{e9}"), "caf\u{e9}");
    }

    #[test]
    fn a_call_quotes_only_names_that_are_not_identifiers() {
        assert_eq!(
            call_expression("github", "list_issues"),
            "tools.github.list_issues"
        );
        assert_eq!(
            call_expression("my-server", "weird \"name\""),
            r#"tools["my-server"]["weird \"name\""]"#
        );
        assert_eq!(call_expression("s", "naïve"), r#"tools.s["naïve"]"#);
        assert_eq!(call_expression("s", "import"), r#"tools.s["import"]"#);
        assert_eq!(call_expression("s", "imports"), "tools.s.imports");
    }

    #[test]
    fn a_literal_stays_on_one_line_and_shows_hidden_characters() {
        assert_eq!(
            quoted("a\u{2028}b\u{202e}\u{0}\n\u{e0041}"),
            r#""a\u2028b\u202e\u0000\n\udb40\udc41""#
        );
        let back: String = serde_json::from_str(&quoted("a\u{202e}\"\\\u{e0041}")).unwrap();
        assert_eq!(back, "a\u{202e}\"\\\u{e0041}");
        let python = quoted_in("\u{202e}\u{e0041}", Language::Python);
        assert_eq!(python, r#""\u202e\U000e0041""#);
    }

    #[test]
    fn a_comment_cannot_be_closed_from_inside() {
        assert_eq!(comment_line("a */ b\n\n c\u{2028}d", 100), "a *\\/ b c d");
        assert_eq!(comment_line("abcdef", 3), "abc…");
    }

    #[test]
    fn the_first_sentence_ends_where_a_reader_would_end_it() {
        assert_eq!(
            first_sentence("Reads a file. Then more.", 200),
            "Reads a file."
        );
        assert_eq!(
            first_sentence("Reads e.g. text. More.", 200),
            "Reads e.g. text."
        );
        assert_eq!(
            first_sentence("No stop\n\nSecond paragraph.", 200),
            "No stop"
        );
        assert_eq!(first_sentence("Title\n- item", 200), "Title");
        assert_eq!(first_sentence("It goes\n  on. More.", 200), "It goes on.");
        assert_eq!(
            first_sentence("Version 1.2 reads", 200),
            "Version 1.2 reads"
        );
        assert_eq!(first_sentence("", 200), "");
    }
}
