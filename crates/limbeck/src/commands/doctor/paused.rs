//! Paused executions by the guest that they need, for `limbeck doctor`: an executable without the guest cannot go on with them.

use limbeck_store::{PausedGuest, Store, StoreError};
use serde::Serialize;

use crate::printer::Printer;

/// Characters of a guest's hash that the table shows.
const HASH_CHARS: usize = 12;

/// JSON of one guest in `limbeck doctor --json`.
#[derive(Serialize)]
pub(super) struct PausedReport {
    #[serde(flatten)]
    guest: PausedGuest,
    /// Whether this executable has it.
    available: bool,
}

impl PausedReport {
    /// The guests of all paused executions.
    pub(super) async fn all(store: &Store) -> Result<Vec<Self>, StoreError> {
        let guests = store.paused_guests().await?.into_iter();
        let reports = guests.map(|guest| Self {
            available: guest.guest_hash == limbeck_worker::guest_hash(guest.language),
            guest,
        });
        Ok(reports.collect())
    }

    /// Line of the table.
    pub(super) fn line(&self) -> String {
        let PausedGuest {
            guest_hash,
            language,
            executions,
            ..
        } = &self.guest;
        let hash = guest_hash.get(..HASH_CHARS).unwrap_or(guest_hash);
        let missing = if self.available { "" } else { ", missing here" };
        format!("{}, {language} guest {hash}{missing}", counted(*executions))
    }

    /// Prints what to do about executions that need a guest of another executable.
    pub(super) fn print_problem(&self, printer: &Printer) {
        if self.available {
            return;
        }
        let PausedGuest {
            guest_hash,
            language,
            release,
            executions,
        } = &self.guest;
        let release = match release.as_str() {
            "" => "an earlier version of limbeck".to_owned(),
            release => format!("limbeck {release}"),
        };
        printer.warning(&format!(
            "{} of {release} in the {language} guest {guest_hash}, which this executable does not have",
            counted(*executions)
        ));
        printer.hint(
            "continue them with the executable that ran them, or end them with `limbeck resume ID --stop`",
        );
    }
}

fn counted(executions: u64) -> String {
    match executions {
        1 => "1 execution".to_owned(),
        more => format!("{more} executions"),
    }
}
