//! What `limbeck policy` says about calls in doubt: the operator's word, and what is odd about it.

use limbeck_catalog::Catalog;
use limbeck_domain::ToolId;
use limbeck_policy::{DoubtRule, KeyPlace, Policy};
use serde_json::{Value, json};

use super::never_has;

/// What is odd about each word, given the tools that are known: the tool, file and line, and the finding.
pub(super) fn findings<'a>(
    policy: &'a Policy,
    catalog: &Catalog,
) -> Vec<(&'a ToolId, &'a str, String)> {
    let rules = policy.in_doubt.iter();
    let odd = rules.filter_map(|(tool, rule)| {
        let finding = finding(tool, rule, catalog)?;
        Some((tool, &*rule.origin, finding))
    });
    odd.collect()
}

fn finding(tool: &ToolId, rule: &DoubtRule, catalog: &Catalog) -> Option<String> {
    if let Some(finding) = unknown(tool, catalog) {
        return Some(finding);
    }
    if let Some(KeyPlace::Argument(name)) = &rule.key
        && catalog
            .tool(tool)
            .is_some_and(|known| never_has(known, name))
    {
        return Some(format!(
            "has its key in `{name}`, which is no argument of the tool"
        ));
    }
    let finding = unknown(&rule.verify.as_ref()?.tool, catalog)?;
    Some(format!("reads with a tool that {finding}"))
}

/// Why there is no such tool. The list of a server that was never started is not known.
fn unknown(tool: &ToolId, catalog: &Catalog) -> Option<String> {
    if catalog.server(&tool.server).is_none() {
        return Some("is of no server of the configuration".to_owned());
    }
    let is_listed = !catalog.tools_of(&tool.server).is_empty();
    (is_listed && catalog.tool(tool).is_none()).then(|| "is no tool of its server".to_owned())
}

/// The word about calls of `tool`, in one line.
pub(super) fn line(policy: &Policy, tool: &ToolId) -> Option<String> {
    let rule = policy.in_doubt.of(tool)?;
    let mut ways = Vec::new();
    if let Some(key) = &rule.key {
        ways.push(format!(
            "sent again with the same key in the {} `{}`",
            kind(key),
            key.name()
        ));
    } else if rule.is_idempotent {
        ways.push("sent again, because it is idempotent".to_owned());
    }
    if let Some(verify) = &rule.verify {
        ways.push(format!("looked for with `{}`", verify.tool));
    }
    if ways.is_empty() {
        ways.push("left to a person".to_owned());
    }
    Some(format!(
        "a call in doubt is {} ({})",
        ways.join(", or "),
        rule.origin
    ))
}

fn kind(key: &KeyPlace) -> &'static str {
    match key {
        KeyPlace::Argument(_) => "argument",
        KeyPlace::Meta(_) => "member of `_meta`",
        KeyPlace::Header(_) => "header",
    }
}

/// The word about calls of `tool`; null without one.
pub(super) fn json(policy: &Policy, tool: &ToolId) -> Value {
    let Some(rule) = policy.in_doubt.of(tool) else {
        return Value::Null;
    };
    let key = rule.key.as_ref();
    json!({
        "idempotent": rule.is_idempotent,
        "idempotency": key.map(|key| json!({ key.kind(): key.name() })),
        "verify": rule.verify.as_ref().map(|verify| verify.tool.to_string()),
        "origin": rule.origin,
    })
}
