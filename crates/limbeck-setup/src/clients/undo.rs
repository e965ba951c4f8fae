//! Taking a setup back: exact bytes where a file is as setup left it, else only what setup changed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use super::apply::SetupState;
use super::leftovers;
use super::model::SetupError;
use super::record::{Record, RecordState, RecordedFile, Records, Which, digest};
use super::splice::{self, Change};
use super::table::Form;
use super::target::{ReplaceError, Target, is_torn};
use super::verify::is_as_intended;
use crate::document::{self, ConfigPlace};
use crate::file_content::MARK;
use crate::world::World;

/// Writes of another program that the undo of one file gives way to.
const RETRIES_MAX: usize = 50;

/// What the undo did with one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoneFile {
    /// The file.
    pub path: PathBuf,
    /// What was done.
    pub state: UndoneState,
}

/// What the undo did with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoneState {
    /// It has its old bytes.
    Restored,
    /// It was created by setup, and is removed.
    Removed,
    /// It was changed since; what setup changed is taken back, and the rest stays.
    Merged,
    /// It has its old bytes already.
    Unchanged,
    /// It was changed since where setup changed it, or cannot be written: it stays as it is.
    Conflict(String),
}

impl UndoneState {
    /// Word of JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Restored => "restored",
            Self::Removed => "removed",
            Self::Merged => "merged",
            Self::Unchanged => "unchanged",
            Self::Conflict(_) => "conflict",
        }
    }
}

impl SetupState<'_> {
    /// Takes back the setup `id`, or the last one that was not taken back, and returns its id and what was done with each
    /// file. While a client's file is in conflict, Limbeck keeps the servers that left it.
    ///
    /// # Errors
    ///
    /// [`SetupError::NothingToUndo`], [`SetupError::Records`], and [`SetupError::LaterSetups`] when something would be lost;
    /// then no file was written.
    pub fn undo(&self, id: Option<&str>) -> Result<(String, Vec<UndoneFile>), SetupError> {
        let nothing = |all: &[Record]| {
            let known = all.iter().rev();
            let known = known.filter(|record| record.is_in_effect());
            SetupError::NothingToUndo {
                id: id.map(str::to_owned),
                known: known.map(|record| record.id.clone()).collect(),
            }
        };
        if !self.directory.join("setup").exists() {
            return Err(nothing(&[]));
        }
        let records = self.records()?;
        let all = records.all().map_err(|error| self.failed(error))?;
        let is_wanted = |record: &Record| match id {
            Some(id) => record.id == id && record.state != RecordState::Repaired,
            None => record.is_in_effect(),
        };
        let record = all.iter().rfind(|record| is_wanted(record));
        let record = record.ok_or_else(|| nothing(&all))?;
        let id = record.id.clone();
        if record.state == RecordState::Undone {
            let files = record.files.iter().map(|file| UndoneFile {
                path: file.path.clone(),
                state: UndoneState::Unchanged,
            });
            return Ok((id, files.collect()));
        }
        expect_last(record, &all)?;
        let undone = take_back(self.world, &records, record.clone());
        Ok((id, undone.map_err(|error| self.failed(error))?))
    }
}

/// Expects that no later setup of `all` relies on `record`, or on one that does.
pub(super) fn expect_last(record: &Record, all: &[Record]) -> Result<(), SetupError> {
    let mut group = vec![record];
    let later = all.iter().skip_while(|other| other.id != record.id).skip(1);
    for later in later.filter(|later| later.is_in_effect()) {
        if group.iter().any(|earlier| later.relies_on(earlier)) {
            group.push(later);
        }
    }
    let later = group.iter().skip(1).rev().map(|later| later.id.clone());
    let later: Vec<String> = later.collect();
    if later.is_empty() {
        return Ok(());
    }
    let id = record.id.clone();
    Err(SetupError::LaterSetups { id, later })
}

