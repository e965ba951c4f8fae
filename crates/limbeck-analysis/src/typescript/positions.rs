//! Lines and columns of the model's text and of the script made from it, and the map between both.
//!
//! Columns of the model's text are counted as editors do, in UTF-16 units from 1. The engine
//! counts bytes; the map between both counts UTF-16 units from 0.

mod encoded;

use std::borrow::Cow;
use std::collections::HashMap;

/// Lines of the script before the program's code; see `wrap` in the parent module.
pub(super) const LINES_BEFORE_CODE: u32 = 1;
/// File name the guest gives the script.
const FILE: &str = "program:";

/// Where compiled text lies in the text the model sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TextOrigin {
    /// Lines of the model's text before it.
    pub(super) line: u32,
    /// Characters put before it that are not the model's.
    pub(super) prefix: u32,
}

impl TextOrigin {
    /// Line and column from 1, out of line and column from 0.
    fn place(self, line: u32, column: u32) -> (u32, u32) {
        let column = if line == 0 {
            column.saturating_sub(self.prefix)
        } else {
            column
        };
        (line + self.line + 1, column + 1)
    }
}

/// The position of a byte of compiled text in the model's text.
pub(super) fn position_of_byte(text: &str, at: usize, origin: TextOrigin) -> (u32, u32) {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before[start..].encode_utf16().count();
    let line = u32::try_from(line).unwrap_or(u32::MAX);
    origin.place(line, u32::try_from(column).unwrap_or(u32::MAX))
}

/// The positions of many bytes, found in one pass over the text.
pub(super) fn positions_of_bytes(
    text: &str,
    mut at: Vec<u32>,
    origin: TextOrigin,
) -> HashMap<u32, (u32, u32)> {
    at.sort_unstable();
    at.dedup();
    let mut wanted = at.into_iter().peekable();
    let mut positions = HashMap::with_capacity(wanted.len());
    let (mut line, mut column) = (0, 0);
    for (byte, character) in text.char_indices() {
        while wanted.next_if(|at| *at as usize <= byte).is_some_and(|at| {
            positions.insert(at, origin.place(line, column));
            true
        }) {}
        if wanted.peek().is_none() {
            break;
        }
        if character == '\n' {
            (line, column) = (line + 1, 0);
        } else {
            // One or two.
            column += character.len_utf16() as u32;
        }
    }
    positions
}

/// One correspondence: a place of the printed code and a place of the compiled text, all from 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Token {
    line: u32,
    column: u32,
    source_line: u32,
    source_column: u32,
}

/// The map of one program.
#[derive(Debug, Default)]
pub struct Positions {
    /// Ordered by place in the script.
    tokens: Vec<Token>,
    /// Lines of the script that are not plain ASCII, to turn the engine's bytes into units.
    wide_lines: Vec<(u32, String)>,
    origin: TextOrigin,
}

impl Positions {
    /// Takes the correspondences of the printed code, in order.
    pub(super) fn new(
        script: &str,
        tokens: impl Iterator<Item = Token>,
        origin: TextOrigin,
    ) -> Self {
        let wide_lines = if script.is_ascii() {
            Vec::new()
        } else {
            (0u32..)
                .zip(script.split('\n'))
                .filter(|(_, line)| !line.is_ascii())
                .map(|(number, line)| (number, line.to_owned()))
                .collect()
        };
        Self {
            tokens: tokens.collect(),
            wide_lines,
            origin,
        }
    }

    /// Line and column, from 1, of the innermost frame of a stack that is the program's own.
    ///
    /// Frames read `    at name (file:line:column)`; those of the guest's own code have another
    /// file and are passed over.
    pub fn of_stack(&self, stack: &str) -> Option<(u32, u32)> {
        stack.lines().find_map(|frame| {
            let place = frame.trim_end().trim_end_matches(')');
            let place = &place[place.rfind(FILE)? + FILE.len()..];
            let (line, column) = place.split_once(':').unwrap_or((place, "1"));
            self.of_script(line.parse().ok()?, column.parse().ok()?)
        })
    }

    /// Whether a text may have a frame of the program.
    pub fn may_have_frame(text: &[u8]) -> bool {
        text.windows(FILE.len()).any(|part| part == FILE.as_bytes())
    }

    /// A text in which the places of the program's own frames are those of the model's text. `None` where it has none.
    pub fn in_frames(&self, text: &str) -> Option<String> {
        let mut changed = false;
        let lines = text.split('\n').map(|line| {
            let mapped = line
                .trim_start()
                .starts_with("at ")
                .then(|| self.in_frame(line))
                .flatten();
            changed |= mapped.is_some();
            mapped.map_or(Cow::Borrowed(line), Cow::Owned)
        });
        let lines: Vec<Cow<'_, str>> = lines.collect();
        changed.then(|| lines.join("\n"))
    }

