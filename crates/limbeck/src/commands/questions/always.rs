//! Rules that a person lets an answer write: calls like the one that was approved are allowed from then on.

use limbeck_domain::{Approval, Remember};
use limbeck_gateway::{Gateway, NoRule};
use limbeck_setup::{AllowedCalls, OwnFile, OwnFileError, World};
use serde_json::{Map, Value};

use crate::printer::Printer;

/// Digits of the hash in the id of a rule.
const ID_DIGITS: usize = 12;

/// Why calls like one that was approved are not allowed for good.
pub(super) enum NotWritten {
    /// The tool or its server is not now what the person was shown.
    Changed,
    /// A rule cannot say which calls are meant.
    Unclear(String),
}

/// The rule for calls like that of `approval`, by the definition that the tool has now.
pub(super) async fn rule(
    gateway: &Gateway,
    approval: &Approval,
) -> Result<AllowedCalls, NotWritten> {
    let unclear = |problem: &str| NotWritten::Unclear(problem.to_owned());
    let offer = approval.terms.offer.as_deref();
    let offer = offer.filter(|offer| offer.at_most == Remember::Always);
    let offer = offer.ok_or_else(|| unclear("the rules ask about each such call"))?;
    // A rule has no place for the definition of a tool, so it names every argument that the tool has.
    let known = gateway.arguments_of(approval).await;
    let known = known.map_err(|why| match why {
        NoRule::Changed => NotWritten::Changed,
        NoRule::OtherArguments => unclear(
            "the schema of the tool does not say which arguments there are (`additionalProperties: false`)",
        ),
    })?;
    let arguments: Map<String, Value> = serde_json::from_str(&approval.arguments)
        .map_err(|_| unclear("the arguments are not an object"))?;
    let same = offer.same.iter().filter_map(|name| {
        let value = arguments.get(name)?.clone();
        Some((name.clone(), value))
    });
    let is_missing = |name: &String| !arguments.contains_key(name);
    let by = limbeck_policy::Requester::of_principal(&approval.principal);
    Ok(AllowedCalls {
        id: format!("always-{}", offer.key.get(..ID_DIGITS).unwrap_or("rule")),
        tool: approval.tool.clone(),
        class: approval.class,
        who: by.names().concat(),
        same: same.collect(),
        texts: offer.any.clone(),
        missing: known.into_iter().filter(is_missing).collect(),
        reason: format!("allowed for good with question {}", approval.id),
    })
}

/// Writes the rule of a call that was approved, and says what counts now.
pub(super) fn write(world: &World, printer: &Printer, rule: Result<AllowedCalls, NotWritten>) {
    let written = rule.and_then(|calls| {
        let failed = |error: OwnFileError| NotWritten::Unclear(error.to_string());
        let own = OwnFile::of(world).map_err(failed)?;
        own.allow(&calls).map_err(failed)?;
        Ok(own.path().display().to_string())
    });
    match written {
        Ok(file) => {
            printer.note(&format!(
                "calls like it are allowed from now on, by a rule in {file}"
            ));
        }
        Err(NotWritten::Changed) => {
            printer.warning(
                "no rule is written: the definition of the tool, or the entry of its server, is not the one that the question was about",
            );
            printer.hint("read the question that is asked again, and answer that one");
        }
        Err(NotWritten::Unclear(problem)) => {
            printer.warning(&format!(
                "calls like it are allowed in this run alone: {problem}"
            ));
            printer.hint("choose a time, such as `30d`, or write the rule by hand");
        }
    }
}
