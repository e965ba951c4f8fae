//! Results of `search` and `execute`.

use limbeck_domain::{Emitted, Envelope, ExecutionId, ExecutionStatus};
use limbeck_gateway::Shown;
use rmcp::model::{CallToolResult, ContentBlock};

/// Bytes of the texts and blocks of the result that `shown` becomes.
pub(super) fn result_bytes(shown: &Shown) -> usize {
    let emitted = shown.envelope.emitted.iter().map(|emitted| {
        let block = emitted.block.as_ref().map(|block| block.get().len());
        block.unwrap_or_else(|| emitted.text.as_ref().map_or(0, String::len))
    });
    emitted.fold(shown.text.len(), usize::saturating_add)
}

/// The execution of an answer that says that it waits.
pub(super) fn paused(shown: &Shown) -> Option<ExecutionId> {
    let envelope = &shown.envelope;
    (envelope.status == ExecutionStatus::Paused).then(|| envelope.execution_id.clone())
}

/// Result of `execute`: the answer as text, then the blocks that the program emitted. There is no
/// `structuredContent`: some clients would then drop the text, others show both.
pub(super) fn program_result(shown: Shown) -> CallToolResult {
    let Shown {
        envelope,
        text: answer,
        tool_calls: _,
        model_calls: _,
    } = shown;
    let mut result = text(answer, envelope.error.is_some());
    result.content.extend(emitted_blocks(&envelope));
    result
}

/// Content blocks that a program emitted beside its result.
pub(super) fn emitted_blocks(envelope: &Envelope) -> impl Iterator<Item = ContentBlock> {
    envelope.emitted.iter().map(emitted_block)
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

pub(crate) fn failed(message: String) -> CallToolResult {
    text(message, true)
}

pub(crate) fn with_hint(message: &str, hint: Option<&str>) -> String {
    match hint {
        Some(hint) => format!("{message}\nhint: {hint}"),
        None => message.to_owned(),
    }
}
