//! Rules that a person lets an answer write: calls like the one that was approved are allowed from then on.

use limbeck_domain::{Approval, Remember};
use limbeck_gateway::Gateway;
use limbeck_setup::{AllowedCalls, OwnFile, World};
use serde_json::{Map, Value};

use crate::printer::Printer;

/// Digits of the hash in the id of a rule.
const ID_DIGITS: usize = 12;

/// Writes the rule for calls like that of `approval`, which was approved. Where it cannot be written, the person reads why:
/// the answer counts for the run then.
pub(super) fn allow(world: &World, gateway: &Gateway, printer: &Printer, approval: &Approval) {
    match written(world, gateway, approval) {
        Ok(file) => {
            printer.note(&format!(
                "calls like it are allowed from now on, by a rule in {file}"
            ));
        }
        Err(problem) => {
            printer.warning(&format!(
                "calls like it are allowed in this run alone: {problem}"
            ));
            printer.hint("choose a time, such as `30d`, or write the rule by hand");
        }
    }
}

fn written(world: &World, gateway: &Gateway, approval: &Approval) -> Result<String, String> {
    let offer = approval.terms.offer.as_deref();
    let offer = offer.filter(|offer| offer.at_most == Remember::Always);
    let offer = offer.ok_or("the rules ask about each such call")?;
    // A rule has no place for the definition of a tool, so it names every argument that the tool has.
    let known = gateway.arguments_of(approval);
    let known = known.ok_or(
        "the tool is not listed now as it was when it was asked about, or its schema does not say which arguments there are (`additionalProperties: false`)",
    )?;
    let arguments: Map<String, Value> = serde_json::from_str(&approval.arguments)
        .map_err(|_| "the arguments are not an object".to_owned())?;
    let same = offer.same.iter().filter_map(|name| {
        let value = arguments.get(name)?.clone();
        Some((name.clone(), value))
    });
    let is_missing = |name: &String| !arguments.contains_key(name);
    let by = limbeck_policy::Requester::of_principal(&approval.principal);
    let calls = AllowedCalls {
        id: format!("always-{}", offer.key.get(..ID_DIGITS).unwrap_or("rule")),
        tool: approval.tool.clone(),
        class: approval.class,
        who: by.names().concat(),
        same: same.collect(),
        texts: offer.any.clone(),
        missing: known.into_iter().filter(is_missing).collect(),
        reason: format!("allowed for good with question {}", approval.id),
    };
    let own = OwnFile::of(world).map_err(|error| error.to_string())?;
    own.allow(&calls).map_err(|error| error.to_string())?;
    Ok(own.path().display().to_string())
}
