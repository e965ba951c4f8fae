//! Times as the earlier systems wrote and read them.

/// Milliseconds of a time: a number in `unit_ms`, also as a text, or a text with `ms`, `s`, `m` or `h` behind the number.
pub(super) fn milliseconds(text: &str, unit_ms: u64) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let unit_ms = match unit.trim() {
        "" => unit_ms,
        "ms" => 1,
        "s" | "sec" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    let milliseconds = number * unit_ms as f64;
    // Floats are exact below 2^53, and every bound of a request is smaller.
    (1.0..9e15)
        .contains(&milliseconds)
        .then_some(milliseconds as u64)
}

/// A time as code-executor-mcp wrote it: `340ms`, `1.50s`, `2m 5s`.
pub(super) fn shown(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds}ms"),
        1_000..60_000 => {
            let hundredths = (milliseconds + 5) / 10;
            format!("{}.{:02}s", hundredths / 100, hundredths % 100)
        }
        _ => {
            let seconds = (milliseconds % 60_000 + 500) / 1_000;
            format!("{}m {seconds}s", milliseconds / 60_000)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_in_its_unit_or_in_the_one_it_names() {
        for (text, unit, expected) in [
            ("90", 1_000, Some(90_000)),
            ("90", 1, Some(90)),
            (" 60s ", 1, Some(60_000)),
            ("1500ms", 1_000, Some(1_500)),
            ("2m", 1_000, Some(120_000)),
            ("1.5s", 1, Some(1_500)),
            ("1 h", 1, Some(3_600_000)),
            ("0", 1, None),
            ("-1", 1, None),
            ("", 1, None),
            ("ten", 1, None),
            ("5x", 1, None),
            ("99999999999999999999h", 1, None),
        ] {
            assert_eq!(milliseconds(text, unit), expected, "{text}");
        }
    }

    #[test]
    fn a_time_is_shown_in_the_largest_unit_that_it_has() {
        for (milliseconds, text) in [
            (0, "0ms"),
            (999, "999ms"),
            (1_000, "1.00s"),
            (1_234, "1.23s"),
            (59_990, "59.99s"),
            (125_400, "2m 5s"),
        ] {
            assert_eq!(shown(milliseconds), text);
        }
    }
}
