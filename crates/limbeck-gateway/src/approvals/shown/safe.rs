//! The one sanitiser of what people read before they decide.
//!
//! Characters that could move a cursor, reverse a line, hide words or carry hidden ones are written by their number, as
//! `<U+202E>`: a person sees that they are there. A text that has `<U+` itself is written with the number of its `<`.
//! Newlines are `\n`. Of a long run of spaces the number is written. Marks that are stacked on one letter are counted after the fourth.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use unicode_normalization::char::is_combining_mark;

use super::json::{Piece, Pieces};
// What is marked is written by its number.
pub(super) use crate::lookalike::is_marked;

/// Marks on one letter that are shown: more than the writing of any language needs.
const MARKS_MAX: usize = 4;
/// Spaces in a row that are shown as they are.
const SPACES_MAX: usize = 8;
/// Bytes that a byte of a text can become: `<U+0007>`.
pub(super) const EXPANSION_MAX: usize = 8;
/// Most bytes of a name.
const NAME_BYTES_MAX: usize = 80;

/// Whether a character is shown as an empty place: spaces of any width, and the pattern of Braille without a dot.
fn is_blank(c: char) -> bool {
    matches!(
        c,
        ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}'
    ) || matches!(c, '\u{2800}' | '\u{3000}')
}

/// Text that holds only visible characters.
#[derive(Default)]
struct SafeText {
    text: String,
    /// Whether the last character may carry marks.
    has_base: bool,
    marks: usize,
    /// Spaces at the end of the text, of any kind, and where they begin.
    spaces: usize,
    spaces_at: usize,
}

impl SafeText {
    /// A character of an untrusted text.
    fn push(&mut self, c: char) {
        if is_combining_mark(c) && !is_marked(c) && self.has_base {
            self.marks += 1;
            if self.marks <= MARKS_MAX {
                self.text.push(c);
            }
            return;
        }
        self.end_marks();
        self.has_base = !is_blank(c);
        if is_blank(c) {
            self.push_blank(c);
            return;
        }
        self.end_spaces();
        match c {
            '\n' => self.text.push_str("\\n"),
            '\r' => self.text.push_str("\\r"),
            '\t' => self.text.push_str("\\t"),
            // A mark that would be drawn over what is before the text.
            c if is_marked(c) || is_combining_mark(c) => self.number(u32::from(c)),
            '+' if self.text.ends_with("<U") => {
                self.text.truncate(self.text.len() - 2);
                self.text.push_str("<U+003C>U+");
            }
            c => self.text.push(c),
        }
    }

    /// A space of any kind. Of a long run the number is written: it could move what follows to a row of its own.
    fn push_blank(&mut self, c: char) {
        if self.spaces == 0 {
            self.spaces_at = self.text.len();
        }
        self.spaces += 1;
        if self.spaces <= SPACES_MAX {
            self.text.push(c);
        }
    }

    fn end_spaces(&mut self) {
        if self.spaces > SPACES_MAX {
            self.text.truncate(self.spaces_at);
            let _ = write!(self.text, "<{} spaces>", self.spaces);
        }
        self.spaces = 0;
    }

    /// A character inside of quotation marks.
    fn push_quoted(&mut self, c: char) {
        if matches!(c, '"' | '\\') {
            self.end_marks();
            self.end_spaces();
            self.text.push('\\');
        }
        self.push(c);
    }

    fn number(&mut self, number: u32) {
        self.end_spaces();
        let _ = write!(self.text, "<U+{number:04X}>");
        self.has_base = false;
    }

    /// Words of the gateway.
    fn own(&mut self, words: &str) {
        self.end_marks();
        self.has_base = false;
        self.end_spaces();
        self.text.push_str(words);
    }

    fn end_marks(&mut self) {
        let more = self.marks.saturating_sub(MARKS_MAX);
        self.marks = 0;
        if more > 0 {
            self.end_spaces();
            let _ = write!(self.text, "<{more} more marks>");
        }
    }

