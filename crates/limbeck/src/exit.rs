//! Exit codes of the process, stable since the first release, and the errors behind them.

use std::process::ExitCode;

use limbeck_domain::{CallCode, Envelope, ErrorKind, ExecutionStatus, ProgramError};
use limbeck_store::StoreError;

/// Exit code of the process, by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// The command succeeded.
    Completed,
    /// The program or the tool failed, or a replay differed.
    Failed,
    /// The command line or the configuration is wrong; nothing ran.
    Usage,
    /// The execution, or the call, waits for a person.
    Paused,
    /// Internal fault: a worker or the store could not be used.
    Fault,
    /// The program, or the one tool called, ran out of time.
    TimedOut,
    /// A signal with this number ended the command.
    Signalled(u8),
}

impl ExitStatus {
    /// Exit code as a number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Paused => 3,
            Self::Fault => 4,
            // The same as `timeout(1)`.
            Self::TimedOut => 124,
            // The same as a shell: 130 for Ctrl-C.
            Self::Signalled(number) => 128 + number,
        }
    }

    /// Exit status of an execution with the answer `envelope`.
    pub(crate) fn of(envelope: &Envelope) -> Self {
        match envelope.status {
            ExecutionStatus::Paused => Self::Paused,
            ExecutionStatus::Running
            | ExecutionStatus::Completed
            | ExecutionStatus::Failed
            | ExecutionStatus::Cancelled
            | ExecutionStatus::NeedsReconciliation => envelope
                .error
                .as_ref()
                .map_or(Self::Completed, Self::of_error),
        }
    }

    /// Exit status of a program that failed with `error`.
    pub(crate) fn of_error(error: &ProgramError) -> Self {
        match error.kind {
            ErrorKind::Syntax
            | ErrorKind::Contract
            | ErrorKind::Exception
            | ErrorKind::CpuLimit
            | ErrorKind::MemoryLimit
            | ErrorKind::StackLimit
            | ErrorKind::OutputLimit
            | ErrorKind::CallLimit
            | ErrorKind::NeverSettles
            | ErrorKind::Cancelled
            | ErrorKind::ApprovalNeeded
            | ErrorKind::ApprovalExpired
            | ErrorKind::Diverged => Self::Failed,
            ErrorKind::Timeout => Self::TimedOut,
            // Nothing ran, so the caller can correct the request and repeat it.
            ErrorKind::Request => Self::Usage,
            ErrorKind::Busy | ErrorKind::WorkerLost | ErrorKind::Gateway => Self::Fault,
        }
    }

    /// Exit status of one tool call outside of any execution.
    pub(crate) fn of_call(code: CallCode) -> Self {
        match code {
            CallCode::UnknownServer | CallCode::UnknownTool | CallCode::InvalidArguments => {
                Self::Usage
            }
            CallCode::ApprovalRequired => Self::Paused,
            CallCode::Denied
            | CallCode::NotSent
            | CallCode::InDoubt
            | CallCode::ServerUnavailable
            | CallCode::ConnectionLost
            | CallCode::UpstreamError
            | CallCode::ToolFailed
            | CallCode::InputRequired
            | CallCode::LimitExceeded
            | CallCode::Cancelled
            | CallCode::Unsupported => Self::Failed,
            CallCode::Timeout => Self::TimedOut,
            CallCode::GatewayFault => Self::Fault,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(exit: ExitStatus) -> Self {
        Self::from(exit.code())
    }
}

/// Error that ends a command: its exit status, its causes and the next step.
#[derive(Debug)]
pub(crate) struct CommandError {
    /// Exit status of the process.
    pub(crate) exit: ExitStatus,
    /// Error with its chain of causes.
    pub(crate) error: anyhow::Error,
    /// Next step for the user.
    pub(crate) hint: Option<String>,
}

impl CommandError {
    /// Error in the command line or the configuration.
    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::new(ExitStatus::Usage, error)
    }

    /// Internal fault.
    pub(crate) fn fault(error: impl Into<anyhow::Error>) -> Self {
        Self::new(ExitStatus::Fault, error)
    }

    pub(crate) fn new(exit: ExitStatus, error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit,
            error: error.into(),
            hint: None,
        }
    }

    /// Adds the next step.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<StoreError> for CommandError {
    /// An unknown id is a usage error; every other store error is an internal fault.
    fn from(error: StoreError) -> Self {
        let exit = match error {
            StoreError::UnknownExecution { .. }
            | StoreError::AmbiguousExecution { .. }
            | StoreError::UnknownApproval { .. } => ExitStatus::Usage,
            _ => ExitStatus::Fault,
        };
        let hint = error.hint();
        Self {
            hint,
            ..Self::new(exit, error)
        }
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::ExecutionId;

    use super::*;

    #[test]
    fn what_waits_for_a_person_ends_with_three() {
        let ends = |status, error: Option<ErrorKind>| {
            let error = error.map(|kind| ProgramError::new(kind, "why"));
            let id = ExecutionId::new("ex_1");
            let envelope = Envelope {
                error,
                ..Envelope::new(id, status)
            };
            ExitStatus::of(&envelope).code()
        };
        assert_eq!(ends(ExecutionStatus::Paused, None), 3);
        assert_eq!(ends(ExecutionStatus::Completed, None), 0);
        let expired = Some(ErrorKind::ApprovalExpired);
        assert_eq!(ends(ExecutionStatus::Cancelled, expired), 1);
        assert_eq!(ExitStatus::of_call(CallCode::ApprovalRequired).code(), 3);
        assert_eq!(ExitStatus::of_call(CallCode::Denied).code(), 1);
    }
}
