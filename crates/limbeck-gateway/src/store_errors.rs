//! Errors of the store as callers of the gateway read them.
//!
//! A client or a program reads the kind of the failure and one next step, and no path of the host. The operator's log gets
//! the chain of causes with the path. Errors of the store leave the gateway in these forms.

use limbeck_domain::{CallCode, CallError, ErrorKind, ProgramError};
use limbeck_store::StoreError;

/// The error of a program; `what` says what did not happen.
pub(crate) fn program_error(error: &StoreError, what: &str) -> ProgramError {
    log_fault(error, what);
    let text = error.for_callers();
    let message = format!("{what}: {}", text.message);
    let program_error = ProgramError::new(ErrorKind::Gateway, message);
    match text.hint {
        Some(hint) => program_error.with_hint(hint),
        None => program_error,
    }
}

/// The error of a call for which the gateway is at fault; `what` says what did not happen.
pub(crate) fn call_error(error: &StoreError, what: &str) -> CallError {
    log_fault(error, what);
    let text = error.for_callers();
    let message = format!("{what}: {}", text.message);
    let call_error = CallError::new(CallCode::GatewayFault, message);
    with_hint(call_error, text.hint)
}

/// The error of a program's call of the store itself.
pub(crate) fn query_error(error: &StoreError) -> CallError {
    if !is_bound_of_the_principal(error) {
        return call_error(error, "the store failed");
    }
    let text = error.for_callers();
    let call_error = CallError::new(CallCode::LimitExceeded, text.message);
    with_hint(call_error, text.hint)
}

fn with_hint(error: CallError, hint: Option<String>) -> CallError {
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Writes a fault into the operator's log. A principal that reaches its own bounds is no fault, and could fill the log.
pub(crate) fn log_fault(error: &StoreError, what: &str) {
    // The store itself reports a disk that became nearly full, once.
    if is_bound_of_the_principal(error) || matches!(error, StoreError::DiskLow { .. }) {
        return;
    }
    tracing::error!(error = error as &dyn std::error::Error, "{what}");
}

fn is_bound_of_the_principal(error: &StoreError) -> bool {
    match error {
        StoreError::StateFull { .. }
        | StoreError::TooManyKeys
        | StoreError::ValueTooLong { .. }
        | StoreError::JournalsFull { .. }
        | StoreError::DiskShare { .. }
        | StoreError::ApprovalTooLarge { .. }
        | StoreError::TooManyPending { .. }
        | StoreError::TooManyPaused { .. } => true,
        StoreError::Unsafe { .. }
        | StoreError::Io { .. }
        | StoreError::Damaged { .. }
        | StoreError::Foreign { .. }
        | StoreError::Newer { .. }
        | StoreError::Busy { .. }
        | StoreError::Full { .. }
        | StoreError::Sqlite { .. }
        | StoreError::UnknownExecution { .. }
        | StoreError::AmbiguousExecution { .. }
        | StoreError::DuplicateExecution { .. }
        | StoreError::JournalIncomplete { .. }
        | StoreError::Lost { .. }
        | StoreError::UnknownApproval { .. }
        | StoreError::DuplicateApproval { .. }
        | StoreError::KeyLength { .. }
        | StoreError::DiskLow { .. }
        | StoreError::CatalogTooLarge { .. }
        | StoreError::Encode { .. }
        | StoreError::Closed => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_reads_no_path_of_the_state_file_in_any_of_its_errors() {
        let full = StoreError::Full {
            path: "/home/alice/state.db".into(),
        };
        let of_program = program_error(&full, "nothing ran");
        let of_call = call_error(&full, "nothing was sent");
        let of_query = query_error(&full);
        for (message, hint) in [
            (of_program.message, of_program.hint),
            (of_call.message, of_call.hint),
            (of_query.message, of_query.hint),
        ] {
            assert!(message.contains("no disk space is left"), "{message}");
            let hint = hint.unwrap();
            assert!(
                !message.contains("alice") && !hint.contains("alice"),
                "{message}: {hint}"
            );
        }
        assert_eq!(of_query.code, CallCode::GatewayFault);
        // The control: a bound of the principal is said in full.
        let own = query_error(&StoreError::TooManyKeys);
        assert_eq!(own.code, CallCode::LimitExceeded);
        assert_eq!(own.message, StoreError::TooManyKeys.to_string());
    }
}
