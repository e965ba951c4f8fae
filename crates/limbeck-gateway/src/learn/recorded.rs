//! Learns from results that were recorded: a person's own recordings, or what a journal kept.

use limbeck_catalog::{Observed, Provenance};
use limbeck_domain::limits::LEARNT_RESULT_BYTES_MAX;
use limbeck_domain::{Language, ToolId, ToolTarget};
use limbeck_store::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::save;
use crate::{Gateway, broker};

/// Kinds of the blocks of a `CallToolResult`.
const BLOCKS: [&str; 5] = ["text", "image", "audio", "resource", "resource_link"];

/// Why a recorded result teaches nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoLesson {
    /// No such tool is known.
    #[error("{message}")]
    UnknownTool {
        /// What is not there, with the nearest names.
        message: String,
    },
    /// The server's entry, or the whole configuration, says `observe = false`.
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
        /// In which way.
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
        /// What the parser said.
        problem: String,
    },
}

/// What recorded results of one tool taught.
#[derive(Clone, Debug, Serialize)]
pub struct Learnt {
    /// Its server.
    pub server: String,
    /// Its name.
    pub tool: String,
    /// Results that were read.
    pub results: u64,
    /// Calls the type was observed in by now.
    pub calls: u64,
    /// Whether the type is another now.
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

/// Whether a value is a `CallToolResult` and not what a program got of one.
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

impl Gateway {
    /// What a recorded result teaches of the tool that `target` names. Nothing is kept yet.
    ///
    /// `result` is a `CallToolResult` or the value that a program got of one.
    ///
    /// # Errors
    ///
    /// [`NoLesson`].
    pub fn lesson(
        &self,
        target: &ToolTarget,
        result: &RawValue,
    ) -> Result<(ToolId, Observed), NoLesson> {
        let catalogue = &self.shared.catalogue;
        let resolved = catalogue.snapshot().resolve(target);
        let tool = resolved
            .map_err(|error| NoLesson::UnknownTool {
                message: limbeck_domain::CallError::from(error).message,
            })?
            .tool;
        let id = tool.id().clone();
        if !catalogue.observes(&id.server) {
            let server = id.server.to_string();
            return Err(NoLesson::Off { server });
        }
        let bytes = result.get().len();
        if bytes > LEARNT_RESULT_BYTES_MAX {
            return Err(NoLesson::TooLarge { bytes });
        }
        let value = if is_call_tool_result(result) {
            let value = broker::value_for_program(result, tool.definition());
            value.map_err(|_| NoLesson::Failed { tool: id.clone() })?
        } else {
            result.get().to_owned()
        };
        if tool.definition().output_schema.is_some() {
            return Err(match tool.contradiction(&value) {
                Some(how) => NoLesson::Contradicts { tool: id, how },
                None => NoLesson::Declared { tool: id },
            });
        }
        match Observed::once(&value) {
            Ok(observed) => Ok((id, observed)),
            Err(error) => Err(NoLesson::Unreadable {
                tool: id,
                problem: error.to_string(),
            }),
        }
    }

    /// Keeps what recorded results of a tool taught, and gives what is known of it now.
    ///
    /// # Errors
    ///
    /// What keeps the store from it; then nothing was learnt. `Ok(None)` when there is no such tool any more.
    pub async fn learn(
        &self,
        tool: &ToolId,
        observed: &Observed,
    ) -> Result<Option<Learnt>, StoreError> {
        let catalogue = &self.shared.catalogue;
        let Some(known) = catalogue.snapshot().tool(tool).cloned() else {
            return Ok(None);
        };
        save(catalogue, &self.shared.store, &known, observed).await?;
        let mut all = catalogue.observed(&known).unwrap_or_default();
        let changed = all.add(observed);
        catalogue.teach(vec![(known, all)]);
        let taught = catalogue.snapshot().tool(tool).cloned();
        Ok(taught.map(|taught| {
            let shape = taught.output_shape();
            let calls = match shape.map(|shape| shape.provenance) {
                Some(Provenance::Observed { calls }) => calls,
                Some(Provenance::Declared) | None => 0,
            };
            Learnt {
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
