//! Names of arguments that users of the earlier systems write in calls of `execute`.

use rmcp::model::JsonObject;
use serde_json::Value;

use super::durations::milliseconds;
use crate::surface::arguments::ArgumentError;

/// `arguments` under the names of `execute`: `allowedTools` and `servers` are its `tools`, `timeoutMs` and `timeout`, in
/// seconds, its `timeout_ms`. A time may name its unit.
///
/// # Errors
///
/// When two names of one argument are given, or a time cannot be read.
pub(in crate::surface) fn with_own_names(
    mut arguments: JsonObject,
    form: &str,
) -> Result<JsonObject, ArgumentError> {
    for (name, unit_ms) in [("timeout_ms", 1), ("timeoutMs", 1), ("timeout", 1_000)] {
        let Some(value) = arguments.get(name).filter(|value| !value.is_null()) else {
            continue;
        };
        let read = match value {
            Value::String(text) => milliseconds(text, unit_ms),
            Value::Number(number) if name != "timeout_ms" => {
                milliseconds(&number.to_string(), unit_ms)
            }
            // Its own mistakes are named where it is read.
            _ if name == "timeout_ms" => continue,
            _ => None,
        };
        let wrong = || {
            let message = format!("`{name}` must be a time, such as 30 or \"90s\"");
            ArgumentError::new(message, form)
        };
        match read {
            Some(read) if name == "timeout_ms" => {
                arguments.insert(name.to_owned(), read.into());
            }
            Some(read) => rename(&mut arguments, name, "timeout_ms", read.into(), form)?,
            None if name == "timeout_ms" => {}
            None => return Err(wrong()),
        }
    }
    if let Some(tools) = present(&arguments, "allowedTools") {
        rename(&mut arguments, "allowedTools", "tools", tools, form)?;
    }
    if let Some(servers) = present(&arguments, "servers") {
        let Value::Array(names) = servers else {
            return Err(ArgumentError::new(
                "`servers` must be a list of names",
                form,
            ));
        };
        let patterns = names.into_iter().map(|name| match name {
            Value::String(name) => Value::String(format!("mcp__{name}__*")),
            other => other,
        });
        rename(&mut arguments, "servers", "tools", patterns.collect(), form)?;
    }
    Ok(arguments)
}

fn present(arguments: &JsonObject, name: &str) -> Option<Value> {
    arguments
        .get(name)
        .filter(|value| !value.is_null())
        .cloned()
}

fn rename(
    arguments: &mut JsonObject,
    name: &str,
    own: &str,
    value: Value,
    form: &str,
) -> Result<(), ArgumentError> {
    arguments.remove(name);
    if present(arguments, own).is_some() {
        let message = format!("`{name}` means `{own}`, which is given as well");
        return Err(ArgumentError::new(message, form));
    }
    arguments.insert(own.to_owned(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn own(arguments: Value) -> Result<Value, String> {
        let arguments = arguments.as_object().unwrap().clone();
        let own = with_own_names(arguments, "accepted: …");
        own.map(Value::Object).map_err(|error| error.to_string())
    }

    #[test]
    fn names_of_the_earlier_systems_mean_those_of_execute() {
        for (arguments, expected) in [
            (
                json!({"allowedTools": ["mcp__a__b"]}),
                json!({"tools": ["mcp__a__b"]}),
            ),
            (json!({"allowedTools": []}), json!({"tools": []})),
            (
                json!({"servers": ["a.b"]}),
                json!({"tools": ["mcp__a.b__*"]}),
            ),
            (json!({"timeoutMs": 1500}), json!({"timeout_ms": 1500})),
            (json!({"timeout": 90}), json!({"timeout_ms": 90_000})),
            (json!({"timeout": "90s"}), json!({"timeout_ms": 90_000})),
            (json!({"timeout_ms": "2m"}), json!({"timeout_ms": 120_000})),
            // The controls: its own names stay as they are, mistakes included.
            (
                json!({"timeout_ms": -1, "tools": "a"}),
                json!({"timeout_ms": -1, "tools": "a"}),
            ),
            (json!({"timeout_ms": "soon"}), json!({"timeout_ms": "soon"})),
        ] {
            assert_eq!(own(arguments), Ok(expected));
        }
    }

    #[test]
    fn two_names_of_one_argument_and_unreadable_times_are_mistakes() {
        for (arguments, named) in [
            (
                json!({"tools": ["a"], "servers": ["b"]}),
                "`servers` means `tools`",
            ),
            (
                json!({"timeout": 1, "timeoutMs": 5}),
                "`timeout` means `timeout_ms`",
            ),
            (json!({"timeout": "soon"}), "`timeout` must be a time"),
            (json!({"timeout": [1]}), "`timeout` must be a time"),
            (json!({"servers": "a"}), "`servers` must be a list"),
        ] {
            let error = own(arguments).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }
}
