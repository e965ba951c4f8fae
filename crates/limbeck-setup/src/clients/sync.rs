//! Sync: what changed in the files of clients since setup wrote them, and the repair of Limbeck's entry.
//!
//! - [`SetupState::drift`] compares and writes nothing. It reads the files; in the background it reads only those whose size,
//!   time or place on the disk changed since a sync looked at them.
//! - [`SetupState::repair`] puts Limbeck's entry back where a file was wiped, or where it does not start Limbeck any more.
//!   A removal of that entry alone is the user's choice and is respected. A file is repaired once in 24 hours: a client that
//!   takes the entry out again owns its file, and no repair follows until a setup.
//!
//! Start reading at `sync/compare.rs`; `sync/notes.rs` has what is remembered between two syncs.

mod baseline;
mod compare;
mod notes;
mod schedule;

use std::path::PathBuf;

use super::apply::SetupState;
use super::model::{FileKind, PlannedFile, SetupError, SetupPlan};
use super::record::{RecordState, Records};
use super::undo;

pub(super) use notes::SyncNotes;
pub use schedule::{ScheduleFile, schedule, schedule_commands};

/// Time within which a file is repaired once, in microseconds.
const REPAIR_EVERY_US: u64 = 24 * 60 * 60 * 1_000_000;

/// What sync is asked to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncRequest {
    /// Ids of the clients; empty for all.
    pub clients: Vec<String>,
    /// What happens to servers that were added to clients.
    pub adoption: Adoption,
    /// Whether files that look as they did are not opened.
    pub is_background: bool,
}

/// What happens to servers that were added to clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Adoption {
    /// They are reported.
    #[default]
    Ask,
    /// They stay and are not reported.
    Never,
    /// They move, as a setup of the client moves them.
    Yes,
}

/// Something that is not as setup left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// Id of the client.
    pub id: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The file.
    pub path: PathBuf,
    /// What it is.
    pub kind: DriftKind,
    /// Names of the servers that it is about.
    pub servers: Vec<String>,
    /// What sync does about it.
    pub action: DriftAction,
    /// What was found, a sentence without a full stop.
    pub finding: String,
    /// What to do: a command, or a sentence.
    pub remedy: Option<String>,
}

/// Kinds of drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriftKind {
    /// Limbeck's entry is gone with other parts of the file.
    Wiped,
    /// Limbeck's entry alone is gone.
    Removed,
    /// The entry of Limbeck's name starts something else.
    Changed,
    /// The entry starts Limbeck by a path that does not last.
    Stale,
    /// The client has servers that setup did not see.
    Added,
    /// A client came that setup did not see.
    NewClient,
    /// The file cannot be read.
    Unreadable,
}

impl DriftKind {
    /// Word of JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Wiped => "wiped",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Stale => "stale",
            Self::Added => "added",
            Self::NewClient => "new_client",
            Self::Unreadable => "unreadable",
        }
    }
}

/// What sync does about a drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriftAction {
    /// It writes Limbeck's entry.
    Repair,
    /// It leaves the file as the user made it.
    Respect,
    /// It does nothing any more: the client took a repair back.
    Stop,
    /// It names it, and the user decides.
    Report,
    /// It moves the servers, as setup does.
    Adopt,
}

impl DriftAction {
    /// Word of JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Repair => "repair",
            Self::Respect => "respect",
            Self::Stop => "stop",
            Self::Report => "report",
            Self::Adopt => "adopt",
        }
    }
}

/// What a sync found.
#[derive(Clone, Debug, Default)]
pub struct SyncPlan {
    /// What is not as setup left it.
    pub drift: Vec<Drift>,
    /// Number of files that were read.
    pub files_read: usize,
    /// Whether a setup is in effect, with which the files are compared.
    pub has_setup: bool,
    /// Files to write.
    files: Vec<PlannedFile>,
}

impl SyncPlan {
    /// Whether there is something that a user has to see.
    pub fn is_clean(&self) -> bool {
        self.drift
            .iter()
            .all(|drift| drift.action == DriftAction::Respect)
    }
}

/// What a sync did.
#[derive(Clone, Debug, Default)]
pub struct SyncDone {
    /// What it found.
    pub plan: SyncPlan,
    /// Files that were repaired.
    pub written: Vec<PathBuf>,
    /// Files that were not written, each with the reason.
    pub failed: Vec<(PathBuf, String)>,
}

impl SetupState<'_> {
    /// Compares the files of clients with what setup wrote. No file is written.
    ///
    /// # Errors
    ///
    /// A client that is not known, and [`SetupError::Records`].
    pub fn drift(&self, request: &SyncRequest) -> Result<SyncPlan, SetupError> {
        compare::expect_known(request)?;
        if !self.directory.join("setup").exists() {
            return Ok(SyncPlan::default());
        }
        let records = self.records()?;
        let mut notes = SyncNotes::read(&records);
        self.compared(request, &records, &mut notes)
    }

    /// Compares the files, and writes Limbeck's entry where it was lost. What a sync that was killed left is taken back first.
    ///
    /// # Errors
    ///
    /// As [`SetupState::drift`].
    pub fn repair(&self, request: &SyncRequest) -> Result<SyncDone, SetupError> {
        compare::expect_known(request)?;
        if !self.directory.join("setup").exists() {
            return Ok(SyncDone::default());
        }
        let records = self.records()?;
        self.recover_repair(&records)?;
        let mut notes = SyncNotes::read(&records);
        let mut plan = self.compared(request, &records, &mut notes)?;
        let mut done = SyncDone::default();
        let now_us = self.world.now_us();
        for file in std::mem::take(&mut plan.files) {
            let path = file.path.clone();
            // Noted first: a repair of a process that is killed counts.
            notes.note_repair(&path, now_us);
            notes.write(&records).map_err(|error| self.failed(error))?;
            let alone = SetupPlan {
                files: vec![file],
                ..SetupPlan::default()
            };
            let wrote = self.carry_out(&records, alone, RecordState::Repaired)?;
            done.written.extend(wrote.written);
            done.failed.extend(wrote.failed);
        }
        notes.write(&records).map_err(|error| self.failed(error))?;
        done.plan = plan;
        Ok(done)
    }

    fn compared(
        &self,
        request: &SyncRequest,
        records: &Records,
        notes: &mut SyncNotes,
    ) -> Result<SyncPlan, SetupError> {
        let all = records.all().map_err(|error| self.failed(error))?;
        let baselines = baseline::baselines(self.world, records, &all);
        if baselines.is_empty() {
            return Ok(SyncPlan::default());
        }
        Ok(compare::compare(self.world, request, &baselines, notes))
    }

    /// Takes back a repair whose process was killed. A setup that was killed is left to the next setup.
    fn recover_repair(&self, records: &Records) -> Result<(), SetupError> {
        let all = records.all().map_err(|error| self.failed(error))?;
        let Some(last) = all.last().filter(|record| record.is_unfinished()) else {
            return Ok(());
        };
        let is_repair = last.state == RecordState::Started && last.is_repair;
        if is_repair {
            let undone = undo::take_back(self.world, records, last.clone());
            undone.map_err(|error| self.failed(error))?;
        }
        Ok(())
    }
}

/// A file that gets Limbeck's entry.
fn planned(
    id: &'static str,
    file: &super::found::ClientFile,
    after: String,
    change: super::model::FileChange,
) -> PlannedFile {
    PlannedFile {
        path: file.path.clone(),
        kind: FileKind::Client(id),
        has_mark: file.has_mark,
        before: file.text.clone(),
        after,
        change,
    }
}
