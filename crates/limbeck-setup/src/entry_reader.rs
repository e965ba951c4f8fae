//! Reader of one server's entry, in the dialect of its file.

mod address;
mod keys;
mod oauth;
mod references;
mod times;
mod tools;

use std::path::{Path, PathBuf};

use limbeck_domain::{Expose, ServerName, ToolRules, text};

use crate::diagnostic::ValueError;
use crate::document::ConfigPlace;
use crate::earlier_users::disabled_means_on_demand;
use crate::entry::{EntryScope, HttpKind, Origin, ServerEntry, Transport, TrustState};
use crate::oauth::OAuthEntry;
use crate::variables::Variables;
use crate::{choosing_variables, server_environment};
use address::{add_header, networks};
use keys::{CLIENT_KEYS, LIMBECK_KEYS, UNSUPPORTED_KEYS};

pub(crate) use address::{UrlError, check_url};
pub(crate) use keys::unknown_key;
pub(crate) use references::is_file_reference;

/// Name of a server, in characters; programs and listings use it as a word.
const NAME_CHARS_MAX: usize = 64;
/// Description of an entry, cut to this.
const DESCRIPTION_BYTES_MAX: usize = 512;
/// Concurrent calls that an entry may allow.
const CONCURRENCY_MAX: u64 = 256;
/// Keys of one entry that are reported as unknown or ignored; further ones are not looked at.
const KEY_WARNINGS_MAX: usize = 20;

/// Form of the entries in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryDialect {
    /// `mcpServers` and its variants: `${…}` is replaced, and keys of other programs are accepted.
    Client,
    /// Codex: nothing is replaced, and separate keys name the variables that hold secrets.
    Codex,
    /// `limbeck.toml`: an unknown key is an error.
    Limbeck,
}

/// Reads entries of one file.
pub(crate) struct EntryReader<'a> {
    pub(crate) dialect: EntryDialect,
    pub(crate) variables: Variables<'a>,
    pub(crate) scope: EntryScope,
    pub(crate) file: &'a Path,
}

/// An entry and problems that do not make it unusable.
pub(crate) struct ParsedEntry {
    pub(crate) entry: ServerEntry,
    pub(crate) warnings: Vec<ValueError>,
}

/// Checks the key of an entry: 1 to 64 visible characters.
pub(crate) fn server_name(key: &str, place: &ConfigPlace<'_>) -> Result<ServerName, ValueError> {
    let visible = text::clean_line(key, key.len());
    if key.is_empty() || key.chars().count() > NAME_CHARS_MAX || visible != key || key.trim() != key
    {
        return Err(ValueError::malformed(
            place.at,
            place.path.clone(),
            format!("a server's name has 1 to {NAME_CHARS_MAX} visible characters"),
        ));
    }
    Ok(ServerName::new(key))
}

