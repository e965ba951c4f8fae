//! Kinds of errors: the code that a program reads, and what is certain about the request.

use std::sync::Arc;

use limbeck_domain::CallCode;

use super::UpstreamError;

impl UpstreamError {
    pub(super) fn code(&self) -> CallCode {
        match self {
            Self::NotConfigured { .. } => CallCode::UnknownServer,
            Self::Disabled
            | Self::Unusable(_)
            | Self::Stopped
            | Self::ProgramNotFound { .. }
            | Self::DirectoryNotFound { .. }
            | Self::NotStarted { .. }
            | Self::Spawn { .. }
            | Self::StartTimeout { .. }
            | Self::Exited { .. }
            | Self::Handshake { .. }
            | Self::Unwell { .. }
            | Self::BackingOff { .. }
            | Self::Unreachable { .. }
            | Self::TooManyPrincipals { .. }
            | Self::NotAllowed { .. }
            | Self::Secret { .. }
            | Self::SignInNeeded { .. }
            | Self::SignInFailed { .. } => CallCode::ServerUnavailable,
            Self::InputNeeded { .. } => CallCode::InputRequired,
            Self::CallTimeout { .. } | Self::ListTimeout { .. } => CallCode::Timeout,
            Self::ConnectionLost { .. } => CallCode::ConnectionLost,
            // The codes of the errors inside say that nothing was sent.
            Self::AfterAnswer { .. }
            | Self::Protocol { .. }
            | Self::InvalidAnswer { .. }
            | Self::Http { .. } => CallCode::UpstreamError,
            Self::TooLarge { .. } => CallCode::LimitExceeded,
            Self::InvalidArguments { .. } => CallCode::InvalidArguments,
            Self::Cancelled | Self::CancelledUnsent => CallCode::Cancelled,
        }
    }

    /// Whether the request had no effect for certain: nothing of it was sent. A server that answered it may have acted on it,
    /// also one that refuses it.
    pub fn had_no_effect(&self) -> bool {
        match self {
            Self::NotConfigured { .. }
            | Self::Disabled
            | Self::Unusable(_)
            | Self::ProgramNotFound { .. }
            | Self::DirectoryNotFound { .. }
            | Self::NotStarted { .. }
            | Self::Spawn { .. }
            | Self::StartTimeout { .. }
            | Self::Exited { .. }
            | Self::Handshake { .. }
            | Self::Unreachable { .. }
            | Self::TooManyPrincipals { .. }
            | Self::BackingOff { .. }
            | Self::Unwell { .. }
            | Self::InvalidArguments { .. }
            | Self::Secret { .. }
            | Self::SignInNeeded { .. }
            | Self::SignInFailed { .. }
            | Self::NotAllowed { .. }
            | Self::CancelledUnsent => true,
            // A gateway that is shutting down may have sent it before.
            Self::Stopped
            | Self::AfterAnswer { .. }
            | Self::Http { .. }
            | Self::InputNeeded { .. }
            | Self::CallTimeout { .. }
            | Self::ListTimeout { .. }
            | Self::ConnectionLost { .. }
            | Self::Protocol { .. }
            | Self::InvalidAnswer { .. }
            | Self::TooLarge { .. }
            | Self::Cancelled => false,
        }
    }

    /// The error where the server had answered the request with `status` before.
    pub(crate) fn after_answer(self, status: u16) -> Self {
        if self.had_no_effect() {
            let error = Arc::new(self);
            Self::AfterAnswer { status, error }
        } else {
            self
        }
    }

    pub(super) fn nothing_sent_and_may_pass(&self) -> bool {
        match self {
            Self::StartTimeout { .. }
            | Self::Exited { .. }
            | Self::Unreachable { .. }
            | Self::TooManyPrincipals { .. }
            | Self::BackingOff { .. }
            | Self::SignInFailed { may_pass: true, .. } => true,
            Self::NotConfigured { .. }
            | Self::Disabled
            | Self::Unusable(_)
            | Self::Stopped
            | Self::ProgramNotFound { .. }
            | Self::DirectoryNotFound { .. }
            | Self::NotStarted { .. }
            | Self::Spawn { .. }
            | Self::Handshake { .. }
            | Self::Unwell { .. }
            | Self::AfterAnswer { .. }
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
            | Self::Cancelled
            | Self::CancelledUnsent => false,
        }
    }
}
