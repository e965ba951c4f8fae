//! Comparison of each client's file with its baseline.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use limbeck_domain::text::clean_line;

use super::baseline::{Baseline, has_servers, keys_of};
use super::notes::{FileNotes, SyncNotes};
use super::{Adoption, Drift, DriftAction, DriftKind, SyncPlan, SyncRequest, planned};
use crate::clients::found::{ClientFile, EntryKind, FoundEntry};
use crate::clients::model::{FileChange, SetupError};
use crate::clients::own_program::own_program;
use crate::clients::splice::{self, Change};
use crate::clients::table::{CLIENTS, Client, Form, client_of};
use crate::clients::verify::is_as_intended;
use crate::world::{OperatingSystem, World};

/// Longest list of names in a finding, in bytes.
const NAMES_BYTES_MAX: usize = 300;

/// Expects clients that are known.
pub(super) fn expect_known(request: &SyncRequest) -> Result<(), SetupError> {
    match request.clients.iter().find(|id| client_of(id).is_none()) {
        Some(id) => Err(SetupError::UnknownClient { id: id.clone() }),
        None => Ok(()),
    }
}

/// Compares every file.
pub(super) fn compare(
    world: &World,
    request: &SyncRequest,
    baselines: &BTreeMap<PathBuf, Baseline>,
    notes: &mut SyncNotes,
) -> SyncPlan {
    let program = own_program(world);
    let mut plan = SyncPlan {
        has_setup: true,
        ..SyncPlan::default()
    };
    for client in CLIENTS {
        if !request.clients.is_empty() && !request.clients.iter().any(|id| id == client.id) {
            continue;
        }
        for path in client.paths(world) {
            let of_file = notes.of(&path);
            if request.is_background {
                // macOS asks its user before a program reads files of another application: that is for a sync by hand.
                let is_unread = world.system == OperatingSystem::MacOs;
                if is_unread || of_file.looks_the_same(world, &path) {
                    continue;
                }
            }
            of_file.note_look(world, &path);
            let baseline = baselines.get(&path);
            let file = ClientFile::read(world, client, path.clone());
            plan.files_read += usize::from(file.is_some());
            let file = match file {
                Some(file) => file,
                None if baseline.is_some_and(|_| has_directory(world, &path)) => {
                    ClientFile::absent(client, path)
                }
                None => continue,
            };
            let one = OneFile {
                world,
                request,
                client,
                file: &file,
                baseline,
                program: program.as_deref(),
            };
            one.own(of_file, &mut plan);
            one.servers(of_file, &mut plan);
        }
    }
    plan
}

/// Whether the client is still there, as far as its directory says.
fn has_directory(world: &World, path: &Path) -> bool {
    path.parent()
        .is_some_and(|directory| world.on_disk(directory).is_dir())
}

fn unwritten() -> String {
    "Limbeck's entry cannot be written again".to_owned()
}

/// One file with what it is compared with.
struct OneFile<'c> {
    world: &'c World,
    request: &'c SyncRequest,
    client: &'static Client,
    file: &'c ClientFile,
    baseline: Option<&'c Baseline>,
    /// The path for a new entry, or why no path lasts.
    program: Result<&'c str, &'c String>,
}