    fn finish(mut self) -> String {
        self.end_marks();
        self.end_spaces();
        self.text
    }

    fn is_full(&self, bytes_max: usize) -> bool {
        self.text.len() >= bytes_max
    }
}

/// A JSON value as it will be sent: numbers byte for byte, strings with their characters. It is cut when some `bytes_max` bytes
/// are shown; the cut, its size and the SHA-256 of the value's whole text are part of what is returned.
pub(super) fn json(value: &str, bytes_max: usize) -> String {
    let mut safe = SafeText::default();
    let mut at = 0;
    let mut is_string = false;
    while let Some(rest) = value.get(at..)
        && !rest.is_empty()
        && !safe.is_full(bytes_max)
    {
        if is_string && !rest.starts_with('"') {
            // One piece at a time: a literal can be 8 MiB long and shown in part.
            let Some((piece, bytes)) = Pieces::of(rest).next() else {
                break;
            };
            match piece {
                Piece::Character(c) => safe.push_quoted(c),
                Piece::Surrogate(half) => {
                    safe.end_marks();
                    safe.number(u32::from(half));
                }
            }
            at += bytes;
            continue;
        }
        let Some(c) = rest.chars().next() else {
            break;
        };
        match c {
            '"' => {
                is_string = !is_string;
                safe.own("\"");
            }
            // Between the parts of a value; inside of a string there are escapes instead.
            ' ' | '\n' | '\r' | '\t' => {
                if !safe.text.ends_with(' ') {
                    safe.own(" ");
                }
            }
            c => safe.push(c),
        }
        at += c.len_utf8();
    }
    if is_string {
        safe.own("\"");
    }
    let mut shown = safe.finish();
    cut_note(&mut shown, value, at);
    shown
}

/// A text on one line, cut as [`json`] cuts.
pub(super) fn line(text: &str, bytes_max: usize) -> String {
    let mut safe = SafeText::default();
    let shown = push_text(&mut safe, text, bytes_max, SafeText::push);
    let mut line = safe.finish();
    cut_note(&mut line, text, shown);
    line
}

/// A text between quotation marks on one line, cut as [`json`] cuts. The text cannot end its quotation.
pub(super) fn quoted(text: &str, bytes_max: usize) -> String {
    let mut safe = SafeText::default();
    safe.own("\"");
    let shown = push_text(&mut safe, text, bytes_max, SafeText::push_quoted);
    safe.own("\"");
    let mut quoted = safe.finish();
    cut_note(&mut quoted, text, shown);
    quoted
}

/// A name: as it is when it is a plain word, otherwise quoted.
pub(super) fn name(text: &str) -> String {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:@/".contains(&byte);
    let is_plain = !text.is_empty() && text.len() <= NAME_BYTES_MAX && text.bytes().all(is_word);
    if is_plain {
        text.to_owned()
    } else {
        quoted(text, NAME_BYTES_MAX)
    }
}

/// Pushes the characters of `text` until it is full; returns how many bytes of it that were.
fn push_text(
    safe: &mut SafeText,
    text: &str,
    bytes_max: usize,
    push: fn(&mut SafeText, char),
) -> usize {
    for (at, c) in text.char_indices() {
        if safe.is_full(bytes_max) {
            return at;
        }
        push(safe, c);
    }
    text.len()
}

/// Says what is left out of `whole` when only its first `shown` bytes are shown.
fn cut_note(text: &mut String, whole: &str, shown: usize) {
    let more = whole.len().saturating_sub(shown);
    if more > 0 {
        let (more, sha256) = (thousands(more), sha256(whole));
        let _ = write!(text, " ... {more} more bytes, sha256 {sha256}");
    }
}