/// Takes `record` back, the last written file first.
pub(super) fn take_back(
    world: &World,
    records: &Records,
    mut record: Record,
) -> io::Result<Vec<UndoneFile>> {
    let mut done: Vec<UndoneFile> = Vec::new();
    let mut has_conflict = false;
    let conflicting = match record.state {
        RecordState::Started => RecordState::Started,
        _ => RecordState::Finished,
    };
    record.state = RecordState::Undoing;
    records.write(&record)?;
    for index in (0..record.files.len()).rev() {
        let file = &record.files[index];
        let path = file.path.clone();
        let state = if has_conflict && !file.is_of_client() {
            let reason = "it stays until the files in conflict are resolved".to_owned();
            UndoneState::Conflict(reason)
        } else if !file.is_written {
            UndoneState::Unchanged
        } else {
            let undone = undo_file(world, records, &mut record, index);
            undone.unwrap_or_else(UndoneState::Conflict)
        };
        has_conflict |= matches!(state, UndoneState::Conflict(_));
        done.push(UndoneFile { path, state });
    }
    record.state = if has_conflict {
        conflicting
    } else {
        RecordState::Undone
    };
    records.write(&record)?;
    done.reverse();
    Ok(done)
}

fn undo_file(
    world: &World,
    records: &Records,
    record: &mut Record,
    index: usize,
) -> Result<UndoneState, String> {
    let io = |error: io::Error| error.to_string();
    let before = records.bytes(record, index, Which::Before).map_err(io)?;
    let after = records.bytes(record, index, Which::After).map_err(io)?;
    let old = record.files[index].existed.then_some(before.as_slice());
    if let Ok(target) = Target::of(world, &record.files[index].path) {
        leftovers::sweep(&target, &record.files[index], &before, &after).map_err(io)?;
    }
    for _ in 0..RETRIES_MAX {
        let file = &record.files[index];
        let on_disk = world.on_disk(&file.path);
        if fs::symlink_metadata(&on_disk).is_err() && old.is_none() {
            return Ok(UndoneState::Unchanged);
        }
        let target = Target::of(world, &file.path)?;
        let current = target.bytes().map_err(io)?;
        let same = |digest_of: &str| current.as_deref().map(digest).as_deref() == Some(digest_of);
        if current.as_deref() == old {
            return Ok(UndoneState::Unchanged);
        }
        let bytes = current.as_deref().unwrap_or_default();
        let (new, state) =
            if same(&file.after) || is_torn(bytes, &before, &after) && target.in_place {
                match old {
                    Some(old) => (Some(old.to_vec()), UndoneState::Restored),
                    None => (None, UndoneState::Removed),
                }
            } else {
                let repaired = repaired_texts(records, record, index).map_err(io)?;
                let merged = merged(file, &before, &after, &repaired, bytes)?;
                if merged == bytes {
                    return Ok(UndoneState::Unchanged);
                }
                let is_own = !file.is_of_client();
                if (old.is_none() || is_own) && merged.trim_ascii().is_empty() {
                    // Setup created it, this one or an earlier one, and only what setup wrote was left in it.
                    (None, UndoneState::Removed)
                } else {
                    (Some(merged), UndoneState::Merged)
                }
            };
        if let Some(file) = record.files.get_mut(index) {
            file.replacing =
                Some([&current, &new].map(|bytes| digest(bytes.as_deref().unwrap_or_default())));
        }
        records.write(record).map_err(io)?;
        match target.replace(current.as_deref(), new.as_deref()) {
            Ok(()) => return Ok(state),
            Err(ReplaceError::Changed) => {}
            Err(ReplaceError::Io(error)) => return Err(error.to_string()),
        }
    }
    Err("another program keeps writing it".to_owned())
}

/// Keys that a client, or its user in the client's dialog, adds to an entry, and that mean nothing without it.
const KEYS_OF_CLIENTS: &[&str] = &[
    "alwaysAllow",
    "autoApprove",
    "default_tools_approval_mode",
    "disabled",
    "disabledTools",
    "disabled_tools",
    "enabled",
    "enabled_tools",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "timeout",
    "tool_timeout_sec",
    "tools",
    "trust",
];

