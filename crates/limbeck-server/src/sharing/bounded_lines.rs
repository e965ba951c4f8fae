//! Lines of a stream, as bytes and with a bound.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::Instant;

/// Bytes of one read.
const CHUNK_BYTES: usize = 16 << 10;
/// Bytes of buffer kept for the next line; a larger buffer is freed.
const KEPT_BYTES: usize = 64 << 10;

/// A line, or what came in its place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A line with its newline.
    Line(Vec<u8>),
    /// A line was longer than the bound; the rest of it is skipped.
    TooLong,
    /// The stream has ended.
    End {
        /// Bytes after the last newline.
        rest: Vec<u8>,
    },
}

/// Reader of lines. Dropping the future of [`BoundedLines::next`] loses nothing.
pub(super) struct BoundedLines<R> {
    input: R,
    line_bytes_max: usize,
    chunk: Vec<u8>,
    /// Bytes of `chunk` that were not looked at.
    unread: std::ops::Range<usize>,
    line: Vec<u8>,
    is_skipping: bool,
    /// When the last bytes came.
    last: Instant,
}

impl<R: AsyncRead + Unpin> BoundedLines<R> {
    pub(super) fn new(input: R, line_bytes_max: usize) -> Self {
        Self {
            input,
            line_bytes_max,
            chunk: vec![0; CHUNK_BYTES],
            unread: 0..0,
            line: Vec::new(),
            is_skipping: false,
            last: Instant::now(),
        }
    }

    /// When the last bytes came.
    pub(super) fn last(&self) -> Instant {
        self.last
    }

    /// The next line.
    ///
    /// # Errors
    ///
    /// Those of the stream.
    pub(super) async fn next(&mut self) -> io::Result<Part> {
        loop {
            if self.unread.is_empty() {
                let read = self.input.read(&mut self.chunk).await?;
                if read == 0 {
                    let rest = std::mem::take(&mut self.line);
                    return Ok(Part::End { rest });
                }
                self.last = Instant::now();
                self.unread = 0..read;
            }
            if let Some(part) = self.take() {
                return Ok(part);
            }
        }
    }

    /// Takes what is unread up to the end of a line.
    fn take(&mut self) -> Option<Part> {
        let unread = &self.chunk[self.unread.clone()];
        let newline = unread.iter().position(|byte| *byte == b'\n');
        let taken = newline.map_or(unread.len(), |at| at + 1);
        self.unread.start += taken;
        if self.is_skipping {
            self.is_skipping = newline.is_none();
            return None;
        }
        if self.line.len() + taken > self.line_bytes_max {
            self.line = Vec::new();
            self.is_skipping = newline.is_none();
            return Some(Part::TooLong);
        }
        self.line.extend_from_slice(&unread[..taken]);
        newline?;
        let line = match self.line.len() {
            ..=KEPT_BYTES => {
                let line = self.line.clone();
                self.line.clear();
                line
            }
            _ => std::mem::take(&mut self.line),
        };
        Some(Part::Line(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_come_whole_and_one_that_is_too_long_is_skipped() {
        let text = format!("a\n{}\nb\n{}\n\nrest", "x".repeat(9), "y".repeat(90_000));
        let mut lines = BoundedLines::new(text.as_bytes(), 8);
        let mut parts = Vec::new();
        loop {
            let part = lines.next().await.unwrap();
            let is_end = matches!(part, Part::End { .. });
            parts.push(part);
            if is_end {
                break;
            }
        }
        let line = |text: &str| Part::Line(text.as_bytes().to_vec());
        let rest = b"rest".to_vec();
        assert_eq!(
            parts,
            [
                line("a\n"),
                Part::TooLong,
                line("b\n"),
                Part::TooLong,
                line("\n"),
                Part::End { rest }
            ]
        );
        // The control: the same lines below the bound.
        let mut lines = BoundedLines::new(text.as_bytes(), 100_000);
        assert_eq!(lines.next().await.unwrap(), line("a\n"));
        assert_eq!(lines.next().await.unwrap(), line("xxxxxxxxx\n"));
    }
}
