//! What a person reads of questions on a terminal: all of it, page by page where it is long.

use anyhow::Context as _;
use limbeck_domain::Approval;
use limbeck_domain::text::clean;

use super::TerminalQuestions;
use crate::exit::CommandError;
use crate::wrapped::wrapped;

/// Rows of a text that is written at once: what a person can scroll back to on any terminal.
const ROWS_AT_ONCE_MAX: usize = 300;
/// Rows of a page on a terminal that does not know its size.
const PAGE_ROWS: usize = 24;

/// What a person did with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// All of it was on the screen.
    Whole,
    /// The person stopped before its end.
    InPart,
    /// The question was answered elsewhere meanwhile.
    Answered,
}

impl TerminalQuestions<'_> {
    /// Writes one line.
    pub(super) fn show_note(&self, text: &str) -> Result<(), CommandError> {
        self.show(&format!("{}\n", text.trim_end_matches('\n')))
    }

    /// Writes text, without characters that could change the terminal.
    pub(super) fn show(&self, text: &str) -> Result<(), CommandError> {
        let written = self.terminal.show(&clean(text, text.len()));
        written
            .context("the question cannot be written to the terminal")
            .map_err(CommandError::usage)
    }

    /// Shows the text of a question, whole: a part that is cut could be what matters.
    pub(super) async fn show_question(
        &self,
        text: &str,
        first: &Approval,
    ) -> Result<Read, CommandError> {
        let text = clean(text, text.len());
        let size = self.terminal.size().filter(|(columns, _)| *columns > 0);
        let text = match size {
            Some((columns, _)) => wrapped(&text, columns),
            None => text,
        };
        let text = text.trim_end_matches('\n');
        let rows: Vec<&str> = text.lines().collect();
        let page_rows = match (rows.len(), size) {
            (..=ROWS_AT_ONCE_MAX, _) => ROWS_AT_ONCE_MAX,
            (_, Some((_, rows))) if rows > 2 => rows - 1,
            _ => PAGE_ROWS,
        };
        self.show("\n")?;
        let pages = rows.chunks(page_rows);
        let last = pages.len();
        for (page, rows) in pages.enumerate() {
            self.show(&format!("{}\n", rows.join("\n")))?;
            if page + 1 == last {
                break;
            }
            self.discard_typed()?;
            self.show(&format!(
                "page {} of {last}; Enter: next page, q: stop reading ",
                page + 1
            ))?;
            match self.line_while_open(first).await? {
                None => return Ok(Read::Answered),
                Some(line) if line.is_empty() => {}
                Some(_) => return Ok(Read::InPart),
            }
        }
        Ok(Read::Whole)
    }

    /// What was typed before a question was shown is no answer to it.
    pub(super) fn discard_typed(&self) -> Result<(), CommandError> {
        self.terminal
            .discard_typed_input()
            .context("what was typed before the question cannot be discarded")
            .map_err(CommandError::usage)
    }
}
