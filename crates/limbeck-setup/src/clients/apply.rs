//! Carries out a plan: everything is recorded first, then files are replaced one by one.

use std::io;
use std::path::{Path, PathBuf};

use super::leftovers;
use super::model::{FileChange, FileKind, PlannedFile, SetupError, SetupPlan};
use super::record::{Record, RecordState, RecordedFile, Records, digest, kind_word};
use super::splice::{self, Change};
use super::sync::SyncNotes;
use super::table::client_of;
use super::target::{ReplaceError, Target};
use super::undo::{self, UndoneState};
use super::verify::is_as_intended;
use crate::file_content::{self, MARK};
use crate::load::CLIENT_STATE_BYTES_MAX;
use crate::world::World;

/// Writes of another program that one file's change gives way to.
const RETRIES_MAX: usize = 50;

/// Setups in a state directory.
#[derive(Clone, Debug)]
pub struct SetupState<'w> {
    pub(super) world: &'w World,
    pub(super) directory: PathBuf,
}

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct SetupDone {
    /// Id of the setup, for its undo; `None` when nothing was to be written.
    pub id: Option<String>,
    /// Files that were written.
    pub written: Vec<PathBuf>,
    /// Files that were not written, each with the reason.
    pub failed: Vec<(PathBuf, String)>,
}

impl<'w> SetupState<'w> {
    /// The setups in the state directory `directory`.
    pub fn of(world: &'w World, directory: impl Into<PathBuf>) -> Self {
        Self {
            world,
            directory: directory.into(),
        }
    }

    pub(super) fn records(&self) -> Result<Records, SetupError> {
        Records::open(&self.directory).map_err(|error| self.failed(error))
    }

    pub(super) fn failed(&self, error: io::Error) -> SetupError {
        SetupError::Records {
            directory: self.directory.join("setup"),
            error,
        }
    }

    /// Takes a setup back that was killed before it ended, so that a new plan starts from files as they were. Returns its id.
    ///
    /// # Errors
    ///
    /// [`SetupError::Records`], [`SetupError::LaterSetups`], and [`SetupError::Unrecovered`] when a file is in conflict.
    pub fn recover(&self) -> Result<Option<String>, SetupError> {
        if !self.directory.join("setup").exists() {
            return Ok(None);
        }
        let records = self.records()?;
        let all = records.all().map_err(|error| self.failed(error))?;
        let Some(record) = all.iter().rfind(|record| record.is_unfinished()) else {
            return Ok(None);
        };
        let id = record.id.clone();
        undo::expect_last(record, &all)?;
        let undone = undo::take_back(self.world, &records, record.clone());
        for file in undone.map_err(|error| self.failed(error))? {
            if let UndoneState::Conflict(reason) = file.state {
                let file = file.path;
                return Err(SetupError::Unrecovered { id, file, reason });
            }
        }
        Ok(Some(id))
    }

    /// Whether a setup was killed before it ended.
    pub fn is_unfinished(&self) -> bool {
        let records = self
            .directory
            .join("setup")
            .exists()
            .then(|| self.records());
        let all = records.and_then(Result::ok);
        let all = all.and_then(|records| records.all().ok());
        all.is_some_and(|all| all.iter().any(Record::is_unfinished))
    }

    /// Writes the files of `plan`. A file that cannot be written does not keep others from being written, but a client's
    /// file is written only when the servers that leave it are in Limbeck's own.
    ///
    /// # Errors
    ///
    /// [`SetupError::Records`], and [`SetupError::Overtaken`] when another setup ran since the plan; then no file was written.
    pub fn apply(&self, plan: SetupPlan) -> Result<SetupDone, SetupError> {
        if plan.files.is_empty() {
            return Ok(SetupDone::default());
        }
        let records = self.records()?;
        let looked_at = plan.clients.clone();
        let done = self.carry_out(&records, plan, RecordState::Finished)?;
        let noted = SyncNotes::note_setup(self.world, &records, &looked_at);
        noted.map_err(|error| self.failed(error))?;
        Ok(done)
    }

    /// Notes what a setup looked at that had nothing to write, for later syncs. Without an earlier setup there is nothing
    /// to note.
    ///
    /// # Errors
    ///
    /// [`SetupError::Records`].
    pub fn note(&self, plan: &SetupPlan) -> Result<(), SetupError> {
        if !self.directory.join("setup").exists() {
            return Ok(());
        }
        let records = self.records()?;
        let noted = SyncNotes::note_setup(self.world, &records, &plan.clients);
        noted.map_err(|error| self.failed(error))
    }

