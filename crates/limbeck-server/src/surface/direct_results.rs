//! Results of calls of exposed tools, at once or after a person approved the call.

use limbeck_domain::{ExecutionId, ToolId};
use limbeck_gateway::direct::{DirectAnswer, DirectError};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::built_in_results::{program_result, result_bytes};
use super::upstream_results;

/// Result of a call of `tool`, where it is known, as its client gets it.
///
/// # Errors
///
/// A protocol error of the server.
pub(super) fn result(
    called: Result<DirectAnswer, DirectError>,
    tool: Option<&ToolId>,
) -> Result<CallToolResult, ErrorData> {
    match called {
        Ok(DirectAnswer::Result { result, note }) => {
            let mut result = upstream_results::tool_result(&result);
            // Beside what the server sent, which stays as it is.
            let note = note.map(|note| ContentBlock::text(format!("note: {note}")));
            result.content.extend(note);
            Ok(result)
        }
        // `resume` gives the result of a read as text: it has not the form of a tool's result.
        Ok(DirectAnswer::Read { result, note }) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(result.get())]);
            let note = note.map(|note| ContentBlock::text(format!("note: {note}")));
            result.content.extend(note);
            Ok(result)
        }
        // An error: clients reject a success that does not have what the tool's output schema promises.
        Ok(DirectAnswer::Paused(shown)) => {
            let mut result = program_result(*shown);
            result.is_error = Some(true);
            Ok(result)
        }
        Err(failure) => upstream_results::call_failed(failure, tool),
    }
}

/// Result of a read of `what`, as the server sent it.
///
/// # Errors
///
/// The failure of the read, or that it waits for a person. A read has no place for the answer of a paused execution.
pub(super) fn read(
    read: Result<DirectAnswer, DirectError>,
    what: Option<Value>,
) -> Result<Box<RawValue>, ErrorData> {
    match read {
        Ok(DirectAnswer::Result { result, note: _ } | DirectAnswer::Read { result, note: _ }) => {
            Ok(result)
        }
        Ok(DirectAnswer::Paused(shown)) => {
            let id = shown.envelope.execution_id;
            let message = format!(
                "a person has to approve this read, and has not decided yet: `limbeck resume {id}` shows the question; after an approval `resume` with this execution_id gives the result"
            );
            let data = json!({ "execution_id": id, "pending": shown.envelope.pending });
            Err(ErrorData::internal_error(message, Some(data)))
        }
        Err(failure) => Err(upstream_results::read_failed(failure, what)),
    }
}

/// The execution of a call that waits for a person.
pub(super) fn paused(called: &Result<DirectAnswer, DirectError>) -> Option<ExecutionId> {
    match called {
        Ok(DirectAnswer::Paused(shown)) => Some(shown.envelope.execution_id.clone()),
        Ok(DirectAnswer::Result { .. } | DirectAnswer::Read { .. }) | Err(_) => None,
    }
}

/// Bytes of the answer that `called` becomes.
pub(super) fn bytes(called: &Result<DirectAnswer, DirectError>) -> usize {
    match called {
        Ok(DirectAnswer::Result { result, .. } | DirectAnswer::Read { result, .. }) => {
            result.get().len()
        }
        Ok(DirectAnswer::Paused(shown)) => result_bytes(shown),
        Err(_) => 0,
    }
}
