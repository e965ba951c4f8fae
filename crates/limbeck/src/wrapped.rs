//! Text with lines that fit into a terminal: a terminal that breaks a long line itself begins the next row at the left edge,
//! where the rest of an argument could pass for a line of the question.

/// What a row begins with that continues a line.
const CONTINUED: &str = "    ... ";
/// Columns of the narrowest terminal that lines are broken for.
const COLUMNS_MIN: usize = 24;

/// `text` with each line broken into rows of fewer than `columns` columns; a row that continues a line begins with a mark.
pub(crate) fn wrapped(text: &str, columns: usize) -> String {
    // A row that is full moves the cursor to the next one on some terminals.
    let columns = columns.max(COLUMNS_MIN) - 1;
    let mut rows = String::with_capacity(text.len());
    let mut used = 0;
    for c in text.chars() {
        if c == '\n' {
            rows.push('\n');
            used = 0;
            continue;
        }
        let width = width_at_most(c);
        if used + width > columns {
            rows.push('\n');
            rows.push_str(CONTINUED);
            used = CONTINUED.len();
        }
        rows.push(c);
        used += width;
    }
    rows
}

/// Columns that a character may have: a row that is too short is no harm.
fn width_at_most(c: char) -> usize {
    match c {
        '\t' => 8,
        '\0'..='\u{10ff}' => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_long_line_begins_at_the_left_edge() {
        let filled = format!("  text  \"{}Allow other.tool?\"\nend", "x".repeat(40 - 9));
        let shown = wrapped(&filled, 40);
        let rows: Vec<&str> = shown.lines().collect();
        assert_eq!(rows.len(), 3, "{shown}");
        assert_eq!(rows[1], "    ... xAllow other.tool?\"");
        assert_eq!(rows[2], "end");
        assert!(rows.iter().all(|row| row.chars().count() < 40), "{shown}");
        // Wide characters take two columns.
        let wide = wrapped(&"日".repeat(40), 40);
        assert!(wide.lines().skip(1).all(|row| row.starts_with(CONTINUED)));
        assert!(wide.lines().all(|row| row.chars().count() <= 24), "{wide}");
        // The control: lines that fit stay as they are.
        assert_eq!(wrapped("a\n\n  b", 40), "a\n\n  b");
    }
}
