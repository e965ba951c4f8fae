//! What the operator says about calls in doubt: whether a tool may be called again, and how it is found out what happened.
//!
//! Without such a word a call in doubt waits for a person. A server's own `idempotentHint` never suffices.

use std::collections::BTreeMap;

use limbeck_domain::ToolId;
use serde_json::{Map, Value};

use crate::rules::{ArgumentPath, Condition, ConditionError, found_in};

/// Tools of a configuration of which the operator says something.
const RULES_MAX: usize = 10_000;
/// Bytes of the name of an argument, of a member of `_meta` or of a header.
const NAME_BYTES_MAX: usize = 128;
/// A text in `verify` that is replaced by the key of the call.
const KEY: &str = "$key";
/// Beginning of a text in `verify` that is replaced by an argument of the call.
const ARGUMENT: &str = "$arguments.";
/// Headers that the connection itself sets.
const RESERVED_HEADERS: [&str; 9] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "host",
    "accept",
    "connection",
    "transfer-encoding",
    "last-event-id",
    "upgrade",
];
/// Beginnings of such headers.
const RESERVED_PREFIXES: [&str; 3] = ["mcp-", "content-", "proxy-"];

/// What the operator says about calls in doubt, by tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DoubtRules(BTreeMap<ToolId, DoubtRule>);

/// What the operator says about calls of one tool that are in doubt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DoubtRule {
    /// Calling it twice with the same arguments is the same as calling it once.
    pub is_idempotent: bool,
    /// Where its calls have a key, by which the server knows a call that it had before.
    pub key: Option<KeyPlace>,
    /// How it is found out whether a call happened.
    pub verify: Option<Verify>,
    /// File and line.
    pub origin: String,
}

/// Where a call has its idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// In a top-level argument of this name.
    Argument(String),
    /// In this member of `_meta`.
    Meta(String),
    /// In this header of the HTTP request. A server that is a process has no headers.
    Header(String),
}

/// A read that finds out whether a call happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Verify {
    /// The tool that reads.
    pub tool: ToolId,
    arguments: Map<String, Value>,
    found: Vec<(ArgumentPath, Value)>,
}

/// Why a word about calls in doubt cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DoubtRuleError {
    /// The place of the key.
    #[error("expected a name of 1 to {NAME_BYTES_MAX} visible ASCII characters")]
    Name,
    /// A header that would change the request itself.
    #[error("the header `{0}` is set by the connection; use another, such as `Idempotency-Key`")]
    Header(String),
    /// A text that begins like a replacement and is not one.
    #[error("`{0}` is replaced by nothing: write `{KEY}` or `{ARGUMENT}NAME`")]
    Replacement(String),
    /// `found` has a condition that cannot be used.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// There are too many.
    #[error("{0} tools; at most {RULES_MAX} are allowed")]
    TooMany(usize),
}

impl DoubtRules {
    /// The words about these tools.
    ///
    /// # Errors
    ///
    /// [`DoubtRuleError::TooMany`]
    pub fn new(rules: BTreeMap<ToolId, DoubtRule>) -> Result<Self, DoubtRuleError> {
        match rules.len() {
            ..=RULES_MAX => Ok(Self(rules)),
            more => Err(DoubtRuleError::TooMany(more)),
        }
    }

    /// The word about calls of `tool`.
    pub fn of(&self, tool: &ToolId) -> Option<&DoubtRule> {
        self.0.get(tool)
    }

    /// All of them, by tool.
    pub fn iter(&self) -> impl Iterator<Item = (&ToolId, &DoubtRule)> {
        self.0.iter()
    }
}