impl EntryReader<'_> {
    /// Reads the entry at `place`; an error becomes its definition, so that the entry is listed with it.
    pub(crate) fn read(&self, name: ServerName, place: &ConfigPlace<'_>, line: u32) -> ParsedEntry {
        let mut warnings = Vec::new();
        let mut entry = ServerEntry {
            name,
            origin: Origin {
                file: self.file.to_owned(),
                line,
                scope: self.scope.clone(),
            },
            definition: Err(place.malformed("is empty")),
            disabled: false,
            description: None,
            trust: TrustState::Own,
            definition_text: None,
            timeout_ms: None,
            start_timeout_ms: None,
            idle_timeout_ms: None,
            concurrency: None,
            oauth: OAuthEntry::default(),
            expose: Expose::default(),
            observe: true,
            tool_rules: ToolRules::default(),
            start_directory: self.start_directory(),
        };
        entry.definition = self
            .settings(place, &mut entry, &mut warnings)
            .and_then(|()| self.check_keys(place, &mut warnings))
            .and_then(|()| self.transport(place, &mut warnings))
            .and_then(|transport| {
                self.check_references(place, &transport, &entry.oauth)?;
                Ok(transport)
            });
        ParsedEntry { entry, warnings }
    }

    fn settings(
        &self,
        place: &ConfigPlace<'_>,
        entry: &mut ServerEntry,
        warnings: &mut Vec<ValueError>,
    ) -> Result<(), ValueError> {
        let is_on_demand =
            self.dialect == EntryDialect::Client && disabled_means_on_demand(self.variables.world);
        entry.disabled = flag(place, "disabled")? == Some(true) && !is_on_demand
            || flag(place, "blocked")? == Some(true);
        if self.dialect != EntryDialect::Limbeck && flag(place, "enabled")? == Some(false) {
            entry.disabled = true;
        }
        entry.description = place
            .get("description")?
            .map(|found| found.text())
            .transpose()?
            .map(|words| text::clean_line(words, DESCRIPTION_BYTES_MAX))
            .filter(|words| !words.is_empty());
        self.times(place, entry, warnings)?;
        entry.concurrency = match place.get("concurrency")? {
            // At most `CONCURRENCY_MAX`, so it fits on every platform.
            Some(found) => usize::try_from(found.number(1, CONCURRENCY_MAX)?).ok(),
            None => None,
        };
        entry.oauth = self.oauth(place)?;
        entry.observe = flag(place, "observe")? != Some(false);
        entry.oauth.shared = flag(place, "shared_credentials")? == Some(true);
        entry.tool_rules = self.tool_rules(place, warnings)?;
        if let Some(found) = place.get("expose")? {
            let word = Expose::parse(found.text()?);
            entry.expose =
                word.ok_or_else(|| found.malformed("expected `code`, `direct`, `both` or `auto`"))?;
        }
        Ok(())
    }

    fn check_keys(
        &self,
        place: &ConfigPlace<'_>,
        warnings: &mut Vec<ValueError>,
    ) -> Result<(), ValueError> {
        let warned = warnings.len();
        for (key, value) in place.entries()? {
            if warnings.len() - warned >= KEY_WARNINGS_MAX {
                break;
            }
            let warning = match self.dialect {
                EntryDialect::Limbeck if !LIMBECK_KEYS.contains(&key) => {
                    return Err(value.malformed(unknown_key(LIMBECK_KEYS, key)));
                }
                EntryDialect::Limbeck => continue,
                EntryDialect::Client | EntryDialect::Codex if CLIENT_KEYS.contains(&key) => {
                    continue;
                }
                EntryDialect::Client | EntryDialect::Codex if UNSUPPORTED_KEYS.contains(&key) => {
                    "is not supported and is ignored".to_owned()
                }
                EntryDialect::Client | EntryDialect::Codex => unknown_key(CLIENT_KEYS, key),
            };
            warnings.push(value.malformed_key(warning));
        }
        Ok(())
    }

    fn transport(
        &self,
        place: &ConfigPlace<'_>,
        warnings: &mut Vec<ValueError>,
    ) -> Result<Transport, ValueError> {
        let command = place.get("command")?;
        let url = self.url_key(place)?;
        let kind = self.kind(place)?;
        match (command, url) {
            (Some(_), Some(_)) => {
                Err(place.malformed("has both a command and a url; keep one of them"))
            }
            (None, None) => Err(place.malformed(lacks_transport(place))),
            (Some(command), None) => match kind {
                Some(TransportKind::Http(_)) => {
                    Err(place.malformed("has a command, but its type is for a url"))
                }
                Some(TransportKind::Stdio) | None => self.stdio(place, &command, warnings),
            },
            (None, Some(url)) => match kind {
                Some(TransportKind::Stdio) => {
                    Err(place.malformed("has a url, but its type is `stdio`"))
                }
                Some(TransportKind::Http(kind)) => self.http(place, &url, kind),
                None => self.http(place, &url, HttpKind::Auto),
            },
        }
    }

    fn url_key<'d>(&self, place: &ConfigPlace<'d>) -> Result<Option<ConfigPlace<'d>>, ValueError> {
        let keys: &[&str] = match self.dialect {
            EntryDialect::Limbeck | EntryDialect::Codex => &["url"],
            EntryDialect::Client => &["url", "httpUrl", "serverUrl", "uri"],
        };
        for key in keys {
            if let Some(found) = place.get(key)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn kind(&self, place: &ConfigPlace<'_>) -> Result<Option<TransportKind>, ValueError> {
        let found = match place.get("type")? {
            None if self.dialect == EntryDialect::Client => place.get("transport")?,
            found => found,
        };
        let Some(found) = found else { return Ok(None) };
        match found.text()? {
            "stdio" | "local" => Ok(Some(TransportKind::Stdio)),
            "http" | "streamable-http" | "streamableHttp" | "streamable_http" | "streamable" => {
                Ok(Some(TransportKind::Http(HttpKind::Streamable)))
            }
            "remote" => Ok(Some(TransportKind::Http(HttpKind::Auto))),
            "sse" => Ok(Some(TransportKind::Http(HttpKind::Sse))),
            "ws" | "websocket" => Err(found.unsupported("WebSocket servers are not supported")),
            _ => Err(found.malformed("expected `stdio`, `http` or `sse`")),
        }
    }

    fn stdio(
        &self,
        place: &ConfigPlace<'_>,
        command: &ConfigPlace<'_>,
        warnings: &mut Vec<ValueError>,
    ) -> Result<Transport, ValueError> {
        let program = self.expanded_path(command)?;
        if program.trim().is_empty() {
            return Err(command.malformed("expected the name or path of a program"));
        }
        self.check_command(command, &program)?;
        let args = match place.get("args")? {
            Some(args) => args
                .list()?
                .iter()
                .map(|arg| self.expanded(arg))
                .collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        let cwd = match place.get("cwd")? {
            Some(cwd) => Some(self.start_directory().join(self.expanded_path(&cwd)?)),
            None => None,
        };
        let declared = self.declared(place, warnings)?;
        Ok(Transport::Stdio {
            command: PathBuf::from(program),
            args,
            env: server_environment::complete(self.variables.world, declared),
            cwd,
        })
    }

    /// Variables the entry itself sets.
    fn declared(
        &self,
        place: &ConfigPlace<'_>,
        warnings: &mut Vec<ValueError>,
    ) -> Result<Vec<(String, String)>, ValueError> {
        let mut declared = Vec::new();
        if let Some(env) = place.get("env")? {
            for (name, value) in env.entries()? {
                if name.is_empty() || name.contains(['=', '\0']) {
                    return Err(value.malformed("is not a valid variable name"));
                }
                if self.scope == EntryScope::Repository
                    && let Some(what) = choosing_variables::choice_of(name)
                {
                    warnings.push(value.malformed(format!("lets the repository choose {what}")));
                }
                let found = match self.referred(&value)? {
                    Some(found) => found,
                    None => {
                        if let Some(problem) = references::literal_reference(value.text()?) {
                            warnings.push(value.malformed(problem));
                        }
                        self.expanded(&value)?
                    }
                };
                declared.push((name.to_owned(), found));
            }
        }
        if self.dialect == EntryDialect::Codex
            && let Some(names) = place.get("env_vars")?
        {
            for name in names.list()? {
                let variable = name.text()?;
                if let Some(value) = self.variables.world.variable(variable) {
                    declared.push((variable.to_owned(), value.to_owned()));
                }
            }
        }
        Ok(declared)
    }

    fn http(
        &self,
        place: &ConfigPlace<'_>,
        url: &ConfigPlace<'_>,
        kind: HttpKind,
    ) -> Result<Transport, ValueError> {
        let address = self.expanded(url)?;
        let allow_http = flag(place, "allow_http")? == Some(true);
        check_url(&address, allow_http).map_err(|problem| match problem {
            UrlError::Form(problem) => url.malformed(problem),
            UrlError::User => {
                url.malformed("expected a url without a user name; put secrets into `headers`")
            }
            UrlError::Unencrypted => url
                .unusable("`http://` to another machine sends everything unencrypted")
                .with_hint(self.hint_for_http()),
        })?;
        let mut headers = Vec::new();
        let key = match self.dialect {
            EntryDialect::Codex => "http_headers",
            EntryDialect::Client | EntryDialect::Limbeck => "headers",
        };
        if let Some(found) = place.get(key)? {
            for (name, value) in found.entries()? {
                let expanded = self.expanded(&value)?;
                add_header(&mut headers, name, expanded, &value)?;
            }
        }
        if self.dialect == EntryDialect::Codex {
            if let Some(found) = place.get("env_http_headers")? {
                for (name, value) in found.entries()? {
                    let expanded = self.variable(&value)?;
                    add_header(&mut headers, name, expanded, &value)?;
                }
            }
            if let Some(found) = place.get("bearer_token_env_var")? {
                let expanded = format!("Bearer {}", self.variable(&found)?);
                add_header(&mut headers, "Authorization", expanded, &found)?;
            }
        }
        Ok(Transport::Http {
            url: address,
            headers,
            kind,
            allow_http,
            allow_networks: networks(place)?,
        })
    }

    fn hint_for_http(&self) -> &'static str {
        match self.dialect {
            EntryDialect::Client => {
                "use `https://`, or add `\"allow_http\": true` to the entry if you trust the network in between"
            }
            EntryDialect::Codex | EntryDialect::Limbeck => {
                "use `https://`, or add `allow_http = true` to the entry if you trust the network in between"
            }
        }
    }

    /// Directory in which a server of this file starts when its entry names none.
    fn start_directory(&self) -> PathBuf {
        let world = self.variables.world;
        let of_file = || {
            let directory = self.file.parent().unwrap_or(Path::new("/"));
            directory.to_owned()
        };
        match &self.scope {
            // The file is read in every directory, so the present one is not the user's choice.
            EntryScope::User => world.home.clone().unwrap_or_else(of_file),
            EntryScope::Project(directory) => directory.clone(),
            EntryScope::Given => of_file(),
            EntryScope::Repository => world.cwd.clone(),
        }
    }

    /// Rejects a command line in `command`, which is the name or path of a program alone.
    fn check_command(&self, command: &ConfigPlace<'_>, program: &str) -> Result<(), ValueError> {
        let Some((first, _)) = program.trim().split_once(char::is_whitespace) else {
            return Ok(());
        };
        let world = self.variables.world;
        let start = self.start_directory();
        let exists = |path: &str| world.on_disk(&start.join(path)).exists();
        let is_path = |path: &str| path.contains(['/', '\\']);
        // Paths may have spaces; words behind a program are arguments.
        if is_path(program) && exists(program) || is_path(first) && !exists(first) {
            return Ok(());
        }
        let problem =
            "holds arguments as well; keep the program alone and put the rest into `args`";
        // Not malformed: a file that was named with `--config` would be rejected as a whole.
        Err(command.unusable(problem))
    }

    /// [`EntryReader::expanded`] for a path: `~/` at its start is the home directory.
    fn expanded_path(&self, place: &ConfigPlace<'_>) -> Result<String, ValueError> {
        let path = self.expanded(place)?;
        let Some(rest) = path.strip_prefix("~/") else {
            return Ok(path);
        };
        let Some(home) = &self.variables.world.home else {
            return Err(place.unusable("there is no home directory for `~`"));
        };
        Ok(home.join(rest).to_string_lossy().into_owned())
    }

    /// The text at `place` with its references replaced.
    pub(crate) fn expanded(&self, place: &ConfigPlace<'_>) -> Result<String, ValueError> {
        let text = place.text()?;
        let expanded = match self.dialect {
            EntryDialect::Codex => text.to_owned(),
            EntryDialect::Client | EntryDialect::Limbeck => self
                .variables
                .expand(text)
                .map_err(|problem| place.unusable(problem))?,
        };
        if expanded.contains('\0') {
            return Err(place.malformed("has a NUL, which cannot be passed to a program"));
        }
        Ok(expanded)
    }

    /// The value of the variable that `place` names.
    fn variable(&self, place: &ConfigPlace<'_>) -> Result<String, ValueError> {
        let name = place.text()?;
        let value = self.variables.world.variable(name).map(str::to_owned);
        value.ok_or_else(|| {
            let name = text::clean_line(name, 80);
            place.unusable(format!("the environment variable `{name}` is not set"))
        })
    }
}

/// Problem of an entry without program and url, with the key that looks like one of them.
fn lacks_transport(place: &ConfigPlace<'_>) -> String {
    let problem = "has neither `command` nor `url`";
    let known: &[&str] = &["command", "url"];
    let keys = place.entries().unwrap_or_default();
    let misspelt = keys.iter().take(KEY_WARNINGS_MAX).find_map(|(key, _)| {
        let nearest = keys::nearest_key(known, key)?;
        Some(format!(
            "{problem}; `{}` is unknown, did you mean `{nearest}`?",
            text::clean_line(key, 80)
        ))
    });
    misspelt.unwrap_or_else(|| problem.to_owned())
}

/// Transport that an entry's `type` names.
#[derive(Clone, Copy)]
enum TransportKind {
    Stdio,
    Http(HttpKind),
}

fn flag(place: &ConfigPlace<'_>, key: &str) -> Result<Option<bool>, ValueError> {
    place.get(key)?.map(|found| found.boolean()).transpose()
}
