//! Kinds of errors: the code that a program reads, and what is certain about the request.

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
            Self::Protocol { .. } | Self::InvalidAnswer { .. } | Self::Http { .. } => {
                CallCode::UpstreamError
            }
            Self::TooLarge { .. } => CallCode::LimitExceeded,
            Self::InvalidArguments { .. } => CallCode::InvalidArguments,
            Self::Cancelled | Self::CancelledUnsent => CallCode::Cancelled,
        }
    }

    /// Whether the request had no effect for certain: it was not sent, or the server refused it unread.
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
            | Self::CancelledUnsent => true,
            // A gateway that is shutting down may have sent it before, and a server may redirect what it has read.
            Self::Stopped
            | Self::NotAllowed { .. }
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
