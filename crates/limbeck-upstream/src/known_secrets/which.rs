//! Which values of a configuration are secrets in all that leaves.
//!
//! In errors of a server every value of its own entry is removed. What a program returns is data of many servers: there the
//! name of a database or of a team must stay, also where a setting of a server has the same word. So a value counts when its
//! name says that it is a secret, or when it looks random; words, numbers, paths and addresses do not.

use crate::redactor::{INHERITED, is_harmless};

/// Shorter values would be found everywhere.
const BYTES_MIN: usize = 6;
/// A shorter word of letters alone, such as `postgres` or `changeme`, is a word of answers too.
const WORD_BYTES_MIN: usize = 12;
/// A number of fewer digits is a number of answers too.
const DIGITS_MIN: usize = 12;
/// Letters and digits in a row, mixed, that make a value look random.
const RANDOM_BYTES_MIN: usize = 12;

/// Words of a name that say that its value is a secret.
const SECRET_WORDS: &[&str] = &[
    "apikey",
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "creds",
    "dsn",
    "jwt",
    "key",
    "keys",
    "pass",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "pat",
    "pin",
    "private",
    "pwd",
    "secret",
    "secrets",
    "session",
    "sig",
    "signature",
    "token",
];
/// Endings of words that run several together.
const SECRET_ENDINGS: &[&str] = &[
    "accesskey",
    "apikey",
    "passwd",
    "password",
    "secret",
    "secretkey",
    "token",
];
/// Last words of names whose values describe a secret and are not secret.
const DESCRIBING_WORDS: &[&str] = &[
    "algorithm",
    "audience",
    "dir",
    "directory",
    "email",
    "enabled",
    "endpoint",
    "file",
    "header",
    "host",
    "id",
    "issuer",
    "length",
    "limit",
    "method",
    "mode",
    "name",
    "path",
    "port",
    "prefix",
    "realm",
    "region",
    "scope",
    "scopes",
    "size",
    "timeout",
    "ttl",
    "type",
    "uri",
    "url",
    "user",
    "username",
    "version",
];
/// Schemes of the header `Authorization`.
const SCHEMES: &[&str] = &["apikey", "basic", "bearer", "digest", "key", "token"];

/// Secrets among the values of one entry.
#[derive(Default)]
pub(super) struct Found(pub(super) Vec<String>);

impl Found {
    /// Variables of a process.
    pub(super) fn environment(&mut self, variables: &[(String, String)]) {
        for (name, value) in variables {
            let upper = name.to_ascii_uppercase();
            if INHERITED.contains(&&*upper) || upper.starts_with("LC_") {
                self.url(value);
            } else {
                self.named(name, value);
            }
        }
    }

    /// Arguments of a program.
    pub(super) fn arguments(&mut self, arguments: &[String]) {
        let mut named: Option<&str> = None;
        for argument in arguments {
            if let Some(flag) = named.take() {
                self.named(flag, argument);
            }
            if let Some((flag, value)) = argument.split_once('=') {
                self.named(flag, value);
            } else if let Some((name, value)) = argument.split_once(": ") {
                self.named(name, value);
            } else if argument.starts_with('-') {
                named = Some(argument);
            } else {
                self.named("", argument);
            }
        }
    }

    /// A value under its name.
    pub(super) fn named(&mut self, name: &str, value: &str) {
        if value.contains("://") {
            self.url(value);
        } else if names_a_secret(name) {
            self.secret(value);
        } else if looks_random(value) && !is_uuid(value) {
            self.add(value);
        }
    }

    /// A value of which it is known that it is a secret.
    pub(super) fn secret(&mut self, value: &str) {
        let parts = value.split_once(' ');
        let parts = parts.map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest));
        match parts {
            Some((scheme, rest)) if SCHEMES.contains(&&*scheme) => {
                self.add(rest);
                if scheme == "basic" {
                    self.basic(rest);
                }
            }
            Some(_) | None => self.add(value),
        }
    }

    /// The password in the value of a header of basic authentication.
    fn basic(&mut self, encoded: &str) {
        use base64::Engine as _;
        use base64::engine::general_purpose::STANDARD;
        let decoded = STANDARD.decode(encoded).ok();
        let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some((_, password)) = decoded.as_deref().and_then(|text| text.split_once(':')) {
            self.add(password);
        }
    }

    /// Passwords of a url, parameters that name a secret, and parts that look random.
    pub(super) fn url(&mut self, text: &str) {
        let Some((_, rest)) = text.split_once("://") else {
            return;
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        // The last `@`: a password may hold one that is not escaped.
        if let Some((user, _)) = authority.rsplit_once('@') {
            let password = user.split_once(':').map_or(user, |(_, password)| password);
            self.with_decoded(password);
        }
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        for part in path
            .split('/')
            .filter(|part| looks_random(part) && !is_uuid(part))
        {
            self.with_decoded(part);
        }
        let query = query.split('#').next().unwrap_or_default();
        for parameter in query.split('&') {
            if let Some((name, value)) = parameter.split_once('=')
                && (names_a_secret(name) || looks_random(value) && !is_uuid(value))
            {
                self.with_decoded(value);
            }
        }
    }

    fn with_decoded(&mut self, value: &str) {
        self.add(value);
        // A `+` means itself outside of forms.
        let encoded = value.replace('+', "%2B");
        if let Some((decoded, _)) = url::form_urlencoded::parse(encoded.as_bytes()).next()
            && decoded != value
        {
            self.add(&decoded);
        }
    }

    fn add(&mut self, value: &str) {
        let value = value.trim();
        if is_distinct(value) {
            self.0.push(value.to_owned());
        }
    }
}

