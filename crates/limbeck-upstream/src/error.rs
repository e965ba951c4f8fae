//! Errors of starting, listing and calling an MCP server.

mod hints;
mod kinds;

use std::io;
use std::sync::Arc;

use limbeck_domain::{CallError, ServerName, ToolId, text};
use serde_json::Value;

use crate::unusable::UnusableServer;

/// Failure of a list or a call.
///
/// Cloneable, because all callers that waited for the same start get the same error. Texts of the server inside
/// are cleaned and cut.
#[derive(Clone, Debug, thiserror::Error)]
pub enum UpstreamError {
    /// No server of that name is configured.
    #[error("no server is called `{server}`")]
    NotConfigured {
        /// Name that was requested.
        server: ServerName,
    },
    /// The entry switches the server off.
    #[error("the server is disabled in its configuration entry")]
    Disabled,
    /// The server must not be connected, for the reason given.
    #[error("the server cannot be connected: {}", .0.reason)]
    Unusable(UnusableServer),
    /// The gateway ends, or the configuration has the server no longer in this form.
    #[error("the server was stopped, with the gateway or because its configuration changed")]
    Stopped,
    /// The program does not exist.
    #[error("program `{program}` was not found in {searched}")]
    ProgramNotFound {
        /// Program as the entry names it.
        program: String,
        /// Where the program was searched: `PATH`, or a directory.
        searched: String,
    },
    /// The directory that the process would start in does not exist.
    #[error("its directory `{directory}` does not exist")]
    DirectoryNotFound {
        /// The directory.
        directory: String,
    },
    /// The server could not be started; the reason has no path of the host.
    #[error("the server cannot be started: {reason}")]
    NotStarted {
        /// Reason without a path.
        reason: &'static str,
    },
    /// The program exists but could not be started.
    #[error("program `{program}` could not be started")]
    Spawn {
        /// Program as the entry names it.
        program: String,
        /// The system's reason.
        #[source]
        source: Arc<io::Error>,
    },
    /// The process ran but did not answer the handshake in time.
    #[error("the server did not answer within {ms} ms of its start{}", said(.stderr_tail))]
    StartTimeout {
        /// The limit.
        ms: u64,
        /// The end of its standard error.
        stderr_tail: String,
    },
    /// The process ended before it answered the handshake.
    #[error("the server ended while starting ({status}){}", said(.stderr_tail))]
    Exited {
        /// Exit status as text: `exit status: 3`, `signal: 9 (SIGKILL)`.
        status: String,
        /// The end of its standard error.
        stderr_tail: String,
    },
    /// The server answered the handshake with an error or an unsupported version.
    #[error("the server refused the handshake: {reason}")]
    Handshake {
        /// What is wrong with it.
        reason: String,
    },
    /// No connection to the server could be made; nothing was sent.
    #[error("the server cannot be reached: {reason}")]
    Unreachable {
        /// Origin of the server and the reason.
        reason: String,
    },
    /// As many principals as may have a connection to the server at a time have one; nothing was sent.
    #[error("{most} principals have a connection to the server already, the most at a time")]
    TooManyPrincipals {
        /// How many.
        most: usize,
    },
    /// The configuration entry does not allow the connection; nothing was sent.
    #[error("the connection is not allowed: {reason}")]
    NotAllowed {
        /// The address or redirect that was rejected.
        reason: String,
    },
    /// The server answered with an HTTP error status. The request had no result.
    #[error("the server answered with HTTP {status}{reason}")]
    Http {
        /// The status.
        status: u16,
        /// Empty, or the reason in the response: cleaned, cut, without secrets of the entry.
        reason: String,
    },
    /// A secret for a header could not be looked up; nothing was sent.
    #[error("the value of header `{header}` cannot be read: {reason}")]
    Secret {
        /// Name of the header.
        header: String,
        /// Reason, without the value.
        reason: String,
    },
    /// The server failed recently; calls fail at once until the back-off time has passed.
    #[error("{}; nothing was sent; next try in {}", earlier(.error), seconds(*retry_in_ms))]
    BackingOff {
        /// Time until the next attempt.
        retry_in_ms: u64,
        /// Last failure.
        error: Arc<UpstreamError>,
    },
    /// Too many calls in a row timed out (circuit breaker).
    #[error("{failures} calls in a row failed, the last with: {error}")]
    Unwell {
        /// Number of failed calls.
        failures: u32,
        /// Failure of the last one.
        error: Arc<UpstreamError>,
    },
    /// The server requested input for the call and no client can provide it.
    #[error("the server needs an answer to `{method}` before it can finish the call: {reason}")]
    InputNeeded {
        /// Method of the server's request.
        method: &'static str,
        /// Why the request was not answered.
        reason: String,
    },
    /// The server did not answer the call in time. The call may still have an effect.
    #[error("no answer within {ms} ms")]
    CallTimeout {
        /// The limit.
        ms: u64,
    },
    /// The server did not finish listing its tools in time.
    #[error("tools were not listed within {ms} ms")]
    ListTimeout {
        /// The limit.
        ms: u64,
    },
    /// The connection ended during the call. The call may have had an effect.
    #[error("the connection to the server was lost during the call ({status}){}", said(.stderr_tail))]
    ConnectionLost {
        /// What happened to the process or connection.
        status: String,
        /// The end of its standard error.
        stderr_tail: String,
    },
    /// The server answered with a JSON-RPC error.
    #[error("the server answered with error {code}: {message}")]
    Protocol {
        /// JSON-RPC error code.
        code: i64,
        /// The server's message, cleaned and cut.
        message: String,
        /// `data` of the JSON-RPC error, at most [`limbeck_domain::limits::ERROR_DATA_BYTES_MAX`] as JSON or
        /// nothing, without secrets of the entry. Passed to MCP clients only; never part of an error text.
        data: Option<Box<Value>>,
    },
    /// The server sent a response that is not a valid result.
    #[error("the server sent an invalid response: {reason}")]
    InvalidAnswer {
        /// What is wrong with it.
        reason: String,
    },
    /// The response is larger than allowed.
    #[error("the answer has more than {limit} bytes ({bytes} were sent)")]
    TooLarge {
        /// Bytes the server sent.
        bytes: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The arguments are not a JSON object; nothing was sent.
    #[error("the arguments are not a JSON object: {reason}")]
    InvalidArguments {
        /// What is wrong with them.
        reason: String,
    },
    /// The server requires a sign-in; nothing was sent but the handshake.
    #[error("the server at {url} needs a sign-in")]
    SignInNeeded {
        /// Address to open, or the server's origin when there is no page to open yet.
        url: String,
        /// Command that starts the sign-in.
        command: String,
    },
    /// Getting or refreshing a token failed; the request was not sent.
    #[error("signing in to the server failed: {reason}")]
    SignInFailed {
        /// What failed: a lowercase fragment without secrets.
        reason: String,
        /// Whether the same request may succeed later without a change.
        may_pass: bool,
    },
    /// The server answered the request with an error status, and what had to follow failed: a sign-in, or the same request
    /// once more. The server has received the request, so it may have had an effect.
    #[error("{error}; it answered the request with HTTP {status}")]
    AfterAnswer {
        /// The status.
        status: u16,
        /// What failed then.
        error: Arc<UpstreamError>,
    },
    /// The caller cancelled the call.
    #[error("the call was cancelled")]
    Cancelled,
    /// The caller cancelled the call while it waited for its place or for the server's start.
    #[error("the call was cancelled before it was sent")]
    CancelledUnsent,
}

/// The failure that a server is left alone for, as a caller reads it whose own call was not sent.
fn earlier(error: &UpstreamError) -> String {
    match error {
        UpstreamError::ConnectionLost {
            status,
            stderr_tail,
        } => format!(
            "the connection to the server was lost during an earlier call ({status}){}",
            said(stderr_tail)
        ),
        error => error.to_string(),
    }
}

/// Formats the end of standard error as a suffix; empty without any.
///
/// On one line and in quotes: the server's words must not pass for a line of a log or for words of the gateway.
fn said(stderr_tail: &str) -> String {
    let lines: Vec<String> = stderr_tail
        .lines()
        .map(|line| text::clean_line(line.trim(), line.len()))
        .collect();
    if lines.is_empty() {
        String::new()
    } else {
        format!("; its last output: \"{}\"", lines.join(" | "))
    }
}

impl UpstreamError {
    /// Converts the error for the program that made the call.
    ///
    /// `retryable` is set only where nothing was sent and the same call may succeed later.
    pub fn to_call_error(&self, tool: &ToolId) -> CallError {
        let error = CallError::new(self.code(), self.full_text())
            .with_target(tool.server.as_str(), &*tool.tool);
        let error = match self.hint(tool) {
            Some(hint) => error.with_hint(hint),
            None => error,
        };
        if self.nothing_sent_and_may_pass() {
            error.retryable()
        } else {
            error
        }
    }

