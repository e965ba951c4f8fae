//! Conversion of upstream servers' results and errors to types of the SDK. Content that the SDK cannot
//! represent is passed as text.

use limbeck_domain::{CallError, ToolId};
use limbeck_upstream::UpstreamError;
use rmcp::ErrorData;
use rmcp::model::{CacheScope, CallToolResult, ContentBlock, ErrorCode, ReadResourceResult};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::built_in_results::{failed, with_hint};
use limbeck_gateway::direct::DirectError;

/// Error codes of an unknown resource: in revision 2026-07-28, and before.
const NOT_FOUND: [i64; 2] = [-32602, -32002];
/// Time that a client may cache a resource of a server, as it may a list.
const RESOURCE_TTL_MS_MAX: u64 = 60_000;

/// Error code of a server that needs its user to open an address.
const URL_NEEDED: i32 = -32042;

/// Converts a `CallToolResult`. A content block that the SDK does not know becomes a text block with its JSON.
pub(super) fn tool_result(raw: &RawValue) -> CallToolResult {
    let Ok(mut result) = serde_json::from_str::<Map<String, Value>>(raw.get()) else {
        return CallToolResult::success(vec![ContentBlock::text(raw.get())]);
    };
    let content = match result.remove("content") {
        Some(Value::Array(blocks)) => blocks.into_iter().map(block).collect(),
        None | Some(Value::Null) => Vec::new(),
        Some(other) => vec![block(other)],
    };
    let mut kept = json!({"resultType": "complete", "content": content});
    if let Some(structured) = result.remove("structuredContent") {
        kept["structuredContent"] = structured;
    }
    if result.get("isError") == Some(&Value::Bool(true)) {
        kept["isError"] = true.into();
    }
    if let Some(meta @ Value::Object(_)) = result.remove("_meta") {
        kept["_meta"] = meta;
    }
    serde_json::from_value(kept)
        .unwrap_or_else(|_| CallToolResult::success(vec![ContentBlock::text(raw.get())]))
}

fn block(value: Value) -> Value {
    if serde_json::from_value::<ContentBlock>(value.clone()).is_ok() {
        return value;
    }
    let text = match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    json!({"type": "text", "text": text})
}

/// Converts the result of a read.
///
/// # Errors
///
/// When it does not have the form of the SDK's type.
pub(super) fn result<T: DeserializeOwned>(raw: &RawValue) -> Result<T, ErrorData> {
    let unreadable = |error: serde_json::Error| {
        let message =
            format!("the server's result does not have the form of the protocol: {error}");
        ErrorData::internal_error(message, None)
    };
    let mut result: Value = serde_json::from_str(raw.get()).map_err(unreadable)?;
    if let Some(result) = result.as_object_mut() {
        result.insert("resultType".to_owned(), "complete".into());
    }
    serde_json::from_value(result).map_err(unreadable)
}

/// Converts a resource that was read. Only its client may cache it: the server does not know that the gateway read it
/// for one of several principals, each with a token.
///
/// # Errors
///
/// When it does not have the form of the SDK's type.
pub(super) fn resource(raw: &RawValue) -> Result<ReadResourceResult, ErrorData> {
    let mut read: ReadResourceResult = result(raw)?;
    read.ttl_ms = read.ttl_ms.map(|ttl_ms| ttl_ms.min(RESOURCE_TTL_MS_MAX));
    Ok(read.with_cache_scope(CacheScope::Private))
}

/// Converts a failed call: protocol errors of the server pass with their data, other failures become a
/// result with `isError`, which the model reads.
pub(super) fn call_failed(
    failure: DirectError,
    tool: Option<&ToolId>,
) -> Result<CallToolResult, ErrorData> {
    match failure {
        DirectError::Upstream(UpstreamError::Protocol {
            code,
            message,
            data,
        }) => Err(protocol_error(code, message, data.map(|data| *data))),
        DirectError::Upstream(error) => Ok(match tool {
            Some(tool) => said(&error.to_call_error(tool)),
            None => failed(error.full_text()),
        }),
        DirectError::Call(error) => Ok(said(&error)),
    }
}

/// Converts a failed read of `what`, such as the URI of a resource.
pub(super) fn read_failed(failure: DirectError, what: Option<Value>) -> ErrorData {
    match failure {
        DirectError::Upstream(UpstreamError::Protocol {
            code,
            message,
            data,
        }) => {
            let is_missing = what.is_some() && NOT_FOUND.contains(&code);
            let data = data.map(|data| *data).or(what);
            match is_missing {
                true => ErrorData::resource_not_found(message, data),
                false => protocol_error(code, message, data),
            }
        }
        DirectError::Upstream(error) => ErrorData::internal_error(error.full_text(), what),
        DirectError::Call(error) => ErrorData::internal_error(error.message, what),
    }
}

fn protocol_error(code: i64, message: String, data: Option<Value>) -> ErrorData {
    let code = match i32::try_from(code) {
        // Its data, the addresses to open, is not passed on, and clients fail without it.
        Ok(URL_NEEDED) | Err(_) => ErrorCode::INTERNAL_ERROR,
        Ok(code) => ErrorCode(code),
    };
    ErrorData::new(code, message, data)
}

fn said(error: &CallError) -> CallToolResult {
    let text = with_hint(&error.message, error.hint.as_deref());
    CallToolResult::error(vec![ContentBlock::text(text)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(json: &str) -> Value {
        let raw = RawValue::from_string(json.to_owned()).unwrap();
        serde_json::to_value(tool_result(&raw)).unwrap()
    }

    #[test]
    fn a_resource_is_private_with_any_cache_hint_of_its_server() {
        for (hints, ttl_ms) in [
            (
                json!({"cacheScope": "public", "ttlMs": 1_000_000_000}),
                json!(60_000),
            ),
            (json!({"cacheScope": "private", "ttlMs": 5}), json!(5)),
            (json!({}), Value::Null),
        ] {
            let mut read = json!({"contents": [{"uri": "x:1", "text": "t"}]});
            for (key, value) in hints.as_object().unwrap() {
                read[key] = value.clone();
            }
            let raw = serde_json::value::to_raw_value(&read).unwrap();
            let passed = serde_json::to_value(resource(&raw).unwrap()).unwrap();
            assert_eq!(passed["cacheScope"], "private", "{hints}");
            assert_eq!(passed["ttlMs"], ttl_ms, "{hints}");
            assert_eq!(passed["contents"], read["contents"]);
        }
    }

    #[test]
    fn known_parts_pass_as_they_are_and_an_unknown_block_is_kept_as_text() {
        let whole = json!({
            "resultType": "complete",
            "content": [
                {"type": "text", "text": "a", "annotations": {"priority": 0.5}},
                {"type": "image", "data": "AA==", "mimeType": "image/png"},
                {"type": "resource_link", "uri": "x:1", "name": "n"}
            ],
            "structuredContent": {"a": [1, 9_007_199_254_740_993_u64]},
            "isError": true,
            "_meta": {"a/b": 1}
        });
        assert_eq!(passed(&whole.to_string()), whole);
        let odd =
            passed(r#"{"content":[{"type":"video","src":"x"},{"type":"text"}],"isError":"no"}"#);
        assert_eq!(
            odd["content"][0],
            json!({"type": "text", "text": r#"{"type":"video","src":"x"}"#})
        );
        assert_eq!(odd["content"][1]["text"], r#"{"type":"text"}"#);
        assert_ne!(odd["isError"], true);
    }
}
