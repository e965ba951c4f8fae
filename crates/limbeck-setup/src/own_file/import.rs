//! Import of another program's entries into the user's own file.
//!
//! What an entry says is copied as it is written: references such as `${NAME}` stay references, so that no secret of
//! the environment is written into a file.

use std::path::Path;

use limbeck_domain::limits::SERVERS_MAX;
use limbeck_domain::{ServerName, text};
use toml_edit::{DocumentMut, Item, Table};

use super::conversion::table;
use super::workspace::Workspace;
use super::{Existing, OwnFile, OwnFileError, explained, insert, is_wrong};
use crate::definition_text::DefinitionText;
use crate::diagnostic::ValueError;
use crate::document::{self, ConfigPlace, LineIndex, Syntax};
use crate::entry::{EntryScope, ServerEntry, Transport};
use crate::entry_reader::{self, EntryDialect, EntryReader};
use crate::error::ConfigError;
use crate::file_content;
use crate::load::{CLIENT_STATE_BYTES_MAX, client_servers};
use crate::self_reference;
use crate::variables::Variables;
use crate::world::World;

/// Longest directory of a project in a reason, in bytes.
const DIRECTORY_BYTES_MAX: usize = 120;

/// One entry of the imported file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedEntry {
    /// Name of the server.
    pub name: ServerName,
    /// Command or url, as a line for the user.
    pub target: String,
    /// The whole entry as its file has it.
    pub definition: DefinitionText,
    /// How the server is reached now; `None` when the entry cannot be used.
    pub transport: Option<Transport>,
    /// What reading the entry reports: keys that are not copied, and what keeps the server from being used now.
    pub warnings: Vec<String>,
    /// Working directory that is written because the entry is of a workspace and has no absolute one itself.
    pub cwd: Option<String>,
    /// Why it was not imported; `None` when it was.
    pub left_out: Option<ImportFailure>,
}

/// Why an entry was not imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportFailure {
    /// The file has a server of this name already.
    Exists {
        /// Whether that one is what would have been written.
        is_same: bool,
    },
    /// It is Limbeck itself, or a gateway that Limbeck replaces.
    Gateway,
    /// It is for one project alone, which the text names.
    OfProject(String),
    /// It cannot be used, for the reason given.
    Wrong(String),
}

/// The servers of a client's file, read once, so that what is imported is what was shown.
#[derive(Clone, Debug)]
pub struct FoundServers {
    found: Vec<(ImportedEntry, Option<Table>)>,
    workspace: Option<Workspace>,
}

impl FoundServers {
    /// The entries in the order of the file.
    pub fn entries(&self) -> impl Iterator<Item = &ImportedEntry> {
        self.found.iter().map(|(entry, _)| entry)
    }

    /// Directory of the project that the file belongs to; `None` for a file of the user.
    pub fn workspace(&self) -> Option<&Path> {
        self.workspace
            .as_ref()
            .map(|workspace| workspace.directory.as_path())
    }
}

