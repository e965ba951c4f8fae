//! Output of a program on a terminal, line by line while it runs.

use std::io::{self, Write as _};
use std::pin::Pin;

use limbeck_domain::text::clean;
use limbeck_upstream::{
    CallObserver, ClientCapabilities, DeclinedError, PrintedStream, ProgressUpdate, ServerRequest,
};
use serde_json::value::RawValue;

/// Writes what a program prints to the terminal, without control characters.
pub(crate) struct LiveOutput;

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
        let line = format!("{}\n", clean(line, line.len()));
        // An error is met again when the value is printed.
        let _ = match stream {
            PrintedStream::Stdout => io::stdout().lock().write_all(line.as_bytes()),
            PrintedStream::Stderr => anstream::stderr().lock().write_all(line.as_bytes()),
        };
    }
}
