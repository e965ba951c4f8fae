//! Files of clients as they are now, and the servers in them.

use std::path::PathBuf;

use limbeck_domain::limits::{CONFIG_BYTES_MAX, SERVERS_MAX};
use toml_edit::Table;

use super::own_program::why_stale;
use super::table::{CLAUDE_CODE, Client, EntryForm, Form};
use crate::diagnostic::ValueError;
use crate::document::{self, ConfigPlace, LineIndex, Syntax};
use crate::entry::{EntryScope, ServerEntry, Transport};
use crate::entry_reader::{self, EntryDialect, EntryReader};
use crate::file_content;
use crate::load::CLIENT_STATE_BYTES_MAX;
use crate::own_file::own_table;
use crate::self_reference;
use crate::variables::Variables;
use crate::world::World;

/// One file of a client that exists, or that the user named the client of.
#[derive(Debug)]
pub(super) struct ClientFile {
    pub(super) client: &'static Client,
    /// Path in the world.
    pub(super) path: PathBuf,
    /// Its text without a byte order mark; `None` when there is no file.
    pub(super) text: Option<String>,
    /// Whether a byte order mark is before the text.
    pub(super) has_mark: bool,
    /// Its servers, or why the file cannot be read.
    pub(super) entries: Result<Vec<FoundEntry>, String>,
    /// Whether it is not used because other users could have written it.
    pub(super) is_exposed: bool,
    /// Servers that the file has for single projects.
    pub(super) of_projects: Vec<String>,
}

/// One entry of a file.
#[derive(Debug)]
pub(super) struct FoundEntry {
    pub(super) name: String,
    pub(super) kind: EntryKind,
}

/// What an entry is to Limbeck.
#[derive(Debug)]
pub(super) enum EntryKind {
    /// Limbeck itself.
    Own(OwnEntry),
    /// A gateway that came before Limbeck.
    Earlier(&'static str),
    /// A server.
    Server(Box<FoundServer>),
    /// It cannot be used, for this reason.
    Unusable(String),
}

/// An entry that is Limbeck, by its command or by its name.
#[derive(Clone, Debug)]
pub(super) struct OwnEntry {
    /// The program that it starts, when it starts one.
    pub(super) command: Option<PathBuf>,
    /// Whether that is Limbeck: an entry of the name may start something else.
    pub(super) is_started: bool,
    /// Why the program cannot be started, or soon cannot.
    pub(super) stale: Option<String>,
}

/// A server that can be moved.
#[derive(Debug)]
pub(super) struct FoundServer {
    /// The entry as it is read, with every reference replaced.
    pub(super) entry: ServerEntry,
    /// The entry in the form of Limbeck's own file, with its references as they are written.
    pub(super) table: Table,
}

impl ClientFile {
    /// Reads the file; `None` when it does not exist.
    pub(super) fn read(world: &World, client: &'static Client, path: PathBuf) -> Option<Self> {
        let bytes_max = if client.id == CLAUDE_CODE {
            CLIENT_STATE_BYTES_MAX
        } else {
            CONFIG_BYTES_MAX
        };
        let mut file = Self {
            client,
            path,
            text: None,
            has_mark: false,
            entries: Ok(Vec::new()),
            is_exposed: false,
            of_projects: Vec::new(),
        };
        match file_content::read_of_user(world, &file.path, bytes_max) {
            Ok(None) => return None,
            Err(error) => file.entries = Err(error.problem()),
            Ok(Some(content)) => {
                match content.exposure {
                    Some(exposure) => {
                        file.is_exposed = true;
                        file.entries = Err(exposure);
                    }
                    None => file.find(world, &content.text),
                }
                file.has_mark = content.has_mark;
                file.text = Some(content.text);
            }
        }
        Some(file)
    }

    /// A file with this text.
    pub(super) fn of_text(
        world: &World,
        client: &'static Client,
        path: PathBuf,
        text: String,
    ) -> Self {
        let mut file = Self::absent(client, path);
        file.find(world, &text);
        file.text = Some(text);
        file
    }

    /// A file that does not exist yet.
    pub(super) fn absent(client: &'static Client, path: PathBuf) -> Self {
        Self {
            client,
            path,
            text: None,
            has_mark: false,
            entries: Ok(Vec::new()),
            is_exposed: false,
            of_projects: Vec::new(),
        }
    }

    fn find(&mut self, world: &World, text: &str) {
        let form = self.client.form;
        if is_blank(text, form) {
            return;
        }
        let found = document::parse(text, form.syntax()).and_then(|root| {
            let root = ConfigPlace::root(&root);
            self.of_projects = of_projects(&root, self.client);
            self.entries_at(world, &root)
        });
        self.entries = found.map_err(|error| at_its_place(text, &error));
    }

