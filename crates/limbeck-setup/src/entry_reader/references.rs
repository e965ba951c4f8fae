//! References to secrets (`env:NAME`, `file:PATH`, `exec:COMMAND` …) in an entry: those of variables, and checks of others.

use super::{EntryDialect, EntryReader};
use crate::diagnostic::ValueError;
use crate::document::ConfigPlace;
use crate::entry::{EntryScope, Transport};
use crate::file_content;
use crate::oauth::OAuthEntry;

impl EntryReader<'_> {
    /// Rejects an entry of a repository in which a header or a sign-in setting starts a program. The reader of such
    /// an entry expects a program in `command` alone, and it would run with the user's whole environment.
    pub(super) fn check_references(
        &self,
        place: &ConfigPlace<'_>,
        transport: &Transport,
        oauth: &OAuthEntry,
    ) -> Result<(), ValueError> {
        if self.scope != EntryScope::Repository {
            return Ok(());
        }
        let headers = match transport {
            Transport::Http { headers, .. } => headers.as_slice(),
            Transport::Stdio { .. } => &[],
        };
        let headers = headers
            .iter()
            .map(|(name, value)| (format!("header `{name}`"), Some(value)));
        let settings = [
            ("`clientId`", &oauth.client_id),
            ("`clientSecret`", &oauth.client_secret),
            ("`privateKey`", &oauth.private_key),
        ];
        let settings =
            settings.map(|(name, value)| (format!("sign-in setting {name}"), value.as_ref()));
        for (name, value) in headers.chain(settings) {
            if value.is_some_and(|value| starts_program(value)) {
                return Err(place.malformed(format!(
                    "the {name} starts a program with `exec:`, which an entry of a repository must not; \
                     use `env:NAME`, or move the entry to your own configuration"
                )));
            }
        }
        Ok(())
    }
}

/// Longest secret in a file.
const SECRET_BYTES_MAX: usize = 16 << 10;

impl EntryReader<'_> {
    /// What a value in `env` refers to with `env:NAME`, and in the user's own file with `file:PATH`; `None` for a value
    /// that is no such reference. A variable that is not set leaves the value in a client's file, where another program
    /// may mean the words themselves.
    pub(super) fn referred(&self, value: &ConfigPlace<'_>) -> Result<Option<String>, ValueError> {
        let is_own = self.dialect == EntryDialect::Limbeck && self.scope != EntryScope::Repository;
        let text = value.text()?;
        if let Some(name) = variable_name(text).filter(|_| self.dialect != EntryDialect::Codex) {
            let found = self.variables.world.variable(name);
            return match found {
                Some(found) => Ok(Some(found.to_owned())),
                None if is_own => {
                    Err(value.unusable(format!("the environment variable `{name}` is not set")))
                }
                None => Ok(None),
            };
        }
        if !is_own || !is_file_reference(text) {
            return Ok(None);
        }
        let world = self.variables.world;
        let path = text.trim_start_matches("file:");
        let path = match (path.strip_prefix("~/"), &world.home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) => return Err(value.unusable("there is no home directory for `~`")),
            (None, _) => path.into(),
        };
        let shown = path.display();
        match file_content::read(world, &path, SECRET_BYTES_MAX + 2) {
            Ok(Some(content)) => match content.exposure {
                Some(exposure) => Err(value.unusable(format!("`{shown}` {exposure}"))),
                None => {
                    let line = content.text.strip_suffix('\n').unwrap_or(&content.text);
                    Ok(Some(line.strip_suffix('\r').unwrap_or(line).to_owned()))
                }
            },
            Ok(None) => Err(value.unusable(format!("`{shown}` does not exist"))),
            Err(error) => Err(value.unusable(format!("`{shown}` {}", error.problem()))),
        }
    }
}

/// The variable that `env:NAME` names.
fn variable_name(value: &str) -> Option<&str> {
    let name = value.strip_prefix("env:")?;
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    (!name.is_empty() && name.bytes().all(is_part)).then_some(name)
}

/// Whether a value of a variable is `file:` and the whole path of a file. `file:./dev.db` and `file:///data/app.db` are
/// addresses of databases.
pub(crate) fn is_file_reference(value: &str) -> bool {
    let Some(path) = value.strip_prefix("file:") else {
        return false;
    };
    let bytes = path.as_bytes();
    let is_drive = bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.get(1) == Some(&b':')
        && matches!(bytes.get(2), Some(b'\\' | b'/'));
    path.starts_with("~/") || path.starts_with('/') && !path.starts_with("//") || is_drive
}

/// Whether a value is a reference to a command, or has one after a word such as `Bearer`.
fn starts_program(value: &str) -> bool {
    value
        .split_whitespace()
        .any(|word| word.to_ascii_lowercase().starts_with("exec:"))
}

/// Problem of a value in `env` that looks like a reference to a secret: references are resolved in headers and
/// sign-in settings alone.
pub(super) fn literal_reference(value: &str) -> Option<String> {
    let (scheme, rest) = value.split_once(':')?;
    // `DD_TAGS=env:production` and `DATABASE_URL=file:./dev.db` are no references.
    let is_reference = match scheme {
        "env" => variable_name(value).is_some(),
        "keychain" => rest.contains('/'),
        "exec" => !rest.is_empty(),
        _ => false,
    };
    is_reference.then(|| {
        "reaches the server as it is written; write `${NAME}` to fill in a variable".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_looks_like_a_reference_is_reported_and_others_are_not() {
        for value in ["env:TOKEN", "env:A_1", "keychain:a/b", "exec:pass show x"] {
            assert!(literal_reference(value).is_some(), "{value}");
        }
        for value in [
            "env:production",
            "env:",
            "file:./dev.db",
            "x",
            "http://y",
            "",
        ] {
            assert_eq!(literal_reference(value), None, "{value}");
        }
    }

    #[test]
    fn a_command_is_found_after_a_word_too() {
        assert!(starts_program("exec:id") && starts_program("Bearer exec:id"));
        assert!(starts_program("Bearer  EXEC:id"));
        assert!(!starts_program("Bearer env:EXEC") && !starts_program("my-exec:x"));
    }
}
