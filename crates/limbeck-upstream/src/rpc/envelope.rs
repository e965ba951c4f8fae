//! Parser of the JSON-RPC envelope; results and parameters stay raw text.
//!
//! Tolerated, because real servers send them: a missing `jsonrpc`, `"error": null`, error codes as strings, a
//! byte order mark, carriage returns, batches. Rejected: a repeated envelope key, two values on a line,
//! anything that is not JSON; such a line is invalid as a whole. Ids match by type and value: ours are
//! integers, so a response to `"7"` or `7.0` matches nothing.

use std::borrow::Cow;

use limbeck_domain::limits::ERROR_DATA_BYTES_MAX;
use limbeck_domain::text;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Messages of one batch; longer batches are invalid. Revisions since 2025-06-18 have no batches.
const BATCH_MESSAGES_MAX: usize = 256;
/// Bytes kept of a server's error message.
const ERROR_MESSAGE_BYTES_MAX: usize = 2 << 10;
/// JSON-RPC error code used when the server sent no usable one.
const INTERNAL_ERROR: i64 = -32603;

/// One JSON-RPC message.
#[derive(Debug)]
pub(crate) enum RpcMessage<'a> {
    /// A response to one of our requests, if the id matches.
    Answer {
        /// Request id, when it is written as an integer.
        id: Option<i64>,
        /// Result or error.
        outcome: ResponseContent<'a>,
    },
    /// A request of the server.
    Request {
        /// Request id, unchanged.
        id: &'a RawValue,
        /// Method name.
        method: String,
        /// `params`, as they stand.
        params: Option<&'a RawValue>,
    },
    /// A notification.
    Notification {
        /// Method name.
        method: String,
        /// `params`, as they stand.
        params: Option<&'a RawValue>,
    },
}

/// Content of a response.
#[derive(Debug)]
pub(crate) enum ResponseContent<'a> {
    /// `result`, not null.
    Result(&'a RawValue),
    /// `error`, not null; it wins over a `result` beside it.
    Error(RpcError),
    /// Neither `result` nor `error`.
    Nothing,
}

/// A JSON-RPC error, decoded leniently, its message cleaned and cut.
#[derive(Clone, Debug)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    /// Not null, and at most [`ERROR_DATA_BYTES_MAX`] as JSON; larger data is dropped.
    pub(crate) data: Option<Box<Value>>,
}

impl RpcError {
    pub(crate) fn new(code: i64, message: &str, data: Option<&Value>) -> Self {
        let data = data.filter(|data| {
            // Serializing to measure is acceptable: nearly all errors have no data.
            !data.is_null() && data.to_string().len() <= ERROR_DATA_BYTES_MAX
        });
        Self {
            code,
            message: text::clean_line(message, ERROR_MESSAGE_BYTES_MAX),
            data: data.cloned().map(Box::new),
        }
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Decodes a line and strips white space and the byte order mark; empty when nothing is left.
///
/// # Errors
///
/// The reason when it is not UTF-8.
pub(crate) fn line_text(line: &[u8]) -> Result<Cow<'_, str>, String> {
    let text = std::str::from_utf8(line)
        .map_err(|error| format!("not UTF-8 from byte {}", error.valid_up_to()))?;
    let text = text.trim_ascii().trim_start_matches('\u{feff}');
    Ok(repair_surrogates(text))
}

/// Parses the messages of one line.
///
/// # Errors
///
/// The parser's error when the line is not a message.
pub(crate) fn parse(text: &str) -> Result<Vec<RpcMessage<'_>>, String> {
    if !text.starts_with('[') {
        return Ok(vec![message(text)?]);
    }
    let parts: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if parts.len() > BATCH_MESSAGES_MAX {
        return Err(format!("a batch of {} messages", parts.len()));
    }
    parts.into_iter().map(|part| message(part.get())).collect()
}

