//! Reads one server's entry, in the dialect of the file it stands in.

mod address;
mod keys;
mod times;

use std::path::{Path, PathBuf};

use limbeck_domain::{Expose, ServerName, text};

use crate::document::Place;
use crate::entry::{HttpKind, Origin, Scope, ServerEntry, Transport, Trust};
use crate::environment;
use crate::error::Fault;
use crate::expand::Variables;
use crate::oauth::OAuthEntry;
use address::{header, networks};
use keys::{LET_PASS, NOT_APPLIED, OURS, is_everything};

pub(crate) use address::{UrlProblem, check_url};
pub(crate) use keys::unknown_key;

/// Name of a server, in characters; it becomes a word in programs and listings.
const NAME_CHARS_MAX: usize = 64;
/// Description kept of an entry.
const DESCRIPTION_BYTES_MAX: usize = 512;
/// Most calls at once that an entry may ask for.
const CONCURRENCY_MAX: u64 = 256;

/// Whose idea of an entry a file follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `mcpServers` and its kin: `${…}` is filled in, keys of other programs are let pass.
    Client,
    /// Codex: nothing is filled in, secrets are named by their variables.
    Codex,
    /// `limbeck.toml`: an unknown key is an error.
    Ours,
}

/// What reading an entry needs to know besides the entry.
pub(crate) struct Reader<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) variables: &'a Variables<'a>,
    pub(crate) scope: Scope,
    pub(crate) file: &'a Path,
}

/// An entry and what is worth knowing about it.
pub(crate) struct Read {
    pub(crate) entry: ServerEntry,
    pub(crate) warnings: Vec<Fault>,
}

/// Checks the key of an entry: 1 to 64 characters that can be seen.
pub(crate) fn name(key: &str, place: &Place<'_>) -> Result<ServerName, Fault> {
    let seen = text::clean_line(key, key.len());
    if key.is_empty() || key.chars().count() > NAME_CHARS_MAX || seen != key || key.trim() != key {
        return Err(Fault::malformed(
            place.at,
            place.path.clone(),
            format!("a server's name has 1 to {NAME_CHARS_MAX} visible characters"),
        ));
    }
    Ok(ServerName::new(key))
}