    fn in_frame(&self, frame: &str) -> Option<String> {
        let at = frame.rfind(FILE)? + FILE.len();
        let (before, place) = frame.split_at(at);
        let end = place
            .find(|character: char| !character.is_ascii_digit() && character != ':')
            .unwrap_or(place.len());
        let (place, after) = place.split_at(end);
        let (line, column) = place.split_once(':')?;
        let (line, column) = self.of_script(line.parse().ok()?, column.parse().ok()?)?;
        Some(format!("{before}{line}:{column}{after}"))
    }

    /// Turns a place of the script, line and byte from 1, into one of the model's text.
    fn of_script(&self, line: u32, column: u32) -> Option<(u32, u32)> {
        let line = line.checked_sub(1)?;
        let unit = self.units(line, column.checked_sub(1)?);
        let line = line.checked_sub(LINES_BEFORE_CODE)?;
        let after = self
            .tokens
            .partition_point(|token| (token.line, token.column) <= (line, unit));
        // Before the first place of its line lies indentation, or code that was made here.
        let token = match after.checked_sub(1).map(|before| self.tokens[before]) {
            Some(token) if token.line == line => token,
            before => self
                .tokens
                .get(after)
                .copied()
                .filter(|token| token.line == line)
                .or(before)?,
        };
        Some(self.origin.place(token.source_line, token.source_column))
    }

    fn units(&self, line: u32, byte: u32) -> u32 {
        let wide = self
            .wide_lines
            .binary_search_by_key(&line, |(number, _)| *number);
        let Ok(found) = wide else {
            return byte;
        };
        let text = &self.wide_lines[found].1;
        let units = text
            .char_indices()
            .take_while(|(at, _)| *at < byte as usize)
            .map(|(_, c)| c.len_utf16())
            .sum::<usize>();
        u32::try_from(units).unwrap_or(u32::MAX)
    }
}

impl Token {
    /// Places as line and column from 0: in the printed code, in the compiled text.
    pub(super) fn new(printed: (u32, u32), source: (u32, u32)) -> Self {
        Self {
            line: printed.0,
            column: printed.1,
            source_line: source.0,
            source_column: source.1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions() -> Positions {
        let tokens = [
            Token::new((0, 0), (2, 4)),
            Token::new((0, 10), (2, 20)),
            Token::new((2, 1), (7, 0)),
        ];
        let script = "wrapped\nconst é = \"ü\"; f();\n\n\tx\n";
        Positions::new(script, tokens.into_iter(), TextOrigin::default())
    }

    #[test]
    fn the_innermost_frame_of_the_program_is_found_among_frames_of_the_guest() {
        let stack =
            "    at call (prelude:3:1)\n    at <anonymous> (program:2:5)\n    at g (program:4:2)\n";
        assert_eq!(positions().of_stack(stack), Some((3, 5)));
        assert_eq!(positions().of_stack("    at program:4:2\n"), Some((8, 1)));
        assert_eq!(positions().of_stack("    at call (prelude:3:1)\n"), None);
        assert_eq!(
            positions().of_stack("(program:x:y) (program:99999999999:1)"),
            None
        );
        assert_eq!(positions().of_stack("(program:0:0)"), None);
    }

    #[test]
    fn frames_of_the_program_in_a_text_get_the_places_of_the_models_text() {
        let stack =
            "Error: x\n    at f (program:2:5)\n    at call (prelude:3:1)\n    at program:4:2";
        assert_eq!(
            positions().in_frames(stack).unwrap(),
            "Error: x\n    at f (program:3:5)\n    at call (prelude:3:1)\n    at program:8:1"
        );
        // The controls: texts with the words of a frame, and what is not a place.
        for text in [
            "the program:2:5 says",
            "    at f (prelude:2:5)",
            "    at f (program:x:y)",
            "    at f (program:0:0)",
            "",
        ] {
            assert_eq!(positions().in_frames(text), None, "{text}");
        }
        assert!(Positions::may_have_frame(stack.as_bytes()));
        assert!(!Positions::may_have_frame(b"at f"));
    }

    #[test]
    fn bytes_of_the_engine_become_columns_of_the_text() {
        // `f` is at byte 17 and, é and ü being two bytes each, at unit 15.
        assert_eq!(positions().units(1, 17), 15);
        assert_eq!(positions().units(0, 17), 17);
    }

    #[test]
    fn bytes_of_the_text_become_lines_and_columns_of_the_whole() {
        let origin = TextOrigin {
            line: 10,
            prefix: 1,
        };
        assert_eq!(position_of_byte("(é b\nc", 4, origin), (11, 3));
        assert_eq!(position_of_byte("(é b\nc", 6, origin), (12, 1));
        assert_eq!(position_of_byte("a", 99, TextOrigin::default()), (1, 2));
    }
}