    /// Whether the program or the directory that the entry names does not exist.
    pub(crate) fn is_of_absent_file(&self) -> bool {
        matches!(
            self,
            Self::ProgramNotFound { .. } | Self::DirectoryNotFound { .. }
        )
    }

    /// The error of a start without the paths of the host, for principals other than the user who runs the gateway.
    pub(crate) fn without_paths(self) -> Self {
        let reason = match &self {
            Self::ProgramNotFound { .. } => "its program was not found",
            Self::DirectoryNotFound { .. } => "its directory does not exist",
            Self::Spawn { .. } => "its program could not be executed",
            _ => return self,
        };
        Self::NotStarted { reason }
    }

    /// Next step for the user, where there is one.
    pub(crate) fn next_step(&self, server: &ServerName) -> Option<String> {
        self.hint(&ToolId::new(server.clone(), ""))
    }

    /// The message with its cause.
    pub fn full_text(&self) -> String {
        match self {
            Self::Spawn { source, .. } => format!("{self}: {source}"),
            // All other variants include their cause in the text.
            _ => self.to_string(),
        }
    }
}

/// A time to wait, in whole seconds: a person reads it, and it is not more exact than that.
fn seconds(ms: u64) -> String {
    match ms.div_ceil(1_000) {
        0 | 1 => "a second".to_owned(),
        seconds => format!("{seconds} seconds"),
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::CallCode;

    use super::*;

    fn tool() -> ToolId {
        ToolId::new("files", "write")
    }

    #[test]
    fn the_time_to_wait_is_told_in_seconds() {
        let shown = |retry_in_ms| {
            let error = Arc::new(UpstreamError::Disabled);
            UpstreamError::BackingOff { retry_in_ms, error }.to_string()
        };
        for (ms, words) in [
            (3_998, "next try in 4 seconds"),
            (60_000, "next try in 60 seconds"),
            (1, "next try in a second"),
            (0, "next try in a second"),
        ] {
            assert!(shown(ms).ends_with(words), "{}", shown(ms));
        }
    }

    #[test]
    fn a_lost_call_is_not_retryable_and_a_call_never_sent_is() {
        let lost = UpstreamError::ConnectionLost {
            status: "exit status: 1".into(),
            stderr_tail: "boom".into(),
        };
        let error = lost.to_call_error(&tool());
        assert_eq!(error.code, CallCode::ConnectionLost);
        assert!(!error.retryable);
        assert_eq!(
            error.message,
            "the connection to the server was lost during the call (exit status: 1); its last output: \"boom\""
        );

        let waiting = UpstreamError::BackingOff {
            retry_in_ms: 900,
            error: Arc::new(lost),
        };
        let waiting = waiting.to_call_error(&tool());
        assert!(waiting.retryable);
        assert_eq!(
            waiting.message,
            "the connection to the server was lost during an earlier call (exit status: 1); \
             its last output: \"boom\"; nothing was sent; next try in a second"
        );
        assert_eq!(waiting.hint.as_deref(), Some("call again in a second"));
    }

    #[test]
    fn lines_of_a_server_stay_on_one_quoted_line() {
        let error = UpstreamError::Exited {
            status: "exit status: 1".into(),
            stderr_tail: "boom\n2026-11-22T00:00:00Z ERROR limbeck: all tokens accepted".into(),
        };
        assert_eq!(
            error.to_string(),
            "the server ended while starting (exit status: 1); its last output: \
             \"boom | 2026-11-22T00:00:00Z ERROR limbeck: all tokens accepted\""
        );
    }

    #[test]
    fn paths_of_the_host_are_left_out_of_errors_of_a_start_and_other_errors_stay() {
        let gone = || UpstreamError::DirectoryNotFound {
            directory: "/home/me/work".into(),
        };
        let error = gone().without_paths().to_call_error(&tool());
        assert!(!format!("{error:?}").contains("/home"), "{error:?}");
        assert_eq!(error.code, CallCode::ServerUnavailable);
        // The controls: the user's own error has the path, and an error without one is not touched.
        let own = gone().to_call_error(&tool());
        assert!(own.message.contains("`/home/me/work`"), "{own:?}");
        let other = UpstreamError::Disabled.without_paths();
        assert!(matches!(other, UpstreamError::Disabled));
    }

    #[test]
    fn a_missing_program_is_named_with_what_to_do() {
        let error = UpstreamError::ProgramNotFound {
            program: "npx".into(),
            searched: "PATH".into(),
        }
        .to_call_error(&tool());
        assert_eq!(error.message, "program `npx` was not found in PATH");
        assert_eq!(
            error.hint.as_deref(),
            Some("install `npx`, or give `files` the absolute path of the program")
        );
        assert_eq!(error.code, CallCode::ServerUnavailable);
        let relative = UpstreamError::ProgramNotFound {
            program: "./srv.sh".into(),
            searched: "`/home/me`".into(),
        }
        .to_call_error(&tool());
        assert_eq!(
            relative.hint.as_deref(),
            Some("correct `command` or `cwd` of `files`: `./srv.sh` is looked for in `/home/me`")
        );
    }
}
