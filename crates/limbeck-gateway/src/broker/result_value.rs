//! Value that a program gets of a `CallToolResult`, decided by types and never by looking at the text.
//!
//! The value is `structuredContent`, if there is one. Otherwise it is one text block, as JSON when the tool declares an
//! output schema and as a string when it does not; or several text blocks joined by newlines; or the list of blocks,
//! with text blocks as strings. Images, audio and binary resources become artifacts, and the list has handles of them.
//! A result with `isError` is an error with the text of the blocks.

use std::borrow::Cow;

use limbeck_domain::text::clean;
use limbeck_domain::{CallCode, CallError, ToolDefinition};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::artifacts::UnsavedArtifact;
use crate::artifacts::binary::handle_of;

/// Text of a tool's own error that is kept.
const ERROR_TEXT_BYTES_MAX: usize = 4 << 10;

#[derive(Deserialize)]
struct CallToolResult<'a> {
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "isError")]
    is_error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

/// Value of a result, and the artifacts its handles name.
#[derive(Debug)]
pub(super) struct ResultValue {
    /// JSON text.
    pub(super) json: String,
    /// Content of the binary blocks that the value has handles of.
    pub(super) artifacts: Vec<UnsavedArtifact>,
}

/// Form of a binary block in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BinaryBlocks {
    /// A handle; the content becomes an artifact.
    Handles,
    /// The block as the server sent it.
    AsSent,
}

/// The value of a successful result.
///
/// # Errors
///
/// [`CallCode::ToolFailed`] when the result has `isError`, [`CallCode::UpstreamError`] when it is
/// not an object.
pub(super) fn value_of(
    result: &RawValue,
    tool: &ToolDefinition,
    binaries: BinaryBlocks,
) -> Result<ResultValue, CallError> {
    let fail = |code, message: String| {
        CallError::new(code, message).with_target(tool.id.server.as_str(), &*tool.id.tool)
    };
    let not_a_result = || {
        fail(
            CallCode::UpstreamError,
            format!("`{}` returned something that is not a tool result", tool.id),
        )
    };
    // An array would be read as the fields of the struct in order.
    if !result.get().starts_with('{') {
        return Err(not_a_result());
    }
    let parsed: CallToolResult<'_> =
        serde_json::from_str(result.get()).map_err(|_| not_a_result())?;
    let blocks = blocks_of(parsed.content);
    if parsed.is_error.is_some_and(|flag| flag.get() == "true") {
        let text = joined_text(&blocks).unwrap_or_default();
        let text = match text.trim() {
            "" => "the tool reported an error without a text",
            text => text,
        };
        // An error of a program that does not catch it is read as words of the gateway.
        return Err(fail(
            CallCode::ToolFailed,
            clean(text, ERROR_TEXT_BYTES_MAX),
        ));
    }
    if let Some(structured) = parsed.structured.filter(|value| value.get() != "null") {
        return Ok(ResultValue::plain(structured.get().to_owned()));
    }
    if let [(_, Some(text))] = blocks.as_slice()
        && tool.output_schema.is_some()
        && serde_json::from_str::<&RawValue>(text).is_ok()
    {
        return Ok(ResultValue::plain(text.trim().to_owned()));
    }
    let value = match joined_text(&blocks) {
        Some(text) => serde_json::Value::from(text).to_string(),
        None if blocks.is_empty() => "null".to_owned(),
        None => return Ok(list_of(&blocks, binaries)),
    };
    Ok(ResultValue::plain(value))
}

impl ResultValue {
    fn plain(json: String) -> Self {
        Self {
            json,
            artifacts: Vec::new(),
        }
    }
}

/// The value that a program gets, without the artifacts.
///
/// # Errors
///
/// When the result has no value that programs get: see [`value_of`].
pub(crate) fn value_for_program(
    result: &RawValue,
    tool: &ToolDefinition,
) -> Result<String, CallError> {
    value_of(result, tool, BinaryBlocks::Handles).map(|value| value.json)
}

/// Every block with its text, when it is a text block.
fn blocks_of(content: Option<&RawValue>) -> Vec<(&RawValue, Option<String>)> {
    let Some(content) = content else {
        return Vec::new();
    };
    let blocks: Vec<&RawValue> = match serde_json::from_str(content.get()) {
        Ok(blocks) => blocks,
        // Some servers send one text where a list of blocks belongs.
        Err(_) => {
            return match serde_json::from_str::<String>(content.get()) {
                Ok(text) => vec![(content, Some(text))],
                Err(_) => Vec::new(),
            };
        }
    };
    blocks
        .into_iter()
        .map(|block| {
            let text = match serde_json::from_str::<Block<'_>>(block.get()) {
                Ok(Block {
                    kind: Some(kind),
                    text,
                }) if kind == "text" => Some(text.unwrap_or_default().into_owned()),
                Ok(_) | Err(_) => None,
            };
            (block, text)
        })
        .collect()
}

