//! Output of the command line: data on standard output, everything else on standard error.
//!
//! Control characters are removed before text reaches a terminal; data written to a pipe or a file is not changed. Color
//! is used on a terminal only, and no message depends on it.
//!
//! A reader that closes the pipe early (`limbeck executions | head -1`) is not an error: the rest is not written.

use std::cell::RefCell;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Style};
use limbeck_domain::text::clean;
use limbeck_upstream::{Direction, Redaction};
use serde::Serialize;

use crate::exit::{CommandError, ExitStatus};
use crate::table::TextTable;
use crate::time_zone::TimeZone;

/// Time after which a person at a terminal wants to know what a command does.
const PROGRESS_AFTER: Duration = Duration::from_secs(1);
/// Longest message on standard error in bytes; server names and program errors are far shorter.
const MESSAGE_BYTES_MAX: usize = 64 << 10;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Writer of standard output and standard error. Only the MCP transport and the log write there as well.
#[derive(Debug, Default)]
pub(crate) struct Printer {
    /// First error of standard output; nothing is written to it afterwards.
    lost: RefCell<Option<io::Error>>,
    /// Taken out of everything that is written, but for [`Printer::exact_line`].
    redaction: Redaction,
}

impl Printer {
    /// A printer that writes no secret of `redaction`.
    pub(crate) fn new(redaction: Redaction) -> Self {
        Self {
            lost: RefCell::default(),
            redaction,
        }
    }

    /// Writes data without secrets and otherwise unchanged, or without control characters when standard output is a terminal.
    pub(crate) fn data(&self, text: &str) {
        let stdout = io::stdout();
        // Control characters could move the cursor or change the terminal; a pipe must receive the exact bytes.
        if stdout.is_terminal() {
            let text = clean(text, text.len());
            self.write(stdout.lock(), &self.redacted(&text));
        } else {
            self.write(stdout.lock(), &self.redacted(text));
        }
    }

    /// Writes a line as it is: a record whose bytes are hashed. What it quotes was redacted when it was made.
    pub(crate) fn exact_line(&self, line: &str) {
        let stdout = io::stdout();
        let line = format!("{line}\n");
        if stdout.is_terminal() {
            self.write(stdout.lock(), &clean(&line, line.len()));
        } else {
            self.write(stdout.lock(), &line);
        }
    }

