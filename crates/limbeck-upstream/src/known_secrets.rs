//! The secrets that this process knows, and their removal from all that leaves it.
//!
//! The secrets are those of the configuration, those that its references name, the tokens of sign-ins and those of the HTTP
//! face. They are removed from answers, printed text, errors, logs and records, as they are and in the forms that encoders
//! write ([`forms`]): base64 in each alignment, base64url, hexadecimal, percent and JSON. Programs and the journal have the
//! real values.
//!
//! It is no wall: a program that has a secret can write it in a form that no decoder knows. What holds is
//! that credentials never enter a worker, see `SECURITY.md`.

mod forms;
mod json;
mod matcher;
mod stream;
mod which;

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use secrecy::{ExposeSecret as _, SecretString};

pub(crate) use json::redacted as redacted_json;
use matcher::Matcher;
pub use stream::RedactedStream;
use which::Found;

/// Replacement of a secret.
pub(crate) const REDACTED: &str = "[redacted]";
/// Secrets of one source; the oldest go first. An entry has fewer, and a token that is renewed is not used for so long.
const PER_SOURCE_MAX: usize = 512;
/// Sources: servers, their sign-ins for each principal, and files of tokens.
const SOURCES_MAX: usize = 4_096;

/// The known secrets. Clones share them.
#[derive(Clone, Default)]
pub struct KnownSecrets(Arc<RwLock<State>>);

#[derive(Default)]
struct State {
    sources: BTreeMap<String, VecDeque<SecretString>>,
    /// `None` when a secret was added since it was built.
    built: Option<Option<Arc<Matcher>>>,
}

impl fmt::Debug for KnownSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KnownSecrets")
    }
}

impl KnownSecrets {
    /// Adds the secrets of an entry's process: of its variables and arguments those whose names say so or that look random.
    pub fn add_process(&self, source: &str, env: &[(String, String)], args: &[String]) {
        let mut found = Found::default();
        found.environment(env);
        found.arguments(args);
        self.add(source, found);
    }

    /// Adds the secrets in the address and the headers of an entry.
    pub fn add_address<'a>(
        &self,
        source: &str,
        url: &str,
        headers: impl Iterator<Item = (&'a str, &'a str)>,
    ) {
        let mut found = Found::default();
        found.url(url);
        for (name, value) in headers {
            found.named(name, value);
        }
        self.add(source, found);
    }

    /// Adds a value that is a secret. A word or a number that answers may have for other reasons is not added.
    pub fn add_secret(&self, source: &str, value: &str) {
        let mut found = Found::default();
        found.secret(value);
        self.add(source, found);
    }

    fn add(&self, source: &str, found: Found) {
        if found.0.is_empty() {
            return;
        }
        let mut state = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if state.sources.len() >= SOURCES_MAX && !state.sources.contains_key(source) {
            tracing::warn!(
                source,
                "too many secrets are known; one is not removed from answers"
            );
            return;
        }
        let known = state.sources.entry(source.to_owned()).or_default();
        let mut is_new = false;
        for value in found.0 {
            if known.iter().any(|other| other.expose_secret() == value) {
                continue;
            }
            is_new = true;
            known.push_back(value.into());
            if known.len() > PER_SOURCE_MAX {
                known.pop_front();
            }
        }
        if is_new {
            state.built = None;
        }
    }

    fn matcher(&self) -> Option<Arc<Matcher>> {
        if let Some(built) = &self.0.read().unwrap_or_else(PoisonError::into_inner).built {
            return built.clone();
        }
        let mut state = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let State { sources, built } = &mut *state;
        let secrets = || sources.values().flatten();
        built
            .get_or_insert_with(|| {
                Matcher::new(secrets().flat_map(|secret| forms::forms(secret.expose_secret())))
                    .map(Arc::new)
            })
            .clone()
    }

    /// `text` without secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(matcher) = self.matcher() else {
            return Cow::Borrowed(text);
        };
        without(&matcher, text)
    }

    /// JSON without secrets; valid JSON stays valid. A number that is a secret becomes a string.
    pub fn json<'a>(&self, json: &'a str) -> Cow<'a, str> {
        let Some(matcher) = self.matcher() else {
            return Cow::Borrowed(json);
        };
        // The forms have what our encoder escapes. Others escape more.
        let is_plain = || !has_rare_escapes(json);
        if matcher.find(json.as_bytes(), 0).is_none() && is_plain() {
            return Cow::Borrowed(json);
        }
        json::redacted(json, &|text| without(&matcher, text))
    }

    /// Text that is written piece by piece.
    pub fn stream(&self) -> RedactedStream {
        RedactedStream::new(self.clone())
    }
}

fn without<'a>(matcher: &Matcher, text: &'a str) -> Cow<'a, str> {
    let mut out = String::new();
    let mut done = 0;
    while let Some(found) = matcher.find(text.as_bytes(), done) {
        out.push_str(text.get(done..found.start).unwrap_or_default());
        out.push_str(REDACTED);
        done = found.end;
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

/// Whether JSON has escapes of characters that can be written as they are.
fn has_rare_escapes(json: &str) -> bool {
    let bytes = json.as_bytes();
    memchr::memchr_iter(b'\\', bytes).any(|at| matches!(bytes.get(at + 1), Some(b'u' | b'/')))
}

#[cfg(test)]
mod tests;
