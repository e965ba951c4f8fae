//! Whether a result has what is looked for: conditions on its parts, of which `[*]` means any element.

use serde_json::Value;

use super::condition::{Condition, ELEMENTS_MAX};
use super::path::ArgumentPath;
use super::truth::Truth;

/// Whether all conditions hold in `result`. `None` when it is unknown: a part is missing or of another type.
pub(crate) fn found_in(conditions: &[(ArgumentPath, Condition)], result: &Value) -> Option<bool> {
    let truths = conditions
        .iter()
        .map(|(path, condition)| any_place(path, condition, result));
    match Truth::all(truths) {
        Truth::True => Some(true),
        Truth::False => Some(false),
        Truth::Unknown => None,
    }
}

fn any_place(path: &ArgumentPath, condition: &Condition, result: &Value) -> Truth {
    let mut left = ELEMENTS_MAX;
    let mut any = Truth::False;
    path.visit(result, &mut |place| {
        if left == 0 {
            any = Truth::Unknown;
            return false;
        }
        left -= 1;
        match condition.truth(place) {
            Truth::True => any = Truth::True,
            Truth::Unknown => any = Truth::Unknown,
            Truth::False => {}
        }
        any != Truth::True
    });
    any
}