fn message(text: &str) -> Result<RpcMessage<'_>, String> {
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if let Some(method) = envelope.method {
        let params = envelope.params;
        let method = serde_json::from_str(method.get()).map_err(|error| error.to_string())?;
        return Ok(match envelope.id {
            Some(id) => RpcMessage::Request { id, method, params },
            None => RpcMessage::Notification { method, params },
        });
    }
    // An error wins over a result beside it: treating a failure as success would be worse.
    let outcome = match (envelope.error, envelope.result) {
        (Some(error), _) => ResponseContent::Error(rpc_error(error)),
        (None, Some(result)) => ResponseContent::Result(result),
        (None, None) => ResponseContent::Nothing,
    };
    Ok(RpcMessage::Answer {
        id: envelope.id.and_then(|id| integer(id.get())),
        outcome,
    })
}

fn integer(text: &str) -> Option<i64> {
    // Our ids are counted from zero, so a sign, a fraction or an exponent is never ours.
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

fn rpc_error(raw: &RawValue) -> RpcError {
    let value: Value = serde_json::from_str(raw.get()).unwrap_or(Value::Null);
    let code = match value.get("code") {
        Some(Value::Number(code)) => code.as_i64().or_else(|| code.as_f64().map(|c| c as i64)),
        Some(Value::String(code)) => code.trim().parse().ok(),
        _ => None,
    };
    let message = match (value.get("message"), &value) {
        (Some(Value::String(message)), _) | (None, Value::String(message)) => message.as_str(),
        _ => raw.get(),
    };
    RpcError::new(code.unwrap_or(INTERNAL_ERROR), message, value.get("data"))
}

/// Guesses the response id of a line that cannot be parsed, from its beginning or its end.
///
/// A wrong guess can only fail a call of the server that wrote the line.
pub(crate) fn sniff_id(head: &[u8], tail: &[u8]) -> Option<i64> {
    let head = String::from_utf8_lossy(head);
    let tail = String::from_utf8_lossy(tail);
    let opening = head.trim_start_matches([' ', '\t', '\u{feff}']);
    // A batch has several ids, so none can be guessed.
    if !opening.starts_with('{') {
        return None;
    }
    // An `"id"` inside the result belongs to the data.
    let body_from = ["\"result\"", "\"error\""]
        .iter()
        .filter_map(|key| opening.find(key))
        .min()
        .unwrap_or(opening.len());
    id_after_key(&opening[..body_from]).or_else(|| {
        let end = tail.trim_ascii_end();
        let from = end.rfind("\"id\"")?;
        // Only `"jsonrpc": "2.0"` may follow the id; anything longer means that the id is inside a value.
        let rest = &end[from..];
        (rest.len() < 64 && rest.ends_with('}')).then(|| id_after_key(rest))?
    })
}

fn id_after_key(text: &str) -> Option<i64> {
    let rest = &text[text.find("\"id\"")? + 4..];
    let rest = rest
        .trim_ascii_start()
        .strip_prefix(':')?
        .trim_ascii_start();
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    matches!(rest.as_bytes()[end], b',' | b'}' | b' ')
        .then(|| integer(&rest[..end]))
        .flatten()
}

/// Replaces unpaired surrogate escapes (`\ud800`) by `\ufffd`, so that all later parsers agree on the text.
fn repair_surrogates(text: &str) -> Cow<'_, str> {
    // Nearly all lines have no such escape and are not copied.
    if !text.contains("\\ud") && !text.contains("\\uD") {
        return Cow::Borrowed(text);
    }
    let mut repaired = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let escape = &rest[at..];
        let take = match (surrogate(escape), escape.get(6..).and_then(surrogate)) {
            (Some(SurrogateHalf::High), Some(SurrogateHalf::Low)) => 12,
            (Some(_), _) => {
                repaired.push_str(&rest[..at]);
                repaired.push_str("\\ufffd");
                rest = &rest[at + 6..];
                continue;
            }
            // Any other escape is two characters that stay together: `\\`, `\"`, `\u` and its digits.
            (None, _) => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
        };
        repaired.push_str(&rest[..at + take]);
        rest = &rest[at + take..];
    }
    repaired.push_str(rest);
    Cow::Owned(repaired)
}

enum SurrogateHalf {
    High,
    Low,
}

