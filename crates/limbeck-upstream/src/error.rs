//! Why a server could not be asked, or did not answer.

use std::io;
use std::sync::Arc;

use limbeck_domain::{CallCode, CallError, ServerName, ToolId};
use serde_json::Value;

use crate::Unusable;

/// Why a list or a call brought nothing.
///
/// Cloneable, because everybody who waited for the same start hears the same reason. Texts from the
/// server inside are cleaned and cut.
#[derive(Clone, Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The pool has no such server.
    #[error("no server named `{server}` is configured")]
    NotConfigured {
        /// The name asked for.
        server: ServerName,
    },
    /// The entry switches the server off.
    #[error("the server is disabled in its configuration entry")]
    Disabled,
    /// Its entry is not to be connected.
    #[error("the server cannot be connected: {}", .0.reason)]
    Unusable(Unusable),
    /// The pool has been shut down.
    #[error("the gateway is shutting down")]
    Stopped,
    /// The program does not exist.
    #[error("program `{program}` was not found in {searched}")]
    ProgramNotFound {
        /// Program as the entry names it.
        program: String,
        /// Where it was looked for: `PATH`, or a directory.
        searched: String,
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
    /// The process ran but did not answer its first request.
    #[error("the server did not answer within {ms} ms of its start{}", said(.stderr_tail))]
    StartTimeout {
        /// The limit.
        ms: u64,
        /// The end of its standard error.
        stderr_tail: String,
    },
    /// The process ended before it answered its first request.
    #[error("the server ended while starting ({status}){}", said(.stderr_tail))]
    Exited {
        /// Exit status in words: `exit status: 3`, `signal: 9 (SIGKILL)`.
        status: String,
        /// The end of its standard error.
        stderr_tail: String,
    },
    /// The server answered its first request with something we cannot work with.
    #[error("the server refused the handshake: {reason}")]
    Handshake {
        /// What is wrong with it.
        reason: String,
    },
    /// No connection to the server; nothing was sent.
    #[error("the server cannot be reached: {reason}")]
    Unreachable {
        /// The origin and the reason.
        reason: String,
    },
    /// The connection was not made, because the entry does not allow it; nothing was sent.
    #[error("the connection is not allowed: {reason}")]
    NotAllowed {
        /// What was refused.
        reason: String,
    },
    /// The server answered with an HTTP status that is no answer. The request had no result.
    #[error("the server answered with HTTP {status}{reason}")]
    Http {
        /// The status.
        status: u16,
        /// Empty, or what it said: cleaned, cut, without secrets of the entry.
        reason: String,
    },
    /// The value of a header could not be had; nothing was sent.
    #[error("the value of header `{header}` cannot be had: {reason}")]
    Secret {
        /// The header.
        header: String,
        /// Why, without the value.
        reason: String,
    },
    /// The server failed before and is left alone for a while.
    #[error("{error}; next try in {retry_in_ms} ms")]
    BackingOff {
        /// Time until it may be started again.
        retry_in_ms: u64,
        /// Why it failed.
        error: Arc<UpstreamError>,
    },
    /// Too many calls in a row brought nothing.
    #[error("{failures} calls in a row failed, the last with: {error}")]
    Unwell {
        /// Calls that failed.
        failures: u32,
        /// How the last one failed.
        error: Arc<UpstreamError>,
    },
    /// The server wants to know something before it goes on, and nobody can tell it.
    #[error("the server needs an answer to `{method}` before it can finish the call: {reason}")]
    InputNeeded {
        /// What it asks for.
        method: &'static str,
        /// Why there is no answer.
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
    /// The connection ended under the call. The call may have had an effect.
    #[error("the server went away during the call ({status}){}", said(.stderr_tail))]
    ConnectionLost {
        /// What became of the process, in words.
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
        /// What it sent beside them, at most [`limbeck_domain::limits::ERROR_DATA_BYTES_MAX`] as JSON or nothing, without
        /// secrets of the entry. For whoever speaks the protocol; never part of a text.
        data: Option<Box<Value>>,
    },
    /// The server answered with something that is not a result.
    #[error("the server sent an unusable answer: {reason}")]
    InvalidAnswer {
        /// What is wrong with it.
        reason: String,
    },
    /// The answer is above its bound.
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
    /// The server wants somebody to sign in first; the request had no effect.
    #[error("the server at {url} needs a sign-in")]
    SignInNeeded {
        /// What to open, or the server's origin when there is no page to open yet.
        url: String,
        /// The command that signs in.
        command: String,
    },
    /// A token is there or could be had, and getting it failed; the request was not sent.
    #[error("signing in to the server failed: {reason}")]
    SignInFailed {
        /// What failed, a lowercase fragment without secrets.
        reason: String,
        /// Whether time alone may help.
        may_pass: bool,
    },
    /// The caller gave up.
    #[error("the call was cancelled")]
    Cancelled,
}

/// `: words` for the end of standard error, or nothing.
fn said(stderr_tail: &str) -> String {
    if stderr_tail.is_empty() {
        String::new()
    } else {
        format!("; its last words: {stderr_tail}")
    }
}

impl UpstreamError {
    /// The error as the program that made the call reads it.
    ///
    /// `retryable` is set only where nothing was sent and time alone may help.
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

    /// One thing a person can do about it, when there is one.
    pub(crate) fn next_step(&self, server: &ServerName) -> Option<String> {
        self.hint(&ToolId::new(server.clone(), ""))
    }

    /// The message with its cause.
    pub fn full_text(&self) -> String {
        match self {
            Self::Spawn { source, .. } => format!("{self}: {source}"),
            // Everything else has its cause in its text.
            _ => self.to_string(),
        }
    }

    fn code(&self) -> CallCode {
        match self {
            Self::NotConfigured { .. } => CallCode::UnknownServer,
            Self::Disabled
            | Self::Unusable(_)
            | Self::Stopped
            | Self::ProgramNotFound { .. }
            | Self::Spawn { .. }
            | Self::StartTimeout { .. }
            | Self::Exited { .. }
            | Self::Handshake { .. }
            | Self::Unwell { .. }
            | Self::BackingOff { .. }
            | Self::Unreachable { .. }
            | Self::NotAllowed { .. }
            | Self::Secret { .. }
            | Self::SignInNeeded { .. }
            | Self::SignInFailed { .. } => CallCode::ServerUnavailable,
            Self::InputNeeded { .. } => CallCode::InputRequired,
            Self::CallTimeout { .. } | Self::ListTimeout { .. } => CallCode::Timeout,
            Self::ConnectionLost { .. } => CallCode::ConnectionLost,
            Self::Protocol { .. } | Self::InvalidAnswer { .. } | Self::Http { .. } => {
                CallCode::UpstreamError
            }
            Self::TooLarge { .. } => CallCode::LimitExceeded,
            Self::InvalidArguments { .. } => CallCode::InvalidArguments,
            Self::Cancelled => CallCode::Cancelled,
        }
    }

    fn nothing_sent_and_may_pass(&self) -> bool {
        match self {
            Self::StartTimeout { .. }
            | Self::Exited { .. }
            | Self::Unreachable { .. }
            | Self::BackingOff { .. }
            | Self::SignInFailed { may_pass: true, .. } => true,
            Self::NotConfigured { .. }
            | Self::Disabled
            | Self::Unusable(_)
            | Self::Stopped
            | Self::ProgramNotFound { .. }
            | Self::Spawn { .. }
            | Self::Handshake { .. }
            | Self::Unwell { .. }
            | Self::InputNeeded { .. }
            | Self::CallTimeout { .. }
            | Self::ListTimeout { .. }
            | Self::ConnectionLost { .. }
            | Self::Protocol { .. }
            | Self::InvalidAnswer { .. }
            | Self::TooLarge { .. }
            | Self::InvalidArguments { .. }
            | Self::SignInNeeded { .. }
            | Self::NotAllowed { .. }
            | Self::Http { .. }
            | Self::Secret { .. }
            | Self::SignInFailed {
                may_pass: false, ..
            }
            | Self::Cancelled => false,
        }
    }

    /// One step that may help. Never the arguments of the server's command line: they may hold secrets.
    fn hint(&self, tool: &ToolId) -> Option<String> {
        let server = &tool.server;
        match self {
            Self::NotConfigured { .. } => Some("`servers()` lists the configured servers".into()),
            Self::Disabled => Some(format!("enable `{server}` in its configuration entry")),
            Self::ProgramNotFound { program, .. } => Some(format!(
                "install `{program}`, or give `{server}` the absolute path of the program"
            )),
            Self::Spawn { .. } | Self::Handshake { .. } => Some(format!(
                "`limbeck tools {server}` shows where it is configured and what it says"
            )),
            Self::StartTimeout { .. } | Self::Exited { .. } => Some(format!(
                "start the command of `{server}` in a terminal to see why it does not come up; \
                 `limbeck tools {server}` shows where it is configured"
            )),
            // Nothing was sent this time, so nothing has happened that a failed call would warn of.
            Self::BackingOff { retry_in_ms, error } => Some(match &**error {
                Self::CallTimeout { .. } | Self::ConnectionLost { .. } => None,
                error => error.hint(tool),
            })
            .map(|hint| hint.unwrap_or_else(|| format!("call again in {retry_in_ms} ms"))),
            Self::Unwell { .. } => Some(format!(
                "`limbeck tools {server}` shows what the server last said; \
                 it is tried again by itself"
            )),
            Self::InputNeeded { .. } => Some(
                "the call may have begun: make it from a client that can ask its user, \
                 or give the tool what it asks for as an argument"
                    .into(),
            ),
            Self::CallTimeout { .. } => Some(
                "the call may still have happened: check before repeating it; \
                 a longer `timeout` can be set in the server's entry"
                    .into(),
            ),
            Self::ConnectionLost { .. } => Some(
                "the call may have happened: check before repeating it; \
                 the next call connects again"
                    .into(),
            ),
            Self::Unreachable { .. } => Some(format!(
                "check that the server of `{server}` runs and that its `url` is right"
            )),
            Self::NotAllowed { .. } => Some(format!(
                "if this is meant, the entry of `{server}` can say so with `allow_http` or \
                 `allow_networks`"
            )),
            Self::Http {
                status: 401 | 403, ..
            } => Some(format!("check `headers` in the entry of `{server}`")),
            Self::Http { status: 429, .. } => Some("call less often".into()),
            Self::Http { .. } => Some(format!("check `url` in the entry of `{server}`")),
            Self::Secret { header, .. } => Some(format!(
                "check the reference of `{header}` in the entry of `{server}`"
            )),
            Self::SignInNeeded { command, .. } => Some(format!("sign in with `{command}`")),
            Self::SignInFailed { .. } => Some(format!(
                "`limbeck auth status {server}` says how the sign-in stands; \
                 `limbeck auth login {server}` begins anew"
            )),
            Self::TooLarge { .. } => Some("ask the tool for fewer or smaller results".into()),
            Self::InvalidAnswer { .. } => Some(format!(
                "`{server}` breaks the protocol: update it, or report this to its maker; other tools of \
                 it may work"
            )),
            Self::ListTimeout { .. } => Some(format!(
                "`limbeck tools {server}` asks it again and shows what it says"
            )),
            Self::Unusable(unusable) => unusable.next_step.clone(),
            Self::Stopped
            | Self::Protocol { .. }
            | Self::InvalidArguments { .. }
            | Self::Cancelled => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> ToolId {
        ToolId::new("files", "write")
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
            "the server went away during the call (exit status: 1); its last words: boom"
        );

        let waiting = UpstreamError::BackingOff {
            retry_in_ms: 900,
            error: Arc::new(lost),
        };
        let waiting = waiting.to_call_error(&tool());
        assert!(waiting.retryable);
        assert_eq!(waiting.hint.as_deref(), Some("call again in 900 ms"));
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
    }
}
