//! The user's own configuration file, `~/.config/limbeck/config.toml`, as commands change it.
//!
//! A change keeps everything else in the file as it is, comments included. The new file replaces the old one at once
//! and only its owner can read it; a file that cannot be parsed, or that others could have written, is not changed.

mod classes;
mod client_files;
mod conversion;
mod import;
mod rule;
mod workspace;

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use limbeck_domain::ServerName;
use limbeck_domain::limits::{CONFIG_BYTES_MAX, SERVERS_MAX};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use crate::diagnostic::{ValueError, ValueErrorKind};
use crate::document::{self, ConfigPlace, Syntax};
use crate::entry::{EntryScope, ServerEntry};
use crate::entry_reader::{self, EntryDialect, EntryReader};
use crate::error::ConfigError;
use crate::file_content;
use crate::self_reference;
use crate::trust::create_directory;
use crate::variables::Variables;
use crate::world::World;

pub(crate) use conversion::own_table;
pub use import::{FoundServers, ImportFailure, ImportedEntry};
pub use rule::AllowedCalls;

/// Key of the table of servers.
const SERVERS: &str = "servers";

/// The user's own configuration file.
#[derive(Clone, Debug)]
pub struct OwnFile<'a> {
    world: &'a World,
    path: PathBuf,
}

/// How a new server is reached. References such as `${NAME}` and `env:NAME` are written as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewServer {
    /// A child process.
    Stdio {
        /// Program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its variables.
        env: Vec<(String, String)>,
        /// Its working directory.
        cwd: Option<String>,
    },
    /// A server at a url.
    Http {
        /// The url.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
    },
}

/// An entry as it is in the file now.
#[derive(Clone, Debug)]
pub struct WrittenServer {
    /// The entry as it is read at every start.
    pub entry: ServerEntry,
    /// What reading it reports, such as an unset variable that keeps the server from being used.
    pub warnings: Vec<String>,
}

/// Whether an entry of the same name is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays.
    Keep,
    /// It is replaced.
    Replace,
}

/// Error of changing the user's own file. The file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum OwnFileError {
    /// There is no home directory.
    #[error("there is no home directory for the configuration")]
    NoHome,
    /// The file cannot be read, or is not of the accepted form.
    #[error(transparent)]
    Unusable(#[from] ConfigError),
    /// The file is right and cannot be changed by a program.
    #[error("{} cannot be changed: {problem}", .file.display())]
    Refused {
        /// The file.
        file: PathBuf,
        /// Why, a fragment.
        problem: String,
    },
    /// The file cannot be written.
    #[error("{} cannot be written", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// Error of the system.
        #[source]
        error: io::Error,
    },
    /// An entry of this name exists.
    #[error("{} has a server `{name}` already", .file.display())]
    Exists {
        /// The file.
        file: PathBuf,
        /// The name.
        name: ServerName,
    },
    /// No entry has this name.
    #[error("{} has no server `{name}`", .file.display())]
    Missing {
        /// The file.
        file: PathBuf,
        /// The name.
        name: String,
    },
    /// The new entry is not of the accepted form.
    #[error("server `{name}`: {problem}")]
    Entry {
        /// The name.
        name: String,
        /// What is wrong, a fragment.
        problem: String,
    },
}

impl OwnFileError {
    /// Next step for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoHome => Some("set HOME or XDG_CONFIG_HOME".to_owned()),
            Self::Unusable(error) => Some(error.hint()),
            Self::Refused { file, .. } => Some(format!("edit {} by hand", file.display())),
            Self::Exists { .. } => Some("replace it with `--replace`".to_owned()),
            Self::Missing { .. } => {
                Some("run `limbeck tools` to see the file of each server".to_owned())
            }
            Self::Io { .. } | Self::Entry { .. } => None,
        }
    }
}

