//! Log output on standard error.
//!
//! A log line may quote servers, programs and clients, so everything is written by one writer that keeps each event on
//! one line and escapes what could act on a terminal.

use std::io::{self, Write};

use limbeck_domain::text::escape_line;
use limbeck_upstream::{Direction, Redaction};
use tracing_subscriber::EnvFilter;

use crate::cli::LogLevel;

/// Target of the warning that the tools of a server could not be listed (`limbeck_gateway`).
const UNAVAILABLE: &str = "limbeck_gateway::unavailable";

/// Whether the log names servers whose tools could not be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnavailableServers {
    /// The log names them.
    Logged,
    /// The command names them in its own words, and the log would repeat it.
    NamedByCommand,
}

/// Writes log lines of the Limbeck crates at `level` and above to standard error, and of other crates at a lower volume.
pub(crate) fn start(level: LogLevel, unavailable: UnavailableServers, redaction: &Redaction) {
    let mut filter = match level {
        LogLevel::Off => "off".to_owned(),
        LogLevel::Error => "error".to_owned(),
        // Other crates log one level less: their warnings are rarely about this gateway.
        LogLevel::Warn => "error,limbeck=warn".to_owned(),
        // The MCP SDK warns about each message that a server could not be sent.
        LogLevel::Info => "warn,rmcp=error,limbeck=info".to_owned(),
        LogLevel::Debug => "warn,rmcp=error,limbeck=debug".to_owned(),
        LogLevel::Trace => "debug,limbeck=trace".to_owned(),
    };
    if unavailable == UnavailableServers::NamedByCommand && level == LogLevel::Warn {
        filter = format!("{filter},{UNAVAILABLE}=error");
    }
    let redaction = redaction.clone();
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(move || EventWriter(anstream::stderr(), redaction.clone()))
        .with_target(level >= LogLevel::Debug)
        .init();
}

/// Writer of one event, which the subscriber passes in one piece.
struct EventWriter<W>(W, Redaction);

impl<W: Write> Write for EventWriter<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let event_text = String::from_utf8_lossy(event);
        // Before characters are escaped that a secret may have.
        let line = one_line(&self.1.text(Direction::Logs, &event_text));
        self.0.write_all(line.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The event as one escaped line. Colors stay: they cannot forge a line or move the cursor.
fn one_line(event: &str) -> String {
    let mut rest = event.strip_suffix('\n').unwrap_or(event);
    let mut line = String::with_capacity(event.len());
    while let Some(at) = rest.find('\u{1b}') {
        line.push_str(&escape_line(&rest[..at]));
        let (escape, after) = rest[at..].split_at(color_bytes(&rest[at..]).unwrap_or(1));
        if escape.len() > 1 {
            line.push_str(escape);
        } else {
            line.push_str(&escape_line(escape));
        }
        rest = after;
    }
    line.push_str(&escape_line(rest));
    line.push('\n');
    line
}

/// Bytes of the color sequence that `text` begins with: `ESC [ digits ; digits m`.
fn color_bytes(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !(c.is_ascii_digit() || c == ';'))?;
    parameters[end..].starts_with('m').then_some(end + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_it_quotes() {
        let forged = "WARN server said: a\n2026-11-22T00:00:00Z ERROR all tokens accepted\r\u{1b}[2J\u{202e}\n";
        assert_eq!(
            one_line(forged),
            "WARN server said: a\\n2026-11-22T00:00:00Z ERROR all tokens accepted\\r\\u{1b}[2J\\u{202e}\n"
        );
        // The control: what the log itself writes stays as it is.
        let colored = "\u{1b}[2m2026\u{1b}[0m \u{1b}[33m WARN\u{1b}[0m café server=files\n";
        assert_eq!(one_line(colored), colored);
        assert_eq!(one_line(""), "\n");
    }
}
