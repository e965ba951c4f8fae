//! How the process ends: exit codes, stable since the first release, and the errors behind them.

use std::process::ExitCode;

use limbeck_gateway::domain::{CallCode, Envelope, ErrorKind, ProgramError};
use limbeck_gateway::store::StoreError;

/// What the exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// What was asked for was done.
    Completed,
    /// The program or the tool failed, or a replay differed.
    Failed,
    /// The command line or the configuration is wrong; nothing ran.
    Usage,
    /// A fault of ours: no worker, no store, nothing the program could have done better.
    Fault,
    /// The program, or the one tool called, ran out of time.
    TimedOut,
}

impl Exit {
    /// The number. 3 stays free for executions that wait for somebody.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Fault => 4,
            // As `timeout(1)` has it.
            Self::TimedOut => 124,
        }
    }

    /// How an execution that ended with `envelope` is reported to a shell.
    pub(crate) fn of(envelope: &Envelope) -> Self {
        envelope
            .error
            .as_ref()
            .map_or(Self::Completed, Self::of_error)
    }

    /// How a program that did not complete is reported.
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
            | ErrorKind::Cancelled => Self::Failed,
            ErrorKind::Timeout => Self::TimedOut,
            ErrorKind::Request => Self::Usage,
            ErrorKind::Busy | ErrorKind::WorkerLost | ErrorKind::Gateway => Self::Fault,
        }
    }

    /// The same for one call outside of any execution.
    pub(crate) fn of_call(code: CallCode) -> Self {
        match code {
            CallCode::UnknownServer | CallCode::UnknownTool | CallCode::InvalidArguments => {
                Self::Usage
            }
            CallCode::Denied
            | CallCode::ServerUnavailable
            | CallCode::ConnectionLost
            | CallCode::UpstreamError
            | CallCode::ToolFailed
            | CallCode::InputRequired
            | CallCode::LimitExceeded
            | CallCode::Cancelled => Self::Failed,
            CallCode::Timeout => Self::TimedOut,
            CallCode::GatewayFault => Self::Fault,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command could not do what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How the process ends.
    pub(crate) exit: Exit,
    /// What happened, with its causes.
    pub(crate) error: anyhow::Error,
    /// One next step.
    pub(crate) hint: Option<String>,
}

impl Failure {
    /// The command line or the configuration is wrong.
    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Exit::Usage, error)
    }

    /// A fault of ours.
    pub(crate) fn fault(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Exit::Fault, error)
    }

    pub(crate) fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
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

impl From<StoreError> for Failure {
    /// An execution that is not there was asked for wrongly; everything else is the store's fault.
    fn from(error: StoreError) -> Self {
        let exit = match error {
            StoreError::UnknownExecution { .. } | StoreError::AmbiguousExecution { .. } => {
                Exit::Usage
            }
            _ => Exit::Fault,
        };
        let hint = error.hint();
        Self {
            hint,
            ..Self::new(exit, error)
        }
    }
}