impl<'a> OwnFile<'a> {
    /// The file of the user of `world`, which need not exist.
    ///
    /// # Errors
    ///
    /// [`OwnFileError::NoHome`].
    pub fn of(world: &'a World) -> Result<Self, OwnFileError> {
        let directory = world.config_directory().ok_or(OwnFileError::NoHome)?;
        let path = directory.join("limbeck").join("config.toml");
        Ok(Self { world, path })
    }

    /// The file beside it into which setup moves servers.
    ///
    /// # Errors
    ///
    /// [`OwnFileError::NoHome`].
    pub fn imported(world: &'a World) -> Result<Self, OwnFileError> {
        let own = Self::of(world)?;
        Ok(Self {
            path: own.path.with_file_name("imported.toml"),
            ..own
        })
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a server. A relative working directory is one below that of the world, and is written as an absolute path.
    ///
    /// # Errors
    ///
    /// [`OwnFileError`]; the file is as it was.
    pub fn add(
        &self,
        name: &str,
        server: &NewServer,
        existing: Existing,
    ) -> Result<WrittenServer, OwnFileError> {
        let mut entry = server.table();
        if let NewServer::Stdio { cwd: Some(cwd), .. } = server {
            let cwd = workspace::absolute(&self.world.cwd, cwd);
            entry.insert("cwd", toml_edit::value(cwd));
        }
        let written = self.change(|document| {
            let servers = self.servers(document)?;
            if servers.contains_key(name) && existing == Existing::Keep {
                return Err(OwnFileError::Exists {
                    file: self.path.clone(),
                    name: ServerName::new(name),
                });
            }
            insert(servers, name, entry);
            Ok(vec![name.to_owned()])
        })?;
        let added = written.into_iter().next();
        added.ok_or_else(|| self.refused("its table of servers has another form"))
    }

    /// Removes a server. Comments above its entry stay.
    ///
    /// # Errors
    ///
    /// [`OwnFileError`]; the file is as it was.
    pub fn remove(&self, name: &str) -> Result<(), OwnFileError> {
        self.change(|document| {
            let servers = self.servers(document)?;
            let Some(removed) = servers.remove(name) else {
                return Err(OwnFileError::Missing {
                    file: self.path.clone(),
                    name: name.to_owned(),
                });
            };
            keep_comments(document, &removed);
            Ok(Vec::new())
        })
        .map(drop)
    }

    /// The table of servers, made when the file has no such table.
    fn servers<'d>(
        &self,
        document: &'d mut DocumentMut,
    ) -> Result<&'d mut dyn TableLike, OwnFileError> {
        let servers = document.entry(SERVERS).or_insert_with(|| {
            let mut table = Table::new();
            // No line of its own: only `[servers.NAME]` is written.
            table.set_implicit(true);
            Item::Table(table)
        });
        servers
            .as_table_like_mut()
            .ok_or_else(|| self.refused("`servers` is not a table"))
    }

    fn refused(&self, problem: impl Into<String>) -> OwnFileError {
        OwnFileError::Refused {
            file: self.path.clone(),
            problem: problem.into(),
        }
    }

    /// Changes the file under a lock. `change` returns the names of the entries that must be right afterwards, which are
    /// returned as they are read from now on.
    fn change(
        &self,
        change: impl FnOnce(&mut DocumentMut) -> Result<Vec<String>, OwnFileError>,
    ) -> Result<Vec<WrittenServer>, OwnFileError> {
        let failed = |error| OwnFileError::Io {
            file: self.path.clone(),
            error,
        };
        // Behind a link, as managers of configuration files make them, the file itself is replaced.
        let on_disk = self.world.on_disk(&self.path);
        let target = on_disk.canonicalize().unwrap_or(on_disk);
        let directory = target.parent().unwrap_or(Path::new("/"));
        create_directory(directory).map_err(failed)?;
        let _lock = lock(directory).map_err(failed)?;
        let before = self.read(&target)?;
        let mut document: DocumentMut = before
            .parse()
            .map_err(|_| self.refused("it cannot be parsed"))?;
        let names = change(&mut document)?;
        let after = document.to_string();
        let written = self.verify(&after, &names)?;
        write(&target, directory, &after).map_err(failed)?;
        Ok(written)
    }

    /// Content of the file; empty when it does not exist.
    fn read(&self, target: &Path) -> Result<String, OwnFileError> {
        let Some(content) = file_content::read_file(target, &self.path, CONFIG_BYTES_MAX)? else {
            return Ok(String::new());
        };
        if let Some(exposure) = content.exposure {
            return Err(self.refused(exposure));
        }
        // Also reports where it is wrong, which the editor's parser does in another way.
        self.parsed(&content.text)?;
        Ok(content.text)
    }

    fn parsed<'t>(&self, text: &'t str) -> Result<document::Node<'t>, OwnFileError> {
        document::parse(text, Syntax::Toml).map_err(|error| {
            let lines = document::LineIndex::new(text);
            let (line, column) = lines.position(error.at);
            OwnFileError::Unusable(ConfigError::Invalid {
                file: self.path.clone(),
                line,
                column,
                error: Box::new(error),
            })
        })
    }

    /// Checks that `text` is what the loader accepts, with the entries `names`, and returns them.
    fn verify(&self, text: &str, names: &[String]) -> Result<Vec<WrittenServer>, OwnFileError> {
        if text.len() > CONFIG_BYTES_MAX {
            return Err(self.refused(format!("it would be larger than {CONFIG_BYTES_MAX} bytes")));
        }
        let root = self.parsed(text)?;
        let root = ConfigPlace::root(&root);
        let servers = root.get(SERVERS).ok().flatten();
        let entries = servers.as_ref().and_then(|servers| servers.entries().ok());
        let entries = entries.unwrap_or_default();
        if entries.len() > SERVERS_MAX {
            return Err(self.refused(format!("it would have more than {SERVERS_MAX} servers")));
        }
        let mut written = Vec::new();
        for name in names {
            let wrong = |problem: String| OwnFileError::Entry {
                name: limbeck_domain::text::clean_line(name, 80),
                problem,
            };
            let Some((_, place)) = entries.iter().find(|(key, _)| key == name) else {
                return Err(self.refused("its table of servers has another form"));
            };
            let checked =
                entry_reader::server_name(name, place).map_err(|error| wrong(error.problem))?;
            let reader = EntryReader {
                dialect: EntryDialect::Limbeck,
                variables: Variables { world: self.world },
                scope: EntryScope::User,
                file: &self.path,
            };
            let parsed = reader.read(checked, place, 1);
            if self_reference::is_own_entry(self.world, &parsed.entry) {
                let problem =
                    "it is Limbeck itself, which is a server of your client and not one of its own";
                return Err(wrong(problem.to_owned()));
            }
            let mut warnings: Vec<String> = parsed.warnings.iter().map(explained).collect();
            if let Err(error) = &parsed.entry.definition {
                if is_wrong(error) {
                    return Err(wrong(error.to_string()));
                }
                warnings.push(explained(error));
            }
            written.push(WrittenServer {
                entry: parsed.entry,
                warnings,
            });
        }
        Ok(written)
    }
}

