//! Lines of a client: messages, and answers to what is none.

use std::fmt;

use limbeck_domain::limits::STDIO_LINE_BYTES_MAX;
use rmcp::RoleServer;
use rmcp::service::RxJsonRpcMessage;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Bytes kept for the next line; what a longer one needed is given back.
const KEPT_BYTES: usize = 64 << 10;
/// What some programs put before their first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// JSON-RPC's code for what is no JSON.
const PARSE_ERROR: i32 = -32700;
/// JSON-RPC's code for JSON that is no request.
const INVALID_REQUEST: i32 = -32600;

/// The line being read.
#[derive(Default)]
pub(super) struct Line {
    bytes: Vec<u8>,
    /// It was too long already; the rest of it is dropped.
    refused: bool,
}

/// What becomes of a line.
pub(super) enum Heard {
    /// It has not ended, or says nothing that wants an answer.
    Nothing,
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// It is no message; the answer.
    Refused(Value),
}

impl Line {
    /// Takes the next bytes of a line, its newline at most at their end.
    pub(super) fn add(&mut self, part: &[u8]) -> Heard {
        let ends = part.ends_with(b"\n");
        if self.refused {
            self.refused = !ends;
            return Heard::Nothing;
        }
        if self.bytes.len() + part.len() > STDIO_LINE_BYTES_MAX {
            self.bytes = Vec::new();
            self.refused = !ends;
            let message = format!("a line has at most {STDIO_LINE_BYTES_MAX} bytes");
            return refused(None, INVALID_REQUEST, &message);
        }
        self.bytes.extend_from_slice(part);
        if !ends {
            return Heard::Nothing;
        }
        let heard = heard(&self.bytes);
        if self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
        heard
    }

    /// Takes what is left at the end of the input for a line.
    pub(super) fn end(&mut self) -> Heard {
        if self.bytes.is_empty() {
            return Heard::Nothing;
        }
        self.add(b"\n")
    }
}

fn heard(line: &[u8]) -> Heard {
    let text = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    if text.trim_ascii().is_empty() {
        return Heard::Nothing;
    }
    if let Ok(message) = serde_json::from_slice(text) {
        return Heard::Message(Box::new(message));
    }
    if let Err(error) = serde_json::from_slice::<Sound>(text) {
        return refused(None, PARSE_ERROR, &format!("the line is not JSON: {error}"));
    }
    match serde_json::from_slice(text) {
        // A notification is never answered, whatever is wrong with it.
        Ok(Head {
            method: Some(_),
            id: None,
        }) => Heard::Nothing,
        Ok(Head {
            method: Some(_),
            id,
        }) => refused(id, INVALID_REQUEST, "no request of JSON-RPC 2.0"),
        // Its id, if it has one, may be of a request of ours.
        Ok(Head { method: None, .. }) | Err(_) => {
            refused(None, INVALID_REQUEST, "no message of JSON-RPC 2.0")
        }
    }
}

/// What can be read of a message that is none.
#[derive(Deserialize)]
struct Head<'l> {
    #[serde(borrow)]
    method: Option<&'l RawValue>,
    #[serde(borrow)]
    id: Option<&'l RawValue>,
}

/// An answer to no request, or to the one of that id, where it can be one.
fn refused(id: Option<&RawValue>, code: i32, message: &str) -> Heard {
    let id = id.and_then(|id| serde_json::from_str(id.get()).ok());
    let id = id.filter(|id: &Value| id.is_string() || id.is_i64() || id.is_u64());
    let error = json!({"code": code, "message": message});
    Heard::Refused(json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

/// JSON of which nothing is kept: every text is decoded and every number read, so that what passes here
/// does not fail later without an answer.
struct Sound;

impl<'de> Deserialize<'de> for Sound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Sound {
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

    /// What becomes of `bytes`, given in parts of `size`: methods of messages, ids and codes of refusals.
    fn told(bytes: &[u8], size: usize) -> Vec<String> {
        let mut line = Line::default();
        let mut told = Vec::new();
        for chunk in bytes.chunks(size) {
            for part in chunk.split_inclusive(|byte| *byte == b'\n') {
                match line.add(part) {
                    Heard::Nothing => {}
                    Heard::Message(message) => {
                        let message = serde_json::to_value(message).unwrap();
                        told.push(message["method"].as_str().unwrap().to_owned());
                    }
                    Heard::Refused(refusal) => {
                        told.push(format!("{} {}", refusal["id"], refusal["error"]["code"]));
                    }
                }
            }
        }
        told
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
            "ping",
        ];
        for size in [1, 2, 3, 7, 1_000] {
            assert_eq!(told(lines.join("\n").as_bytes(), size), expected, "{size}");
        }
        assert_eq!(told(b"\"\xff\"\n", 8), ["null -32700"]);
    }

    #[test]
    fn u01_a_line_at_its_bound_passes_and_a_longer_one_is_refused_once_and_dropped() {
        let line = |bytes: usize| {
            let mut line = PING.as_bytes().to_vec();
            line.resize(bytes - 1, b' ');
            line.push(b'\n');
            line
        };
        assert_eq!(told(&line(STDIO_LINE_BYTES_MAX), KEPT_BYTES), ["ping"]);
        for bytes in [STDIO_LINE_BYTES_MAX + 1, 3 * STDIO_LINE_BYTES_MAX] {
            let mut text = line(bytes);
            text.extend_from_slice(format!("{PING}\n").as_bytes());
            assert_eq!(told(&text, KEPT_BYTES), ["null -32600", "ping"]);
        }
        let deep = format!("{}\n", "[".repeat(10_000));
        assert_eq!(told(deep.as_bytes(), KEPT_BYTES), ["null -32700"]);
    }
}