/// Whether the entry `name` of `now` is that of `written`, in any order and with keys of [`KEYS_OF_CLIENTS`] beside.
fn is_as_written(written: &str, now: &str, form: Form, name: &str) -> bool {
    let keys = |text: &str| -> Option<BTreeMap<String, String>> {
        let node = document::parse(text, form.syntax()).ok()?;
        let entry = form
            .servers(&ConfigPlace::root(&node))
            .ok()??
            .get(name)
            .ok()??;
        let keys = entry.entries().ok()?.into_iter();
        Some(
            keys.map(|(key, value)| (key.to_owned(), value.canonical()))
                .collect(),
        )
    };
    let (Some(written), Some(mut now)) = (keys(written), keys(now)) else {
        return false;
    };
    now.retain(|key, _| written.contains_key(key) || !KEYS_OF_CLIENTS.contains(&key.as_str()));
    now == written
}

/// What repairs of a file wrote since `record`.
fn repaired_texts(records: &Records, record: &Record, index: usize) -> io::Result<Vec<String>> {
    let path = record.files.get(index).map(|file| file.path.clone());
    let all = records.all()?;
    let is_later =
        |other: &&Record| other.state == RecordState::Repaired && other.at_us > record.at_us;
    let later = all.iter().filter(is_later);
    let texts = later.flat_map(|other| {
        let files = other.files.iter().enumerate();
        let same = files.filter(|(_, file)| file.is_written && Some(&file.path) == path.as_ref());
        same.filter_map(|(at, _)| records.text_after(other, at))
    });
    Ok(texts.collect())
}

/// The present bytes with the entries of setup taken out and those that it took out put back.
fn merged(
    file: &RecordedFile,
    before: &[u8],
    after: &[u8],
    repaired: &[String],
    current: &[u8],
) -> Result<Vec<u8>, String> {
    let Some(form) = file.form() else {
        return Err("its secret was changed since".to_owned());
    };
    let text = |bytes: &[u8]| {
        let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
        String::from_utf8(bytes.to_vec()).map_err(|_| "it is not UTF-8 any more".to_owned())
    };
    let (old, new_text, now) = (text(before)?, text(after)?, text(current)?);
    let entries = |text: &str| splice::entry_texts(text, form);
    let (old, new) = (entries(&old)?, entries(&new_text)?);
    let present = entries(&now)?;
    let find = |entries: &[(String, String)], name: &str| {
        let found = entries.iter().find(|(found, _)| found == name);
        found.map(|(_, text)| text.trim().to_owned())
    };
    let mut change = Change::default();
    for name in &file.added {
        match find(&present, name) {
            // The user removed it.
            None => {}
            Some(text) if Some(&text) == find(&new, name).as_ref() => change.removed.push(name),
            Some(_) if is_as_written(&new_text, &now, form, name) => change.removed.push(name),
            Some(_)
                if repaired
                    .iter()
                    .any(|text| is_as_written(text, &now, form, name)) =>
            {
                change.removed.push(name);
            }
            Some(_) => return Err(format!("its entry `{name}` was changed since")),
        }
    }
    for name in &file.removed {
        let Some(text) = find(&old, name) else {
            continue;
        };
        // The entry that setup wrote under the same name goes.
        let present = find(&present, name).filter(|_| !change.removed.contains(&name.as_str()));
        match present {
            None => change.added.push((name, text)),
            Some(present) if present == text => {}
            Some(_) => return Err(format!("it has another entry `{name}` now")),
        }
    }
    let spliced = splice::changed(&now, form, &change)?;
    is_as_intended(&now, &spliced, form, &change)?;
    let mark = if current.starts_with(MARK) { MARK } else { &[] };
    Ok([mark, spliced.as_bytes()].concat())
}
