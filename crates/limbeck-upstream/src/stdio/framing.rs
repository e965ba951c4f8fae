//! Lines of a byte stream, bounded while they are read.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes asked of the pipe at once: the capacity of a Linux pipe.
const CHUNK_BYTES: usize = 64 << 10;
/// Bytes kept of the beginning and the end of an overlong line, to guess which request it responds to.
const KEPT_BYTES: usize = 1 << 10;
/// Line buffers larger than this are shrunk after their line.
const BUFFER_BYTES_KEPT: usize = 1 << 20;

/// One line without its newline.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FramedLine<'a> {
    /// At most `limit` bytes; may be empty.
    Whole(&'a [u8]),
    /// Longer than the limit and skipped to its end.
    Overlong {
        /// Its first bytes.
        head: &'a [u8],
        /// Its last bytes.
        tail: &'a [u8],
        /// Length of the line.
        bytes: u64,
    },
}

/// Reads lines from `inner`, holding at most `limit` bytes and one chunk.
pub(crate) struct LineReader<R> {
    inner: R,
    limit: usize,
    chunk: Box<[u8]>,
    unread: std::ops::Range<usize>,
    line: Vec<u8>,
    overlong: Option<OverlongLine>,
    delivered: bool,
}

#[derive(Default)]
struct OverlongLine {
    tail: Vec<u8>,
    bytes: u64,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(inner: R, limit: usize) -> Self {
        Self {
            inner,
            limit,
            chunk: vec![0; CHUNK_BYTES].into_boxed_slice(),
            unread: 0..0,
            line: Vec::new(),
            overlong: None,
            delivered: false,
        }
    }

    /// Returns the next line, or `None` at the end. Bytes after the last newline count as a line.
    ///
    /// # Errors
    ///
    /// Any error of the underlying read, which ends the stream.
    pub(crate) async fn next(&mut self) -> io::Result<Option<FramedLine<'_>>> {
        self.forget_delivered();
        loop {
            if self.unread.is_empty() {
                let count = self.inner.read(&mut self.chunk).await?;
                self.unread = 0..count;
                if count == 0 {
                    return Ok(self.has_partial().then(|| self.deliver()));
                }
            }
            if self.take_chunk() {
                return Ok(Some(self.deliver()));
            }
        }
    }

    /// Moves unread bytes into the line, up to a newline; returns whether one was found.
    fn take_chunk(&mut self) -> bool {
        let unread = &self.chunk[self.unread.clone()];
        let newline = unread.iter().position(|byte| *byte == b'\n');
        let part = &unread[..newline.unwrap_or(unread.len())];
        match &mut self.overlong {
            Some(overlong) => overlong.extend(part),
            None if self.line.len() + part.len() <= self.limit => self.line.extend_from_slice(part),
            None => {
                let mut overlong = OverlongLine::default();
                overlong.extend(&self.line);
                overlong.extend(part);
                if self.line.is_empty() {
                    self.line.extend_from_slice(part);
                }
                // Bytes beyond the limit are counted and dropped, so memory stays bounded however long the line
                // is.
                self.line.truncate(KEPT_BYTES);
                self.overlong = Some(overlong);
            }
        }
        self.unread.start += part.len() + usize::from(newline.is_some());
        newline.is_some()
    }

    fn has_partial(&self) -> bool {
        !self.line.is_empty() || self.overlong.is_some()
    }

    fn deliver(&mut self) -> FramedLine<'_> {
        self.delivered = true;
        match &self.overlong {
            None => FramedLine::Whole(&self.line),
            Some(overlong) => FramedLine::Overlong {
                head: &self.line,
                tail: &overlong.tail,
                bytes: overlong.bytes,
            },
        }
    }

    fn forget_delivered(&mut self) {
        if std::mem::take(&mut self.delivered) {
            self.overlong = None;
            self.line.clear();
            self.line.shrink_to(BUFFER_BYTES_KEPT);
        }
    }
}

impl OverlongLine {
    fn extend(&mut self, part: &[u8]) {
        self.bytes = self.bytes.saturating_add(part.len() as u64);
        self.tail
            .extend_from_slice(&part[part.len().saturating_sub(KEPT_BYTES)..]);
        let surplus = self.tail.len().saturating_sub(KEPT_BYTES);
        self.tail.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], limit: usize) -> Vec<String> {
        let mut reader = LineReader::new(input, limit);
        let mut seen = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            seen.push(match line {
                FramedLine::Whole(line) => String::from_utf8_lossy(line).into_owned(),
                FramedLine::Overlong { head, tail, bytes } => format!(
                    "{}..{} ({bytes})",
                    String::from_utf8_lossy(&head[..3.min(head.len())]),
                    String::from_utf8_lossy(&tail[tail.len() - 2..])
                ),
            });
        }
        seen
    }

    #[tokio::test]
    async fn a_line_at_the_limit_is_whole_and_one_above_is_skipped_to_its_end() {
        assert_eq!(
            lines(b"12345\n123456\n\nab", 5).await,
            ["12345", "123..56 (6)", "", "ab"]
        );
    }

    #[tokio::test]
    async fn a_line_longer_than_many_chunks_keeps_its_beginning_and_its_end() {
        let mut input = b"abc".to_vec();
        input.resize(CHUNK_BYTES * 3, b'x');
        input.extend_from_slice(b"yz\nnext\n");
        let bytes = CHUNK_BYTES * 3 + 2;
        assert_eq!(
            lines(&input, 100_000).await,
            [format!("abc..yz ({bytes})"), "next".to_owned()]
        );
    }

    #[tokio::test]
    async fn nothing_and_a_last_newline_make_no_extra_line() {
        assert_eq!(lines(b"", 5).await, Vec::<String>::new());
        assert_eq!(lines(b"a\n", 5).await, ["a"]);
    }
}
