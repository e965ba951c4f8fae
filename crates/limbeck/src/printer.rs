//! Standard output and standard error, in one hand.
//!
//! Data goes to standard output and everything else to standard error. What came from outside loses
//! its control characters before it can reach a terminal; data on its way into a pipe or a file
//! stays as it is. Colour is a help, never the message, and only on a terminal.
//!
//! A reader that goes away (`limbeck executions | head -1`) is no error: the rest is not written.

use std::cell::RefCell;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use clap::builder::styling::{AnsiColor, Style};
use limbeck_gateway::domain::text::clean;
use serde::Serialize;

use crate::exit::{Exit, Failure};

/// Bytes of one message on standard error; server names and program errors are far below.
const MESSAGE_BYTES_MAX: usize = 64 << 10;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// The only writer of standard output and standard error, but for protocol and diagnostics.
#[derive(Debug, Default)]
pub(crate) struct Printer {
    /// The first failure of standard output; nothing is written to it afterwards.
    lost: RefCell<Option<io::Error>>,
}

impl Printer {
    /// Writes data as it is, or made harmless when a person looks at it.
    pub(crate) fn data(&self, text: &str) {
        let stdout = io::stdout();
        if stdout.is_terminal() {
            self.write(stdout.lock(), &clean(text, text.len()));
        } else {
            self.write(stdout.lock(), text);
        }
    }

    /// [`Printer::data`] that ends with a newline.
    pub(crate) fn data_line(&self, text: &str) {
        self.data(text);
        if !text.ends_with('\n') {
            self.data("\n");
        }
    }

    /// One JSON value on one line.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(Failure::fault)?;
        self.data_line(&text);
        Ok(())
    }

    /// Help, in whatever colours `text` has.
    pub(crate) fn help(&self, text: &impl Display) {
        self.write(anstream::stdout().lock(), &text.to_string());
    }

    /// Words for people, with a newline at their end.
    pub(crate) fn note(&self, text: &str) {
        let text = clean(text, MESSAGE_BYTES_MAX);
        complain(&format!("{}\n", text.trim_end_matches('\n')));
    }

    /// Something the reader should know although the command goes on.
    pub(crate) fn warning(&self, text: &str) {
        self.labelled("warning", WARNING, text);
    }

    /// What happened.
    pub(crate) fn error(&self, text: &str) {
        self.labelled("error", ERROR, text);
    }

    /// One next step, set off by an empty line.
    pub(crate) fn hint(&self, text: &str) {
        complain("\n");
        self.labelled("hint", HINT, text);
    }

    /// An error with its causes and the next step.
    pub(crate) fn failure(&self, failure: &Failure) {
        self.error(&failure.error.to_string());
        for cause in failure.error.chain().skip(1) {
            self.note(&format!("  caused by: {cause}"));
        }
        if let Some(hint) = &failure.hint {
            self.hint(hint);
        }
    }

    /// What the command line parser has to say, in its own colours, on the stream it chose.
    pub(crate) fn clap(&self, error: &clap::Error) {
        let text = error.render().ansi().to_string();
        if error.use_stderr() {
            complain(&text);
        } else {
            self.help(&text);
        }
    }

    /// The exit of a command that ended with `exit`: another one when its output went nowhere.
    pub(crate) fn finish(self, exit: Exit) -> Exit {
        match self.lost.into_inner() {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let error = clean(&error.to_string(), MESSAGE_BYTES_MAX);
                complain(&format!(
                    "error: standard output cannot be written: {error}\n"
                ));
                Exit::Fault
            }
            Some(_) | None => exit,
        }
    }

    fn write(&self, mut stdout: impl Write, text: &str) {
        let mut lost = self.lost.borrow_mut();
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
        complain(&format!(
            "{style}{label}{style:#}: {}\n",
            text.trim_end_matches('\n')
        ));
    }
}

/// Writes to standard error. When that fails nobody is left to be told.
fn complain(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
}