impl KeyPlace {
    /// Checks the name of the place.
    ///
    /// # Errors
    ///
    /// [`DoubtRuleError::Name`] and [`DoubtRuleError::Header`]
    pub fn check(&self) -> Result<(), DoubtRuleError> {
        let (Self::Argument(name) | Self::Meta(name) | Self::Header(name)) = self;
        let is_visible = name.bytes().all(|byte| byte.is_ascii_graphic());
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !is_visible {
            return Err(DoubtRuleError::Name);
        }
        if let Self::Header(name) = self {
            let lower = name.to_ascii_lowercase();
            let is_token = lower
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
            if !is_token {
                return Err(DoubtRuleError::Name);
            }
            let is_reserved = RESERVED_HEADERS.contains(&&*lower)
                || RESERVED_PREFIXES.iter().any(|it| lower.starts_with(it));
            if is_reserved {
                return Err(DoubtRuleError::Header(name.clone()));
            }
        }
        Ok(())
    }

    /// The kind of place, as the configuration writes it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Argument(_) => "argument",
            Self::Meta(_) => "meta",
            Self::Header(_) => "header",
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        let (Self::Argument(name) | Self::Meta(name) | Self::Header(name)) = self;
        name
    }
}

impl Verify {
    /// A read by `tool`. Texts of `arguments` and operands of `found` that are `$key` or `$arguments.NAME` are replaced by the
    /// key and by arguments of the call in doubt.
    ///
    /// # Errors
    ///
    /// [`DoubtRuleError`]
    pub fn new(
        tool: ToolId,
        arguments: Map<String, Value>,
        found: Vec<(ArgumentPath, Value)>,
    ) -> Result<Self, DoubtRuleError> {
        let verify = Self {
            tool,
            arguments,
            found,
        };
        verify
            .arguments
            .values()
            .chain(verify.found.iter().map(|(_, condition)| condition))
            .try_for_each(check_replacements)?;
        // With texts in place of what is not known yet.
        let example = |_: &str| Some(Value::from("x"));
        for (_, condition) in &verify.found {
            if let Some(condition) = replaced(condition, &example) {
                Condition::from_value(&condition)?;
            }
        }
        Ok(verify)
    }

    /// Arguments of the read about a call with these arguments and this key; `None` when it refers to one that the call does
    /// not have.
    pub fn arguments(&self, call: &Value, key: Option<&str>) -> Option<Value> {
        let members = self.arguments.iter();
        let members = members.map(|(name, value)| {
            Some((
                name.clone(),
                replaced(value, &|text| known(text, call, key))?,
            ))
        });
        members.collect::<Option<Map<_, _>>>().map(Value::Object)
    }

    /// Whether `result`, the value that the read gave, shows the call. `None` when it does not say: a part is missing or of
    /// another type, or there are too many elements.
    pub fn shows(&self, result: &Value, call: &Value, key: Option<&str>) -> Option<bool> {
        let mut conditions = Vec::with_capacity(self.found.len());
        for (path, condition) in &self.found {
            let condition = replaced(condition, &|text| known(text, call, key))?;
            conditions.push((path.clone(), Condition::from_value(&condition).ok()?));
        }
        found_in(&conditions, result)
    }
}

/// What a text of `verify` is replaced by.
fn known(text: &str, call: &Value, key: Option<&str>) -> Option<Value> {
    if text == KEY {
        return key.map(Value::from);
    }
    call.get(text.strip_prefix(ARGUMENT)?).cloned()
}

fn is_replacement(text: &str) -> bool {
    text == KEY || text.len() > ARGUMENT.len() && text.starts_with(ARGUMENT)
}

/// `value` with its replacements; `None` when one is not known.
fn replaced(value: &Value, known: &dyn Fn(&str) -> Option<Value>) -> Option<Value> {
    Some(match value {
        Value::String(text) if is_replacement(text) => known(text)?,
        Value::Array(elements) => {
            let elements = elements.iter().map(|element| replaced(element, known));
            Value::Array(elements.collect::<Option<_>>()?)
        }
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| Some((name.clone(), replaced(value, known)?)));
            Value::Object(members.collect::<Option<_>>()?)
        }
        other => other.clone(),
    })
}

