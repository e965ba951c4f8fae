//! Tool lists of published MCP servers, for tests and measurements.
//!
//! The data is in `tests/catalogs`, whose README names its origin. It is compiled in, so a test reads no file. [`values`]
//! generates valid and invalid values for the schemas. The crate is never part of the product. It is separate from
//! `limbeck-testkit` so that tests of crates below the gateway can use it.

#![forbid(unsafe_code)]

mod queries;
mod samples;
pub mod values;

use flate2::read::GzDecoder;
use limbeck_domain::{ServerName, ToolAnnotations, ToolDefinition, ToolId};
use serde::Deserialize;
use serde_json::Value;

pub use queries::{LabeledQuery, QueryKind, RECALL_AT, SearchFigures, Split, queries};
pub use samples::samples;

static CAPTURES: &[u8] = include_bytes!("../../../tests/catalogs/catalogs.json.gz");

/// Tool list of one server.
#[derive(Clone, Debug, Deserialize)]
pub struct Capture {
    /// Short name, unique among the captures: `github`, `aws-eks`.
    pub server: String,
    /// Package of npm or PyPI, or a repository.
    pub package: String,
    /// Version of the package.
    pub version: String,
    /// Instructions of its `initialize` result.
    pub instructions: Option<String>,
    /// The tools exactly as the server sent them.
    pub tools: Vec<Value>,
}

/// All captures, by server name.
///
/// # Panics
///
/// When the data is damaged.
#[must_use]
pub fn captures() -> Vec<Capture> {
    serde_json::from_reader(GzDecoder::new(CAPTURES)).expect("the captured lists are JSON")
}

impl Capture {
    /// The tools as the gateway would know them, under the capture's server name.
    #[must_use]
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        let tools = self.tools.iter();
        tools.map(|tool| definition(&self.server, tool)).collect()
    }

    /// The server's name.
    #[must_use]
    pub fn name(&self) -> ServerName {
        ServerName::from(self.server.as_str())
    }
}

/// Reads one entry of a `tools/list` answer.
#[must_use]
pub fn definition(server: &str, tool: &Value) -> ToolDefinition {
    let text = |key: &str| tool[key].as_str().map(str::to_owned);
    let hint = |key: &str| tool["annotations"][key].as_bool();
    ToolDefinition {
        id: ToolId::new(server, tool["name"].as_str().unwrap_or_default()),
        title: text("title").or_else(|| tool["annotations"]["title"].as_str().map(str::to_owned)),
        description: text("description"),
        input_schema: tool["inputSchema"].clone(),
        output_schema: tool.get("outputSchema").cloned(),
        annotations: ToolAnnotations {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
        },
    }
}