/// Whether a secret can be removed wherever it is without removing what is no secret.
fn is_distinct(value: &str) -> bool {
    let is_word = {
        let mut rest = value.chars().skip(1);
        let is_capital = value.chars().all(|c| c.is_ascii_uppercase());
        value.chars().all(|c| c.is_ascii_alphabetic())
            && (is_capital || rest.all(|c| c.is_ascii_lowercase()))
    };
    let is_number = value.chars().all(|c| c.is_ascii_digit());
    let first = value.chars().next();
    let bytes_min = match (is_word, is_number) {
        (true, _) => WORD_BYTES_MIN,
        (_, true) => DIGITS_MIN,
        (false, false) => BYTES_MIN,
    };
    let is_one_sign = value.chars().all(|c| Some(c) == first);
    value.len() >= bytes_min && !is_one_sign && !is_harmless(value)
}

/// Whether a name of a variable, flag, header or parameter says that its value is a secret.
fn names_a_secret(name: &str) -> bool {
    let words = words(name);
    let Some(last) = words.last() else {
        return false;
    };
    if words.len() > 1 && DESCRIBING_WORDS.contains(&&**last) {
        return false;
    }
    words.iter().any(|word| {
        SECRET_WORDS.contains(&&**word) || SECRET_ENDINGS.iter().any(|end| word.ends_with(end))
    })
}

/// The words of `API_KEY`, `--api-key`, `x-api-key` and `apiKey`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for character in name.chars() {
        let starts = character.is_uppercase() && was_lower;
        if !character.is_alphanumeric() || starts {
            words.push(String::new());
        }
        if character.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(character.to_lowercase());
        }
        was_lower = character.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a value has so many letters and digits in a row, mixed, that no person chose it.
fn looks_random(value: &str) -> bool {
    let has = |part: &str, is: fn(&u8) -> bool| part.as_bytes().iter().any(is);
    let is_text = value.contains(char::is_whitespace);
    let mut parts = value.split(|c: char| !c.is_ascii_alphanumeric());
    !is_text
        && parts.any(|part| {
            part.len() >= RANDOM_BYTES_MIN
                && has(part, u8::is_ascii_digit)
                && has(part, u8::is_ascii_alphabetic)
        })
}

/// Whether a value is an id of the usual form: ids are what tools are called with.
fn is_uuid(value: &str) -> bool {
    let lengths = value.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && value.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, value: &str) -> Vec<String> {
        let mut found = Found::default();
        found.environment(&[(name.to_owned(), value.to_owned())]);
        found.0
    }

    #[test]
    fn what_is_named_a_secret_or_looks_random_counts_and_ordinary_settings_do_not() {
        for (name, value) in [
            ("API_TOKEN", "tok-12"),
            ("apiKey", "hunter2"),
            ("DB_PASSWORD", "correcthorse"),
            ("GITHUB_PAT", "pat-abcdefghijkl"),
            ("CANARY", "canary-7f3a91c2d4e5"),
            ("GH", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
            ("dbpassword", "s3cret-of-db"),
            ("PROJECT_KEY", "550e8400-e29b-41d4-a716-446655440000"),
        ] {
            assert_eq!(found(name, value), [value], "{name}");
        }
        for (name, value) in [
            ("DB_PASSWORD", "postgres"),
            ("DB_PASSWORD", "short"),
            ("API_KEY", "changeme"),
            ("PIN", "123456"),
            ("SECRET", "xxxxxxxxxxxx"),
            ("GIT_AUTHOR_NAME", "Anna Schmidt"),
            ("AUTH_TYPE", "oauth2"),
            ("TOKEN_ENDPOINT", "https://auth.example.com/token"),
            ("BASE_URL", "https://api.example.com/v1"),
            ("MAX_TOKENS", "4096"),
            ("MODEL", "gpt-4o-mini-2024-07-18"),
            ("REGION", "eu-central-1"),
            ("PROJECT_ID", "550e8400-e29b-41d4-a716-446655440000"),
            ("NODE_ENV", "production"),
            ("KEY_FILE", "/etc/passwd"),
            ("MONKEY", "banana-7"),
            ("HOME", "/home/anna1234567890a"),
        ] {
            assert_eq!(found(name, value), [""; 0], "{name}={value}");
        }
    }

    #[test]
    fn secrets_are_found_in_urls_headers_and_arguments() {
        let mut found = Found::default();
        found.url("postgres://app:p%40ssword@db/x?access_key=k-1234567&page=123456");
        found.url("https://hooks.example.com/services/T00000000/XyZ123abc456DEF");
        found.secret("Basic YW5uYTpodW50ZXItMTI=");
        found.arguments(
            &[
                "--api-key=k-7654321",
                "--token",
                "t-7654321",
                "--name",
                "anna-7654",
                "--header",
                "X-Auth: h-7654321",
                "@scope/server-of-files",
            ]
            .map(str::to_owned),
        );
        let expected = [
            "p%40ssword",
            "p@ssword",
            "k-1234567",
            "XyZ123abc456DEF",
            "YW5uYTpodW50ZXItMTI=",
            "hunter-12",
            "k-7654321",
            "t-7654321",
            "h-7654321",
        ];
        assert_eq!(found.0, expected);
    }
}
