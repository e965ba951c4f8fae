//! Tables with aligned columns, which fit into a terminal where they can.

use clap::builder::styling::{AnsiColor, Style};
use limbeck_domain::text::clean;

/// Rows of cells that are aligned when written. Widths are counted in characters.
#[derive(Debug, Default)]
pub(crate) struct TextTable {
    rows: Vec<Vec<String>>,
    right: Vec<usize>,
    indent: usize,
    last: LastColumn,
    has_header: bool,
    tones: Option<(usize, ToneOf)>,
}

/// Meaning of a cell for its reader, who sees it as a color on a terminal. No text depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As it should be.
    Good,
    /// Worth a look, or not in use.
    Attention,
    /// Failed.
    Bad,
    /// No color.
    Plain,
}

/// Meaning of the cells of a column, by their text.
type ToneOf = fn(&str) -> Tone;

impl Tone {
    fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Attention => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Plain => Style::new(),
        }
    }
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
        let mut table = Self {
            has_header: true,
            ..Self::default()
        };
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

    /// Colors the cells of a column (counted from 0) on a terminal, below the header.
    #[must_use]
    pub(crate) fn tones(mut self, column: usize, tone_of: ToneOf) -> Self {
        self.tones = Some((column, tone_of));
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
        self.render(|_, _, cell| cell.to_owned())
    }

    /// Text for a terminal with `width` columns, with colors and without control characters of the cells.
    pub(crate) fn colored_within(&self, width: usize) -> String {
        let clean_row = |row: &Vec<String>| -> Vec<String> {
            row.iter().map(|cell| clean(cell, cell.len())).collect()
        };
        let cleaned = Self {
            rows: self.rows.iter().map(clean_row).collect(),
            right: self.right.clone(),
            ..*self
        };
        let first = usize::from(self.has_header);
        cleaned
            .within(width)
            .render(|row, column, cell| match self.tones {
                Some((toned, tone_of)) if toned == column && row >= first && !cell.is_empty() => {
                    let style = tone_of(cell).style();
                    format!("{style}{cell}{style:#}")
                }
                Some(_) | None => cell.to_owned(),
            })
    }

    /// Text of the rows, each cell (by row and column) as `shown` writes it; it may add what has no width.
    fn render(&self, shown: impl Fn(usize, usize, &str) -> String) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            let mut line = " ".repeat(self.indent);
            for (column, cell) in row.iter().enumerate() {
                let padding = " ".repeat(widths[column] - cell.chars().count());
                if column > 0 {
                    line.push_str(GAP);
                }
                let cell = shown(index, column, cell);
                if self.right.contains(&column) {
                    line.push_str(&padding);
                    line.push_str(&cell);
                } else {
                    line.push_str(&cell);
                    line.push_str(&padding);
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// The table for a terminal with `width` columns. Only the last column is changed.
    fn within(&self, width: usize) -> Self {
        let mut widths = self.widths();
        widths.pop();
        let before = self.indent + widths.iter().map(|width| width + GAP.len()).sum::<usize>();
        // A last column to the right holds numbers.
        let is_text = !self.right.contains(&widths.len());
        let Some(room) = width
            .checked_sub(before)
            .filter(|room| is_text && *room >= LAST_MIN)
        else {
            return Self {
                rows: self.rows.clone(),
                right: self.right.clone(),
                ..*self
            };
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
        fitted
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
            table.within(20).text()
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
            narrow.within(20).text(),
            narrow.text(),
            "no room for the last column"
        );
        assert_eq!(narrow.within(200).text(), narrow.text());
    }

    #[test]
    fn colors_change_no_width_and_what_a_cell_brings_of_its_own_is_removed() {
        let tone = |cell: &str| match cell {
            "ready" => Tone::Good,
            _ => Tone::Bad,
        };
        let mut table = TextTable::with_header(["name", "state", "source"]).tones(1, tone);
        table.row(["a", "ready", "x"]);
        table.row(["b\u{1b}[2J", "failed", "y"]);
        assert_eq!(
            table.colored_within(80),
            "name  state   source\na     \u{1b}[32mready\u{1b}[0m   x\nb[2J  \u{1b}[31mfailed\u{1b}[0m  y\n"
        );
        assert!(!table.text().contains("\u{1b}[3"), "the control: {table:?}");
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