impl NewServer {
    fn table(&self) -> Table {
        let mut table = Table::new();
        match self {
            Self::Stdio {
                command,
                args,
                env,
                cwd,
            } => {
                table.insert("command", toml_edit::value(command));
                if !args.is_empty() {
                    let args: Array = args.iter().map(String::as_str).collect();
                    table.insert("args", toml_edit::value(args));
                }
                insert_pairs(&mut table, "env", env);
                if let Some(cwd) = cwd {
                    table.insert("cwd", toml_edit::value(cwd));
                }
            }
            Self::Http { url, headers } => {
                table.insert("url", toml_edit::value(url));
                insert_pairs(&mut table, "headers", headers);
            }
        }
        table
    }
}

fn insert_pairs(table: &mut Table, key: &str, pairs: &[(String, String)]) {
    if pairs.is_empty() {
        return;
    }
    let mut inline = InlineTable::new();
    for (name, value) in pairs {
        inline.insert(name, Value::from(value.as_str()));
    }
    table.insert(key, toml_edit::value(inline));
}

/// Inserts an entry in the form of the table: as `[servers.NAME]`, or inline.
fn insert(servers: &mut dyn TableLike, name: &str, entry: Table) {
    let item = if servers.is_empty() || servers.iter().any(|(_, item)| item.is_table()) {
        Item::Table(entry)
    } else {
        Item::Value(Value::InlineTable(entry.into_inline_table()))
    };
    match servers.get_mut(name) {
        // Comments above the old entry stay.
        Some(place) => {
            let decor = place.as_table().map(|table| table.decor().clone());
            *place = item;
            if let (Some(decor), Some(table)) = (decor, place.as_table_mut()) {
                *table.decor_mut() = decor;
            }
        }
        None => {
            servers.insert(name, item);
        }
    }
}

