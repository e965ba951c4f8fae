//! End of a child's standard error.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use limbeck_domain::{limits, text};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::redactor::Redactor;
use crate::sync::lock;

/// Bytes read at once.
const CHUNK_BYTES: usize = 16 << 10;

/// The last [`limits::STDERR_RING_BYTES`] of a stream that is drained at all times.
#[derive(Clone, Default)]
pub(crate) struct StderrRing {
    bytes: Arc<Mutex<VecDeque<u8>>>,
    redactor: Redactor,
}

impl StderrRing {
    /// Creates a ring that redacts with `redactor`.
    pub(crate) fn new(redactor: Redactor) -> Self {
        Self {
            bytes: Arc::default(),
            redactor,
        }
    }

    /// Reads `stream` to its end.
    pub(crate) async fn drain(self, mut stream: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Ok(count @ 1..) = stream.read(&mut chunk).await {
            self.push(&chunk[..count]);
        }
    }

    fn push(&self, part: &[u8]) {
        let mut ring = lock(&self.bytes);
        let surplus = (ring.len() + part.len()).saturating_sub(limits::STDERR_RING_BYTES);
        let from_ring = surplus.min(ring.len());
        ring.drain(..from_ring);
        ring.extend(&part[surplus - from_ring..]);
    }

    /// Returns the last lines, at most `lines_max` of them and `bytes_max` bytes, cleaned, without blank lines.
    pub(crate) fn tail(&self, lines_max: usize, bytes_max: usize) -> String {
        let bytes: Vec<u8> = {
            let ring = lock(&self.bytes);
            let from = ring.len().saturating_sub(bytes_max);
            ring.range(from..).copied().collect()
        };
        let said = String::from_utf8_lossy(&bytes);
        let said = self.redactor.redact(&said);
        // A character cut in half at the front becomes a replacement character, which is up to three times as
        // long.
        let cleaned = text::clean(&said, bytes_max * 3);
        let lines: Vec<&str> = cleaned
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.trim().is_empty())
            .collect();
        let shown = &lines[lines.len().saturating_sub(lines_max)..];
        text::cut(&shown.join("\n"), bytes_max).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flood_leaves_only_its_end_and_no_control_characters() {
        let ring = StderrRing::default();
        let mut flood = vec![b'E'; 3 * limits::STDERR_RING_BYTES];
        flood.extend_from_slice(b"\n\x1b[2Jlast\n\n words\xff\n");
        ring.clone().drain(flood.as_slice()).await;
        assert_eq!(lock(&ring.bytes).len(), limits::STDERR_RING_BYTES);
        assert_eq!(ring.tail(2, 100), "[2Jlast\n words\u{fffd}");
        assert_eq!(ring.tail(1, 100), " words\u{fffd}");
    }
}
