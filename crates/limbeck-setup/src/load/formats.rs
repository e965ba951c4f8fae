//! Layouts of the files: where servers, settings and approvals are in each.

use std::path::PathBuf;

use limbeck_domain::limits::SERVERS_MAX;

use super::client_approvals::names_in;
use super::open_file::OpenFile;
use super::sources::FileRole;
use super::{LoadError, Loader};
use crate::diagnostic::{Severity, ValueError};
use crate::document::{ConfigPlace, Syntax};
use crate::entry::EntryScope;
use crate::entry_reader::{self, EntryDialect, EntryReader};

/// Keys under which clients keep their servers.
const SERVER_KEYS: &[&str] = &[
    "mcpServers",      // most clients
    "servers",         // VS Code
    "context_servers", // Zed
    "amp.mcpServers",  // Amp; the dot is part of the key
];
/// Keys at the top level of `limbeck.toml`.
const LIMBECK_KEYS: &[&str] = &[
    "audit",
    "budget",
    "limits",
    "llm",
    "notify",
    "observe",
    "policy",
    "redaction",
    "retention",
    "sandbox",
    "search",
    "serve",
    "servers",
];

/// The tables of servers in a file of any known client, each with the form of its entries.
///
/// # Errors
///
/// When the file has no such table.
pub(crate) fn client_servers<'d>(
    root: &ConfigPlace<'d>,
    syntax: Syntax,
) -> Result<Vec<(EntryDialect, ConfigPlace<'d>)>, ValueError> {
    let mut tables = Vec::new();
    match syntax {
        Syntax::Json => {
            for key in SERVER_KEYS {
                if let Some(servers) = root.get(key)? {
                    tables.push((EntryDialect::Client, servers));
                }
            }
            // VS Code's `settings.json`.
            if let Some(mcp) = root.get("mcp")?
                && let Ok(Some(servers)) = mcp.get("servers")
            {
                tables.push((EntryDialect::Client, servers));
            }
        }
        Syntax::Toml => {
            if let Some(servers) = root.get("mcp_servers")? {
                tables.push((EntryDialect::Codex, servers));
            } else if let Some(servers) = root.get("servers")? {
                tables.push((EntryDialect::Limbeck, servers));
            }
        }
    }
    if tables.is_empty() {
        return Err(root.malformed("expected an object with `mcpServers`"));
    }
    Ok(tables)
}

