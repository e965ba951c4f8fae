//! Loading: finds the files, reads them in order and merges their entries.

mod budgets;
mod client_approvals;
pub(crate) mod earlier_systems;
mod embeddings;
mod formats;
mod governance;
mod llm;
mod managed;
mod merge;
mod notify;
mod open_file;
mod policy;
mod settings;
mod sources;

use std::path::PathBuf;

use crate::configuration::{Configuration, Discovery};
use crate::diagnostic::{Diagnostic, Severity, ValueError};
use crate::document::{self, ConfigPlace, Syntax};
use crate::error::ConfigError;
use crate::file_content;
use crate::variables::Variables;
use client_approvals::ClientApprovals;
pub(crate) use formats::client_servers;
pub(crate) use llm::FORM as LLM_FORM;
use open_file::OpenFile;
pub(crate) use sources::CLIENT_STATE_BYTES_MAX;
use sources::{ConfigSource, FileRole};

/// Reads every file in [`Discovery`] and merges them.
///
/// # Errors
///
/// [`ConfigError`] for a file of [`Discovery::config_files`] that is missing, unreadable or wrong. Discovered
/// files cause diagnostics, never errors.
pub fn load(discovery: &Discovery<'_>) -> Result<Configuration, ConfigError> {
    let mut loader = Loader {
        discovery,
        variables: Variables {
            world: discovery.world,
        },
        found: Configuration::default(),
        client: ClientApprovals::default(),
    };
    // First, so that a user's rule which repeats an id of it is the one that is wrong.
    if let Some(managed) = &discovery.managed {
        loader.read_managed(managed);
    }
    for source in sources::sources(discovery) {
        loader.read_source(&source)?;
    }
    if discovery.discover {
        loader.report_earlier_systems();
    }
    let mut found = loader.found;
    // Those that wait for trust too: they may be accepted while the policy is in force.
    let servers = found.servers.iter().chain(&found.held_back);
    found.settings.policy.servers = servers.map(|entry| entry.name.clone()).collect();
    Ok(found)
}

/// Files that [`load`] looks for, weakest first, as paths of the real file system. Those that do not exist are among them.
pub fn files(discovery: &Discovery<'_>) -> Vec<PathBuf> {
    let sources = sources::sources(discovery).into_iter();
    let on_disk = sources.map(|source| discovery.world.on_disk(&source.path));
    let managed = discovery.managed.as_ref();
    let managed = managed.map(|file| discovery.world.on_disk(file.path));
    on_disk.chain(managed).collect()
}

/// State of one call of [`load`].
struct Loader<'a> {
    discovery: &'a Discovery<'a>,
    variables: Variables<'a>,
    found: Configuration,
    /// Read from `~/.claude.json`, which comes before the `.mcp.json` it is about.
    client: ClientApprovals,
}

impl Loader<'_> {
    fn read_source(&mut self, source: &ConfigSource) -> Result<(), ConfigError> {
        let world = self.discovery.world;
        let read = match source.is_started_unasked() {
            true => file_content::read_of_user,
            false => file_content::read,
        };
        let content = match read(world, &source.path, source.bytes_max()) {
            Ok(Some(content)) => content,
            Ok(None) if source.role == FileRole::Named => {
                return Err(ConfigError::Missing {
                    file: source.path.clone(),
                });
            }
            Ok(None) => return Ok(()),
            Err(error) if source.role == FileRole::Named => return Err(error),
            Err(error) => {
                let finding = Diagnostic::of_file(&source.path, Severity::Error, error.problem());
                self.note_unread_file(source, &finding);
                self.found.diagnostics.push(finding);
                return Ok(());
            }
        };
        if !self.found.sources.contains(&source.path) {
            self.found.sources.push(source.path.clone());
        }
        if let Some(exposure) = &content.exposure
            && !self.accepts_exposed(source, exposure)
        {
            let finding = Diagnostic::of_file(&source.path, Severity::Error, exposure.clone());
            self.note_unread_policy(source, &content.text, &finding);
            return Ok(());
        }
        let file = OpenFile::new(source, &content.text);
        let syntax = source.syntax();
        let read = match document::parse(&content.text, syntax) {
            Ok(root) => self.read_document(&file, &ConfigPlace::root(&root), syntax),
            Err(error) => {
                let error = source.explained(error);
                let finding = file.diagnostic(Severity::Error, error.clone());
                self.note_unread_policy(source, &content.text, &finding);
                self.reject(&file, error)
            }
        };
        self.found.diagnostics.extend(file.remaining_findings());
        read
    }

    /// Whether to use a file that other users could have written: only when it was named.
    fn accepts_exposed(&mut self, source: &ConfigSource, exposure: &str) -> bool {
        let is_named = source.role == FileRole::Named;
        let (severity, consequence) = if is_named {
            (Severity::Warning, "it is used because it was named")
        } else {
            (
                Severity::Error,
                "it is ignored; name it with `--config` to use it",
            )
        };
        self.report_file(source, severity, format!("{exposure}; {consequence}"));
        is_named
    }

    fn read_document(
        &mut self,
        file: &OpenFile<'_>,
        root: &ConfigPlace<'_>,
        syntax: Syntax,
    ) -> Result<(), ConfigError> {
        let read = match (file.source.role, syntax) {
            (FileRole::ClaudeState, _) => self.read_claude_state(file, root),
            (FileRole::Limbeck | FileRole::Managed, _) | (_, Syntax::Toml) => {
                self.read_toml(file, root)
            }
            (FileRole::Repository | FileRole::Earlier | FileRole::Named, Syntax::Json) => {
                self.read_client_file(file, root)
            }
        };
        match read {
            Ok(()) => Ok(()),
            Err(LoadError::Value(error)) => self.reject(file, error),
            Err(LoadError::Fatal(error)) => Err(error),
        }
    }

    /// Handles an error of a file or section: it ends loading for a named file and is reported for a
    /// discovered one.
    fn reject(&mut self, file: &OpenFile<'_>, error: ValueError) -> Result<(), ConfigError> {
        if file.source.role == FileRole::Named {
            return Err(file.error(error));
        }
        self.report(file, Severity::Error, error);
        Ok(())
    }

    fn report(&mut self, file: &OpenFile<'_>, severity: Severity, error: ValueError) {
        if file.may_report(severity) {
            self.found
                .diagnostics
                .push(file.diagnostic(severity, error));
        }
    }

    fn report_file(&mut self, source: &ConfigSource, severity: Severity, message: String) {
        let finding = Diagnostic::of_file(&source.path, severity, message);
        self.found.diagnostics.push(finding);
    }
}

/// Error that ends the reading of a section or file.
enum LoadError {
    /// A value is wrong; the role of the file decides about the consequence.
    Value(ValueError),
    /// Loading ends.
    Fatal(ConfigError),
}

impl From<ValueError> for LoadError {
    fn from(error: ValueError) -> Self {
        Self::Value(error)
    }
}

impl From<ConfigError> for LoadError {
    fn from(error: ConfigError) -> Self {
        Self::Fatal(error)
    }
}
