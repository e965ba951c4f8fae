//! Observed types from recorded results: a user's recordings, or results in a journal.

use limbeck_catalog::{Observed, Provenance};
use limbeck_domain::limits::LEARNT_RESULT_BYTES_MAX;
use limbeck_domain::{Language, ToolId, ToolTarget};
use limbeck_store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::save;
use crate::broker;
use crate::live_catalog::LiveCatalog;

/// Kinds of the blocks of a `CallToolResult`.
const BLOCKS: [&str; 5] = ["text", "image", "audio", "resource", "resource_link"];

/// Why a recorded result was skipped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkippedRecordError {
    /// The tool is unknown.
    #[error("{message}")]
    UnknownTool {
        /// What is unknown, with the nearest names.
        message: String,
    },
    /// The server's entry, or the whole configuration, has `observe = false`.
    #[error("learning is switched off for server `{server}`: `observe = false`")]
    Off {
        /// The server.
        server: String,
    },
    /// The tool declares an output schema, which the result fits.
    #[error("`{tool}` declares its output schema")]
    Declared {
        /// The tool.
        tool: ToolId,
    },
    /// The tool declares an output schema, and the result is something else.
    #[error("`{tool}` declares an output schema that the result does not fit: {how}")]
    Contradicts {
        /// The tool.
        tool: ToolId,
        /// The difference.
        how: String,
    },
    /// The tool failed in that call.
    #[error("the result is an error of `{tool}`")]
    Failed {
        /// The tool.
        tool: ToolId,
    },
    /// The result is too large to be read.
    #[error("the result has {bytes} bytes, at most {LEARNT_RESULT_BYTES_MAX} are read")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The result is nested too deeply.
    #[error("the result of `{tool}` cannot be read: {problem}")]
    Unreadable {
        /// The tool.
        tool: ToolId,
        /// The parser's error.
        problem: String,
    },
}

/// What was imported from recorded results of one tool.
#[derive(Clone, Debug, Serialize)]
pub struct ImportSummary {
    /// Server of the tool.
    pub server: String,
    /// Name of the tool.
    pub tool: String,
    /// Results that were read.
    pub results: u64,
    /// Calls the type has been observed in.
    pub calls: u64,
    /// Whether the type has changed.
    pub changed: bool,
    /// The type, as JSON Schema.
    pub schema: serde_json::Value,
    /// The tool's signature in TypeScript.
    pub signature: String,
}

#[derive(Deserialize)]
struct ResultForm<'a> {
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<Vec<BlockForm<'a>>>,
}

#[derive(Deserialize)]
struct BlockForm<'a> {
    #[serde(borrow, rename = "type")]
    kind: std::borrow::Cow<'a, str>,
}

/// Whether a value is a `CallToolResult`, as opposed to the value that a program gets of one.
fn is_call_tool_result(value: &RawValue) -> bool {
    if !value.get().starts_with('{') {
        return false;
    }
    let form: Result<ResultForm<'_>, _> = serde_json::from_str(value.get());
    form.is_ok_and(|form| match form.content {
        Some(blocks) => blocks.iter().all(|block| BLOCKS.contains(&&*block.kind)),
        None => form.structured.is_some(),
    })
}

/// Learns result types from recorded results.
#[derive(Debug)]
pub(crate) struct RecordedResults {
    live_catalog: LiveCatalog,
    store: Store,
}

impl RecordedResults {
    pub(crate) fn new(live_catalog: LiveCatalog, store: Store) -> Self {
        Self {
            live_catalog,
            store,
        }
    }

    /// The type of a recorded result of the tool that `target` names. Nothing is stored.
    ///
    /// `result` is a `CallToolResult` or the value that a program got of one.
    ///
    /// # Errors
    ///
    /// [`SkippedRecordError`].
    pub(crate) fn observed_type(
        &self,
        target: &ToolTarget,
        result: &RawValue,
    ) -> Result<(ToolId, Observed), SkippedRecordError> {
        let live_catalog = &self.live_catalog;
        let resolved = live_catalog.snapshot().resolve(target);
        let tool = resolved
            .map_err(|error| SkippedRecordError::UnknownTool {
                message: limbeck_domain::CallError::from(error).message,
            })?
            .tool;
        let id = tool.id().clone();
        if !live_catalog.observes(&id.server) {
            let server = id.server.to_string();
            return Err(SkippedRecordError::Off { server });
        }
        let bytes = result.get().len();
        if bytes > LEARNT_RESULT_BYTES_MAX {
            return Err(SkippedRecordError::TooLarge { bytes });
        }
        let value = if is_call_tool_result(result) {
            let value = broker::value_for_program(result, tool.definition());
            value.map_err(|_| SkippedRecordError::Failed { tool: id.clone() })?
        } else {
            result.get().to_owned()
        };
        if tool.definition().output_schema.is_some() {
            return Err(match tool.contradiction(&value) {
                Some(how) => SkippedRecordError::Contradicts { tool: id, how },
                None => SkippedRecordError::Declared { tool: id },
            });
        }
        match Observed::once(&value) {
            Ok(observed) => Ok((id, observed)),
            Err(error) => Err(SkippedRecordError::Unreadable {
                tool: id,
                problem: error.to_string(),
            }),
        }
    }

    /// Keeps what recorded results of a tool taught, and gives what is known of it now.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; then nothing was stored. `Ok(None)` when the tool is gone.
    pub(crate) async fn learn(
        &self,
        tool: &ToolId,
        observed: &Observed,
    ) -> Result<Option<ImportSummary>, StoreError> {
        let live_catalog = &self.live_catalog;
        let Some(known) = live_catalog.snapshot().tool(tool).cloned() else {
            return Ok(None);
        };
        save(live_catalog, &self.store, &known, observed).await?;
        let mut all = live_catalog.observed(&known).unwrap_or_default();
        let changed = all.add(observed);
        live_catalog.teach(vec![(known, all)]);
        let taught = live_catalog.snapshot().tool(tool).cloned();
        Ok(taught.map(|taught| {
            let shape = taught.output_shape();
            let calls = match shape.map(|shape| shape.provenance) {
                Some(Provenance::Observed { calls }) => calls,
                Some(Provenance::Declared) | None => 0,
            };
            ImportSummary {
                server: tool.server.to_string(),
                tool: tool.tool.to_string(),
                results: observed.calls,
                calls,
                changed,
                schema: shape.map_or_else(Default::default, |shape| shape.schema.clone()),
                signature: taught.signature(Language::Typescript).to_owned(),
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_call_tool_result;

    #[test]
    fn a_result_is_told_from_the_value_a_program_got() {
        for (value, expected) in [
            (json!({"content": [{"type": "text", "text": "x"}]}), true),
            (json!({"content": [], "isError": true}), true),
            (json!({"structuredContent": {"a": 1}}), true),
            (json!({"content": [{"type": "paragraph"}]}), false),
            (json!({"content": "text"}), false),
            (json!({"a": 1}), false),
            (json!([{"type": "text"}]), false),
            (json!("text"), false),
        ] {
            let raw = serde_json::value::to_raw_value(&value).unwrap();
            assert_eq!(is_call_tool_result(&raw), expected, "{value}");
        }
    }
}