impl Loader<'_> {
    /// Reads a JSON file of any client: servers under one of the known keys.
    pub(super) fn read_client_file(
        &mut self,
        file: &OpenFile<'_>,
        root: &ConfigPlace<'_>,
    ) -> Result<(), LoadError> {
        for (dialect, servers) in client_servers(root, Syntax::Json)? {
            let scope = file.source.scope.clone();
            self.read_servers(file, &servers, dialect, &scope)?;
        }
        Ok(())
    }

    /// Reads `~/.claude.json`: the servers for every project, then those of the nearest project around `cwd`.
    pub(super) fn read_claude_state(
        &mut self,
        file: &OpenFile<'_>,
        root: &ConfigPlace<'_>,
    ) -> Result<(), LoadError> {
        let project = self.nearest_project(root)?;
        // Before the servers, which the client's switches are about.
        if let Some((directory, project)) = &project {
            if let Some(names) = project.get("disabledMcpjsonServers")? {
                self.client.rejected = names_in(&names);
            }
            if let Some(names) = project.get("disabledMcpServers")? {
                self.client.disabled = names_in(&names);
            }
            // An approval in a parent directory does not cover repositories checked out below it.
            if *directory == self.discovery.world.cwd
                && let Some(names) = project.get("enabledMcpjsonServers")?
            {
                self.client.approved = names_in(&names);
            }
        }
        if let Some(servers) = root.get("mcpServers")? {
            self.read_servers(file, &servers, EntryDialect::Client, &EntryScope::User)?;
        }
        if let Some((directory, project)) = project
            && let Some(servers) = project.get("mcpServers")?
        {
            let scope = EntryScope::Project(directory);
            self.read_servers(file, &servers, EntryDialect::Client, &scope)?;
        }
        Ok(())
    }

    /// The state of the nearest project around the working directory, with its directory.
    fn nearest_project<'d>(
        &self,
        root: &ConfigPlace<'d>,
    ) -> Result<Option<(PathBuf, ConfigPlace<'d>)>, LoadError> {
        let Some(projects) = root.get("projects")? else {
            return Ok(None);
        };
        for directory in self.discovery.world.cwd.ancestors() {
            if let Some(project) = projects.get(&directory.to_string_lossy())? {
                return Ok(Some((directory.to_owned(), project)));
            }
        }
        Ok(None)
    }

    /// Reads `limbeck.toml`, or Codex's file where one was named.
    pub(super) fn read_toml(
        &mut self,
        file: &OpenFile<'_>,
        root: &ConfigPlace<'_>,
    ) -> Result<(), LoadError> {
        let scope = file.source.scope.clone();
        if matches!(file.source.role, FileRole::Named | FileRole::Earlier)
            && let Some(servers) = root.get("mcp_servers")?
        {
            return self.read_servers(file, &servers, EntryDialect::Codex, &scope);
        }
        for (key, place) in root.entries()? {
            let read = match key {
                "budget" => self.read_budgets(file, &place).map_err(LoadError::Value),
                "servers" => self.read_servers(file, &place, EntryDialect::Limbeck, &scope),
                "observe" => self.read_observe(file, &place).map_err(LoadError::Value),
                "limits" => self.read_limits(file, &place).map_err(LoadError::Value),
                "llm" => self.read_llm(file, &place).map_err(LoadError::Value),
                "audit" => self.read_audit(file, &place).map_err(LoadError::Value),
                "redaction" => self.read_redaction(file, &place).map_err(LoadError::Value),
                "retention" => self.read_retention(file, &place).map_err(LoadError::Value),
                "notify" => self.read_notify(file, &place).map_err(LoadError::Value),
                "policy" => self.read_policy(file, &place).map_err(LoadError::Value),
                "sandbox" => self.read_sandbox(file, &place).map_err(LoadError::Value),
                "search" => self.read_search(file, &place).map_err(LoadError::Value),
                "serve" => self.read_serve(file, &place).map_err(LoadError::Value),
                _ => {
                    let problem = entry_reader::unknown_key(LIMBECK_KEYS, key);
                    Err(LoadError::Value(place.malformed_key(problem)))
                }
            };
            // In a discovered file, a wrong section does not affect the others.
            match read {
                Ok(()) => {}
                Err(LoadError::Value(error)) => self.reject(file, error)?,
                Err(LoadError::Fatal(error)) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn read_servers(
        &mut self,
        file: &OpenFile<'_>,
        place: &ConfigPlace<'_>,
        dialect: EntryDialect,
        scope: &EntryScope,
    ) -> Result<(), LoadError> {
        let entries = place.entries()?;
        let count = entries.len();
        // One more than there may be, so that the maximum is reported.
        for (key, place) in entries.into_iter().take(SERVERS_MAX + 1) {
            let name = match entry_reader::server_name(key, &place) {
                Ok(name) => name,
                Err(error) => {
                    self.reject(file, error)?;
                    continue;
                }
            };
            let reader = EntryReader {
                dialect,
                variables: self.variables,
                scope: scope.clone(),
                file: &file.source.path,
            };
            let parsed = reader.read(name, &place, file.line(&place));
            for warning in parsed.warnings {
                self.report(file, Severity::Warning, warning);
            }
            self.add_entry(file, &place, parsed.entry)?;
        }
        if count > SERVERS_MAX + 1 {
            let problem = format!("has {count} servers, of which the first {SERVERS_MAX} are read");
            self.reject(file, place.malformed_key(problem))?;
        }
        Ok(())
    }
}
