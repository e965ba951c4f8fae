//! Lines and columns, from 1, columns in characters.

use ruff_text_size::TextSize;

pub(super) struct Positions<'a> {
    text: &'a str,
    /// Where lines begin.
    lines: Vec<usize>,
}

impl<'a> Positions<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text,
            lines: std::iter::once(0).chain(ends).collect(),
        }
    }

    pub(super) fn of(&self, at: TextSize) -> (u32, u32) {
        let at = at.to_usize();
        let line = self.lines.partition_point(|start| *start <= at);
        let before = &self.text[self.lines[line - 1]..at];
        // A text of 256 KiB has fewer of both than 32 bits can count.
        (line as u32, before.chars().count() as u32 + 1)
    }
}