fn surrogate(escape: &str) -> Option<SurrogateHalf> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(SurrogateHalf::High),
        0xdc00..=0xdfff => Some(SurrogateHalf::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> (Option<i64>, String) {
        match parse(text).unwrap().remove(0) {
            RpcMessage::Answer { id, outcome } => (
                id,
                match outcome {
                    ResponseContent::Result(raw) => raw.get().to_owned(),
                    ResponseContent::Error(error) => format!("{} {}", error.code, error.message),
                    ResponseContent::Nothing => "nothing".to_owned(),
                },
            ),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_real_servers_leave_out_or_add_is_tolerated_and_the_result_stays_as_sent() {
        assert_eq!(
            answer(r#"{"id":7,"result":{"b":1.0,"a":12345678901234567890123}}"#),
            (Some(7), r#"{"b":1.0,"a":12345678901234567890123}"#.into())
        );
        assert_eq!(
            answer(r#"{"jsonrpc":"2.0","error":null,"result":{},"id":0,"x":[1]}"#),
            (Some(0), "{}".into())
        );
        assert_eq!(
            answer(r#"{"id":1,"error":{"code":"-32601","message":"no\nsuch"}}"#),
            (Some(1), "-32601 no such".into())
        );
        assert_eq!(
            answer(r#"{"id":1,"error":"x"}"#),
            (Some(1), "-32603 x".into())
        );
        assert_eq!(
            line_text(b"\xef\xbb\xbf {\"id\":1}\r").unwrap().trim(),
            "{\"id\":1}"
        );
    }

    #[test]
    fn ids_match_by_type_and_value() {
        for id in ["\"7\"", "7.0", "7e0", "-7", "null", "[7]", "{}", "007x"] {
            let text = format!(r#"{{"id":{id},"result":{{}}}}"#);
            if let Ok(messages) = parse(&text) {
                assert!(
                    matches!(messages[0], RpcMessage::Answer { id: None, .. }),
                    "{id}"
                );
            }
        }
        assert_eq!(answer(r#"{"id":7,"result":1}"#).0, Some(7));
    }

    #[test]
    fn repeated_keys_two_values_and_non_json_are_refused() {
        for text in [
            r#"{"id":1,"id":2,"result":{}}"#,
            r#"{"id":1,"result":{}}{"id":1,"result":{}}"#,
            r#"{"id":1,"result":NaN}"#,
            r#"{"id":1,"result":{"a":1,}}"#,
            "garbage",
            "5",
            "",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(
            parse(r#"[{"id":1,"result":{}},{"method":"x"}]"#)
                .unwrap()
                .len(),
            2
        );
    }

    #[test]
    fn the_id_of_a_broken_line_is_found_at_either_end() {
        assert_eq!(
            sniff_id(br#"{"jsonrpc":"2.0","id": 12,"result":{"#, b""),
            Some(12)
        );
        assert_eq!(
            sniff_id(
                br#"{"result":{"id":9,"#,
                br#"..."},"jsonrpc":"2.0","id":4}"#
            ),
            Some(4)
        );
        assert_eq!(
            sniff_id(br#"{"result":{"#, br#""x"},"id":4,"jsonrpc":"2.0"}"#),
            Some(4)
        );
        assert_eq!(sniff_id(br#"{"result":{"id":9,"#, b"xxxx"), None);
        assert_eq!(sniff_id(br#"{"id":"12","result""#, b""), None);
        assert_eq!(sniff_id(b"Content-Length: 12", b"\"id\":4}"), None);
    }

    #[test]
    fn unpaired_surrogates_become_replacement_characters_and_pairs_stay() {
        assert_eq!(repair_surrogates(r#""\ud83d\ude00""#), r#""\ud83d\ude00""#);
        assert_eq!(repair_surrogates(r#""\ud800""#), r#""\ufffd""#);
        assert_eq!(
            repair_surrogates(r#""\udc00\ud800x""#),
            r#""\ufffd\ufffdx""#
        );
        assert_eq!(repair_surrogates(r#""\\ud800""#), r#""\\ud800""#);
        assert_eq!(repair_surrogates("\"\\ud8é\""), "\"\\ud8é\"");
        assert_eq!(repair_surrogates("\\ud800\\"), "\\ufffd\\");
    }
}
