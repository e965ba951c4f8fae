//! Output of a program on a terminal, line by line while it runs.

use std::io::{self, Write as _};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use limbeck_domain::Envelope;
use limbeck_domain::text::clean;
use limbeck_upstream::{
    CallObserver, ClientCapabilities, DeclinedError, Direction, PrintedStream, ProgressUpdate,
    RedactedStream, Redaction, ServerRequest,
};
use serde_json::value::RawValue;

/// Writes what a program prints to the terminal, without control characters, and counts its lines.
///
/// A secret is taken out also where it has several lines: its beginning is held back until it is known what follows.
#[derive(Debug)]
pub(crate) struct LiveOutput {
    redaction: Redaction,
    stdout: Mutex<RedactedStream>,
    stderr: Mutex<RedactedStream>,
    stdout_lines: AtomicUsize,
    stderr_lines: AtomicUsize,
}

impl LiveOutput {
    pub(crate) fn new(redaction: Redaction) -> Self {
        Self {
            stdout: Mutex::new(redaction.stream()),
            stderr: Mutex::new(redaction.stream()),
            redaction,
            stdout_lines: AtomicUsize::default(),
            stderr_lines: AtomicUsize::default(),
        }
    }

    /// Writes what was held back.
    fn finish(&self) {
        let rest = |stream: &Mutex<RedactedStream>| {
            let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
            stream.finish()
        };
        self.write(PrintedStream::Stdout, &rest(&self.stdout));
        self.write(PrintedStream::Stderr, &rest(&self.stderr));
    }

    fn write(&self, stream: PrintedStream, text: &str) {
        if text.is_empty() {
            return;
        }
        let text = self.redaction.shapes(Direction::ToModel, text);
        // An error is met again when the value is printed.
        let _ = match stream {
            PrintedStream::Stdout => io::stdout().lock().write_all(text.as_bytes()),
            PrintedStream::Stderr => anstream::stderr().lock().write_all(text.as_bytes()),
        };
    }

    /// Removes from an answer what was written already: all that a program printed, or what it printed before it was paused and
    /// `went_on`. Where its printed text is not whole it cannot be known which lines were written, so they are written again.
    pub(crate) fn remove_written(&self, envelope: &mut Envelope, went_on: bool, is_whole: bool) {
        self.finish();
        let streams = [
            (&mut envelope.stdout, &self.stdout_lines),
            (&mut envelope.stderr, &self.stderr_lines),
        ];
        for (text, lines) in streams {
            if !went_on {
                text.clear();
            } else if is_whole {
                *text = lines_after(text, lines.load(Ordering::Acquire)).to_owned();
            }
        }
    }
}

/// `text` without its first lines.
fn lines_after(text: &str, lines: usize) -> &str {
    let mut rest = text;
    for _ in 0..lines {
        rest = match rest.split_once('\n') {
            Some((_, rest)) => rest,
            None => "",
        };
    }
    rest
}

impl CallObserver for LiveOutput {
    fn progress(&self, _: ProgressUpdate) {}

    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::NONE
    }

    fn request(
        &self,
        _: ServerRequest,
    ) -> Pin<Box<dyn Future<Output = Result<Box<RawValue>, DeclinedError>> + Send + '_>> {
        Box::pin(async { Err(DeclinedError::new("there is no client that can answer")) })
    }

    fn printed(&self, stream: PrintedStream, line: &str) {
        let (lines, redacted) = match stream {
            PrintedStream::Stdout => (&self.stdout_lines, &self.stdout),
            PrintedStream::Stderr => (&self.stderr_lines, &self.stderr),
        };
        // One call of `console.log` may print several lines.
        lines.fetch_add(1 + line.matches('\n').count(), Ordering::AcqRel);
        let line = format!("{}\n", clean(line, line.len()));
        let mut redacted = redacted.lock().unwrap_or_else(PoisonError::into_inner);
        self.write(stream, &redacted.write(&line));
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{ExecutionId, ExecutionStatus};

    use super::*;

    #[test]
    fn an_answer_repeats_no_line_that_was_written() {
        let live = LiveOutput::new(Redaction::default());
        live.printed(PrintedStream::Stdout, "one\n");
        live.printed(PrintedStream::Stderr, "err");
        let left = |went_on, is_whole| {
            let mut envelope = Envelope {
                stdout: "one\n\nthree\nfour\n".to_owned(),
                stderr: "err\n".to_owned(),
                ..Envelope::new(ExecutionId::new("ex_1"), ExecutionStatus::Completed)
            };
            live.remove_written(&mut envelope, went_on, is_whole);
            (envelope.stdout, envelope.stderr)
        };
        let texts = |stdout: &str, stderr: &str| (stdout.to_owned(), stderr.to_owned());
        assert_eq!(left(true, true), texts("three\nfour\n", ""));
        assert_eq!(left(true, false), texts("one\n\nthree\nfour\n", "err\n"));
        assert_eq!(left(false, true), texts("", ""));
        assert_eq!(lines_after("no newline", 1), "");
        assert_eq!(lines_after("all\n", 0), "all\n");
    }
}