/// A slip such as `$kye` would be sent as it is written.
fn check_replacements(value: &Value) -> Result<(), DoubtRuleError> {
    match value {
        Value::String(text) if text.starts_with('$') && !is_replacement(text) => Err(
            DoubtRuleError::Replacement(limbeck_domain::text::clean_line(text, NAME_BYTES_MAX)),
        ),
        Value::Array(elements) => elements.iter().try_for_each(check_replacements),
        Value::Object(members) => members.values().try_for_each(check_replacements),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn verify(arguments: Value, found: Value) -> Result<Verify, DoubtRuleError> {
        let (Value::Object(arguments), Value::Object(found)) = (arguments, found) else {
            panic!("two objects");
        };
        let found = found
            .into_iter()
            .map(|(path, condition)| (ArgumentPath::parse(&path).unwrap(), condition));
        Verify::new(ToolId::new("bank", "find"), arguments, found.collect())
    }

    #[test]
    fn a_read_asks_for_the_call_and_its_result_shows_it_or_not_or_does_not_say() {
        let by_key = verify(
            json!({"reference": "$key", "to": ["$arguments.to"], "limit": 5}),
            json!({"items[*].reference": {"eq": "$key"}}),
        )
        .unwrap();
        let call = json!({"to": "anna", "amount": 9});
        assert_eq!(
            by_key.arguments(&call, Some("k1")),
            Some(json!({"reference": "k1", "to": ["anna"], "limit": 5}))
        );
        // What the call does not have is not asked for.
        assert_eq!(by_key.arguments(&json!({}), Some("k1")), None);
        assert_eq!(by_key.arguments(&call, None), None);
        let shows = |result: Value| by_key.shows(&result, &call, Some("k1"));
        assert_eq!(
            shows(json!({"items": [{"reference": "k0"}, {"reference": "k1"}]})),
            Some(true)
        );
        assert_eq!(shows(json!({"items": [{"reference": "k0"}]})), Some(false));
        assert_eq!(shows(json!({"items": []})), Some(false));
        for unclear in [json!({}), json!({"items": "k1"}), json!({"items": [{}]})] {
            assert_eq!(shows(unclear.clone()), None, "{unclear}");
        }
        assert_eq!(by_key.shows(&json!({"items": []}), &call, None), None);
    }

    #[test]
    fn all_conditions_have_to_hold() {
        let both = verify(
            json!({}),
            json!({"id": {"present": true}, "amount": {"eq": "$arguments.amount"}}),
        )
        .unwrap();
        let shows = |result: Value| both.shows(&result, &json!({"amount": 9}), None);
        assert_eq!(shows(json!({"id": 1, "amount": 9})), Some(true));
        assert_eq!(shows(json!({"id": 1, "amount": 8})), Some(false));
        assert_eq!(shows(json!({"amount": 8})), Some(false));
        assert_eq!(shows(json!({"id": 1})), None);
    }

    #[test]
    fn slips_and_reserved_headers_are_refused_and_others_are_not() {
        assert!(verify(json!({"a": "$kye"}), json!({})).is_err());
        assert!(verify(json!({"a": "$arguments."}), json!({})).is_err());
        assert!(verify(json!({}), json!({"a": {"equals": 1}})).is_err());
        assert!(verify(json!({"a": "5 $"}), json!({"a": "$key"})).is_ok());
        let header = |name: &str| KeyPlace::Header(name.to_owned()).check();
        assert_eq!(header("Idempotency-Key"), Ok(()));
        for name in [
            "Authorization",
            "MCP-Session-Id",
            "Content-Type",
            "a b",
            "a:b",
            "",
        ] {
            assert!(header(name).is_err(), "{name}");
        }
        assert_eq!(KeyPlace::Meta("example.com/key".to_owned()).check(), Ok(()));
        assert!(KeyPlace::Argument("é".to_owned()).check().is_err());
    }
}
