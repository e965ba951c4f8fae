//! State files: the store with journal, cache and key-value state, and the record of trusted servers.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use limbeck_domain::ExecutionStatus;
use limbeck_setup::{AuditSettings, Settings, TrustFile};
use limbeck_store::{Checkpoints, Store, StoreError, StoreOptions};
use limbeck_upstream::Direction;

use super::configuration::read_configuration;
use crate::audit_key::AuditKey;
use crate::exit::CommandError;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// Store in the state directory: journal, cache and key-value state.
const STATE_FILE: &str = "state.db";
/// Record of trusted servers of repositories, in the state directory.
const TRUST_FILE: &str = "trust.json";

/// Opens the store for commands about recorded executions.
///
/// # Errors
///
/// A state directory that is unknown or cannot be used.
pub(crate) async fn open_past(invocation: &Invocation) -> Result<Store, CommandError> {
    let Some(path) = state_file(invocation) else {
        let error = anyhow!(
            "the state directory is unknown: {}",
            invocation.world.home_problem()
        );
        return Err(CommandError::usage(error).with_hint("set one with `--state-dir DIR`"));
    };
    // What is recorded has the real values; a file that cannot be used is reported by the commands that need it.
    let settings = match read_configuration(invocation) {
        Ok(configuration) => configuration.settings,
        Err(failure) => {
            tracing::debug!(
                "no secret of the configuration is known: {:#}",
                failure.error
            );
            Settings::default()
        }
    };
    let store = open(invocation, &settings, &path)?;
    recover(&store, &invocation.printer).await;
    Ok(store)
}

/// Opens the store, or prints a warning and returns a store in memory. With a state file that cannot be used, calls that may
/// write are refused: after a kill it would not be known whether they were sent.
pub(super) fn open_store_or_memory(
    invocation: &Invocation,
    settings: &Settings,
) -> Result<Store, CommandError> {
    let printer = &invocation.printer;
    match state_file(invocation).map(|path| open(invocation, settings, &path)) {
        Some(Ok(store)) => return Ok(store),
        Some(Err(error)) if settings.audit.fail_closed => {
            let hint = error.hint();
            let error = anyhow!(error)
                .context("nothing runs: `audit.fail_closed` is set, and no record can be kept");
            let failure = CommandError::fault(error);
            return Err(match hint {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            });
        }
        Some(Err(error)) => {
            printer.warning(&format!(
                "executions are not recorded, so calls that may write are refused: {}",
                with_causes(&error)
            ));
            if let Some(hint) = error.hint() {
                printer.hint(&hint);
            }
            return Ok(Store::in_memory_instead_of(error)?);
        }
        None => printer.warning(&format!(
            "executions are not recorded: {} and no `--state-dir` is given",
            invocation.world.home_problem()
        )),
    }
    Ok(Store::in_memory()?)
}

/// Opens the store as the settings say. What its records quote has no secret that is known.
fn open(invocation: &Invocation, settings: &Settings, path: &Path) -> Result<Store, StoreError> {
    let redaction = invocation.redaction.clone();
    let AuditSettings {
        key,
        anchor,
        segments,
        records,
        fail_closed,
    } = settings.audit.clone();
    let key = key.map(|path| AuditKey::open(&path)).transpose();
    let key = key.unwrap_or_else(|error| {
        let warning = format!("checkpoints of the audit trail are not signed: {error:#}");
        invocation.printer.warning(&warning);
        None
    });
    let retention = &settings.retention;
    let defaults = StoreOptions::default();
    let options = StoreOptions {
        redact: Some(Box::new(move |line| {
            redaction.json(Direction::Logs, line).into_owned()
        })),
        checkpoints: key.map(|key| Checkpoints {
            sign: key.signer(),
            anchor,
        }),
        audit_records: records.unwrap_or(defaults.audit_records),
        audit_segments: segments,
        fail_closed,
        executions: retention.executions.as_ref().map(|setting| setting.value),
        days: retention.days.as_ref().map(|setting| setting.value),
    };
    Store::open_with(path, options)
}

/// Path of the store; `None` when neither a state directory nor a home directory is known.
pub(crate) fn state_file(invocation: &Invocation) -> Option<PathBuf> {
    let world = &invocation.world;
    let directory = match (
        &invocation.global.state_dir,
        world.nonempty_variable("LIMBECK_STATE_DIR"),
    ) {
        (Some(directory), _) => directory.clone(),
        (None, Some(directory)) => PathBuf::from(directory),
        (None, None) => world.state_directory()?,
    };
    Some(directory.join(STATE_FILE))
}

/// Rejects a state directory that others could have filled: a relative one lies in the repository, and in one that
/// every user can write others can put files beside the store.
///
/// # Errors
///
/// A named directory that is relative, or that exists and belongs to another user or can be written by every user.
pub(crate) fn check_state_directory(invocation: &Invocation) -> Result<(), CommandError> {
    let Some(file) = state_file(invocation) else {
        return Ok(());
    };
    let directory = file.parent().unwrap_or(&file);
    let reject = |problem: String, hint: String| {
        let error = anyhow!(
            "the state directory `{}` {problem}",
            limbeck_setup::shown_path(directory)
        );
        Err(CommandError::usage(error).with_hint(hint))
    };
    if !directory.is_absolute() {
        return reject(
            "is relative".to_owned(),
            "give an absolute path with `--state-dir` or LIMBECK_STATE_DIR".to_owned(),
        );
    }
    match exposure(directory) {
        Some(problem) => reject(
            problem,
            format!(
                "give a directory of your own: `--state-dir {}`",
                limbeck_setup::shown_path(&directory.join("limbeck"))
            ),
        ),
        None => Ok(()),
    }
}

/// Why others could write into an existing directory.
#[cfg(unix)]
fn exposure(directory: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let found = std::fs::metadata(directory).ok()?;
    let own = rustix::process::geteuid().as_raw();
    if found.uid() != own && found.uid() != 0 {
        return Some(format!("belongs to user {}", found.uid()));
    }
    (found.mode() & 0o002 != 0).then(|| "can be written by every user".to_owned())
}

#[cfg(not(unix))]
fn exposure(_: &Path) -> Option<String> {
    None
}

/// Hands on executions whose gateway died, and prints a warning for those with calls in doubt.
pub(super) async fn recover(store: &Store, printer: &Printer) {
    match store.recover().await {
        Ok(handed_on) => {
            for (id, status) in handed_on {
                if status == ExecutionStatus::NeedsReconciliation {
                    printer.warning(&format!(
                        "execution `{id}` was interrupted during calls that may have taken effect; `limbeck reconcile {id}` lists them"
                    ));
                }
            }
        }
        Err(error) => printer.warning(&format!(
            "interrupted executions could not be handed on: {}",
            with_causes(&error)
        )),
    }
}

fn with_causes(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

/// Record of trusted servers; `None` when no directory for it is known.
///
/// It is in the home directory, and never in another state directory: a client's configuration may name a state directory in
/// the repository, whose author could have put a record there.
pub(crate) fn trust_file(invocation: &Invocation) -> Option<TrustFile> {
    let directory = invocation.world.state_directory();
    let directory = directory.or_else(|| Some(state_file(invocation)?.parent()?.to_owned()))?;
    Some(TrustFile::new(directory.join(TRUST_FILE)))
}