/// SHA-256 of a text, in hexadecimal.
pub(super) fn sha256(text: &str) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// A number with a comma after each thousand.
pub(super) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown_by_their_number_wherever_they_are_written() {
        let hidden = "a\u{202e}b\u{200b}c\u{1b}[2J\u{e0041}\u{fe0f}\u{85}\u{2028}d";
        let shown = "a<U+202E>b<U+200B>c<U+001B>[2J<U+E0041><U+FE0F><U+0085><U+2028>d";
        assert_eq!(line(hidden, 500), shown);
        assert_eq!(quoted(hidden, 500), format!("\"{shown}\""));
        assert_eq!(name(hidden), quoted(hidden, 80));
        let escaped = r#""a\u202eb\u200Bc\u001b[2J\udb40\udc41\ufe0f\u0085\u2028d""#;
        assert_eq!(json(escaped, 500), format!("\"{shown}\""));
        assert_eq!(json(r#""\ud800 \udc00""#, 500), "\"<U+D800> <U+DC00>\"");
    }

    #[test]
    fn a_long_run_of_spaces_is_a_number_and_a_short_one_is_not() {
        let spaces = |count: usize| " ".repeat(count);
        let text = format!("a{}Allow", spaces(200));
        assert_eq!(line(&text, 500), "a<200 spaces>Allow");
        assert_eq!(quoted(&text, 500), "\"a<200 spaces>Allow\"");
        assert_eq!(json(&format!("\"{text}\""), 500), "\"a<200 spaces>Allow\"");
        let mixed = "a\u{2003}\u{3000}\u{2800}\u{a0}".to_owned() + &spaces(6) + "b";
        assert_eq!(line(&mixed, 500), "a<10 spaces>b");
        // A mark on a space is shown by its number, and ends the run.
        let marked = format!("a{}\u{301}b", spaces(9));
        assert_eq!(line(&marked, 500), "a<9 spaces><U+0301>b");
        // The controls: what texts have, and two short runs.
        let text = format!("a{}b{}c \u{3000}d", spaces(8), spaces(8));
        assert_eq!(line(&text, 500), text);
    }

    #[test]
    fn a_text_cannot_pass_for_a_marked_character_a_line_or_the_end_of_its_quotation() {
        assert_eq!(line("<U+202E>", 500), "<U+003C>U+202E>");
        assert_eq!(line("one\ntwo\r\n\tthree", 500), r"one\ntwo\r\n\tthree");
        assert_eq!(quoted("a\"? Allow", 500), r#""a\"? Allow""#);
        assert_eq!(json(r#""a\"\\\n\u0022b""#, 500), r#""a\"\\\n\"b""#);
    }

    #[test]
    fn numbers_keep_their_bytes_and_written_languages_their_letters() {
        let value = r#"{"n":9007199254740993,"e":1.0E+2,"t":"Größe \u00e9 日本語 हिन्दी שלום"}"#;
        let shown = r#"{"n":9007199254740993,"e":1.0E+2,"t":"Größe é 日本語 हिन्दी שלום"}"#;
        assert_eq!(json(value, 500), shown);
        assert_eq!(json("[1,\n\t 2]", 500), "[1, 2]");
    }

    #[test]
    fn stacked_marks_are_counted_after_the_fourth() {
        let stacked = format!("e{}x", "\u{301}".repeat(40));
        let marks = "\u{301}".repeat(4);
        assert_eq!(line(&stacked, 500), format!("e{marks}<36 more marks>x"));
        // One that has no letter would be drawn over the quotation mark.
        assert_eq!(quoted("\u{301}a", 500), "\"<U+0301>a\"");
    }

    #[test]
    fn a_cut_is_marked_with_what_is_left_out_and_the_hash_of_the_whole() {
        let value = format!("\"{}\"", "x".repeat(3_300));
        let hash = sha256(&value);
        let shown = format!("\"{}\" ... 3,202 more bytes, sha256 {hash}", "x".repeat(99));
        assert_eq!(json(&value, 100), shown);
        assert_eq!(json("12345", 5), "12345");
        assert_eq!(
            line("12345", 4),
            format!("1234 ... 1 more bytes, sha256 {}", sha256("12345"))
        );
        assert_eq!(
            sha256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!((thousands(0), thousands(999)), ("0".into(), "999".into()));
    }
}