impl OneFile<'_> {
    fn drift(&self, kind: DriftKind, action: DriftAction, finding: String) -> Drift {
        Drift {
            id: self.client.id,
            title: self.client.title,
            path: self.file.path.clone(),
            kind,
            servers: Vec::new(),
            action,
            finding,
            remedy: None,
        }
    }

    /// Looks for Limbeck's entry.
    fn own(&self, notes: &mut FileNotes, plan: &mut SyncPlan) {
        if let Err(reason) = &self.file.entries {
            // A file that setup did not write does not concern sync.
            if self.baseline.is_some() {
                let finding = format!("{} cannot be read: {reason}", self.client.title);
                let mut drift = self.drift(DriftKind::Unreadable, DriftAction::Report, finding);
                drift.remedy = Some("correct the file; nothing was written".to_owned());
                plan.drift.push(drift);
            }
            return;
        }
        if let Some((name, own)) = self.file.own_entry() {
            notes.is_removed = false;
            let command = own.command.as_deref().unwrap_or(Path::new(""));
            let written = self.baseline.and_then(|baseline| baseline.file.own_entry());
            let (kind, finding) = if !own.is_started && written.is_some_and(|(_, w)| w.is_started) {
                let finding = format!(
                    "the entry `limbeck` of {} does not start Limbeck any more",
                    self.client.title
                );
                (DriftKind::Changed, finding)
            } else if let Some(stale) = &own.stale {
                let finding = format!(
                    "{} starts Limbeck by {}: {stale}",
                    self.client.title,
                    clean_line(&command.display().to_string(), NAMES_BYTES_MAX)
                );
                (DriftKind::Stale, finding)
            } else {
                return;
            };
            let text = self.file.text.as_deref().unwrap_or_default();
            let old = command.to_string_lossy();
            let form = self.client.form;
            let entry = match kind {
                DriftKind::Stale => self.program.map_err(String::clone).and_then(|program| {
                    splice::renewed_entry(text, form, name, &old, program).ok_or_else(unwritten)
                }),
                _ => self.entry_as_written(),
            };
            self.repair(kind, finding, Some(name), entry, notes, plan);
            return;
        }
        let Some(baseline) = self.baseline else {
            return;
        };
        if baseline.file.own_entry().is_none() {
            return;
        }
        // After a repair, the second loss of the entry ends the war, in whichever way it was lost.
        let was_repaired = notes.is_stopped || notes.was_repaired(self.world.now_us());
        if !notes.is_removed && (was_repaired || self.is_wiped(baseline)) {
            let finding = format!(
                "{} lost Limbeck's entry with other parts of the file",
                self.client.title
            );
            let entry = self.entry_as_written();
            self.repair(DriftKind::Wiped, finding, None, entry, notes, plan);
            return;
        }
        notes.is_removed = true;
        let finding = format!(
            "Limbeck's entry was taken out of {}, so it stays out",
            self.client.title
        );
        let mut drift = self.drift(DriftKind::Removed, DriftAction::Respect, finding);
        drift.remedy = Some(format!("limbeck setup --client {}", self.client.id));
        plan.drift.push(drift);
    }

    /// Whether more than Limbeck's entry is gone: the file or its table of servers, or everything that was beside the entry or
    /// beside the servers.
    fn is_wiped(&self, baseline: &Baseline) -> bool {
        let text = self.file.text.as_deref().unwrap_or_default();
        if text.trim().is_empty() {
            return true;
        }
        // In TOML a table ends with its last entry, also when a person takes that out.
        let keeps_table = matches!(self.client.form, Form::Json(..));
        if keeps_table && !has_servers(self.client, text) {
            return true;
        }
        let own = baseline.file.own_entry().map(|(name, _)| name);
        let mut beside = baseline
            .names()
            .filter(|name| Some(*name) != own)
            .peekable();
        let entries = self.file.entries.as_deref().unwrap_or_default();
        let is_there = |name: &str| entries.iter().any(|entry| entry.name == name);
        if beside.peek().is_some() && !beside.any(is_there) {
            return true;
        }
        let keys = keys_of(self.client, text);
        !baseline.keys.is_empty() && !baseline.keys.iter().any(|key| keys.contains(key))
    }

    /// Limbeck's entry as it was, with a path that lasts.
    fn entry_as_written(&self) -> Result<String, String> {
        let form = self.client.form;
        let program = || self.program.map_err(String::clone);
        let new = || program().map(|program| splice::own_entry(form, program, &["serve"]));
        let Some(baseline) = self.baseline else {
            return new();
        };
        let text = baseline.file.text.as_deref().unwrap_or_default();
        let Some((name, own)) = baseline.file.own_entry() else {
            return new();
        };
        if !own.is_started && own.command.is_some() && own.stale.is_none() {
            return new();
        }
        if let (Some(_), Some(old)) = (&own.stale, &own.command) {
            let old = old.to_string_lossy();
            let renewed = splice::renewed_entry(text, form, name, &old, program()?);
            return renewed.ok_or_else(unwritten);
        }
        let mut entries = splice::entry_texts(text, form)?.into_iter();
        let entry = entries.find(|(found, _)| found == name);
        let entry = entry.map(|(_, text)| text.trim().to_owned());
        entry.ok_or_else(unwritten)
    }

    /// Plans the repair of Limbeck's entry, or says why it is not repaired.
    fn repair(
        &self,
        kind: DriftKind,
        finding: String,
        replaced: Option<&str>,
        entry: Result<String, String>,
        notes: &mut FileNotes,
        plan: &mut SyncPlan,
    ) {
        let setup = format!(
            "limbeck setup --install-only --client {} --yes",
            self.client.id
        );
        let was_repaired = notes.was_repaired(self.world.now_us());
        if notes.is_stopped || was_repaired {
            notes.is_stopped = true;
            let finding = format!(
                "{finding}, again after a repair: another program owns this file, so sync repairs it no more"
            );
            let mut drift = self.drift(kind, DriftAction::Stop, finding);
            drift.remedy = Some(setup);
            plan.drift.push(drift);
            return;
        }
        let written = self.baseline.and_then(|baseline| baseline.file.own_entry());
        let name = replaced.or(written.map(|(name, _)| name));
        let changed =
            entry.and_then(|entry| self.with_entry(name.unwrap_or("limbeck"), replaced, entry));
        match changed {
            Ok((after, change)) => {
                let mut drift = self.drift(kind, DriftAction::Repair, finding);
                drift.remedy = Some("limbeck sync --apply".to_owned());
                plan.drift.push(drift);
                plan.files
                    .push(planned(self.client.id, self.file, after, change));
            }
            Err(reason) => {
                let mut drift = self.drift(kind, DriftAction::Report, finding);
                drift.remedy = Some(format!("correct the file by hand: {reason}"));
                plan.drift.push(drift);
            }
        }
    }

    fn with_entry(
        &self,
        name: &str,
        replaced: Option<&str>,
        entry: String,
    ) -> Result<(String, FileChange), String> {
        let form = self.client.form;
        let text = self.file.text.as_deref().unwrap_or_default();
        let change = Change {
            removed: replaced.into_iter().collect(),
            added: vec![(name, entry.clone())],
        };
        let after = splice::changed(text, form, &change)?;
        is_as_intended(text, &after, form, &change)?;
        let change = FileChange {
            removed: replaced.map(str::to_owned).into_iter().collect(),
            added: vec![(name.to_owned(), entry)],
        };
        Ok((after, change))
    }

    /// Looks for servers that setup did not see.
    fn servers(&self, notes: &FileNotes, plan: &mut SyncPlan) {
        if self.request.adoption == Adoption::Never {
            return;
        }
        let entries = self.file.entries.as_deref().unwrap_or_default().iter();
        let is_new = |entry: &&FoundEntry| {
            let is_server = matches!(entry.kind, EntryKind::Server(_) | EntryKind::Earlier(_));
            let of_baseline = self
                .baseline
                .is_some_and(|baseline| baseline.names().any(|name| name == entry.name));
            is_server && !of_baseline && !notes.seen.contains(&entry.name)
        };
        let servers: Vec<String> = entries
            .filter(is_new)
            .map(|entry| entry.name.clone())
            .collect();
        if servers.is_empty() || notes.is_left_out && self.baseline.is_none() {
            return;
        }
        let names: Vec<String> = servers.iter().map(|name| format!("`{name}`")).collect();
        let names = clean_line(&names.join(", "), NAMES_BYTES_MAX);
        let title = self.client.title;
        let (kind, finding) = if self.baseline.is_none() && !notes.is_known {
            let finding = format!("{title} came after setup and starts servers itself: {names}");
            (DriftKind::NewClient, finding)
        } else {
            let finding = format!("{title} has servers that came after setup: {names}");
            (DriftKind::Added, finding)
        };
        let action = match self.request.adoption {
            Adoption::Yes => DriftAction::Adopt,
            Adoption::Ask | Adoption::Never => DriftAction::Report,
        };
        let mut drift = self.drift(kind, action, finding);
        drift.servers = servers;
        drift.remedy = Some(format!("limbeck setup --client {}", self.client.id));
        plan.drift.push(drift);
    }
}
