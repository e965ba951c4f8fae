//! Byte offsets as lines and columns.

/// Bytes between two offsets whose character counts are kept: what a conversion reads at most.
const STEP_BYTES: usize = 1 << 10;

/// Offsets of all lines of a text, to convert a byte offset into the line and column that editors show.
///
/// A conversion takes the same time on a line of any length.
pub(crate) struct LineIndex<'a> {
    text: &'a str,
    starts: Vec<usize>,
    /// Number of characters that begin before each multiple of [`STEP_BYTES`].
    characters: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0)
            .chain(breaks.map(|(at, _)| at + 1))
            .collect();
        let mut characters = vec![0];
        let mut before = 0;
        for step in text.as_bytes().chunks(STEP_BYTES) {
            before += beginnings(step);
            characters.push(before);
        }
        Self {
            text,
            starts,
            characters,
        }
    }

    /// Line of a byte offset, from 1.
    pub(crate) fn line(&self, at: usize) -> u32 {
        saturating_u32(self.line_number(at))
    }

    /// Line and column of a byte offset, both from 1; the column counts characters.
    pub(crate) fn position(&self, at: usize) -> (u32, u32) {
        let line = self.line_number(at);
        let column = self.characters_before(at) - self.characters_before(self.starts[line - 1]);
        (saturating_u32(line), saturating_u32(column + 1))
    }

    fn line_number(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).max(1)
    }

    /// Number of characters that begin before the byte offset `at`.
    fn characters_before(&self, at: usize) -> usize {
        let at = at.min(self.text.len());
        let step = at / STEP_BYTES;
        self.characters[step] + beginnings(&self.text.as_bytes()[step * STEP_BYTES..at])
    }
}

/// Number of characters that begin in `bytes` of a UTF-8 text.
fn beginnings(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

fn saturating_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_counts_characters_on_short_and_long_lines() {
        let text = format!("é = 1\n{}x\n\nlast", "aé".repeat(5_000));
        let index = LineIndex::new(&text);
        for (part, expected) in [("= 1", (1, 3)), ("x", (2, 10_001)), ("last", (4, 1))] {
            let at = text.find(part).unwrap();
            assert_eq!(index.position(at), expected, "{part}");
            assert_eq!(index.line(at), expected.0);
        }
        assert_eq!(index.position(text.len() + 9), (4, 5));
        assert_eq!(LineIndex::new("").position(0), (1, 1));
    }
}