impl Reader<'_> {
    /// Reads the entry at `place`; whatever is wrong ends up in its definition.
    pub(crate) fn read(&self, name: ServerName, place: &Place<'_>, line: u32) -> Read {
        let mut warnings = Vec::new();
        let mut entry = ServerEntry {
            name,
            origin: Origin {
                file: self.file.to_owned(),
                line,
                scope: self.scope.clone(),
            },
            definition: Err(place.fault("is empty")),
            disabled: false,
            description: None,
            trust: Trust::Own,
            written: None,
            timeout_ms: None,
            start_timeout_ms: None,
            idle_timeout_ms: None,
            concurrency: None,
            oauth: OAuthEntry::default(),
            expose: Expose::default(),
            observe: true,
        };
        entry.definition = self
            .settings(place, &mut entry, &mut warnings)
            .and_then(|()| self.known_keys(place, &mut warnings))
            .and_then(|()| self.transport(place, &mut warnings));
        Read { entry, warnings }
    }

    fn settings(
        &self,
        place: &Place<'_>,
        entry: &mut ServerEntry,
        warnings: &mut Vec<Fault>,
    ) -> Result<(), Fault> {
        entry.disabled = flag(place, "disabled")? == Some(true);
        if self.dialect != Dialect::Ours && flag(place, "enabled")? == Some(false) {
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
            // At most 256, so it fits everywhere.
            Some(found) => usize::try_from(found.number(1, CONCURRENCY_MAX)?).ok(),
            None => None,
        };
        entry.oauth = self.oauth(place)?;
        entry.observe = flag(place, "observe")? != Some(false);
        entry.oauth.shared = flag(place, "shared_credentials")? == Some(true);
        if let Some(found) = place.get("expose")? {
            let word = Expose::parse(found.text()?);
            entry.expose =
                word.ok_or_else(|| found.fault("expected `code`, `direct`, `both` or `auto`"))?;
        }
        Ok(())
    }

    fn known_keys(&self, place: &Place<'_>, warnings: &mut Vec<Fault>) -> Result<(), Fault> {
        for (key, value) in place.entries()? {
            let warning = match self.dialect {
                Dialect::Ours if !OURS.contains(&key) => {
                    return Err(value.fault(unknown_key(OURS, key)));
                }
                Dialect::Ours => continue,
                Dialect::Client | Dialect::Codex if LET_PASS.contains(&key) => continue,
                Dialect::Client | Dialect::Codex if NOT_APPLIED.contains(&key) => {
                    if is_everything(&value) {
                        continue;
                    }
                    "is not applied here".to_owned()
                }
                Dialect::Client | Dialect::Codex => unknown_key(LET_PASS, key),
            };
            warnings.push(Fault {
                at: value.at,
                ..value.fault(warning)
            });
        }
        Ok(())
    }

    fn transport(&self, place: &Place<'_>, warnings: &mut Vec<Fault>) -> Result<Transport, Fault> {
        let command = place.get("command")?;
        let url = self.url_key(place)?;
        let kind = self.kind(place)?;
        match (command, url) {
            (Some(_), Some(_)) => Err(place.fault("has both a command and a url, one is meant")),
            (None, None) => Err(place.fault("has neither `command` nor `url`")),
            (Some(command), None) => match kind {
                Some(Kind::Http(_)) => {
                    Err(place.fault("has a command although its type is one of a url"))
                }
                Some(Kind::Stdio) | None => self.stdio(place, &command, warnings),
            },
            (None, Some(url)) => match kind {
                Some(Kind::Stdio) => Err(place.fault("has a url although its type is `stdio`")),
                Some(Kind::Http(kind)) => self.http(place, &url, kind),
                None => self.http(place, &url, HttpKind::Auto),
            },
        }
    }

    fn url_key<'d>(&self, place: &Place<'d>) -> Result<Option<Place<'d>>, Fault> {
        let keys: &[&str] = match self.dialect {
            Dialect::Ours | Dialect::Codex => &["url"],
            Dialect::Client => &["url", "httpUrl", "serverUrl", "uri"],
        };
        for key in keys {
            if let Some(found) = place.get(key)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn kind(&self, place: &Place<'_>) -> Result<Option<Kind>, Fault> {
        let found = match place.get("type")? {
            None if self.dialect == Dialect::Client => place.get("transport")?,
            found => found,
        };
        let Some(found) = found else { return Ok(None) };
        match found.text()? {
            "stdio" | "local" => Ok(Some(Kind::Stdio)),
            "http" | "streamable-http" | "streamableHttp" | "streamable_http" | "streamable" => {
                Ok(Some(Kind::Http(HttpKind::Streamable)))
            }
            "remote" => Ok(Some(Kind::Http(HttpKind::Auto))),
            "sse" => Ok(Some(Kind::Http(HttpKind::Sse))),
            "ws" | "websocket" => {
                Err(found.unsupported("servers on a websocket are not supported"))
            }
            _ => Err(found.fault("expected `stdio`, `http` or `sse`")),
        }
    }

    fn stdio(
        &self,
        place: &Place<'_>,
        command: &Place<'_>,
        warnings: &mut Vec<Fault>,
    ) -> Result<Transport, Fault> {
        let program = self.filled(command)?;
        if program.trim().is_empty() {
            return Err(command.fault("expected the name or path of a program"));
        }
        let args = match place.get("args")? {
            Some(args) => args
                .list()?
                .iter()
                .map(|arg| self.filled(arg))
                .collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        let cwd = match place.get("cwd")? {
            Some(cwd) => Some(self.variables.cwd.join(self.filled(&cwd)?)),
            None => None,
        };
        let declared = self.declared(place, warnings)?;
        Ok(Transport::Stdio {
            command: PathBuf::from(program),
            args,
            env: environment::complete(self.variables.env, declared),
            cwd,
        })
    }

    /// Variables the entry itself sets.
    fn declared(
        &self,
        place: &Place<'_>,
        warnings: &mut Vec<Fault>,
    ) -> Result<Vec<(String, String)>, Fault> {
        let mut declared = Vec::new();
        if let Some(env) = place.get("env")? {
            for (name, value) in env.entries()? {
                if name.is_empty() || name.contains(['=', '\0']) {
                    return Err(value.fault("is not a name a variable can have"));
                }
                if self.scope == Scope::Repository && environment::chooses_code(name) {
                    warnings.push(value.fault("lets the repository choose code the server loads"));
                }
                declared.push((name.to_owned(), self.filled(&value)?));
            }
        }
        if self.dialect == Dialect::Codex
            && let Some(names) = place.get("env_vars")?
        {
            for name in names.list()? {
                let variable = name.text()?;
                if let Some(value) = (self.variables.env)(variable) {
                    declared.push((variable.to_owned(), value));
                }
            }
        }
        Ok(declared)
    }

    fn http(&self, place: &Place<'_>, url: &Place<'_>, kind: HttpKind) -> Result<Transport, Fault> {
        let address = self.filled(url)?;
        let clear = flag(place, "allow_http")? == Some(true);
        check_url(&address, clear).map_err(|problem| match problem {
            UrlProblem::Form(problem) => url.fault(problem),
            UrlProblem::User => {
                url.fault("expected a url without a user name; put secrets into `headers`")
            }
            UrlProblem::Clear => url
                .unusable("`http://` to another machine sends everything in the clear")
                .with_step(self.step_for_clear()),
        })?;
        let mut headers = Vec::new();
        let key = match self.dialect {
            Dialect::Codex => "http_headers",
            Dialect::Client | Dialect::Ours => "headers",
        };
        if let Some(found) = place.get(key)? {
            for (name, value) in found.entries()? {
                let filled = self.filled(&value)?;
                header(&mut headers, name, filled, &value)?;
            }
        }
        if self.dialect == Dialect::Codex {
            if let Some(found) = place.get("env_http_headers")? {
                for (name, value) in found.entries()? {
                    let filled = self.variable(&value)?;
                    header(&mut headers, name, filled, &value)?;
                }
            }
            if let Some(found) = place.get("bearer_token_env_var")? {
                let filled = format!("Bearer {}", self.variable(&found)?);
                header(&mut headers, "Authorization", filled, &found)?;
            }
        }
        Ok(Transport::Http {
            url: address,
            headers,
            kind,
            allow_http: clear,
            allow_networks: networks(place)?,
        })
    }

    fn step_for_clear(&self) -> &'static str {
        match self.dialect {
            Dialect::Client => {
                "use `https://`; where the way there is yours alone, add `\"allow_http\": true` to the entry"
            }
            Dialect::Codex | Dialect::Ours => {
                "use `https://`; where the way there is yours alone, add `allow_http = true` to the entry"
            }
        }
    }

    /// The text at `place` with its references filled in.
    pub(crate) fn filled(&self, place: &Place<'_>) -> Result<String, Fault> {
        let text = place.text()?;
        let filled = match self.dialect {
            Dialect::Codex => text.to_owned(),
            Dialect::Client | Dialect::Ours => self
                .variables
                .expand(text)
                .map_err(|problem| place.unusable(problem))?,
        };
        if filled.contains('\0') {
            return Err(place.fault("has a NUL, which no program can be given"));
        }
        Ok(filled)
    }

    /// The value of the variable that `place` names.
    fn variable(&self, place: &Place<'_>) -> Result<String, Fault> {
        let name = place.text()?;
        (self.variables.env)(name).ok_or_else(|| {
            let name = text::clean_line(name, 80);
            place.unusable(format!("the environment variable `{name}` is not set"))
        })
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Stdio,
    Http(HttpKind),
}

fn flag(place: &Place<'_>, key: &str) -> Result<Option<bool>, Fault> {
    place.get(key)?.map(|found| found.boolean()).transpose()
}
