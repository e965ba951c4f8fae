//! Whole numbers in JSON that JavaScript's numbers cannot hold.

/// Digits of the largest whole number that is exact, 2^53. Shorter ones always are.
const EXACT_DIGITS: usize = 16;
/// Digits of the largest number that a double has. A longer literal is infinite.
const DIGITS_MAX: usize = 309;

/// The first whole number in `json` that is read as another one, and what it is read as.
///
/// Fractions are rounded in every language and are no concern of this.
pub(super) fn first_inexact(json: &str) -> Option<(&str, String)> {
    let bytes = json.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = text_end(bytes, at + 1),
            b'0'..=b'9' => {
                let end = number_end(bytes, at);
                let literal = &json[at..end];
                if let Some(read) = inexact(literal) {
                    return Some((literal, read));
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    None
}

/// Place behind the quote that ends a text which begins at `at`.
fn text_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

fn number_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes[at..].iter();
    let length = rest
        .take_while(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
        .count();
    at + length
}

fn inexact(literal: &str) -> Option<String> {
    if literal.len() < EXACT_DIGITS || literal.len() > DIGITS_MAX {
        return None;
    }
    if !literal.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // The digits that JavaScript shows too: the fewest that lead back to the number.
    let read = literal.parse::<f64>().ok()?.to_string();
    (read != literal).then_some(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_that_loses_digits_is_found_wherever_it_is() {
        for (json, expected) in [
            ("9007199254740993", Some("9007199254740993")),
            (
                r#"{"a":[1,{"b":-9007199254740993}]}"#,
                Some("9007199254740993"),
            ),
            (
                r#"["9007199254740993",9007199254740995]"#,
                Some("9007199254740995"),
            ),
            (
                r#"["\\",18446744073709551615]"#,
                Some("18446744073709551615"),
            ),
            (r#"["\"",9007199254740992]"#, None),
            ("[9007199254740991,100000000000000000000]", None),
            ("[1.9007199254740993,9007199254740993.5,1e300]", None),
            (r#""9007199254740993"#, None),
            ("", None),
        ] {
            let found = first_inexact(json).map(|(literal, _)| literal);
            assert_eq!(found, expected, "{json}");
        }
    }
}
