//! Check of arguments against the published schema of an earlier system's tool: the few keywords that those schemas use.

use limbeck_domain::text::clean_line;
use rmcp::model::JsonObject;
use serde_json::Value;

/// Mistakes that are named in one error.
const MISTAKES_MAX: usize = 8;
/// Bytes of a name or value in an error.
const SHOWN_BYTES: usize = 64;

/// How a number outside of its bounds is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bounds {
    /// It is a mistake.
    Checked,
    /// It is taken for the nearest one that is allowed.
    Clamped,
}

/// Mistakes of `arguments`, one line each; none when they are what `schema` describes. Arguments that the schema does not
/// have are no mistakes: the earlier systems ignored them.
pub(super) fn mistakes(arguments: &JsonObject, schema: &JsonObject, bounds: Bounds) -> Vec<String> {
    let required = schema.get("required").and_then(Value::as_array);
    let missing = required.into_iter().flatten().filter_map(Value::as_str);
    let missing = missing.filter(|name| arguments.get(*name).is_none_or(Value::is_null));
    let missing = missing.map(|name| format!("`{name}` is required"));
    let properties = schema.get("properties").and_then(Value::as_object);
    let wrong = properties.into_iter().flatten().filter_map(|(name, rule)| {
        let value = arguments.get(name).filter(|value| !value.is_null())?;
        mistake(value, rule, bounds).map(|mistake| format!("`{name}` {mistake}"))
    });
    missing.chain(wrong).take(MISTAKES_MAX).collect()
}

/// The mistake of one value, a fragment that follows its name.
pub(super) fn mistake(value: &Value, rule: &Value, bounds: Bounds) -> Option<String> {
    let bound = |name: &str| rule.get(name).and_then(Value::as_i64);
    match rule.get("type").and_then(Value::as_str) {
        Some("integer") => {
            let Some(number) = whole_number(value) else {
                return Some("must be a whole number".to_owned());
            };
            return match (bounds, bound("minimum"), bound("maximum")) {
                (Bounds::Checked, Some(least), _) if number < least => {
                    Some(format!("must be at least {least}"))
                }
                (Bounds::Checked, _, Some(most)) if number > most => {
                    Some(format!("must be at most {most}"))
                }
                _ => None,
            };
        }
        Some("string") if !value.is_string() => return Some("must be a string".to_owned()),
        Some("boolean") if !value.is_boolean() => return Some("must be true or false".to_owned()),
        Some("object") => {
            let Value::Object(members) = value else {
                return Some("must be an object".to_owned());
            };
            let rules = rule.get("properties").and_then(Value::as_object);
            let mut inner = rules.into_iter().flatten().filter_map(|(name, rule)| {
                let value = members.get(name).filter(|value| !value.is_null())?;
                mistake(value, rule, bounds).map(|mistake| format!("`{name}` {mistake}"))
            });
            return inner.next();
        }
        Some("array") => {
            let is_list = value.as_array().is_some_and(|items| {
                let rule = rule.get("items");
                let mut items = items.iter();
                rule.is_none_or(|rule| items.all(|item| mistake(item, rule, bounds).is_none()))
            });
            return (!is_list).then(|| "must be a list of strings".to_owned());
        }
        _ => {}
    }
    let text = value.as_str().unwrap_or_default();
    if let Some(least) = bound("minLength")
        && (text.chars().count() as i64) < least
    {
        return Some("must not be empty".to_owned());
    }
    let allowed = rule.get("enum").and_then(Value::as_array)?;
    if allowed.contains(value) {
        return None;
    }
    let names: Vec<String> = allowed.iter().map(ToString::to_string).collect();
    Some(format!(
        "must be one of {}, got `{}`",
        names.join(", "),
        clean_line(text, SHOWN_BYTES)
    ))
}

/// A whole number, also one written as `30000.0` or `"30000"`: models send all three.
pub(super) fn whole_number(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => number.as_i64().or_else(|| {
            let float = number.as_f64()?;
            // Floats are exact below 2^53, and every bound is smaller.
            (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
        }),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// `number` within the bounds of `rule`.
pub(super) fn clamped(number: i64, rule: &Value) -> i64 {
    let bound = |name: &str| rule.get(name).and_then(Value::as_i64);
    let least = bound("minimum").unwrap_or(i64::MIN);
    number.max(least).min(bound("maximum").unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::alias::alias_named;
    use super::*;

    fn of(tool: &str, arguments: Value, bounds: Bounds) -> Vec<String> {
        let arguments = arguments.as_object().unwrap().clone();
        mistakes(&arguments, alias_named(tool).unwrap().schema(), bounds)
    }

    #[test]
    fn what_the_schema_describes_is_accepted_and_each_mistake_is_named() {
        let accepted = [
            json!({"code": "x"}),
            json!({"code": "x", "timeoutMs": "1000", "permissions": {"read": ["/a"]}, "unknown": 1}),
            json!({"code": "x", "timeoutMs": 5000.0, "allowedTools": null, "maxSamplingTokens": 100}),
        ];
        for arguments in accepted {
            assert_eq!(of("executeTypescript", arguments, Bounds::Checked), [""; 0]);
        }
        for (arguments, expected) in [
            (json!({}), "`code` is required"),
            (json!({"code": ""}), "`code` must not be empty"),
            (json!({"code": 1}), "`code` must be a string"),
            (
                json!({"code": "x", "timeoutMs": 999}),
                "`timeoutMs` must be at least 1000",
            ),
            (
                json!({"code": "x", "timeoutMs": 1.5}),
                "`timeoutMs` must be a whole number",
            ),
            (
                json!({"code": "x", "allowedTools": "a"}),
                "`allowedTools` must be a list of strings",
            ),
            (
                json!({"code": "x", "allowedTools": [1]}),
                "`allowedTools` must be a list of strings",
            ),
            (
                json!({"code": "x", "permissions": {"net": 1}}),
                "`permissions` `net` must be a list of strings",
            ),
            (
                json!({"code": "x", "enableSampling": "yes"}),
                "`enableSampling` must be true or false",
            ),
            (
                json!({"code": "x", "maxSamplingRounds": 101}),
                "`maxSamplingRounds` must be at most 100",
            ),
        ] {
            assert_eq!(
                of("executeTypescript", arguments, Bounds::Checked),
                [expected]
            );
        }
        assert_eq!(
            of(
                "search_tools",
                json!({"query": "q", "detail": "all"}),
                Bounds::Checked
            ),
            ["`detail` must be one of \"minimal\", \"standard\", \"full\", got `all`"]
        );
    }

    #[test]
    fn a_number_outside_of_its_bounds_is_a_mistake_or_the_nearest_one() {
        let late = json!({"code": "x", "timeout": 500});
        assert_eq!(
            of("run_python", late.clone(), Bounds::Checked),
            ["`timeout` must be at most 120"]
        );
        assert_eq!(of("run_python", late, Bounds::Clamped), [""; 0]);
        let rule = &alias_named("run_python").unwrap().schema()["properties"]["timeout"];
        assert_eq!([500, 0, 7].map(|number| clamped(number, rule)), [120, 1, 7]);
    }
}
