//! The ledger: what executions cost a model, beside what direct calls would have cost it.
//!
//! A gateway only notes sizes, when an execution ends, and keeps the texts that the journal has not
//! ([`note`](mod@note)); tokens are counted when somebody looks ([`count`](mod@count)). What both sides consist
//! of is said in [`limbeck_domain::ledger`].

mod count;
mod evidence;
mod note;

pub use count::{entries, entry};
pub use evidence::better_direct;

pub(crate) use note::{Ledger, Noted, Spent, Tally};

use limbeck_domain::ToolDefinition;
use serde_json::{Value, json};

/// A tool as clients show it to a model: they leave out titles, annotations and what comes back.
fn shown(name: &str, description: Option<&str>, schema: &Value) -> Value {
    json!({"name": name, "description": description.unwrap_or_default(), "input_schema": schema})
}

fn shown_definition(tool: &ToolDefinition) -> Value {
    shown(
        &tool.id.tool,
        tool.description.as_deref(),
        &tool.input_schema,
    )
}
