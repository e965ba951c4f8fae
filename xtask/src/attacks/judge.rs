//! Compares the outcome of a program with the expected one.

use std::time::Duration;

use serde_json::Value;

use super::corpus::{Expected, Field, Step};
use super::session::Outcome;
use super::world::Facts;

/// Time after a program's time limit by which its end must be known (property S21).
const GRACE: Duration = Duration::from_secs(1);
/// Every field that an answer may have. A program's value is in `value` and nowhere else.
const FIELDS: [&str; 10] = [
    "status",
    "execution_id",
    "value",
    "artifacts",
    "emitted",
    "stdout",
    "stderr",
    "error",
    "warnings",
    "effects",
];
/// Characters of a text that are repeated in a difference.
const SHOWN_CHARS: usize = 600;

/// Every difference between `outcome` and the header of `step`.
pub(super) fn differences(step: &Step, outcome: &Outcome, facts: &Facts) -> Vec<String> {
    let mut found = Vec::new();
    let limit = Duration::from_millis(step.timeout_ms) + GRACE;
    if outcome.elapsed > limit {
        found.push(format!("took {:?}, at most {limit:?}", outcome.elapsed));
    }
    let leaks = facts.leaks(&outcome.output);
    match (&step.expected, leaks.is_empty()) {
        (Expected::Leak, true) => found.push("a canary in the output was not noticed".to_owned()),
        (Expected::Leak, false) => return found,
        (_, true) => {}
        (_, false) => found.push(format!("the output contains {}", leaks.join(", "))),
    }
    match &outcome.envelope {
        None if step.expected == Expected::Refused => {}
        None => found.push(format!("no envelope: {}", shown(&outcome.output))),
        Some(envelope) => {
            found.extend(wrong_shape(envelope, outcome.is_error));
            found.extend(wrong_end(step, envelope));
            found.extend(step.says.iter().filter_map(|said| missing(said, envelope)));
        }
    }
    let forbidden = step
        .without
        .iter()
        .filter(|text| outcome.output.contains(text.as_str()));
    found.extend(
        forbidden.map(|text| format!("the output contains {text:?}: {}", shown(&outcome.output))),
    );
    found
}

/// The gateway alone decides which fields an answer has and whether it is an error.
fn wrong_shape(envelope: &Value, is_error: bool) -> Option<String> {
    let fields = envelope.as_object()?;
    if let Some(field) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Some(format!("the answer has a field `{field}`"));
    }
    let completed = envelope["status"] == "completed";
    let failed = envelope["status"] == "failed" && envelope["error"].is_object();
    if completed == failed || is_error == completed {
        return Some(format!(
            "status {} with isError {is_error}",
            envelope["status"]
        ));
    }
    None
}

fn wrong_end(step: &Step, envelope: &Value) -> Option<String> {
    let right = match &step.expected {
        Expected::Value(value) => {
            envelope["status"] == "completed" && envelope.get("value") == value.as_ref()
        }
        Expected::Error(kinds) => {
            let kind = envelope["error"]["kind"].as_str();
            kind.is_some_and(|kind| kinds.iter().any(|expected| expected == kind))
        }
        // The program's own fault: neither one of the gateway nor one from before the program ran.
        Expected::Contained => {
            let kind = envelope["error"]["kind"].as_str();
            !kind.is_some_and(|kind| ["gateway", "busy", "request"].contains(&kind))
        }
        Expected::Refused => false,
        Expected::Leak => true,
    };
    (!right).then(|| {
        format!(
            "ended as {}, expected {:?}",
            shown(&envelope.to_string()),
            step.expected
        )
    })
}

fn missing((field, part): &(Field, String), envelope: &Value) -> Option<String> {
    let text = match field {
        Field::Message => envelope["error"]["message"].as_str().map(str::to_owned),
        Field::Warning => envelope.get("warnings").map(Value::to_string),
        Field::Stdout => envelope["stdout"].as_str().map(str::to_owned),
        Field::Stderr => envelope["stderr"].as_str().map(str::to_owned),
    };
    let text = text.unwrap_or_default();
    (!text.contains(part.as_str()))
        .then(|| format!("{field:?} is {}, without {part:?}", shown(&text)))
}

fn shown(text: &str) -> String {
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(SHOWN_CHARS).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}
