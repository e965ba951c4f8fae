//! The next step after an error.

use std::path::Path;

use limbeck_domain::ToolId;

use super::{UpstreamError, seconds};

impl UpstreamError {
    /// One next step. Arguments of the server's command line are never shown: they may hold secrets.
    pub(super) fn hint(&self, tool: &ToolId) -> Option<String> {
        let server = &tool.server;
        match self {
            Self::NotConfigured { .. } => Some("`servers()` lists the configured servers".into()),
            Self::Disabled => Some(format!("enable `{server}` in its configuration entry")),
            Self::ProgramNotFound { program, .. } if Path::new(program).is_absolute() => Some(
                format!("install `{program}`, or correct `command` of `{server}`"),
            ),
            // A relative path is no name that could be installed.
            Self::ProgramNotFound { program, searched } if searched != "PATH" => Some(format!(
                "correct `command` or `cwd` of `{server}`: `{program}` is looked for in {searched}"
            )),
            Self::ProgramNotFound { program, .. } => Some(format!(
                "install `{program}`, or give `{server}` the absolute path of the program"
            )),
            Self::DirectoryNotFound { directory } => Some(format!(
                "create `{directory}`, or correct `cwd` of `{server}`"
            )),
            Self::NotStarted { .. } => Some(format!(
                "the user of the gateway checks `command` and `cwd` of `{server}`: \
                 `limbeck tools {server}` names the path"
            )),
            Self::Spawn { .. } | Self::Handshake { .. } => Some(format!(
                "`limbeck tools {server}` shows its configuration and its last output"
            )),
            Self::StartTimeout { .. } | Self::Exited { .. } => Some(format!(
                "start the command of `{server}` in a terminal to see why it does not start; \
                 `limbeck tools {server}` shows where it is configured"
            )),
            // Nothing was sent this time, so the warning that the last call may have had an effect is left out.
            Self::BackingOff { retry_in_ms, error } => Some(match &**error {
                Self::CallTimeout { .. } | Self::ConnectionLost { .. } => None,
                error => error.hint(tool),
            })
            .map(|hint| hint.unwrap_or_else(|| format!("call again in {}", seconds(*retry_in_ms)))),
            Self::Unwell { .. } => Some(format!(
                "`limbeck tools {server}` shows the last output of the server; \
                 it is retried automatically"
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
                "check that the server `{server}` is running and that its `url` is correct"
            )),
            Self::TooManyPrincipals { .. } => {
                Some("call again later: a connection that is not used is closed".into())
            }
            Self::NotAllowed { .. } => Some(format!(
                "to allow this, set `allow_http` or `allow_networks` in the entry of `{server}`"
            )),
            Self::Http {
                status: 401 | 403, ..
            } => Some(format!("check `headers` in the entry of `{server}`")),
            Self::Http { status: 429, .. } => Some("call less often".into()),
            Self::Http {
                status: 500..=599, ..
            } => Some(format!(
                "the call may have happened: check before repeating it; the log of `{server}` says what failed"
            )),
            Self::Http { .. } => Some(format!("check `url` in the entry of `{server}`")),
            Self::Secret { header, .. } => Some(format!(
                "check the reference of `{header}` in the entry of `{server}`"
            )),
            Self::SignInNeeded { command, .. } => Some(format!("sign in with `{command}`")),
            Self::SignInFailed { .. } => Some(format!(
                "`limbeck auth status {server}` shows the state of the sign-in; \
                 `limbeck auth login {server}` starts a new one"
            )),
            Self::AfterAnswer { error, .. } => error.hint(tool),
            Self::TooLarge { .. } => Some("ask the tool for fewer or smaller results".into()),
            Self::InvalidAnswer { .. } => Some(format!(
                "`{server}` violates the protocol: update it, or report this to its author; other tools of \
                 it may work"
            )),
            Self::ListTimeout { .. } => Some(format!(
                "`limbeck tools {server}` asks it again and shows its output"
            )),
            Self::Unusable(unusable) => unusable.next_step.clone(),
            Self::Stopped
            | Self::Protocol { .. }
            | Self::InvalidArguments { .. }
            | Self::Cancelled
            | Self::CancelledUnsent => None,
        }
    }
}