    /// Writes the files of `plan`; the record ends in the state `end`.
    pub(super) fn carry_out(
        &self,
        records: &Records,
        plan: SetupPlan,
        end: RecordState,
    ) -> Result<SetupDone, SetupError> {
        let mut done = SetupDone::default();
        self.expect_own(&plan)?;
        let recorded = self.record(records, &plan, end);
        let mut record = recorded.map_err(|error| self.failed(error))?;
        done.id = Some(record.id.clone());
        let mut is_own_lost = false;
        for (index, mut file) in plan.files.into_iter().enumerate() {
            let is_of_client = matches!(file.kind, FileKind::Client(_));
            if is_own_lost && file.kind != FileKind::Secret {
                let reason = "its servers could not be moved".to_owned();
                done.failed.push((file.path, reason));
                continue;
            }
            match self.write(records, &mut record, index, &mut file) {
                Ok(()) => done.written.push(file.path),
                Err(reason) => {
                    is_own_lost |= !is_of_client;
                    done.failed.push((file.path, reason));
                }
            }
        }
        record.state = end;
        let ended = records.write(&record).and_then(|()| records.prune());
        ended.map_err(|error| self.failed(error))?;
        Ok(done)
    }

    /// Expects the files of Limbeck's own as the plan has them: another setup, which waited for nothing, may have ended since.
    fn expect_own(&self, plan: &SetupPlan) -> Result<(), SetupError> {
        let own = |file: &&PlannedFile| !matches!(file.kind, FileKind::Client(_));
        for file in plan.files.iter().filter(own) {
            let target = Target::of(self.world, &file.path);
            let present = target.ok().and_then(|target| target.bytes().ok());
            let is_other = |present| present != bytes(file, file.before.as_deref());
            // What cannot be read is reported with the write.
            if present.is_some_and(is_other) {
                let file = file.path.clone();
                return Err(SetupError::Overtaken { file });
            }
        }
        Ok(())
    }

    /// Records what is about to be done, durably.
    fn record(&self, records: &Records, plan: &SetupPlan, end: RecordState) -> io::Result<Record> {
        let earlier = records.all()?;
        let earlier_us = earlier.last().map_or(0, |record| record.at_us);
        // Records are in the order of their setups, also when the clock was set back.
        let at_us = self.world.now_us().max(earlier_us.saturating_add(1));
        let id = records.next_id(&day(at_us))?;
        let mut files = Vec::new();
        for (index, file) in plan.files.iter().enumerate() {
            let (before, after) = (
                bytes(file, file.before.as_deref()),
                bytes(file, Some(&file.after)),
            );
            for bytes in [&before, &after] {
                records.write_bytes(&id, index, bytes.as_deref().unwrap_or_default())?;
            }
            files.push(RecordedFile {
                path: file.path.clone(),
                kind: kind_word(file.kind).to_owned(),
                existed: before.is_some(),
                before: digest(before.as_deref().unwrap_or_default()),
                after: digest(after.as_deref().unwrap_or_default()),
                is_written: false,
                removed: file.change.removed.clone(),
                added: file
                    .change
                    .added
                    .iter()
                    .map(|(name, _)| name.clone())
                    .collect(),
                replacing: None,
            });
        }
        let record = Record {
            version: 1,
            id,
            at_us,
            state: RecordState::Started,
            files,
            relies_on: Some(plan.relies_on.clone()),
            is_repair: end == RecordState::Repaired,
        };
        records.write(&record)?;
        Ok(record)
    }