impl OwnFile<'_> {
    /// Reads the servers of `file`, a configuration of any known client.
    ///
    /// # Errors
    ///
    /// [`OwnFileError::Unusable`].
    pub fn find_servers(&self, file: &Path) -> Result<FoundServers, OwnFileError> {
        let path = self.world.cwd.join(file);
        let read = file_content::read(self.world, &path, CLIENT_STATE_BYTES_MAX)?;
        let content = read.ok_or_else(|| ConfigError::Missing { file: path.clone() })?;
        let invalid = |error: ValueError| {
            let (line, column) = LineIndex::new(&content.text).position(error.at);
            ConfigError::Invalid {
                file: path.clone(),
                line,
                column,
                error: Box::new(error),
            }
        };
        let syntax = match path.extension() {
            Some(suffix) if suffix.eq_ignore_ascii_case("toml") => Syntax::Toml,
            _ => Syntax::Json,
        };
        let root = document::parse(&content.text, syntax).map_err(invalid)?;
        let root = ConfigPlace::root(&root);
        let mut of_projects = of_projects(&root, &path);
        let tables = match client_servers(&root, syntax) {
            // The state of a client whose servers are all for single projects.
            Err(_) if !of_projects.is_empty() => Vec::new(),
            tables => tables.map_err(invalid)?,
        };
        let workspace = Workspace::of(self.world, &path);
        let mut found = Vec::new();
        for (dialect, servers) in tables {
            for (key, place) in servers.entries().map_err(invalid)? {
                if found.len() >= SERVERS_MAX {
                    break;
                }
                let name = entry_reader::server_name(key, &place).map_err(invalid)?;
                found.push(self.converted(dialect, name, &place, &path, workspace.as_ref()));
            }
        }
        of_projects.truncate(SERVERS_MAX - found.len());
        found.extend(of_projects.into_iter().map(|entry| (entry, None)));
        Ok(FoundServers { found, workspace })
    }

    /// Copies servers of a client's file, and returns what was done with each. With `dry_run` nothing is written.
    ///
    /// # Errors
    ///
    /// [`OwnFileError`]; the file is as it was.
    pub fn import(
        &self,
        found: FoundServers,
        existing: Existing,
        dry_run: bool,
    ) -> Result<Vec<ImportedEntry>, OwnFileError> {
        let mut report = Vec::new();
        if dry_run {
            self.insert_all(&mut self.present()?, found.found, existing, &mut report)?;
        } else {
            self.change(|document| self.insert_all(document, found.found, existing, &mut report))?;
        }
        Ok(report)
    }

    /// The file as it is.
    fn present(&self) -> Result<DocumentMut, OwnFileError> {
        let text = self.read(&self.world.on_disk(&self.path))?;
        text.parse()
            .map_err(|_| self.refused("it cannot be parsed"))
    }

    fn insert_all(
        &self,
        document: &mut DocumentMut,
        found: Vec<(ImportedEntry, Option<Table>)>,
        existing: Existing,
        report: &mut Vec<ImportedEntry>,
    ) -> Result<Vec<String>, OwnFileError> {
        let mut names = Vec::new();
        for (mut imported, table) in found {
            if let Some(table) = table {
                let servers = self.servers(document)?;
                let name = imported.name.as_str();
                let present = servers
                    .get(name)
                    .filter(|_| existing == Existing::Keep)
                    .map(canonical);
                if let Some(present) = present {
                    let is_same = present.is_some() && present == canonical(&Item::Table(table));
                    imported.left_out = Some(ImportFailure::Exists { is_same });
                } else {
                    insert(servers, name, table);
                    names.push(name.to_owned());
                }
            }
            report.push(imported);
        }
        Ok(names)
    }

    fn converted(
        &self,
        dialect: EntryDialect,
        name: ServerName,
        place: &ConfigPlace<'_>,
        file: &Path,
        workspace: Option<&Workspace>,
    ) -> (ImportedEntry, Option<Table>) {
        let reader = EntryReader {
            dialect,
            variables: Variables { world: self.world },
            scope: match workspace {
                Some(workspace) => EntryScope::Project(workspace.directory.clone()),
                None => EntryScope::User,
            },
            file,
        };
        let parsed = reader.read(name.clone(), place, 1);
        let entry = parsed.entry;
        let definition = DefinitionText::read(file, &name, place);
        let mut warnings: Vec<String> = parsed.warnings.iter().map(explained).collect();
        let table = match (&entry.definition, definition.too_long) {
            // It could not be shown before the user accepts it.
            (_, Some(bytes)) if workspace.is_some() => {
                Err(format!("it has {bytes} bytes, too many to be shown"))
            }
            (Err(error), _) if is_wrong(error) => Err(error.to_string()),
            (Ok(_) | Err(_), _) => {
                table(dialect, place, &entry, workspace).map_err(|error| error.to_string())
            }
        };
        let left_out = match &table {
            _ if is_gateway(self.world, &entry) => Some(ImportFailure::Gateway),
            Ok(_) => None,
            Err(problem) => Some(ImportFailure::Wrong(problem.clone())),
        };
        let table = table.ok().filter(|_| left_out.is_none());
        if let (Some(_), Err(error)) = (&table, &entry.definition) {
            warnings.push(explained(error));
        }
        if table.is_some() {
            let is_required = place.get("required").ok().flatten();
            if is_required.is_some_and(|required| required.boolean().is_ok_and(|is| is)) {
                warnings.push(
                    "`required` is not copied: Limbeck starts without a server that fails"
                        .to_owned(),
                );
            }
            if entry.disabled {
                warnings
                    .push("it is switched off, and is copied with `disabled = true`".to_owned());
            }
        }
        let cwd = table.as_ref().filter(|_| workspace.is_some());
        let cwd = cwd.and_then(|table| table.get("cwd")?.as_str().map(str::to_owned));
        let imported = ImportedEntry {
            name,
            target: target(place),
            definition,
            transport: entry.definition.ok(),
            warnings,
            cwd,
            left_out,
        };
        (imported, table)
    }
}

fn target(place: &ConfigPlace<'_>) -> String {
    ["command", "url", "httpUrl", "serverUrl", "uri"]
        .iter()
        .find_map(|key| place.get(key).ok().flatten())
        .map(|place| place.escaped())
        .unwrap_or_default()
}

/// Servers that the state of a client has for single projects. They are not copied: each would start everywhere.
fn of_projects(root: &ConfigPlace<'_>, file: &Path) -> Vec<ImportedEntry> {
    let mut found = Vec::new();
    let Ok(Some(projects)) = root.get("projects") else {
        return found;
    };
    for (directory, project) in projects.entries().unwrap_or_default() {
        let servers = project.get("mcpServers").ok().flatten();
        let servers = servers.and_then(|servers| servers.entries().ok());
        for (key, place) in servers.unwrap_or_default() {
            if found.len() >= SERVERS_MAX {
                return found;
            }
            let Ok(name) = entry_reader::server_name(key, &place) else {
                continue;
            };
            let directory = text::clean_line(directory, DIRECTORY_BYTES_MAX);
            found.push(ImportedEntry {
                target: target(&place),
                definition: DefinitionText::read(file, &name, &place),
                name,
                transport: None,
                warnings: Vec::new(),
                cwd: None,
                left_out: Some(ImportFailure::OfProject(directory)),
            });
        }
    }
    found
}

/// An entry of the user's own file in a form that two entries share when they say the same.
fn canonical(item: &Item) -> Option<String> {
    let mut alone = DocumentMut::new();
    alone.insert("entry", item.clone());
    let text = alone.to_string();
    let root = document::parse(&text, Syntax::Toml).ok()?;
    let entry = ConfigPlace::root(&root).get("entry").ok()??;
    Some(entry.canonical())
}

fn is_gateway(world: &World, entry: &ServerEntry) -> bool {
    let starts_gateway = match &entry.definition {
        Ok(Transport::Stdio { command, args, .. }) => {
            self_reference::earlier_gateway(command, args).is_some()
        }
        Ok(Transport::Http { .. }) | Err(_) => false,
    };
    starts_gateway || self_reference::is_own_entry(world, entry)
}