/// All texts, one a line, when every block is a text.
fn joined_text(blocks: &[(&RawValue, Option<String>)]) -> Option<String> {
    if blocks.is_empty() {
        return None;
    }
    let texts: Option<Vec<&str>> = blocks.iter().map(|(_, text)| text.as_deref()).collect();
    texts.map(|texts| texts.join("\n"))
}

fn list_of(blocks: &[(&RawValue, Option<String>)], binaries: BinaryBlocks) -> ResultValue {
    let mut artifacts = Vec::new();
    let items: Vec<String> = blocks
        .iter()
        .map(|(raw, text)| match text {
            Some(text) => serde_json::Value::from(text.as_str()).to_string(),
            None => match handle_of(raw).filter(|_| binaries == BinaryBlocks::Handles) {
                Some((handle, artifact)) => {
                    artifacts.push(artifact);
                    handle
                }
                None => raw.get().to_owned(),
            },
        })
        .collect();
    ResultValue {
        json: format!("[{}]", items.join(",")),
        artifacts,
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{ToolAnnotations, ToolId};
    use serde_json::{Value, json};

    use super::*;

    fn unwrap(result: &Value, typed: bool) -> Result<Value, CallError> {
        let tool = ToolDefinition {
            id: ToolId::new("s", "t"),
            title: None,
            description: None,
            input_schema: json!({"type": "object"}),
            output_schema: typed.then(|| json!({"type": "object"})),
            annotations: ToolAnnotations::default(),
        };
        let raw = serde_json::value::to_raw_value(result).unwrap();
        value_of(&raw, &tool, BinaryBlocks::Handles)
            .map(|value| serde_json::from_str(&value.json).unwrap())
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[test]
    fn structured_content_wins_over_text() {
        let result = json!({"content": [text("x")], "structuredContent": {"a": 1}});
        assert_eq!(unwrap(&result, false).unwrap(), json!({"a": 1}));
    }

    #[test]
    fn one_text_is_json_only_for_a_tool_that_declares_an_output() {
        let result = json!({"content": [text("{\"a\":1}")]});
        assert_eq!(unwrap(&result, false).unwrap(), json!("{\"a\":1}"));
        assert_eq!(unwrap(&result, true).unwrap(), json!({"a": 1}));
        let plain = json!({"content": [text("not json")]});
        assert_eq!(unwrap(&plain, true).unwrap(), json!("not json"));
    }

    #[test]
    fn a_block_that_is_no_content_to_keep_stays_as_it_is() {
        for other in [
            json!({"type": "resource", "resource": {"uri": "f:a", "text": "t"}}),
            json!({"type": "image", "data": "no base64", "mimeType": "image/png"}),
            json!({"type": "video", "src": "x"}),
        ] {
            let content = json!({"content": [other]});
            assert_eq!(unwrap(&content, false).unwrap(), json!([other]));
        }
    }

    #[test]
    fn several_texts_are_lines_and_other_blocks_make_a_list() {
        let texts = json!({"content": [text("a"), text("b")]});
        assert_eq!(unwrap(&texts, false).unwrap(), json!("a\nb"));
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let mixed = json!({"content": [text("a"), image]});
        let id = crate::artifacts::id_of("image/png", &[0]);
        let handle = json!({"artifact": id, "mimeType": "image/png", "bytes": 1});
        assert_eq!(unwrap(&mixed, false).unwrap(), json!(["a", handle]));
        assert_eq!(unwrap(&json!({"content": []}), false).unwrap(), Value::Null);
        assert_eq!(unwrap(&json!({}), false).unwrap(), Value::Null);
    }

    #[test]
    fn an_error_result_is_an_error_with_its_text_and_odd_shapes_do_not_panic() {
        let failed = json!({"content": [text("no such file")], "isError": true});
        let error = unwrap(&failed, true).unwrap_err();
        assert_eq!(error.code, CallCode::ToolFailed);
        assert_eq!(error.message, "no such file");
        let hidden = json!({"content": [text("no\u{202e} such\u{200b} file")], "isError": true});
        assert_eq!(unwrap(&hidden, true).unwrap_err().message, "no such file");
        assert_eq!(error.tool.as_deref(), Some("t"));

        let not_boolean = json!({"content": [text("ok")], "isError": "yes"});
        assert_eq!(unwrap(&not_boolean, false).unwrap(), json!("ok"));
        assert_eq!(
            unwrap(&json!({"content": "bare"}), false).unwrap(),
            json!("bare")
        );
        assert_eq!(
            unwrap(&json!({"content": [{"type": "text", "text": null}]}), false).unwrap(),
            json!("")
        );
        assert_eq!(
            unwrap(&json!([1]), false).unwrap_err().code,
            CallCode::UpstreamError
        );
    }
}
