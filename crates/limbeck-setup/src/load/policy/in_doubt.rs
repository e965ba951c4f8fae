//! `[policy.in_doubt]`: what the operator says about calls of which it is not known whether they happened.

use std::collections::BTreeMap;

use limbeck_domain::ToolId;
use limbeck_policy::rules::ArgumentPath;
use limbeck_policy::{DoubtRule, KeyPlace, Verify};
use serde_json::Value;

use crate::diagnostic::ValueError;
use crate::document::ConfigPlace;
use crate::entry_reader::unknown_key;
use crate::load::open_file::OpenFile;

/// Keys of the word about one tool.
const TOOL_KEYS: &[&str] = &["idempotent", "idempotency", "verify"];
/// Keys of `idempotency`.
const PLACE_KEYS: &[&str] = &["argument", "meta", "header"];
/// Keys of `verify`.
const VERIFY_KEYS: &[&str] = &["tool", "args", "found"];

/// Reads the words about tools; `before` is what other files said.
pub(super) fn rules(
    file: &OpenFile<'_>,
    place: &ConfigPlace<'_>,
    before: &BTreeMap<ToolId, DoubtRule>,
) -> Result<BTreeMap<ToolId, DoubtRule>, ValueError> {
    let mut rules = BTreeMap::new();
    for (name, value) in place.entries()? {
        let tool = tool(name).ok_or_else(|| {
            value.malformed_key(
                "name one tool, as `server.tool`: a pattern would allow more than one looks at",
            )
        })?;
        if let Some(other) = before.get(&tool) {
            let problem = format!("`{tool}` is in another file too ({})", other.origin);
            return Err(value.malformed_key(problem));
        }
        let rule = DoubtRule {
            origin: file.origin(&value).to_string(),
            ..rule(&value)?
        };
        rules.insert(tool, rule);
    }
    Ok(rules)
}

fn rule(place: &ConfigPlace<'_>) -> Result<DoubtRule, ValueError> {
    let mut rule = DoubtRule::default();
    for (key, value) in place.entries()? {
        match key {
            "idempotent" => rule.is_idempotent = value.boolean()?,
            "idempotency" => rule.key = Some(key_place(&value)?),
            "verify" => rule.verify = Some(verify(&value)?),
            _ => return Err(value.malformed_key(unknown_key(TOOL_KEYS, key))),
        }
    }
    Ok(rule)
}

fn key_place(place: &ConfigPlace<'_>) -> Result<KeyPlace, ValueError> {
    let mut found = Vec::new();
    for (key, value) in place.entries()? {
        let name = value.text()?.to_owned();
        let key_place = match key {
            "argument" => KeyPlace::Argument(name),
            "meta" => KeyPlace::Meta(name),
            "header" => KeyPlace::Header(name),
            _ => return Err(value.malformed_key(unknown_key(PLACE_KEYS, key))),
        };
        key_place
            .check()
            .map_err(|error| value.malformed(error.to_string()))?;
        found.push(key_place);
    }
    match <[KeyPlace; 1]>::try_from(found) {
        Ok([key_place]) => Ok(key_place),
        Err(_) => Err(place.malformed("expected one of `argument`, `meta` and `header`")),
    }
}

fn verify(place: &ConfigPlace<'_>) -> Result<Verify, ValueError> {
    let (mut named, mut arguments, mut found) = (None, serde_json::Map::new(), Vec::new());
    for (key, value) in place.entries()? {
        match key {
            "tool" => {
                let parsed = tool(value.text()?);
                named = Some(parsed.ok_or_else(|| {
                    value.malformed("expected the name of one tool, as `server.tool`")
                })?);
            }
            "args" => {
                // Only its members are looked at.
                value.entries()?;
                arguments = serde_json::from_str(&value.canonical())
                    .map_err(|_| value.malformed("a date is no argument; write it as a text"))?;
            }
            "found" => found = conditions(&value)?,
            _ => return Err(value.malformed_key(unknown_key(VERIFY_KEYS, key))),
        }
    }
    let tool = named.ok_or_else(|| place.malformed("`verify` needs `tool`"))?;
    if found.is_empty() {
        return Err(place.malformed("`verify` needs `found`, with one condition or more"));
    }
    Verify::new(tool, arguments, found).map_err(|error| place.malformed(error.to_string()))
}

fn conditions(place: &ConfigPlace<'_>) -> Result<Vec<(ArgumentPath, Value)>, ValueError> {
    let one = |(path, value): (&str, ConfigPlace<'_>)| {
        let path =
            ArgumentPath::parse(path).map_err(|error| value.malformed_key(error.to_string()))?;
        let condition = serde_json::from_str(&value.canonical())
            .map_err(|_| value.malformed("a date is no operand; write it as a text"))?;
        Ok((path, condition))
    };
    place.entries()?.into_iter().map(one).collect()
}

/// The one tool that `name` is the name of.
fn tool(name: &str) -> Option<ToolId> {
    let (server, tool) = name.split_once('.')?;
    let is_one = !server.is_empty() && !tool.is_empty() && !name.contains('*');
    is_one.then(|| ToolId::new(server, tool))
}
