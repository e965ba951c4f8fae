//! Finds the files, reads them in order and merges what they say.

mod embeddings;
mod settings;

use std::path::PathBuf;

use limbeck_domain::ServerName;
use limbeck_domain::limits::{CONFIG_BYTES_MAX, SERVERS_MAX};

use crate::document::{self, Lines, Place, Syntax};
use crate::entry::{Origin, Scope, ServerEntry, Transport};
use crate::error::{ConfigError, Fault, Level, Note, Weight};
use crate::expand::Variables;
use crate::server::{self, Dialect, Reader};
use crate::written::Written;
use crate::{Configuration, Discovery, file, own};

/// `~/.claude.json` is also the client's own memory of every project and grows with it.
const CLIENT_STATE_BYTES_MAX: usize = 64 << 20;
/// Keys under which files keep their servers, and who writes them so.
const SERVER_KEYS: &[&str] = &[
    "mcpServers",      // most clients
    "servers",         // VS Code
    "context_servers", // Zed
    "amp.mcpServers",  // Amp, literally
];
/// Top level of `limbeck.toml`.
const OUR_KEYS: &[&str] = &["limits", "observe", "sandbox", "search", "servers"];

/// One file to read.
struct Source {
    path: PathBuf,
    scope: Scope,
    role: Role,
}

/// What a file is expected to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// `~/.claude.json`.
    ClaudeState,
    /// `.mcp.json`.
    Repository,
    /// `limbeck.toml` and `config.toml`.
    Ours,
    /// Named on the command line; its content tells.
    Given,
}

/// See [`crate::load`].
pub(crate) fn load(discovery: &Discovery<'_>) -> Result<Configuration, ConfigError> {
    let mut loader = Loader {
        discovery,
        variables: Variables {
            env: discovery.env,
            cwd: discovery.cwd,
            home: discovery.home,
        },
        found: Configuration::default(),
        client: ClientWord::default(),
    };
    for source in sources(discovery) {
        loader.source(&source)?;
    }
    Ok(loader.found)
}

/// The files, weakest first.
fn sources(discovery: &Discovery<'_>) -> Vec<Source> {
    let mut sources = Vec::new();
    let mut add = |path: PathBuf, scope, role| sources.push(Source { path, scope, role });
    if discovery.discover {
        if let Some(home) = discovery.home {
            add(home.join(".claude.json"), Scope::User, Role::ClaudeState);
        }
        add(
            discovery.cwd.join(".mcp.json"),
            Scope::Repository,
            Role::Repository,
        );
        let config_home = (discovery.env)("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| Some(discovery.home?.join(".config")));
        if let Some(config_home) = config_home {
            let path = config_home.join("limbeck").join("config.toml");
            add(path, Scope::User, Role::Ours);
        }
        add(
            discovery.cwd.join("limbeck.toml"),
            Scope::Repository,
            Role::Ours,
        );
    }
    for path in discovery.config_files {
        // Kept as given, for messages; relative names are relative to where we are.
        add(discovery.cwd.join(path), Scope::Given, Role::Given);
    }
    sources
}

struct Loader<'a> {
    discovery: &'a Discovery<'a>,
    variables: Variables<'a>,
    found: Configuration,
    client: ClientWord,
}

/// What the client's user said to it about servers of `.mcp.json`, by name.
#[derive(Default)]
struct ClientWord {
    /// Turned down, for a directory around ours.
    rejected: Vec<String>,
    /// Accepted, for exactly our directory.
    accepted: Vec<String>,
}

impl ClientWord {
    fn has_rejected(&self, name: &ServerName) -> bool {
        self.rejected
            .iter()
            .any(|rejected| rejected == name.as_str())
    }

    fn has_accepted(&self, name: &ServerName) -> bool {
        self.accepted
            .iter()
            .any(|accepted| accepted == name.as_str())
    }
}

/// A file being read: where faults go.
struct Open<'a> {
    source: &'a Source,
    lines: Lines<'a>,
}

