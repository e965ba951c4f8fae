//! Differences between the servers that a gateway uses and those of its configuration.

use std::collections::BTreeSet;
use std::path::PathBuf;

use limbeck_domain::ServerName;
use limbeck_setup::{Configuration, Diagnostic, ServerEntry, Severity};

use super::key_of;
use crate::format::counted;

/// Differences between the servers that are in use and those of a configuration.
#[derive(Default)]
pub(super) struct ServerChanges<'c> {
    /// New and changed entries.
    pub(super) added: Vec<&'c ServerEntry>,
    changed: usize,
    pub(super) removed: Vec<ServerName>,
    /// Entries of the user whose file could not be read: they stay in use.
    pub(super) kept: Vec<ServerEntry>,
}

impl<'c> ServerChanges<'c> {
    pub(super) fn between(before: &[ServerEntry], configuration: &'c Configuration) -> Self {
        let unread: BTreeSet<&PathBuf> = configuration
            .diagnostics
            .iter()
            .filter(|note| is_about_all_servers(note))
            .map(|note| &note.file)
            .collect();
        let mut changes = Self::default();
        for entry in &configuration.servers {
            match before.iter().find(|other| other.name == entry.name) {
                Some(other) if entry.is_same_server(other) => {}
                other => {
                    changes.changed += usize::from(other.is_some());
                    changes.added.push(entry);
                }
            }
        }
        for entry in before {
            if configuration
                .servers
                .iter()
                .any(|other| other.name == entry.name)
            {
                continue;
            }
            // What a repository's file no longer says is not started in its name.
            if unread.contains(&entry.origin.file) && !entry.is_of_repository() {
                changes.kept.push(entry.clone());
            } else {
                changes.removed.push(entry.name.clone());
            }
        }
        changes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    /// Their numbers: a name may be a text of a repository.
    pub(super) fn text(&self) -> String {
        let new = self.added.len() - self.changed;
        let parts = [
            (new, "added"),
            (self.changed, "changed"),
            (self.removed.len(), "removed"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts = parts.map(|(count, how)| format!("{} {how}", counted(*count, "server")));
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// Whether nothing of the file, or none of its servers, could be read.
fn is_about_all_servers(note: &Diagnostic) -> bool {
    note.severity == Severity::Error
        && (note.is_of_whole_file || key_of(note).is_some_and(|key| !key.contains('.')))
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{Expose, ToolRules};
    use limbeck_setup::{EntryScope, OAuthEntry, Origin, Transport, TrustState};

    use super::*;

    fn entry(name: &str, file: &str) -> ServerEntry {
        let origin = Origin {
            file: file.into(),
            line: 1,
            scope: match file.ends_with("config.toml") {
                true => EntryScope::User,
                false => EntryScope::Repository,
            },
        };
        ServerEntry {
            name: name.into(),
            origin,
            definition: Ok(Transport::Stdio {
                command: name.into(),
                args: Vec::new(),
                env: Vec::new(),
                cwd: None,
            }),
            trust: TrustState::Own,
            definition_text: None,
            disabled: false,
            description: None,
            timeout_ms: None,
            start_timeout_ms: None,
            idle_timeout_ms: None,
            concurrency: None,
            oauth: OAuthEntry::default(),
            expose: Expose::default(),
            observe: true,
            tool_rules: ToolRules::default(),
            start_directory: "/home/anna".into(),
        }
    }

    #[test]
    fn an_entry_that_moves_in_its_file_is_the_same_and_one_with_other_limits_is_not() {
        let before = [entry("a", "/c/config.toml"), entry("b", "/c/config.toml")];
        let mut read = Configuration {
            servers: before.to_vec(),
            ..Configuration::default()
        };
        read.servers[0].origin.line = 7;
        assert!(ServerChanges::between(&before, &read).is_empty());
        read.servers[1].timeout_ms = Some(5);
        read.servers.push(entry("c", "/c/config.toml"));
        let changes = ServerChanges::between(&before, &read);
        assert_eq!(changes.text(), "1 server added, 1 server changed");
        read.servers.clear();
        let changes = ServerChanges::between(&before, &read);
        assert_eq!(changes.text(), "2 servers removed");
    }

    #[test]
    fn servers_of_a_file_that_cannot_be_read_stay_when_they_are_the_users() {
        let before = [
            entry("own", "/c/config.toml"),
            entry("theirs", "/w/limbeck.toml"),
        ];
        let unread = |file: &str| Diagnostic {
            severity: Severity::Error,
            file: file.into(),
            at: Some((1, 1)),
            is_of_whole_file: true,
            message: "expected a table".to_owned(),
        };
        let read = Configuration {
            diagnostics: vec![unread("/c/config.toml"), unread("/w/limbeck.toml")],
            ..Configuration::default()
        };
        let changes = ServerChanges::between(&before, &read);
        assert_eq!(changes.removed, [ServerName::from("theirs")]);
        assert_eq!(changes.kept.len(), 1);
        // The control: the file of the user was read.
        let read = Configuration::default();
        assert_eq!(ServerChanges::between(&before, &read).removed.len(), 2);
    }
}
