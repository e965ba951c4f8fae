//! Answers of our own tools.

use limbeck_domain::{Emitted, Envelope};
use rmcp::model::{CallToolResult, ContentBlock};

use crate::{Render, render};

/// The envelope once, as text: clients that find `structuredContent` drop the text, and others
/// would show both. Behind it come the blocks the program emitted.
pub(super) fn envelope_result(envelope: &Envelope, render: Render) -> CallToolResult {
    let mut result = text(render::text(envelope, render), envelope.error.is_some());
    result
        .content
        .extend(envelope.emitted.iter().map(emitted_block));
    result
}

fn emitted_block(emitted: &Emitted) -> ContentBlock {
    let block = emitted.block.as_ref();
    block
        .and_then(|block| serde_json::from_str(block.get()).ok())
        .unwrap_or_else(|| ContentBlock::text(emitted.text.clone().unwrap_or_default()))
}

pub(super) fn text(text: String, is_error: bool) -> CallToolResult {
    let content = vec![ContentBlock::text(text)];
    if is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    }
}

pub(super) fn failed(message: String) -> CallToolResult {
    text(message, true)
}

pub(super) fn with_hint(message: &str, hint: Option<&str>) -> String {
    match hint {
        Some(hint) => format!("{message}\nhint: {hint}"),
        None => message.to_owned(),
    }
}
