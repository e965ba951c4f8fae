//! Removal of an entry's secrets from texts of its server.
//!
//! Servers often print the token they failed with. Errors and the end of standard error are read by the model
//! and by people, so they are searched for the secrets of the server's entry.

use std::borrow::Cow;

use secrecy::{ExposeSecret, SecretString};

/// Shorter secrets are not searched for: they would match everywhere.
const REDACTED_BYTES_MIN: usize = 6;
/// Replacement of a secret.
const REDACTED: &str = "[redacted]";

/// Variables that every server inherits and that are not of its entry; passwords inside of their urls are secrets.
pub(crate) const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "TZ",
    "TMPDIR",
    "PATHEXT",
    "COMSPEC",
    "USERNAME",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "PROCESSOR_ARCHITECTURE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

/// Values of settings that are words of every log. An error without them could not be read.
const PLAIN_WORDS: &[&str] = &[
    "critical",
    "default",
    "development",
    "disabled",
    "enabled",
    "localhost",
    "production",
    "readonly",
    "staging",
    "verbose",
    "warning",
];

/// Whether a flag of this name takes a secret.
pub(crate) fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [
        "auth",
        "cookie",
        "credential",
        "dsn",
        "key",
        "pass",
        "pwd",
        "secret",
        "session",
        "token",
    ]
    .iter()
    .any(|word| name.contains(word))
}

/// Replaces known secrets in text of a server.
#[derive(Clone, Default)]
pub(crate) struct Redactor(Vec<SecretString>);

impl Redactor {
    /// Recognizes the value of one header.
    pub(crate) fn of(value: &str) -> Self {
        let mut redactor = Self::default();
        redactor.add(value);
        redactor
    }

    /// Recognizes what an entry declares in its environment and in the arguments of its program.
    ///
    /// Every value of the environment counts, under any name: `DATABASE_URL` and `GITHUB_PAT` hold secrets too.
    /// Inherited variables, files and directories that exist, and words like `production` do not.
    /// Of the arguments count the values of flags that name a secret, and passwords in urls.
    pub(crate) fn of_entry(env: &[(String, String)], args: &[String]) -> Self {
        let mut redactor = Self::default();
        for (name, value) in env {
            redactor.add_url_secrets(value);
            let upper = name.to_ascii_uppercase();
            if !(INHERITED.contains(&&*upper) || upper.starts_with("LC_") || is_harmless(value)) {
                redactor.add(value);
            }
        }
        let mut is_secret = false;
        for arg in args {
            redactor.add_url_secrets(arg);
            if std::mem::take(&mut is_secret) {
                redactor.add(arg);
            }
            match arg.split_once('=') {
                Some((flag, value)) if names_a_secret(flag) => redactor.add(value),
                // The value of a header: `--header "Authorization: Bearer …"`.
                None if arg.contains(": ") => {
                    if let Some((name, value)) = arg.split_once(": ")
                        && names_a_secret(name)
                    {
                        redactor.add(value);
                    }
                }
                None => is_secret = arg.starts_with('-') && names_a_secret(arg),
                Some(_) => {}
            }
        }
        redactor
    }

    /// Adds a header that an entry declares.
    pub(crate) fn add_declared(&mut self, value: &str) {
        self.add_url_secrets(value);
        if !is_harmless(value) {
            self.add(value);
        }
    }

    /// Adds the passwords, and the values of query parameters that name a secret, of a url in `text`.
    pub(crate) fn add_url_secrets(&mut self, text: &str) {
        let Some(start) = text.find("://") else {
            return;
        };
        let rest = &text[start + "://".len()..];
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        // The last `@`: a password may hold one that is not escaped.
        if let Some((user, _)) = authority.rsplit_once('@') {
            let password = user.split_once(':').map_or(user, |(_, password)| password);
            self.add_with_decoded(password);
        }
        let query = rest.split_once('?').map_or("", |(_, query)| query);
        let query = query.split('#').next().unwrap_or_default();
        for parameter in query.split('&') {
            if let Some((name, value)) = parameter.split_once('=')
                && names_a_secret(name)
            {
                self.add_with_decoded(value);
            }
        }
    }

