//! Comparison of numbers without loss of digits.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use crate::rules::truth::Truth;

/// Whole numbers up to here are the same in 64-bit floating point.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Whether the order of `value` and `bound` is one that `is` accepts; unknown when it is no number, or when the comparison would lose digits.
pub(super) fn compare(value: &Value, bound: &Number, is: fn(Ordering) -> bool) -> Truth {
    let Value::Number(value) = value else {
        return Truth::Unknown;
    };
    match ordering(value, bound) {
        Some(ordering) => is(ordering).into(),
        None => Truth::Unknown,
    }
}

fn ordering(first: &Number, second: &Number) -> Option<Ordering> {
    if let (Some(first), Some(second)) = (whole(first), whole(second)) {
        return Some(first.cmp(&second));
    }
    let (first, second) = (first.as_f64()?, second.as_f64()?);
    // Of a larger number that was read as floating point, digits may be gone.
    let may_be_equal = first.abs() >= EXACT_MAX && second.abs() >= EXACT_MAX;
    if may_be_equal {
        return None;
    }
    first.partial_cmp(&second)
}

/// A whole number that was read without loss: `2.0` is one too.
fn whole(number: &Number) -> Option<i128> {
    if let Some(number) = number.as_i64() {
        return Some(number.into());
    }
    if let Some(number) = number.as_u64() {
        return Some(number.into());
    }
    let number = number.as_f64()?;
    let is_exact = number.fract() == 0.0 && number.abs() < EXACT_MAX;
    #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
    is_exact.then_some(number as i128)
}
