//! Lines of a client: messages, or error responses to malformed lines.

use std::fmt;

use limbeck_domain::limits::STDIO_LINE_BYTES_MAX;
use rmcp::RoleServer;
use rmcp::service::RxJsonRpcMessage;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::unique_keys::{DUPLICATE_KEY, has_duplicate_key};

/// Bytes of buffer kept for the next line; a larger buffer is freed.
const KEPT_BYTES: usize = 64 << 10;
/// Byte order mark, which some programs write before their first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// JSON-RPC's error code for text that is not JSON.
const PARSE_ERROR: i32 = -32700;
/// JSON-RPC's error code for JSON that is not a request.
const INVALID_REQUEST: i32 = -32600;

/// Buffer of the line being read.
#[derive(Default)]
pub(super) struct LineBuffer {
    bytes: Vec<u8>,
    /// The line was too long; the rest of it is skipped.
    refused: bool,
}

/// Content of a line.
pub(super) enum ClientLine {
    /// Nothing to handle: the line has not ended, is empty, or is a malformed notification.
    Nothing,
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// The line is not a message; the error response to send.
    Refused(Value),
}

impl LineBuffer {
    /// Adds bytes of a line; a newline may occur only at their end.
    pub(super) fn add(&mut self, part: &[u8]) -> ClientLine {
        let ends = part.ends_with(b"\n");
        if self.refused {
            self.refused = !ends;
            return ClientLine::Nothing;
        }
        if self.bytes.len() + part.len() > STDIO_LINE_BYTES_MAX {
            self.bytes = Vec::new();
            self.refused = !ends;
            return ClientLine::Refused(line_too_long());
        }
        self.bytes.extend_from_slice(part);
        if !ends {
            return ClientLine::Nothing;
        }
        let parsed = parse(&self.bytes);
        if self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
        parsed
    }

    /// Handles the rest of the input as a line.
    pub(super) fn end(&mut self) -> ClientLine {
        if self.bytes.is_empty() {
            return ClientLine::Nothing;
        }
        self.add(b"\n")
    }
}

/// Error response to a line of more than [`STDIO_LINE_BYTES_MAX`] bytes.
pub(crate) fn line_too_long() -> Value {
    let message = format!("a line has at most {STDIO_LINE_BYTES_MAX} bytes");
    error_response(None, INVALID_REQUEST, &message)
}

fn parse(line: &[u8]) -> ClientLine {
    let text = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    if text.trim_ascii().is_empty() {
        return ClientLine::Nothing;
    }
    if let Ok(message) = serde_json::from_slice(text) {
        if !has_duplicate_key(text) {
            return ClientLine::Message(Box::new(message));
        }
        return match serde_json::from_slice(text) {
            Ok(Head {
                method: Some(_),
                id: None,
            }) => ClientLine::Nothing,
            Ok(Head { id, .. }) => refused(id, INVALID_REQUEST, DUPLICATE_KEY),
            // The key of the head itself.
            Err(_) => refused(None, INVALID_REQUEST, DUPLICATE_KEY),
        };
    }
    if let Err(error) = serde_json::from_slice::<StrictJson>(text) {
        return refused(None, PARSE_ERROR, &format!("the line is not JSON: {error}"));
    }
    match serde_json::from_slice(text) {
        // JSON-RPC forbids a response to a notification, also to a malformed one.
        Ok(Head {
            method: Some(_),
            id: None,
        }) => ClientLine::Nothing,
        Ok(Head {
            method: Some(_),
            id,
        }) => refused(
            id,
            INVALID_REQUEST,
            "the line is not a JSON-RPC 2.0 request",
        ),
        // An id without a method may be that of a request of this server, so it is not repeated.
        Ok(Head { method: None, .. }) | Err(_) => refused(
            None,
            INVALID_REQUEST,
            "the line is not a JSON-RPC 2.0 message",
        ),
    }
}