    fn add_with_decoded(&mut self, value: &str) {
        self.add(value);
        // A `+` means itself outside of forms.
        let encoded = value.replace('+', "%2B");
        let mut parts = url::form_urlencoded::parse(encoded.as_bytes());
        if let Some((decoded, _)) = parts.next()
            && decoded != value
        {
            self.add(&decoded);
        }
    }

    /// Adds a header's value, and the part after its scheme (`Bearer …`).
    pub(crate) fn add(&mut self, value: &str) {
        let bare = value.split_once(' ').map_or(value, |(_, rest)| rest);
        for secret in [value, bare] {
            if secret.len() < REDACTED_BYTES_MIN {
                continue;
            }
            self.0.push(secret.into());
            // Also in its JSON-escaped form.
            if let Ok(quoted) = serde_json::to_string(secret)
                && quoted.len() > secret.len() + 2
            {
                self.0.push(quoted[1..quoted.len() - 1].into());
            }
        }
        // A secret may be a part of another, whose rest would stay.
        self.0
            .sort_by_key(|secret| std::cmp::Reverse(secret.expose_secret().len()));
    }

    /// Replaces the secrets in `text`. A valid JSON string stays one.
    pub(crate) fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for secret in &self.0 {
            let secret = secret.expose_secret();
            // Digits may be a JSON number, and the replacement would make the JSON invalid.
            if text.contains(secret) && !secret.bytes().all(|byte| byte.is_ascii_digit()) {
                text = Cow::Owned(text.replace(secret, REDACTED));
            }
        }
        text
    }
}

/// Whether a declared value may stay in a text: a file or directory that exists, or a word of every log.
pub(crate) fn is_harmless(value: &str) -> bool {
    let path = std::path::Path::new(value);
    PLAIN_WORDS.contains(&&*value.to_ascii_lowercase()) || path.is_absolute() && path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_environment(env: &[(&str, &str)]) -> Redactor {
        let env: Vec<(String, String)> = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Redactor::of_entry(&env, &[])
    }

    #[test]
    fn every_value_that_an_entry_declares_is_a_secret() {
        let redactor = of_environment(&[
            ("API_TOKEN", "tok-123456"),
            ("GITHUB_PAT", "pat-abcdefghijkl"),
            ("DATABASE_URL", "postgres://app:hunter2-secret@db/x"),
            ("DB_PASSWORD", "short"),
        ]);
        assert_eq!(
            redactor.redact(
                "cannot connect to postgres://app:hunter2-secret@db/x pat pat-abcdefghijkl"
            ),
            "cannot connect to [redacted] pat [redacted]"
        );
        assert_eq!(
            redactor.redact("password hunter2-secret, tok-123456, short"),
            "password [redacted], [redacted], short"
        );
    }

    #[test]
    fn what_is_inherited_and_words_of_every_log_stay() {
        let redactor = of_environment(&[
            ("PATH", "/usr/bin"),
            ("LC_ALL", "C.UTF-8"),
            ("LOG_LEVEL", "warning"),
            ("NODE_ENV", "production"),
            ("ALLOWED", "/usr/bin"),
            ("https_proxy", "http://me:proxy-pass@proxy.example:3128"),
        ]);
        let text = "warning: /usr/bin C.UTF-8 production via http://me:";
        assert_eq!(redactor.redact(text), text);
        assert_eq!(
            redactor.redact("http://me:proxy-pass@proxy.example:3128"),
            "http://me:[redacted]@proxy.example:3128"
        );
    }

    #[test]
    fn secrets_in_arguments_and_urls_are_known() {
        let args = [
            "--api-key=k-1234567",
            "--token",
            "t-7654321",
            "postgres://u:p%40ssword@h/db",
            "--header",
            "Authorization: Bearer b-0000001",
            "@scope/server-of-files",
        ]
        .map(str::to_owned);
        let redactor = Redactor::of_entry(&[], &args);
        assert_eq!(
            redactor
                .redact("k-1234567 t-7654321 p%40ssword p@ssword b-0000001 @scope/server-of-files"),
            "[redacted] [redacted] [redacted] [redacted] [redacted] @scope/server-of-files"
        );
        let mut redactor = Redactor::default();
        redactor.add_url_secrets("https://x.example/mcp?api_key=a-9999999&page=12345678");
        assert_eq!(
            redactor.redact("a-9999999 12345678x"),
            "[redacted] 12345678x"
        );
    }
}
