//! Merging of entries: trust, replacement by name, names that read alike, and the bound on servers.

use limbeck_domain::limits::SERVERS_MAX;

use super::Loader;
use super::open_file::OpenFile;
use super::sources::FileRole;
use crate::definition_text::DefinitionText;
use crate::diagnostic::{Diagnostic, Severity, ValueErrorKind};
use crate::document::ConfigPlace;
use crate::entry::{EntryScope, ServerEntry, Transport};
use crate::error::ConfigError;
use crate::self_reference;
use crate::server_names::{self, NameForms};

/// Message about servers of a repository that gave way to others.
const CROWDED: &str = "some of its servers are left out, because there are too many";

impl Loader<'_> {
    /// Adds an entry, unless it starts Limbeck itself.
    pub(super) fn add_entry(
        &mut self,
        file: &OpenFile<'_>,
        place: &ConfigPlace<'_>,
        mut entry: ServerEntry,
    ) -> Result<(), ConfigError> {
        if self_reference::is_own_entry(self.discovery.world, &entry) {
            let problem = "is Limbeck itself and is skipped";
            self.report(file, Severity::Detail, place.malformed(problem));
            return Ok(());
        }
        if let Some(gateway) = earlier_gateway(&entry) {
            let problem = format!(
                "is `{gateway}`, a gateway that would start your servers a second time, and is skipped; \
                 remove its entry"
            );
            self.report(file, Severity::Info, place.malformed(problem));
            return Ok(());
        }
        if let Err(error) = entry.definition {
            let error = file.with_first_line(error);
            if error.kind == ValueErrorKind::Malformed && file.source.role == FileRole::Named {
                return Err(file.error(error));
            }
            let severity = match error.kind {
                _ if entry.disabled => Severity::Info,
                // The file is right.
                ValueErrorKind::Unsupported => Severity::Warning,
                ValueErrorKind::Malformed | ValueErrorKind::Unusable => Severity::Error,
            };
            self.report(file, severity, error.clone());
            entry.definition = Err(error);
        }
        if file.source.role == FileRole::ClaudeState && self.client.has_disabled(&entry.name) {
            entry.disabled = true;
            let problem = "is disabled because you disabled it in the client for this project";
            self.report(file, Severity::Info, place.malformed(problem));
        }
        let is_in_repository_file = file.source.role == FileRole::Repository;
        if is_in_repository_file && self.client.has_rejected(&entry.name) {
            entry.disabled = true;
            let problem = "is disabled because you rejected it in the client";
            self.report(file, Severity::Info, place.malformed(problem));
        }
        if entry.origin.scope == EntryScope::Repository {
            let text = DefinitionText::read(&entry.origin.file, &entry.name, place);
            entry.definition_text = Some(text);
        }
        let is_approved = is_in_repository_file && self.client.has_approved(&entry.name);
        entry.trust = self.discovery.trust_policy.judge(&entry, is_approved);
        self.merge(file, place, entry)
    }

    /// Adds an entry to the servers; of two entries with one name the later counts.
    fn merge(
        &mut self,
        file: &OpenFile<'_>,
        place: &ConfigPlace<'_>,
        entry: ServerEntry,
    ) -> Result<(), ConfigError> {
        if entry.is_of_repository()
            && let Some(problem) = server_names::unreadable_for_a_repository(entry.name.as_str())
        {
            self.report(file, Severity::Error, place.malformed_key(problem));
            return Ok(());
        }
        let has_same_name = |other: &ServerEntry| other.name == entry.name;
        if let Some(index) = self.found.servers.iter().position(has_same_name) {
            self.replace(file, place, index, entry);
            return Ok(());
        }
        let forms = NameForms::of(entry.name.as_str());
        let alike = self.servers_that_read_like(&forms).next();
        if let Some(other) = alike.map(|index| &self.found.servers[index]) {
            if entry.is_of_repository() && !other.is_of_repository() {
                let problem = format!(
                    "is left out, because programs would take it for `{}` in {}; give it another name",
                    other.name, other.origin
                );
                self.report(file, Severity::Error, place.malformed_key(problem));
                return Ok(());
            }
            let problem = format!("reads like `{}` in {}", other.name, other.origin);
            self.report(file, Severity::Warning, place.malformed_key(problem));
        }
        if !entry.is_of_repository() {
            self.remove_imitations(&entry, &forms);
        }
        if self.found.servers.len() >= SERVERS_MAX && !self.make_room_for(&entry) {
            let problem = format!("exceeds the maximum of {SERVERS_MAX} servers");
            return self.reject(file, place.malformed_key(problem));
        }
        let name = entry.name.as_str();
        if name.contains("__") {
            let problem = "has `__`, which full tool names use as a separator";
            self.report(file, Severity::Info, place.malformed_key(problem));
        }
        self.found.servers.push(entry);
        Ok(())
    }

    /// Positions of the servers that a program could mean by one of the `forms`.
    fn servers_that_read_like(&self, forms: &NameForms) -> impl Iterator<Item = usize> {
        let servers = self.found.servers.iter().enumerate();
        servers
            .filter(|(_, other)| NameForms::of(other.name.as_str()).reads_like(forms))
            .map(|(index, _)| index)
    }

    /// Removes servers of the repository that programs could take for `entry`, a server of the user.
    fn remove_imitations(&mut self, entry: &ServerEntry, forms: &NameForms) {
        let alike: Vec<usize> = self.servers_that_read_like(forms).collect();
        for index in alike.into_iter().rev() {
            if !self.found.servers[index].is_of_repository() {
                continue;
            }
            let removed = self.found.servers.remove(index);
            let message = format!(
                "server `{}` is left out, because programs would take it for `{}` in {}; give it another name",
                removed.name, entry.name, entry.origin
            );
            self.found.diagnostics.push(Diagnostic {
                severity: Severity::Error,
                file: removed.origin.file,
                at: Some((removed.origin.line, 1)),
                is_of_whole_file: false,
                message,
            });
        }
    }

    /// Removes a server of the repository, one that waits for trust if there is one, when `entry` has a better right
    /// to its place. `false` when there is no such server.
    fn make_room_for(&mut self, entry: &ServerEntry) -> bool {
        let last = |is_weaker: &dyn Fn(&ServerEntry) -> bool| {
            let mut servers = self.found.servers.iter();
            servers.rposition(is_weaker)
        };
        let waiting = last(&ServerEntry::is_held_back).filter(|_| !entry.is_held_back());
        let of_repository =
            || last(&ServerEntry::is_of_repository).filter(|_| !entry.is_of_repository());
        let Some(index) = waiting.or_else(of_repository) else {
            return false;
        };
        let removed = self.found.servers.remove(index);
        let is_known = self
            .found
            .diagnostics
            .iter()
            .any(|known| known.file == removed.origin.file && known.message == CROWDED);
        if !is_known {
            self.found.diagnostics.push(Diagnostic {
                severity: Severity::Warning,
                file: removed.origin.file,
                at: None,
                is_of_whole_file: false,
                message: CROWDED.to_owned(),
            });
        }
        true
    }

    /// Puts `entry` in place of the earlier one, unless it waits for trust and the earlier one does not: a
    /// repository must not disable the user's own server by its mere name.
    fn replace(
        &mut self,
        file: &OpenFile<'_>,
        place: &ConfigPlace<'_>,
        index: usize,
        entry: ServerEntry,
    ) {
        let earlier = &self.found.servers[index];
        let differs = earlier.differs_from(&entry);
        if entry.is_held_back() && !earlier.is_held_back() {
            if differs {
                let problem = format!("waits for trust, and {} stays in use", earlier.origin);
                self.report(file, Severity::Warning, place.malformed_key(problem));
                self.found.held_back.push(entry);
            }
            return;
        }
        if differs {
            let severity = match file.source.role {
                FileRole::Named => Severity::Info,
                FileRole::ClaudeState
                | FileRole::Repository
                | FileRole::Limbeck
                | FileRole::Earlier
                | FileRole::Managed => Severity::Warning,
            };
            let problem = format!("replaces the one in {}", earlier.origin);
            self.report(file, severity, place.malformed_key(problem));
        }
        let of_user = !entry.is_of_repository();
        self.found.servers[index] = entry.clone();
        if of_user {
            self.remove_imitations(&entry, &NameForms::of(entry.name.as_str()));
        }
    }
}

/// Name of the earlier gateway that an entry starts.
fn earlier_gateway(entry: &ServerEntry) -> Option<&'static str> {
    match &entry.definition {
        Ok(Transport::Stdio { command, args, .. }) => {
            self_reference::earlier_gateway(command, args)
        }
        Ok(Transport::Http { .. }) | Err(_) => None,
    }
}
