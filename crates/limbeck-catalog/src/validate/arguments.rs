//! Parser of a call's arguments.

use std::collections::HashMap;

use limbeck_domain::{
    ArgumentsError, CallCode, CallError, CompactArguments, ToolDefinition, limits,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::display::described;
use crate::names;

/// Parses the arguments, and returns the text to send with the value to check.
pub(super) fn parse(
    tool: &ToolDefinition,
    arguments: &str,
) -> Result<(CompactArguments, Value), CallError> {
    let id = &tool.id;
    let refuse = |code, message: String| {
        CallError::new(code, message).with_target(id.server.as_str(), &*id.tool)
    };
    if arguments.len() > limits::CALL_ARGS_BYTES_MAX {
        let message = format!(
            "arguments are {} bytes, over the limit of {}",
            arguments.len(),
            limits::CALL_ARGS_BYTES_MAX
        );
        return Err(refuse(CallCode::LimitExceeded, message));
    }
    // `serde_json` enforces `limits::JSON_DEPTH_MAX`.
    CompactArguments::parse(arguments).map_err(|error| match error {
        ArgumentsError::NotJson(error) => refuse(
            CallCode::InvalidArguments,
            format!("arguments are not JSON: {error}"),
        ),
        ArgumentsError::NotAnObject(value) => {
            let hint = format!(
                "call it with named arguments: `{}({{ … }})`",
                names::call_expression(id.server.as_str(), &id.tool)
            );
            let message = format!("arguments must be one object, got {}", described(&value));
            refuse(CallCode::InvalidArguments, message).with_hint(hint)
        }
        ArgumentsError::DuplicateKey => refuse(CallCode::InvalidArguments, error.to_string()),
    })
}

/// The text of an object with the keys of `value`, in its order, and with the values that `text` has: numbers stay as they
/// were written. `renamed` has the names in `text` of keys that it has under another one.
pub(super) fn rewritten(text: &str, value: &Value, renamed: &[(String, String)]) -> String {
    let values: HashMap<String, &RawValue> = serde_json::from_str(text).unwrap_or_default();
    let keys = value.as_object().into_iter().flatten();
    let members = keys.filter_map(|(key, _)| {
        let written = renamed.iter().find(|(_, listed)| listed == key);
        let written = written.map_or(key, |(written, _)| written);
        Some(format!(
            "{}:{}",
            Value::from(key.as_str()),
            values.get(written)?
        ))
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}
