//! Positions as text, for a journal: the way of a source map, digits of base64 with five bits each.
//!
//! `line;prefix;tokens`: where the compiled text lies in the model's text, then four numbers for each token. Each is the
//! difference to that of the token before, but for a column on a new line.

use super::{Positions, TextOrigin, Token};

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Bits of a digit that are part of its number.
const BITS: u32 = 5;
/// Set in every digit of a number but the last.
const MORE: u64 = 1 << BITS;
/// Bits of the largest number: a difference of two `u32`, and its sign.
const NUMBER_BITS_MAX: u32 = 35;

impl Positions {
    /// The map as text.
    pub fn to_text(&self) -> String {
        let TextOrigin { line, prefix } = self.origin;
        let mut text = format!("{line};{prefix};");
        let mut last = Token::default();
        for token in &self.tokens {
            let column = match token.line == last.line {
                true => last.column,
                false => 0,
            };
            push(&mut text, token.line, last.line);
            push(&mut text, token.column, column);
            push(&mut text, token.source_line, last.source_line);
            push(&mut text, token.source_column, last.source_column);
            last = *token;
        }
        text
    }

    /// The map of `script` that [`Self::to_text`] returned; `None` for any other text.
    pub fn from_text(script: &str, text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ';');
        let origin = TextOrigin {
            line: parts.next()?.parse().ok()?,
            prefix: parts.next()?.parse().ok()?,
        };
        let mut digits = parts.next()?.bytes();
        let mut tokens = Vec::new();
        let mut last = Token::default();
        while digits.len() > 0 {
            let line = pull(&mut digits, last.line)?;
            let column = match line == last.line {
                true => last.column,
                false => 0,
            };
            last = Token {
                line,
                column: pull(&mut digits, column)?,
                source_line: pull(&mut digits, last.source_line)?,
                source_column: pull(&mut digits, last.source_column)?,
            };
            tokens.push(last);
        }
        Some(Self::new(script, tokens.into_iter(), origin))
    }
}

/// Adds the difference of two numbers, its sign in the lowest bit.
fn push(text: &mut String, number: u32, before: u32) {
    let difference = i64::from(number) - i64::from(before);
    let mut rest = difference.unsigned_abs() << 1 | u64::from(difference < 0);
    loop {
        let digit = rest & (MORE - 1);
        rest >>= BITS;
        let digit = if rest > 0 { digit | MORE } else { digit };
        let digit = usize::try_from(digit).unwrap_or_default();
        text.push(char::from(DIGITS.get(digit).copied().unwrap_or(b'A')));
        if rest == 0 {
            return;
        }
    }
}

/// Reads the number that [`push`] wrote.
fn pull(digits: &mut impl Iterator<Item = u8>, before: u32) -> Option<u32> {
    let mut sum = 0;
    let mut shift = 0;
    loop {
        if shift >= NUMBER_BITS_MAX {
            return None;
        }
        let digit = value(digits.next()?)?;
        sum |= (digit & (MORE - 1)) << shift;
        shift += BITS;
        if digit & MORE == 0 {
            break;
        }
    }
    let size = i64::try_from(sum >> 1).ok()?;
    let difference = if sum & 1 == 1 { -size } else { size };
    u32::try_from(i64::from(before) + difference).ok()
}

fn value(digit: u8) -> Option<u64> {
    Some(u64::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_come_back_as_they_were_written() {
        let tokens = [
            Token::new((0, 0), (2, 4)),
            Token::new((0, 10), (2, 20)),
            Token::new((0, 11), (1, 0)),
            Token::new((7, 3), (0, 0)),
            Token::new((u32::MAX, u32::MAX), (u32::MAX, 1)),
            Token::new((u32::MAX, u32::MAX), (0, u32::MAX)),
        ];
        let origin = TextOrigin { line: 3, prefix: 1 };
        let script = "wrapped\nconst é = \"ü\";\n";
        let written = Positions::new(script, tokens.into_iter(), origin);
        let text = written.to_text();
        assert!(text.starts_with("3;1;AAEI"), "{text}");
        let read = Positions::from_text(script, &text).unwrap();
        assert_eq!(format!("{read:?}"), format!("{written:?}"));
        let empty = Positions::from_text("", "0;0;").unwrap();
        assert_eq!(empty.to_text(), "0;0;");
    }

    #[test]
    fn a_text_that_is_not_of_positions_is_refused() {
        for text in [
            "",
            "0;0",
            "x;0;",
            "0;0;A",
            "0;0;AAA",
            "0;0;AAA!",
            "0;0;é",
            // Below zero, above the largest, and a number without an end.
            "0;0;DAAA",
            "0;0;//////AAA",
            "0;0;gggggggggggggggA",
        ] {
            assert!(Positions::from_text("", text).is_none(), "{text}");
        }
    }
}