/// Moves the comments above a removed table to the table that followed it, or to the end of the file.
fn keep_comments(document: &mut DocumentMut, removed: &Item) {
    let Some(table) = removed.as_table() else {
        return;
    };
    let prefix = table.decor().prefix();
    let comments = prefix
        .and_then(|prefix| prefix.as_str())
        .unwrap_or_default();
    if !comments.contains('#') {
        return;
    }
    let comments = comments.to_owned();
    let after = table.position();
    match after.and_then(|after| following(document.as_table_mut(), after)) {
        Some(next) => {
            let prefix = next.decor().prefix();
            let own = prefix
                .and_then(|prefix| prefix.as_str())
                .unwrap_or_default();
            let joined = format!("{comments}{own}");
            next.decor_mut().set_prefix(joined);
        }
        None => {
            let trailing = document.trailing().as_str().unwrap_or_default();
            let joined = format!("{comments}{trailing}");
            document.set_trailing(joined);
        }
    }
}

/// The table with a line of its own that comes next after the position `after`.
fn following(root: &mut Table, after: isize) -> Option<&mut Table> {
    fn next_position(table: &Table, after: isize) -> Option<isize> {
        let own = table
            .position()
            .filter(|at| *at > after && !table.is_implicit());
        let below = table
            .iter()
            .filter_map(|(_, item)| next_position(item.as_table()?, after));
        own.into_iter().chain(below).min()
    }
    fn at_position(table: &mut Table, position: isize) -> Option<&mut Table> {
        if table.position() == Some(position) && !table.is_implicit() {
            return Some(table);
        }
        table
            .iter_mut()
            .find_map(|(_, item)| at_position(item.as_table_mut()?, position))
    }
    let position = next_position(root, after)?;
    at_position(root, position)
}

/// A finding with its next step, on one line.
fn explained(error: &ValueError) -> String {
    match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

/// Whether an entry is wrong in itself, and not for want of a variable that may be set later.
fn is_wrong(error: &ValueError) -> bool {
    error.kind != ValueErrorKind::Unusable || error.key.ends_with(".command")
}

/// Keeps other processes from changing the file meanwhile. The lock is on the directory: the file is replaced.
fn lock(directory: &Path) -> io::Result<Option<File>> {
    if cfg!(unix) {
        let file = File::open(directory)?;
        file.lock()?;
        Ok(Some(file))
    } else {
        Ok(None)
    }
}

fn write(target: &Path, directory: &Path, text: &str) -> io::Result<()> {
    // A temporary file has mode 0600 from its creation: the file may hold secrets.
    let mut fresh = tempfile::NamedTempFile::new_in(directory)?;
    fresh.write_all(text.as_bytes())?;
    fresh.as_file().sync_all()?;
    fresh.persist(target)?;
    Ok(())
}
