//! Where what is remembered lives: journal, cache, key-value state, and whom the user trusts.

use std::path::PathBuf;

use anyhow::anyhow;
use limbeck_gateway::domain::ExecutionStatus;
use limbeck_gateway::store::{Store, StoreError};
use limbeck_setup::TrustFile;

use crate::commands::Invocation;
use crate::exit::Failure;
use crate::printer::Printer;

/// File of the state directory that holds journal, cache and key-value state.
const STATE_FILE: &str = "state.db";
/// File of the state directory that holds which servers of repositories are trusted.
const TRUST_FILE: &str = "trust.json";

/// The store of executions past, for commands that are about nothing else.
///
/// # Errors
///
/// No state directory, or one that cannot be used.
pub(crate) async fn open_past(invocation: &Invocation) -> Result<Store, Failure> {
    let Some(path) = state_file(invocation) else {
        let error = anyhow!("there is no state directory: HOME is not set");
        return Err(Failure::usage(error).with_hint("name one: `--state-dir DIR`"));
    };
    let store = Store::open(&path)?;
    recover(&store, &invocation.printer).await;
    Ok(store)
}

pub(super) fn open_store_or_memory(invocation: &Invocation) -> Result<Store, Failure> {
    let printer = &invocation.printer;
    match state_file(invocation).as_deref().map(Store::open) {
        Some(Ok(store)) => return Ok(store),
        Some(Err(error)) => {
            printer.warning(&format!("nothing is recorded: {}", with_causes(&error)));
            if let Some(hint) = error.hint() {
                printer.hint(&hint);
            }
        }
        None => {
            printer.warning("nothing is recorded: HOME is not set and there is no `--state-dir`")
        }
    }
    Ok(Store::in_memory()?)
}

/// Where journal, cache and key-value state live, when they live anywhere.
pub(crate) fn state_file(invocation: &Invocation) -> Option<PathBuf> {
    let environment = &invocation.environment;
    let directory = match (
        &invocation.global.state_dir,
        environment.variable("LIMBECK_STATE_DIR"),
    ) {
        (Some(directory), _) => directory.clone(),
        (None, Some(directory)) => PathBuf::from(directory),
        (None, None) => environment.home.as_ref()?.join(".local/state/limbeck"),
    };
    Some(environment.cwd.join(directory).join(STATE_FILE))
}

/// Ends executions whose gateway died, and names those with calls in doubt.
pub(super) async fn recover(store: &Store, printer: &Printer) {
    match store.recover().await {
        Ok(ended) => {
            for (id, status) in ended {
                if status == ExecutionStatus::NeedsReconciliation {
                    printer.warning(&format!(
                        "execution `{id}` was cut off with calls that may have happened: `limbeck executions {id}`"
                    ));
                }
            }
        }
        Err(error) => printer.warning(&format!(
            "interrupted executions could not be ended: {}",
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

/// The record of trusted servers, when there is anywhere to keep one.
pub(crate) fn trust_file(invocation: &Invocation) -> Option<TrustFile> {
    let state = state_file(invocation)?;
    Some(TrustFile::new(state.with_file_name(TRUST_FILE)))
}