    /// `text` without secrets. JSON stays JSON.
    fn redacted(&self, text: &str) -> String {
        let is_json = text.trim_start().starts_with(['{', '[', '"']);
        let json = match is_json {
            true => self.redaction.json(Direction::ToModel, text),
            false => text.into(),
        };
        // Outside of strings a text that only begins like JSON may have a secret too.
        match is_json && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
            true => json.into_owned(),
            false => self.redaction.text(Direction::ToModel, &json).into_owned(),
        }
    }

    /// Writes to standard error, without secrets. An error of standard error cannot be reported and is ignored.
    fn complain(&self, text: &str) {
        let mut stderr = anstream::stderr().lock();
        let text = self.redaction.text(Direction::ToModel, text);
        let _ = stderr.write_all(text.as_bytes());
    }

    /// Writes data like [`Printer::data`] and ends it with a newline.
    pub(crate) fn data_line(&self, text: &str) {
        self.data(text);
        if !text.ends_with('\n') {
            self.data("\n");
        }
    }

    /// Writes one JSON value on one line of standard output.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), CommandError> {
        let text = serde_json::to_string(value).map_err(CommandError::fault)?;
        self.data_line(&text);
        Ok(())
    }

    /// Writes a table: on a terminal with its colors and within its width, where cells are cut or wrapped.
    pub(crate) fn table(&self, table: &TextTable) {
        match self.width() {
            // `anstream` leaves the colors out where `NO_COLOR` is set.
            Some(width) => {
                let table = table.colored_within(width);
                self.write(anstream::stdout().lock(), &self.redacted(&table));
            }
            None => self.data(&table.text()),
        }
    }

    /// A time for people: local with its offset on a terminal, in UTC elsewhere.
    pub(crate) fn time(&self, us: u64) -> String {
        let zone = self.zone();
        format!("{} {}", zone.time(us), zone.name())
    }

    /// Time zone of the times in a table.
    pub(crate) fn zone(&self) -> TimeZone {
        if io::stdout().is_terminal() {
            TimeZone::local()
        } else {
            TimeZone::UTC
        }
    }

    /// Columns of the terminal that standard output is; `None` for a pipe or a file.
    pub(crate) fn width(&self) -> Option<usize> {
        let stdout = io::stdout();
        if !stdout.is_terminal() {
            return None;
        }
        let (width, _) = terminal_size::terminal_size_of(stdout)?;
        Some(usize::from(width.0))
    }

    /// Awaits `work`. When it takes more than a second and standard error is a terminal, writes what it waits for.
    pub(crate) async fn reporting<T>(&self, waits_for: &str, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(PROGRESS_AFTER) => self.progress(&format!("{waits_for} …")),
        }
        work.await
    }

    /// Writes what a command waits for, where standard error is a terminal.
    pub(crate) fn progress(&self, text: &str) {
        if io::stderr().is_terminal() {
            self.note(text);
        }
    }

    /// Writes help text with its own colors to standard output.
    pub(crate) fn help(&self, text: &impl Display) {
        self.write(anstream::stdout().lock(), &text.to_string());
    }

    /// Writes a line of text for people to standard error.
    pub(crate) fn note(&self, text: &str) {
        let text = clean(text, MESSAGE_BYTES_MAX);
        self.complain(&format!("{}\n", text.trim_end_matches('\n')));
    }

    /// Writes a question to standard error and leaves the cursor behind it.
    pub(crate) fn prompt(&self, text: &str) {
        self.complain(&clean(text, MESSAGE_BYTES_MAX));
    }

    /// Writes a warning: the command continues.
    pub(crate) fn warning(&self, text: &str) {
        self.labelled("warning", WARNING, text);
    }

    /// Writes an error message.
    pub(crate) fn error(&self, text: &str) {
        self.labelled("error", ERROR, text);
    }

    /// Writes the next step, after an empty line.
    pub(crate) fn hint(&self, text: &str) {
        self.complain("\n");
        self.labelled("hint", HINT, text);
    }

    /// Writes an error with its causes and the next step.
    pub(crate) fn command_error(&self, failure: &CommandError) {
        self.error(&failure.error.to_string());
        for cause in failure.error.chain().skip(1) {
            self.note(&format!("  caused by: {cause}"));
        }
        if let Some(hint) = &failure.hint {
            self.hint(hint);
        }
    }

    /// Writes the help of the argument parser with its own colors, to the stream it chose.
    pub(crate) fn clap_help(&self, help: &clap::Error) {
        let text = help.render().ansi().to_string();
        if help.use_stderr() {
            self.complain(&text);
        } else {
            self.help(&text);
        }
    }

    /// Exit status of a command that ended with `exit`; a fault when its output could not be written.
    pub(crate) fn finish(self, exit: ExitStatus) -> ExitStatus {
        match self.lost.take() {
            // A reader that closes the pipe early has all that it wants.
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let error = clean(&error.to_string(), MESSAGE_BYTES_MAX);
                self.complain(&format!(
                    "error: standard output cannot be written: {error}\n"
                ));
                ExitStatus::Fault
            }
            Some(_) | None => exit,
        }
    }

    fn write(&self, mut stdout: impl Write, text: &str) {
        let mut lost = self.lost.borrow_mut();
        // After the first error further writes would fail again, or leave a gap in the output.
        if lost.is_some() {
            return;
        }
        let written = stdout.write_all(text.as_bytes());
        if let Err(error) = written.and_then(|()| stdout.flush()) {
            *lost = Some(error);
        }
    }

    fn labelled(&self, label: &str, style: Style, text: &str) {
        let text = clean(text, MESSAGE_BYTES_MAX);
        // A message may quote a server: a line of it must not pass for an error or a hint of the gateway.
        let text = text.trim_end_matches('\n').replace('\n', "\n  ");
        self.complain(&format!("{style}{label}{style:#}: {text}\n"));
    }
}