/// Members of a malformed message that decide about the response.
#[derive(Deserialize)]
struct Head<'l> {
    #[serde(borrow)]
    method: Option<&'l RawValue>,
    #[serde(borrow)]
    id: Option<&'l RawValue>,
}

/// JSON-RPC error response; its id is null when the request's id is missing or unusable.
fn refused(id: Option<&RawValue>, code: i32, message: &str) -> ClientLine {
    ClientLine::Refused(error_response(id, code, message))
}

fn error_response(id: Option<&RawValue>, code: i32, message: &str) -> Value {
    let id = id.and_then(|id| serde_json::from_str(id.get()).ok());
    let id = id.filter(|id: &Value| id.is_string() || id.is_i64() || id.is_u64());
    let error = json!({"code": code, "message": message});
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

/// Check that a text is JSON: decodes every string and number and keeps nothing. The SDK ignores a line that it
/// cannot parse, so malformed JSON must be found here to get an error response.
struct StrictJson;

impl<'de> Deserialize<'de> for StrictJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for StrictJson {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(Self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        while members.next_entry::<Self, Self>()?.is_some() {}
        Ok(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results of `bytes` added in parts of `size`: methods of messages, ids and codes of error responses.
    fn results_of(bytes: &[u8], size: usize) -> Vec<String> {
        let mut line = LineBuffer::default();
        let mut results = Vec::new();
        for chunk in bytes.chunks(size) {
            for part in chunk.split_inclusive(|byte| *byte == b'\n') {
                match line.add(part) {
                    ClientLine::Nothing => {}
                    ClientLine::Message(message) => {
                        let message = serde_json::to_value(message).unwrap();
                        results.push(message["method"].as_str().unwrap().to_owned());
                    }
                    ClientLine::Refused(refusal) => {
                        results.push(format!("{} {}", refusal["id"], refusal["error"]["code"]));
                    }
                }
            }
        }
        results
    }

    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

    #[test]
    fn u01_messages_pass_and_other_lines_are_refused_however_they_arrive() {
        let lines = [
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r",
            "",
            "   ",
            "\u{feff}",
            "not json",
            "\"\\ud800\"",
            "1e999",
            "{}{}",
            "5",
            "[]",
            r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#,
            r#"{"jsonrpc":"1.0","id":{},"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":7}"#,
            r#"{"jsonrpc":"1.0","method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"x","arguments":{"to":1,"to":2}}}"#,
            r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"x","arguments":{"to":1,"cc":2}}}"#,
            PING,
            "{\"half\":",
        ];
        let expected = [
            "ping",
            "null -32700",
            "null -32700",
            "null -32700",
            "null -32700",
            "null -32600",
            "null -32600",
            "7 -32600",
            "null -32600",
            "null -32600",
            "8 -32600",
            "tools/call",
            "ping",
        ];
        for size in [1, 2, 3, 7, 1_000] {
            assert_eq!(
                results_of(lines.join("\n").as_bytes(), size),
                expected,
                "{size}"
            );
        }
        assert_eq!(results_of(b"\"\xff\"\n", 8), ["null -32700"]);
    }

    #[test]
    fn u01_a_line_at_its_bound_passes_and_a_longer_one_is_refused_once_and_dropped() {
        let line = |bytes: usize| {
            let mut line = PING.as_bytes().to_vec();
            line.resize(bytes - 1, b' ');
            line.push(b'\n');
            line
        };
        assert_eq!(
            results_of(&line(STDIO_LINE_BYTES_MAX), KEPT_BYTES),
            ["ping"]
        );
        for bytes in [STDIO_LINE_BYTES_MAX + 1, 3 * STDIO_LINE_BYTES_MAX] {
            let mut text = line(bytes);
            text.extend_from_slice(format!("{PING}\n").as_bytes());
            assert_eq!(results_of(&text, KEPT_BYTES), ["null -32600", "ping"]);
        }
        let deep = format!("{}\n", "[".repeat(10_000));
        assert_eq!(results_of(deep.as_bytes(), KEPT_BYTES), ["null -32700"]);
    }
}
