//! Checks of references to secrets (`env:NAME`, `exec:COMMAND` …) in an entry.

use super::EntryReader;
use crate::diagnostic::ValueError;
use crate::document::ConfigPlace;
use crate::entry::{EntryScope, Transport};
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
        "env" => {
            let is_part =
                |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
            !rest.is_empty() && rest.bytes().all(is_part)
        }
        "keychain" => rest.contains('/'),
        "exec" => !rest.is_empty(),
        _ => false,
    };
    is_reference.then(|| {
        "reaches the server as it is written: references are read in headers and `oauth` alone; \
         write `${NAME}` to fill in a variable"
            .to_owned()
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