    /// Writes one file. When another program wrote it meanwhile, the change is made in its new text.
    fn write(
        &self,
        records: &Records,
        record: &mut Record,
        index: usize,
        file: &mut PlannedFile,
    ) -> Result<(), String> {
        let target = Target::of(self.world, &file.path)?;
        let io = |error: io::Error| error.to_string();
        if file.kind == FileKind::Secret {
            ignore_directory(self.world, &file.path).map_err(io)?;
        }
        if let Some(recorded) = record.files.get(index) {
            // What a process left whose record is gone.
            let before = bytes(file, file.before.as_deref()).unwrap_or_default();
            let after = bytes(file, Some(&file.after)).unwrap_or_default();
            leftovers::sweep(&target, recorded, &before, &after).map_err(io)?;
        }
        for _ in 0..RETRIES_MAX {
            let before = bytes(file, file.before.as_deref());
            let after = bytes(file, Some(&file.after)).unwrap_or_default();
            if let Some(recorded) = record.files.get_mut(index) {
                recorded.is_written = true;
                recorded.replacing = Some([
                    digest(before.as_deref().unwrap_or_default()),
                    digest(&after),
                ]);
            }
            records.write(record).map_err(io)?;
            match target.replace(before.as_deref(), Some(&after)) {
                Ok(()) => return Ok(()),
                Err(ReplaceError::Io(error)) => return Err(error.to_string()),
                Err(ReplaceError::Changed) => {
                    if let Err(reason) = self.follow(file) {
                        // Nothing of it was written here, so nothing of it is taken back: it belongs to the other program.
                        if let Some(recorded) = record.files.get_mut(index) {
                            recorded.is_written = false;
                        }
                        records.write(record).map_err(io)?;
                        return Err(reason);
                    }
                    let before = bytes(file, file.before.as_deref());
                    let before = before.as_deref();
                    let after = bytes(file, Some(&file.after)).unwrap_or_default();
                    let bytes = before.unwrap_or_default();
                    if let Some(recorded) = record.files.get_mut(index) {
                        recorded.existed = before.is_some();
                        recorded.before = digest(bytes);
                        recorded.after = digest(&after);
                    }
                    records
                        .write_bytes(&record.id, index, bytes)
                        .and_then(|()| records.write_bytes(&record.id, index, &after))
                        .map_err(io)?;
                }
            }
        }
        Err("another program keeps writing it; end that program and run setup again".to_owned())
    }

    /// Reads a file again that another program wrote, and makes the same change in its new text. The entries that leave it
    /// have to be the ones that were moved.
    fn follow(&self, file: &mut PlannedFile) -> Result<(), String> {
        let FileKind::Client(id) = file.kind else {
            return Err("another program wrote it; run setup again".to_owned());
        };
        let form = client_of(id).ok_or("its client is not known")?.form;
        let read = file_content::read(self.world, &file.path, CLIENT_STATE_BYTES_MAX);
        let content = read.map_err(|error| error.problem())?;
        let (text, has_mark) = match content {
            Some(content) => (Some(content.text), content.has_mark),
            None => (None, false),
        };
        let entries = |text: &Option<String>| {
            splice::entry_texts(text.as_deref().unwrap_or_default(), form).unwrap_or_default()
        };
        let (old, new) = (entries(&file.before), entries(&text));
        let is_same = |name: &String| {
            let entry = |entries: &[(String, String)]| {
                entries.iter().find(|(found, _)| found == name).cloned()
            };
            entry(&old) == entry(&new)
        };
        let FileChange { removed, added } = &file.change;
        let names = added.iter().map(|(name, _)| name);
        if !removed.iter().chain(names).all(is_same) {
            return Err("another program changed its servers; run setup again".to_owned());
        }
        let change = Change {
            removed: removed.iter().map(String::as_str).collect(),
            added: added
                .iter()
                .map(|(name, text)| (name.as_str(), text.clone()))
                .collect(),
        };
        let before = text.as_deref().unwrap_or_default();
        let after = splice::changed(before, form, &change)?;
        is_as_intended(before, &after, form, &change)?;
        (file.before, file.after, file.has_mark) = (text, after, has_mark);
        Ok(())
    }
}

/// Bytes of a text of this file.
fn bytes(file: &PlannedFile, text: Option<&str>) -> Option<Vec<u8>> {
    let mark = if file.has_mark { MARK } else { &[] };
    text.map(|text| [mark, text.as_bytes()].concat())
}

/// Keeps the files of secrets out of a repository of configuration files.
fn ignore_directory(world: &World, path: &Path) -> io::Result<()> {
    let on_disk = world.on_disk(path);
    let directory = on_disk.parent().unwrap_or(Path::new("/"));
    crate::trust::create_directory(directory)?;
    let ignore = directory.join(".gitignore");
    if !ignore.exists() {
        std::fs::write(ignore, "*\n")?;
    }
    Ok(())
}

/// The day of a time in UTC, as `20261123`.
fn day(at_us: u64) -> String {
    // Howard Hinnant's algorithm for civil dates.
    let days = i64::try_from(at_us / 86_400_000_000).unwrap_or_default() + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "19700101"),
            (951_782_400, "20000229"),
            (1_795_392_000, "20261123"),
        ] {
            assert_eq!(day(seconds * 1_000_000), expected);
        }
    }
}