impl Open<'_> {
    fn error(&self, fault: Fault) -> ConfigError {
        let (line, column) = self.lines.position(fault.at);
        ConfigError::Invalid {
            file: self.source.path.clone(),
            line,
            column,
            fault: Box::new(self.told(fault)),
        }
    }

    fn note(&self, level: Level, fault: Fault) -> Note {
        Note {
            level,
            file: self.source.path.clone(),
            at: Some(self.lines.position(fault.at)),
            message: self.told(fault).to_string(),
        }
    }

    fn origin(&self, place: &Place<'_>) -> Origin {
        Origin {
            file: self.source.path.clone(),
            line: self.lines.position(place.at).0,
            scope: self.source.scope.clone(),
        }
    }

    /// Names the other place by its line, now that lines are known.
    fn told(&self, mut fault: Fault) -> Fault {
        if let Some(also) = fault.also.take() {
            let (line, _) = self.lines.position(also);
            fault.problem = format!("{}, first on line {line}", fault.problem);
        }
        fault
    }
}

impl Loader<'_> {
    fn source(&mut self, source: &Source) -> Result<(), ConfigError> {
        let bytes_max = match source.role {
            Role::ClaudeState => CLIENT_STATE_BYTES_MAX,
            Role::Repository | Role::Ours | Role::Given => CONFIG_BYTES_MAX,
        };
        let content = match file::read(&source.path, bytes_max) {
            Ok(Some(content)) => content,
            Ok(None) if source.role == Role::Given => {
                return Err(ConfigError::Missing {
                    file: source.path.clone(),
                });
            }
            Ok(None) => return Ok(()),
            Err(error) if source.role == Role::Given => return Err(error),
            Err(error) => {
                self.about(source, Level::Error, error.problem());
                return Ok(());
            }
        };
        if !self.found.sources.contains(&source.path) {
            self.found.sources.push(source.path.clone());
        }
        if let Some(exposed) = &content.exposed
            && !self.accepts(source, exposed)
        {
            return Ok(());
        }
        let open = Open {
            source,
            lines: Lines::new(&content.text),
        };
        let syntax = match source.path.extension() {
            Some(suffix) if suffix.eq_ignore_ascii_case("toml") => Syntax::Toml,
            _ => Syntax::Json,
        };
        match document::parse(&content.text, syntax) {
            Ok(root) => self.document(&open, &Place::root(&root), syntax),
            Err(fault) => self.fault(&open, fault),
        }
    }

    /// Whether a file that others could have written counts: only if somebody asked for it by name.
    fn accepts(&mut self, source: &Source, exposed: &str) -> bool {
        let given = source.role == Role::Given;
        let (level, consequence) = if given {
            (Level::Warning, "it is used because it was named")
        } else {
            (
                Level::Error,
                "it is not used; name it with `--config` to use it",
            )
        };
        self.about(source, level, format!("{exposed}; {consequence}"));
        given
    }

    fn about(&mut self, source: &Source, level: Level, message: String) {
        self.found.notes.push(Note {
            level,
            file: source.path.clone(),
            at: None,
            message,
        });
    }

    /// What is wrong with a file: the end where it was named, a note where it was found.
    fn fault(&mut self, open: &Open<'_>, fault: Fault) -> Result<(), ConfigError> {
        if open.source.role == Role::Given {
            return Err(open.error(fault));
        }
        self.found.notes.push(open.note(Level::Error, fault));
        Ok(())
    }

    fn document(
        &mut self,
        open: &Open<'_>,
        root: &Place<'_>,
        syntax: Syntax,
    ) -> Result<(), ConfigError> {
        let read = match (open.source.role, syntax) {
            (Role::ClaudeState, _) => self.claude_state(open, root),
            (Role::Ours, _) | (_, Syntax::Toml) => self.toml(open, root),
            (Role::Repository | Role::Given, Syntax::Json) => self.client(open, root),
        };
        match read {
            Ok(()) => Ok(()),
            Err(Stop::Fault(fault)) => self.fault(open, fault),
            Err(Stop::Fatal(error)) => Err(error),
        }
    }

    /// A file of any client: servers under one of the known keys.
    fn client(&mut self, open: &Open<'_>, root: &Place<'_>) -> Result<(), Stop> {
        let mut any = false;
        for key in SERVER_KEYS {
            if let Some(servers) = root.get(key)? {
                any = true;
                let scope = open.source.scope.clone();
                self.servers(open, &servers, Dialect::Client, &scope)?;
            }
        }
        if any {
            Ok(())
        } else {
            Err(root.fault("expected an object with `mcpServers`").into())
        }
    }

    /// `~/.claude.json`: servers for everything, then those of the nearest project around us.
    fn claude_state(&mut self, open: &Open<'_>, root: &Place<'_>) -> Result<(), Stop> {
        if let Some(servers) = root.get("mcpServers")? {
            self.servers(open, &servers, Dialect::Client, &Scope::User)?;
        }
        let Some(projects) = root.get("projects")? else {
            return Ok(());
        };
        for directory in self.discovery.cwd.ancestors() {
            let Some(project) = projects.get(&directory.to_string_lossy())? else {
                continue;
            };
            if let Some(names) = project.get("disabledMcpjsonServers")? {
                self.client.rejected = names_in(&names);
            }
            // What was accepted above does not hold for whatever is checked out below.
            if directory == self.discovery.cwd
                && let Some(names) = project.get("enabledMcpjsonServers")?
            {
                self.client.accepted = names_in(&names);
            }
            if let Some(servers) = project.get("mcpServers")? {
                let scope = Scope::Project(directory.to_owned());
                self.servers(open, &servers, Dialect::Client, &scope)?;
            }
            break;
        }
        Ok(())
    }

    /// `limbeck.toml`, or Codex's file where one was named.
    fn toml(&mut self, open: &Open<'_>, root: &Place<'_>) -> Result<(), Stop> {
        let scope = open.source.scope.clone();
        if open.source.role == Role::Given
            && let Some(servers) = root.get("mcp_servers")?
        {
            return self.servers(open, &servers, Dialect::Codex, &scope);
        }
        for (key, place) in root.entries()? {
            let read = match key {
                "servers" => self.servers(open, &place, Dialect::Ours, &scope),
                "observe" => self.observe(open, &place).map_err(Stop::Fault),
                "limits" => self.limits(open, &place).map_err(Stop::Fault),
                "sandbox" => self.sandbox(open, &place).map_err(Stop::Fault),
                "search" => self.search(open, &place).map_err(Stop::Fault),
                _ => Err(Stop::Fault(Fault {
                    at: place.at,
                    ..place.fault(server::unknown_key(OUR_KEYS, key))
                })),
            };
            // One bad section of a file that was found leaves the others standing.
            match read {
                Ok(()) => {}
                Err(Stop::Fault(fault)) => self.fault(open, fault)?,
                Err(Stop::Fatal(error)) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn servers(
        &mut self,
        open: &Open<'_>,
        place: &Place<'_>,
        dialect: Dialect,
        scope: &Scope,
    ) -> Result<(), Stop> {
        for (key, place) in place.entries()? {
            let name = match server::name(key, &place) {
                Ok(name) => name,
                Err(fault) => {
                    self.fault(open, fault)?;
                    continue;
                }
            };
            let reader = Reader {
                dialect,
                variables: &self.variables,
                scope: scope.clone(),
                file: &open.source.path,
            };
            let read = reader.read(name, &place, open.lines.position(place.at).0);
            for warning in read.warnings {
                self.found.notes.push(open.note(Level::Warning, warning));
            }
            self.add(open, &place, read.entry)?;
        }
        Ok(())
    }

    /// Takes an entry in, unless it is ourselves.
    fn add(
        &mut self,
        open: &Open<'_>,
        place: &Place<'_>,
        mut entry: ServerEntry,
    ) -> Result<(), ConfigError> {
        if self.is_ours(&entry) {
            let told = place.fault("is Limbeck itself and is skipped");
            self.found.notes.push(open.note(Level::Info, told));
            return Ok(());
        }
        if let Err(fault) = entry.definition {
            let fault = open.told(fault);
            if fault.weight == Weight::Malformed && open.source.role == Role::Given {
                return Err(open.error(fault));
            }
            let level = if entry.disabled {
                Level::Info
            } else {
                Level::Error
            };
            self.found.notes.push(open.note(level, fault.clone()));
            entry.definition = Err(fault);
        }
        let of_client = open.source.role == Role::Repository;
        if of_client && self.client.has_rejected(&entry.name) {
            entry.disabled = true;
            let told = place.fault("is disabled because the user turned it down in the client");
            self.found.notes.push(open.note(Level::Info, told));
        }
        if entry.origin.scope == Scope::Repository {
            entry.written = Some(Written::read(&entry.origin.file, &entry.name, place));
        }
        let by_client = of_client && self.client.has_accepted(&entry.name);
        entry.trust = self.discovery.trusting.judge(&entry, by_client);
        self.merge(open, place, entry)
    }

    fn is_ours(&self, entry: &ServerEntry) -> bool {
        own::has_our_name(entry.name.as_str())
            || match &entry.definition {
                Ok(Transport::Stdio {
                    command,
                    args,
                    env,
                    cwd,
                }) => {
                    let cwd = cwd.as_deref().unwrap_or(self.discovery.cwd);
                    let start = own::Start {
                        command,
                        args,
                        env,
                        cwd,
                    };
                    own::starts_us(&start, self.discovery.self_exe)
                }
                Ok(Transport::Http { .. }) | Err(_) => false,
            }
    }

    /// Of two entries by one name the later counts.
    fn merge(
        &mut self,
        open: &Open<'_>,
        place: &Place<'_>,
        entry: ServerEntry,
    ) -> Result<(), ConfigError> {
        let at_key = |problem: String| Fault {
            at: place.at,
            ..place.fault(problem)
        };
        let same = |other: &&mut ServerEntry| other.name == entry.name;
        if let Some(earlier) = self.found.servers.iter_mut().find(same) {
            if entry.is_held_back() && !earlier.is_held_back() {
                if earlier.definition != entry.definition {
                    let problem = format!("waits for trust, and {} stays in use", earlier.origin);
                    self.found
                        .notes
                        .push(open.note(Level::Warning, at_key(problem)));
                    self.found.held_back.push(entry);
                }
                return Ok(());
            }
            if earlier.definition != entry.definition {
                let level = match open.source.role {
                    Role::Given => Level::Info,
                    Role::ClaudeState | Role::Repository | Role::Ours => Level::Warning,
                };
                let told = at_key(format!("replaces the one in {}", earlier.origin));
                self.found.notes.push(open.note(level, told));
            }
            *earlier = entry;
            return Ok(());
        }
        if self.found.servers.len() >= SERVERS_MAX {
            let fault = at_key(format!(
                "is more than the {SERVERS_MAX} servers there may be"
            ));
            return self.fault(open, fault);
        }
        let name = entry.name.as_str();
        let alike = |other: &&ServerEntry| other.name.as_str().eq_ignore_ascii_case(name);
        if let Some(other) = self.found.servers.iter().find(alike) {
            let told = at_key(format!(
                "differs only in capitals from `{}` in {}",
                other.name, other.origin
            ));
            self.found.notes.push(open.note(Level::Warning, told));
        }
        if name.contains("__") {
            let told = at_key("has `__`, which full tool names use as a separator".to_owned());
            self.found.notes.push(open.note(Level::Info, told));
        }
        self.found.servers.push(entry);
        Ok(())
    }
}

/// Why a section or file was not read to its end.
enum Stop {
    /// Something in it is wrong; what that means depends on whether the file was named.
    Fault(Fault),
    /// Loading ends.
    Fatal(ConfigError),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<ConfigError> for Stop {
    fn from(error: ConfigError) -> Self {
        Self::Fatal(error)
    }
}

/// The strings of a list that another program wrote; whatever else is in it says nothing to us.
fn names_in(place: &Place<'_>) -> Vec<String> {
    place
        .list()
        .unwrap_or_default()
        .iter()
        .filter_map(|name| name.text().ok())
        .map(str::to_owned)
        .collect()
}
