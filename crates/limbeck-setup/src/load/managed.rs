//! The administrator's file of rules, `/etc/limbeck/policy.toml` on Linux and macOS.
//!
//! It has a `[policy]` section, budgets and nothing else, and no option of a command leaves it out. Where it exists and cannot be used, calls are stopped: the rules that would forbid them are not known.

use super::Loader;
use super::open_file::OpenFile;
use super::sources::{ConfigSource, FileRole};
use crate::configuration::ManagedFile;
use crate::diagnostic::{Diagnostic, Severity, ValueError};
use crate::document::{self, ConfigPlace};
use crate::entry::EntryScope;
use crate::entry_reader::unknown_key;
use crate::file_content::{self, FileContent};

impl Loader<'_> {
    pub(super) fn read_managed(&mut self, managed: &ManagedFile<'_>) {
        let source = ConfigSource {
            path: managed.path.to_owned(),
            scope: EntryScope::User,
            role: FileRole::Managed,
        };
        let found = file_content::read_owned(
            &self.discovery.world.on_disk(&source.path),
            &source.path,
            source.bytes_max(),
            managed.owner,
        );
        let unusable = match found {
            Ok(None) => return,
            Ok(Some(FileContent {
                text,
                has_mark: _,
                exposure: None,
            })) => {
                self.found.sources.push(source.path.clone());
                return self.read_managed_text(&source, &text);
            }
            Ok(Some(FileContent {
                exposure: Some(exposure),
                ..
            })) => format!("{exposure}; it counts only when no other user than root can write it"),
            Err(error) => error.problem(),
        };
        let finding = Diagnostic::of_file(&source.path, Severity::Error, unusable);
        self.note_unread_file(&source, &finding);
        self.found.diagnostics.push(finding);
    }

    fn read_managed_text(&mut self, source: &ConfigSource, text: &str) {
        let file = OpenFile::new(source, text);
        let read = match document::parse(text, source.syntax()) {
            Ok(root) => self.read_managed_sections(&file, &ConfigPlace::root(&root)),
            Err(error) => Err(error),
        };
        if let Err(error) = read {
            let finding = file.diagnostic(Severity::Error, error);
            self.note_unread_file(source, &finding);
            self.found.diagnostics.push(finding);
        }
    }

    fn read_managed_sections(
        &mut self,
        file: &OpenFile<'_>,
        root: &ConfigPlace<'_>,
    ) -> Result<(), ValueError> {
        let mut read = Ok(());
        for (key, place) in root.entries()? {
            let section = match key {
                "budget" => self.read_budgets(file, &place),
                "policy" => self.read_policy(file, &place),
                _ => Err(place.malformed_key(unknown_key(&["budget", "policy"], key))),
            };
            read = read.and(section);
        }
        read
    }
}
