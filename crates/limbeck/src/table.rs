//! Columns for people.

/// Rows of text, aligned when written. Widths are counted in characters.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    right: Vec<usize>,
    indent: usize,
}

/// Spaces between two columns.
const GAP: &str = "  ";

impl Table {
    /// A table with a first row.
    pub(crate) fn with_header<const N: usize>(header: [&str; N]) -> Self {
        let mut table = Self::default();
        table.row(header);
        table
    }

    /// Sets the columns, counted from 0, that are aligned to the right: numbers.
    #[must_use]
    pub(crate) fn right(mut self, columns: impl Into<Vec<usize>>) -> Self {
        self.right = columns.into();
        self
    }

    /// Puts `spaces` before every row.
    #[must_use]
    pub(crate) fn indented(mut self, spaces: usize) -> Self {
        self.indent = spaces;
        self
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [impl Into<String>; N]) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Adds a row of as many cells as there are.
    pub(crate) fn row_of(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The rows as text, each ended by a newline, without spaces at the end of a line.
    pub(crate) fn text(&self) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = " ".repeat(self.indent);
            for (column, cell) in row.iter().enumerate() {
                let padding = " ".repeat(widths[column] - cell.chars().count());
                if column > 0 {
                    line.push_str(GAP);
                }
                if self.right.contains(&column) {
                    line.push_str(&padding);
                    line.push_str(cell);
                } else {
                    line.push_str(cell);
                    line.push_str(&padding);
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or_default()
        };
        (0..columns).map(width).collect()
    }
}

/// A time span with three digits or so: `840 µs`, `12.4 ms`, `1.25 s`.
pub(crate) fn duration(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{}.{} ms", us / 1_000, us % 1_000 / 100),
        _ => format!("{}.{:02} s", us / 1_000_000, us % 1_000_000 / 10_000),
    }
}

/// A number with commas between thousands.
pub(crate) fn grouped(number: u64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_have_no_spaces_at_their_end() {
        let mut table = Table::with_header(["tool", "calls", "note"])
            .right([1])
            .indented(2);
        table.row(["a.long_name", "7", ""]);
        table.row(["b", "1,024", "é"]);
        assert_eq!(
            table.text(),
            "  tool         calls  note\n  a.long_name      7\n  b            1,024  é\n"
        );
    }

    #[test]
    fn numbers_and_spans_are_readable_at_every_size() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [840, 1_000, 12_449, 1_250_000, 90_000_000].map(duration),
            ["840 µs", "1.0 ms", "12.4 ms", "1.25 s", "90.00 s"]
        );
    }
}
