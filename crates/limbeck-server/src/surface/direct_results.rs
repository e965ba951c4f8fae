//! Results of calls of exposed tools, at once or after a person approved the call.

use limbeck_domain::{ExecutionId, ToolId};
use limbeck_gateway::direct::{DirectAnswer, DirectError};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};

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
        // An error: clients reject a success that does not have what the tool's output schema promises.
        Ok(DirectAnswer::Paused(shown)) => {
            let mut result = program_result(*shown);
            result.is_error = Some(true);
            Ok(result)
        }
        Err(failure) => upstream_results::call_failed(failure, tool),
    }
}

/// The execution of a call that waits for a person.
pub(super) fn paused(called: &Result<DirectAnswer, DirectError>) -> Option<ExecutionId> {
    match called {
        Ok(DirectAnswer::Paused(shown)) => Some(shown.envelope.execution_id.clone()),
        Ok(DirectAnswer::Result { .. }) | Err(_) => None,
    }
}

/// Bytes of the answer that `called` becomes.
pub(super) fn bytes(called: &Result<DirectAnswer, DirectError>) -> usize {
    match called {
        Ok(DirectAnswer::Result { result, .. }) => result.get().len(),
        Ok(DirectAnswer::Paused(shown)) => result_bytes(shown),
        Err(_) => 0,
    }
}
