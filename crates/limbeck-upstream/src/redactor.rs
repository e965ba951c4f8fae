//! Takes an entry's own secrets out of what its server says.
//!
//! A server that fails likes to print the token it failed with. Errors and the end of its standard error
//! are read by the model and by people, so they are searched for the secrets of the server's entry.

use std::borrow::Cow;

use secrecy::{ExposeSecret, SecretString};

/// Secrets shorter than this are not looked for: they would be found everywhere.
const REDACTED_BYTES_MIN: usize = 6;
/// What stands where a secret was.
const REDACTED: &str = "[redacted]";

/// Whether the value of a header or variable of such a name is a secret, even where it stands in the entry
/// itself.
pub(crate) fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [
        "auth",
        "cookie",
        "credential",
        "key",
        "password",
        "secret",
        "session",
        "token",
    ]
    .iter()
    .any(|word| name.contains(word))
}

/// Takes known secrets out of what a server sends.
#[derive(Clone, Default)]
pub(crate) struct Redactor(Vec<SecretString>);

impl Redactor {
    /// Knows one header's value.
    pub(crate) fn of(value: &str) -> Self {
        let mut redactor = Self::default();
        redactor.add(value);
        redactor
    }

    /// Knows the secrets of an entry's environment: by their names, because every server gets harmless
    /// variables too.
    pub(crate) fn of_environment(env: &[(String, String)]) -> Self {
        let mut redactor = Self::default();
        for (_, value) in env.iter().filter(|(name, _)| names_a_secret(name)) {
            redactor.add(value);
        }
        redactor
    }

    /// Adds a header's value, and what stands behind its scheme.
    pub(crate) fn add(&mut self, value: &str) {
        let bare = value.split_once(' ').map_or(value, |(_, rest)| rest);
        for secret in [value, bare] {
            if secret.len() < REDACTED_BYTES_MIN {
                continue;
            }
            self.0.push(secret.into());
            // As a JSON string spells it.
            if let Ok(quoted) = serde_json::to_string(secret)
                && quoted.len() > secret.len() + 2
            {
                self.0.push(quoted[1..quoted.len() - 1].into());
            }
        }
    }

    /// `text` without the secrets. A secret in a JSON string leaves a JSON string.
    pub(crate) fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for secret in &self.0 {
            let secret = secret.expose_secret();
            // A number is a number in JSON too, and replacing it would break the text around it.
            if text.contains(secret) && !secret.bytes().all(|byte| byte.is_ascii_digit()) {
                text = Cow::Owned(text.replace(secret, REDACTED));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_an_environment_are_known_by_their_names() {
        let env = [
            ("API_TOKEN", "tok-123456"),
            ("PATH", "/usr/bin"),
            ("DB_PASSWORD", "short"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let redactor = Redactor::of_environment(&env);
        assert_eq!(
            redactor.redact("/usr/bin said tok-123456, short"),
            "/usr/bin said [redacted], short"
        );
    }
}