    fn entries_at(
        &self,
        world: &World,
        root: &ConfigPlace<'_>,
    ) -> Result<Vec<FoundEntry>, ValueError> {
        let Some(servers) = self.client.form.servers(root)? else {
            return Ok(Vec::new());
        };
        let entries = servers.entries()?;
        if entries.len() > SERVERS_MAX {
            return Err(servers.malformed(format!("has more than {SERVERS_MAX} servers")));
        }
        let entry = |(name, place): (&str, ConfigPlace<'_>)| FoundEntry {
            name: name.to_owned(),
            kind: self.entry(world, name, &place),
        };
        Ok(entries.into_iter().map(entry).collect())
    }

    fn entry(&self, world: &World, name: &str, place: &ConfigPlace<'_>) -> EntryKind {
        let unusable = |error: ValueError| EntryKind::Unusable(error.to_string());
        match self.client.form.standard(place) {
            Ok(None) => self.read_entry(world, name, place, self.client.form.dialect()),
            Ok(Some(text)) => {
                // The text is of this program, so its places are of no use to the user.
                let parsed = document::parse(&text, Syntax::Json);
                let parsed = parsed.as_ref().ok().map(ConfigPlace::root);
                let entry = parsed.and_then(|root| root.get("entry").ok().flatten());
                match entry {
                    Some(entry) => self.read_entry(world, name, &entry, EntryDialect::Client),
                    None => EntryKind::Unusable("cannot be read".to_owned()),
                }
            }
            Err(error) => unusable(error),
        }
    }

    fn read_entry(
        &self,
        world: &World,
        name: &str,
        place: &ConfigPlace<'_>,
        dialect: EntryDialect,
    ) -> EntryKind {
        let checked = match entry_reader::server_name(name, place) {
            Ok(checked) => checked,
            Err(error) => return EntryKind::Unusable(error.to_string()),
        };
        let reader = EntryReader {
            dialect,
            variables: Variables { world },
            scope: EntryScope::User,
            file: &self.path,
        };
        let entry = reader.read(checked, place, 1).entry;
        if self_reference::is_own_entry(world, &entry) {
            return EntryKind::Own(own_entry(world, &entry));
        }
        match &entry.definition {
            Err(error) => EntryKind::Unusable(error.to_string()),
            Ok(transport) => {
                if let Transport::Stdio { command, args, .. } = transport
                    && let Some(name) = self_reference::earlier_gateway(command, args)
                {
                    return EntryKind::Earlier(name);
                }
                match own_table(dialect, place, &entry) {
                    Ok(table) => EntryKind::Server(Box::new(FoundServer { entry, table })),
                    Err(error) => EntryKind::Unusable(error.to_string()),
                }
            }
        }
    }

    /// Whether one of its entries is Limbeck.
    pub(super) fn has_own_entry(&self) -> bool {
        self.own_entry().is_some()
    }

    /// The first of its entries that is Limbeck, with its name.
    pub(super) fn own_entry(&self) -> Option<(&str, &OwnEntry)> {
        let entries = self.entries.as_deref().unwrap_or_default();
        entries.iter().find_map(|entry| match &entry.kind {
            EntryKind::Own(own) => Some((entry.name.as_str(), own)),
            _ => None,
        })
    }
}

fn own_entry(world: &World, entry: &ServerEntry) -> OwnEntry {
    let command = match &entry.definition {
        Ok(Transport::Stdio { command, .. }) => Some(command.clone()),
        Ok(Transport::Http { .. }) | Err(_) => None,
    };
    OwnEntry {
        is_started: self_reference::is_own_command(world, entry),
        stale: command.as_ref().and_then(|path| why_stale(world, path)),
        command,
    }
}

/// Whether a file has no value: it is empty, or has comments alone.
fn is_blank(text: &str, form: Form) -> bool {
    match form {
        Form::Json(_, EntryForm::Standard(_) | EntryForm::CommandList) => {
            document::parse_json_tree(text).is_ok_and(|root| root.is_none())
        }
        Form::Codex | Form::Toml | Form::Own => false,
    }
}

fn at_its_place(text: &str, error: &ValueError) -> String {
    let lines = LineIndex::new(text);
    let (line, column) = lines.position(error.at);
    match error.first_at {
        Some(first_at) => format!(
            "{line}:{column}: {error}, first on line {}",
            lines.line(first_at)
        ),
        None => format!("{line}:{column}: {error}"),
    }
}

/// `PROJECT: SERVER` for each server that the state of Claude Code has for one project.
fn of_projects(root: &ConfigPlace<'_>, client: &Client) -> Vec<String> {
    let mut found = Vec::new();
    if client.id != CLAUDE_CODE {
        return found;
    }
    let projects = root.get("projects").ok().flatten();
    let projects = projects.and_then(|projects| projects.entries().ok());
    for (_, project) in projects.unwrap_or_default() {
        let servers = project.get("mcpServers").ok().flatten();
        let servers = servers.and_then(|servers| servers.entries().ok());
        for (name, _) in servers.unwrap_or_default() {
            if found.len() < SERVERS_MAX {
                found.push(name.to_owned());
            }
        }
    }
    found
}
