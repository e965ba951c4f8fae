//! Output of a program on a terminal, line by line while it runs.

use std::io::{self, Write as _};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};

use limbeck_domain::Envelope;
use limbeck_domain::text::clean;
use limbeck_upstream::{
    CallObserver, ClientCapabilities, DeclinedError, PrintedStream, ProgressUpdate, ServerRequest,
};
use serde_json::value::RawValue;

/// Writes what a program prints to the terminal, without control characters, and counts its lines.
#[derive(Debug, Default)]
pub(crate) struct LiveOutput {
    stdout_lines: AtomicUsize,
    stderr_lines: AtomicUsize,
}

impl LiveOutput {
    /// Removes from an answer what was written already: all that a program printed, or what it printed before it was paused and
    /// `went_on`. Where its printed text is not whole it cannot be known which lines were written, so they are written again.
    pub(crate) fn remove_written(&self, envelope: &mut Envelope, went_on: bool, is_whole: bool) {
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
        let lines = match stream {
            PrintedStream::Stdout => &self.stdout_lines,
            PrintedStream::Stderr => &self.stderr_lines,
        };
        // One call of `console.log` may print several lines.
        lines.fetch_add(1 + line.matches('\n').count(), Ordering::AcqRel);
        let line = format!("{}\n", clean(line, line.len()));
        // An error is met again when the value is printed.
        let _ = match stream {
            PrintedStream::Stdout => io::stdout().lock().write_all(line.as_bytes()),
            PrintedStream::Stderr => anstream::stderr().lock().write_all(line.as_bytes()),
        };
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{ExecutionId, ExecutionStatus};

    use super::*;

    #[test]
    fn an_answer_repeats_no_line_that_was_written() {
        let live = LiveOutput::default();
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
