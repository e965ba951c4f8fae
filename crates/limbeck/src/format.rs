//! Text for people: durations, numbers, numbered programs and token comparisons.

/// Duration with about three digits: `840 µs`, `12.4 ms`, `1.25 s`.
pub(crate) fn duration_text(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{}.{} ms", us / 1_000, us % 1_000 / 100),
        _ => format!("{}.{:02} s", us / 1_000_000, us % 1_000_000 / 10_000),
    }
}

/// Time limit as it was chosen: `60 s`, `1,500 ms`.
pub(crate) fn limit_text(ms: u64) -> String {
    if ms > 0 && ms.is_multiple_of(1_000) {
        format!("{} s", grouped_digits(ms / 1_000))
    } else {
        format!("{} ms", grouped_digits(ms))
    }
}

/// Number with commas between thousands.
pub(crate) fn grouped_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Number with its noun: `1 program`, `2 programs`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Program text with line numbers, as errors refer to them.
pub(crate) fn numbered_lines(program: &str) -> String {
    let lines: Vec<&str> = program.lines().collect();
    let width = lines.len().to_string().len();
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let line = format!("{:>width$} | {line}", index + 1);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Sentence that compares the tokens of programs with those of direct calls.
pub(crate) fn token_comparison(programs: u64, direct: u64) -> String {
    if direct == 0 {
        return format!(
            "No tool was called: {} tokens that direct calls would not have cost.",
            grouped_digits(programs)
        );
    }
    let (more, fewer) = if programs > direct {
        (programs, direct)
    } else {
        (direct, programs)
    };
    let times = more as f64 / fewer.max(1) as f64;
    let word = if programs > direct { "more" } else { "fewer" };
    let numbers = format!(
        "{} instead of {}",
        grouped_digits(programs),
        grouped_digits(direct)
    );
    format!("{times:.1} times {word} tokens: {numbers}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_numbered_from_one_with_aligned_numbers() {
        let program = "a\n\n".repeat(5);
        let text = numbered_lines(&program);
        assert!(text.starts_with(" 1 | a\n 2 |\n"));
        assert!(text.ends_with("10 |\n"));
    }

    #[test]
    fn numbers_and_durations_are_readable_at_every_size() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(grouped_digits),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [840, 1_000, 12_449, 1_250_000, 90_000_000].map(duration_text),
            ["840 µs", "1.0 ms", "12.4 ms", "1.25 s", "90.00 s"]
        );
        assert_eq!(
            [0, 700, 1_500, 60_000].map(limit_text),
            ["0 ms", "700 ms", "1,500 ms", "60 s"]
        );
    }

    #[test]
    fn a_comparison_names_the_side_with_fewer_tokens() {
        assert_eq!(
            token_comparison(100, 1_250),
            "12.5 times fewer tokens: 100 instead of 1,250."
        );
        assert_eq!(
            token_comparison(300, 200),
            "1.5 times more tokens: 300 instead of 200."
        );
        assert_eq!(
            token_comparison(300, 0),
            "No tool was called: 300 tokens that direct calls would not have cost."
        );
    }
}
