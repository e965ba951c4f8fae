//! The ledger: what executions cost a model, beside what direct calls would have cost it.
//!
//! When an execution ends, the gateway records sizes, and keeps the texts that are not in the journal
//! ([`record`](mod@record)). Tokens are counted when a user looks at the ledger ([`count`](mod@count)).
//! [`limbeck_domain::ledger`] defines what each side consists of.

mod count;
mod evidence;
mod record;

pub use count::{entries, entry};
pub use evidence::better_direct;

pub use record::ClientListing;
pub(crate) use record::{CallMeter, CallUsage, ExecutionUsage, Ledger};

use limbeck_domain::ToolDefinition;
use serde_json::{Value, json};

/// A tool as clients show it to a model: without title, annotations and output schema.
pub fn shown(name: &str, description: Option<&str>, schema: &Value) -> Value {
    json!({"name": name, "description": description.unwrap_or_default(), "input_schema": schema})
}

fn shown_definition(tool: &ToolDefinition) -> Value {
    shown(
        &tool.id.tool,
        tool.description.as_deref(),
        &tool.input_schema,
    )
}
