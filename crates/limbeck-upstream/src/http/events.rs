//! Parser of server-sent events (WHATWG HTML, section 9.2), bounded while it reads.

use bytes::Bytes;

/// Longest event type and id; longer ones are ignored.
const FIELD_BYTES_MAX: usize = 4 << 10;
/// Line buffers larger than this are shrunk after their line.
const BUFFER_BYTES_KEPT: usize = 1 << 20;

/// One event that has data.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// `event`; empty means `message`.
    pub(crate) kind: String,
    /// `data`, its lines joined.
    pub(crate) data: Vec<u8>,
}

/// An event larger than allowed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EventTooLargeError {
    /// First bytes of the event.
    pub(crate) head: Vec<u8>,
    /// Bytes read of the event so far.
    pub(crate) bytes: u64,
}

/// Incremental parser; buffers at most `limit` bytes and one chunk.
#[derive(Debug)]
pub(crate) struct EventParser {
    limit: usize,
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    skip_newline: bool,
    is_first: bool,
    /// Latest `id`; a stream is resumed after it.
    pub(crate) last_id: Option<String>,
    /// The latest `retry`, in milliseconds.
    pub(crate) retry_ms: Option<u64>,
}

impl EventParser {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            event: SseEvent::default(),
            has_data: false,
            skip_newline: false,
            is_first: true,
            last_id: None,
            retry_ms: None,
        }
    }

    /// Returns the next event in `chunk` and removes the bytes read; `None` when the chunk ends before an event
    /// does.
    ///
    /// # Errors
    ///
    /// [`EventTooLargeError`]; the stream cannot be read further.
    pub(crate) fn next(
        &mut self,
        chunk: &mut Bytes,
    ) -> Result<Option<SseEvent>, EventTooLargeError> {
        while !chunk.is_empty() {
            if std::mem::take(&mut self.skip_newline) && chunk[0] == b'\n' {
                let _ = chunk.split_to(1);
                continue;
            }
            let end = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = chunk.split_to(end.unwrap_or(chunk.len()));
            let bytes = self.event.data.len() + self.line.len() + part.len();
            if bytes > self.limit {
                return Err(self.too_large(bytes as u64));
            }
            self.line.extend_from_slice(&part);
            if end.is_some() {
                self.skip_newline = chunk.split_to(1)[0] == b'\r';
                if let Some(event) = self.end_line() {
                    return Ok(Some(event));
                }
            }
        }
        Ok(None)
    }

    fn too_large(&self, bytes: u64) -> EventTooLargeError {
        let from = if self.event.data.is_empty() {
            self.line.strip_prefix(b"data:").unwrap_or(&self.line)
        } else {
            &self.event.data
        };
        EventTooLargeError {
            head: from[..from.len().min(1 << 10)].to_vec(),
            bytes,
        }
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        if std::mem::take(&mut self.is_first) && self.line.starts_with(b"\xef\xbb\xbf") {
            self.line.drain(..3);
        }
        if self.line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let colon = self.line.iter().position(|byte| *byte == b':');
        let name = colon.unwrap_or(self.line.len());
        let from = colon.map_or(self.line.len(), |colon| {
            colon + 1 + usize::from(self.line.get(colon + 1) == Some(&b' '))
        });
        if &self.line[..name] == b"data" {
            self.data(from);
        } else {
            self.field(name, from);
        }
        self.line.clear();
        self.line.shrink_to(BUFFER_BYTES_KEPT);
        None
    }

    fn data(&mut self, from: usize) {
        if self.has_data {
            self.event.data.push(b'\n');
            self.event.data.extend_from_slice(&self.line[from..]);
        } else {
            // Nearly all events have one line, which is moved instead of copied.
            self.line.drain(..from);
            self.event.data = std::mem::take(&mut self.line);
            self.has_data = true;
        }
    }

    fn field(&mut self, name: usize, from: usize) {
        let (name, value) = (&self.line[..name], &self.line[from..]);
        let Ok(value) = std::str::from_utf8(value) else {
            return;
        };
        if value.len() > FIELD_BYTES_MAX {
            return;
        }
        match name {
            b"event" => self.event.kind = value.to_owned(),
            b"id" if !value.contains('\0') => self.last_id = Some(value.to_owned()),
            b"retry" => self.retry_ms = value.parse().ok().or(self.retry_ms),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(parser: &mut EventParser, chunks: &[&[u8]]) -> Vec<(String, String)> {
        let mut seen = Vec::new();
        for chunk in chunks {
            let mut chunk = Bytes::copy_from_slice(chunk);
            while let Some(event) = parser.next(&mut chunk).unwrap() {
                seen.push((event.kind, String::from_utf8(event.data).unwrap()));
            }
        }
        seen
    }

    const STREAM: &str = "\u{feff}: hello\n\ndata: {\"a\":1}\n\nevent: endpoint\r\ndata: /m?x=1\r\n\r\n\
        id: 7\rretry: 50\rdata:one\rdata: two\r\rid: 8\ndata\n\nevent: ping\n\nnonsense\ndata: cut off";

    fn expected() -> Vec<(String, String)> {
        [
            ("", "{\"a\":1}"),
            ("endpoint", "/m?x=1"),
            ("", "one\ntwo"),
            ("", ""),
        ]
        .map(|(kind, data)| (kind.to_owned(), data.to_owned()))
        .to_vec()
    }

    proptest! {
        #[test]
        fn events_are_the_same_however_the_stream_is_cut(cuts in prop::collection::vec(1_usize..9, 0..90)) {
            let mut rest = STREAM.as_bytes();
            let mut chunks = Vec::new();
            for cut in cuts {
                let (chunk, left) = rest.split_at(cut.min(rest.len()));
                chunks.push(chunk);
                rest = left;
            }
            chunks.push(rest);
            let mut parser = EventParser::new(64);
            prop_assert_eq!(all(&mut parser, &chunks), expected());
            prop_assert_eq!(parser.last_id.as_deref(), Some("8"));
            prop_assert_eq!(parser.retry_ms, Some(50));
        }
    }

    #[test]
    fn an_event_above_the_bound_is_noticed_before_it_ends() {
        let mut parser = EventParser::new(16);
        let mut chunk = Bytes::from_static(b"data: {\"id\":1,");
        assert_eq!(parser.next(&mut chunk), Ok(None));
        let mut chunk = Bytes::from_static(b"xxxxxxxxxx");
        let error = parser.next(&mut chunk).unwrap_err();
        assert_eq!(error.bytes, 24);
        assert_eq!(error.head, b" {\"id\":1,");
        // Many short lines are one event too.
        let mut parser = EventParser::new(16);
        let mut chunk = Bytes::from_static(b"data: 12345\ndata: 12345\ndata: 12345\n");
        assert!(parser.next(&mut chunk).is_err());
    }
}
