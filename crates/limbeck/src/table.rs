//! Tables with aligned columns, which fit into a terminal where they can.

/// Rows of cells that are aligned when written. Widths are counted in characters.
#[derive(Debug, Default)]
pub(crate) struct TextTable {
    rows: Vec<Vec<String>>,
    right: Vec<usize>,
    indent: usize,
    last: LastColumn,
}

/// What happens to the last column where the table is wider than the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LastColumn {
    /// Its words continue on the next lines.
    #[default]
    Wrap,
    /// Its end is cut.
    CutEnd,
    /// Its beginning is cut, as of a path.
    CutStart,
}

/// Least width that the last column is wrapped or cut to; a narrower terminal breaks the lines itself.
const LAST_MIN: usize = 12;

/// Text between two columns.
const GAP: &str = "  ";

impl TextTable {
    /// Creates a table whose first row is a header.
    pub(crate) fn with_header<const N: usize>(header: [&str; N]) -> Self {
        let mut table = Self::default();
        table.row(header);
        table
    }

    /// Aligns columns (counted from 0) to the right.
    #[must_use]
    pub(crate) fn right(mut self, columns: impl Into<Vec<usize>>) -> Self {
        self.right = columns.into();
        self
    }

    /// Chooses what happens to the last column where the table is too wide.
    #[must_use]
    pub(crate) fn last(mut self, last: LastColumn) -> Self {
        self.last = last;
        self
    }

    /// Indents every row by `spaces`.
    #[must_use]
    pub(crate) fn indented(mut self, spaces: usize) -> Self {
        self.indent = spaces;
        self
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [impl Into<String>; N]) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Adds a row of any number of cells.
    pub(crate) fn row_of(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Text of the rows, one line each, without trailing spaces.
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

    /// Text of the rows for a terminal with `width` columns. Only the last column is changed.
    pub(crate) fn text_within(&self, width: usize) -> String {
        let mut widths = self.widths();
        widths.pop();
        let before = self.indent + widths.iter().map(|width| width + GAP.len()).sum::<usize>();
        // A last column to the right holds numbers.
        let is_text = !self.right.contains(&widths.len());
        let Some(room) = width
            .checked_sub(before)
            .filter(|room| is_text && *room >= LAST_MIN)
        else {
            return self.text();
        };
        let columns = widths.len() + 1;
        let mut fitted = Self {
            rows: Vec::new(),
            right: self.right.clone(),
            ..*self
        };
        for row in &self.rows {
            let mut row = row.clone();
            let mut more = Vec::new();
            if row.len() == columns
                && let Some(cell) = row.last_mut()
                && cell.chars().count() > room
            {
                more = self.last.fit(cell, room);
            }
            fitted.rows.push(row);
            for line in more {
                let mut row = vec![String::new(); columns - 1];
                row.push(line);
                fitted.rows.push(row);
            }
        }
        fitted.text()
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

impl LastColumn {
    /// Makes `cell` fit into `room` characters, and returns the lines that follow it.
    fn fit(self, cell: &mut String, room: usize) -> Vec<String> {
        let count = cell.chars().count();
        match self {
            Self::CutEnd => {
                *cell = cell.chars().take(room - 1).chain(['…']).collect();
                Vec::new()
            }
            Self::CutStart => {
                let end = cell.chars().skip(count - (room - 1));
                *cell = ['…'].into_iter().chain(end).collect();
                Vec::new()
            }
            Self::Wrap => {
                let mut lines: Vec<String> = Vec::new();
                for word in cell.split(' ') {
                    match lines.last_mut() {
                        Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                            line.push(' ');
                            line.push_str(word);
                        }
                        // A word that is longer than the room is left to the terminal.
                        _ => lines.push(word.to_owned()),
                    }
                }
                *cell = lines.remove(0);
                lines
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_column_is_wrapped_or_cut_to_the_width_of_the_terminal() {
        let table = |last: LastColumn| {
            let mut table = TextTable::with_header(["name", "text"]).last(last);
            table.row(["a", "one two three four five"]);
            table.row(["b", "short"]);
            table.text_within(20)
        };
        assert_eq!(
            table(LastColumn::Wrap),
            "name  text\na     one two three\n      four five\nb     short\n"
        );
        assert_eq!(
            table(LastColumn::CutEnd),
            "name  text\na     one two three…\nb     short\n"
        );
        assert_eq!(
            table(LastColumn::CutStart),
            "name  text\na     …ree four five\nb     short\n"
        );
        let mut narrow = TextTable::with_header(["a long first column", "text"]);
        narrow.row(["x", "one two three four"]);
        assert_eq!(
            narrow.text_within(20),
            narrow.text(),
            "no room for the last column"
        );
        assert_eq!(narrow.text_within(200), narrow.text());
    }

    #[test]
    fn columns_are_aligned_and_lines_have_no_spaces_at_their_end() {
        let mut table = TextTable::with_header(["tool", "calls", "note"])
            .right([1])
            .indented(2);
        table.row(["a.long_name", "7", ""]);
        table.row(["b", "1,024", "é"]);
        assert_eq!(
            table.text(),
            "  tool         calls  note\n  a.long_name      7\n  b            1,024  é\n"
        );
    }
}
