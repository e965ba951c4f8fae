//! The section `[search.embeddings]`: an endpoint that embeds texts.

use limbeck_domain::text;

use super::Loader;
use super::open_file::OpenFile;
use crate::configuration::{EmbeddingsEntry, Setting};
use crate::diagnostic::{Severity, ValueError};
use crate::document::ConfigPlace;
use crate::entry::EntryScope;
use crate::entry_reader::{UrlError, check_url, unknown_key};

/// Keys of `[search]`.
const SEARCH_KEYS: &[&str] = &["embeddings"];
/// Keys of `[search.embeddings]`.
const KEYS: &[&str] = &["allow_http", "key", "model", "url"];
/// Prefixes of references to secrets.
const REFERENCES: &[&str] = &["env:", "file:", "keychain:", "exec:"];
/// Name of a model.
const MODEL_BYTES_MAX: usize = 200;
/// Hint of every error in this section.
const FORM: &str = "the accepted form is [search.embeddings] url = \"https://…/v1\", model = \"…\", key = \"env:NAME\"";

impl Loader<'_> {
    pub(super) fn read_search(
        &mut self,
        file: &OpenFile<'_>,
        place: &ConfigPlace<'_>,
    ) -> Result<(), ValueError> {
        for (key, value) in place.entries()? {
            if key != "embeddings" {
                return Err(value.malformed_key(unknown_key(SEARCH_KEYS, key)));
            }
            self.read_embeddings(file, &value)?;
        }
        Ok(())
    }

    /// Reads the endpoint. It decides where descriptions and queries are sent, and with which secret, so a
    /// repository's file cannot set it.
    fn read_embeddings(
        &mut self,
        file: &OpenFile<'_>,
        place: &ConfigPlace<'_>,
    ) -> Result<(), ValueError> {
        if file.source.scope == EntryScope::Repository {
            let problem = place.malformed_key("is ignored: a file of a repository cannot choose where descriptions and queries are sent");
            self.report(file, Severity::Warning, problem);
            return Ok(());
        }
        let value = self.endpoint(place).map_err(|error| match error.hint {
            Some(_) => error,
            None => error.with_hint(FORM),
        })?;
        self.found.settings.embeddings = Some(Setting {
            value,
            origin: file.origin(place),
        });
        Ok(())
    }

    fn endpoint(&self, place: &ConfigPlace<'_>) -> Result<EmbeddingsEntry, ValueError> {
        for (key, value) in place.entries()? {
            if !KEYS.contains(&key) {
                return Err(value.malformed_key(unknown_key(KEYS, key)));
            }
        }
        let needed = |key: &str| {
            let found = place.get(key)?;
            found.ok_or_else(|| place.malformed(format!("has no `{key}`")))
        };
        let (url, model) = (needed("url")?, needed("model")?);
        let allow_http = match place.get("allow_http")? {
            Some(found) => found.boolean()?,
            None => false,
        };
        let key = place.get("key")?.map(|key| reference(&key)).transpose()?;
        Ok(EmbeddingsEntry {
            url: self.address(&url, allow_http, "key")?,
            model: model_name(&model)?,
            key,
            allow_http,
        })
    }

    /// An address of the user's, whose secret the entry names in `secret_key`.
    pub(super) fn address(
        &self,
        place: &ConfigPlace<'_>,
        allow_http: bool,
        secret_key: &str,
    ) -> Result<String, ValueError> {
        let url = self
            .variables
            .expand(place.text()?)
            .map_err(|problem| place.unusable(problem))?;
        match check_url(&url, allow_http) {
            Ok(()) => Ok(url),
            Err(UrlError::Form(problem)) => Err(place.malformed(problem)),
            Err(UrlError::User) => Err(place.malformed(format!(
                "expected a url without a user name; name the secret with `{secret_key}`"
            ))),
            Err(UrlError::Unencrypted) => Err(place
                .unusable("`http://` to another machine sends everything unencrypted")
                .with_hint(
                    "use `https://`, or add `allow_http = true` if you trust the network in between",
                )),
        }
    }
}

/// Reads a reference to a secret. A secret itself is rejected: other programs read this file too.
pub(super) fn reference(place: &ConfigPlace<'_>) -> Result<String, ValueError> {
    let text = place.text()?;
    let is_reference = |scheme: &&&str| text.len() > scheme.len() && text.starts_with(**scheme);
    if REFERENCES.iter().find(is_reference).is_none() || text.chars().any(char::is_control) {
        return Err(place.malformed(
            "expected a reference to the secret, `env:NAME`, `file:PATH`, `keychain:SERVICE/ACCOUNT` or `exec:COMMAND`, not the secret itself",
        ));
    }
    Ok(text.to_owned())
}

pub(super) fn model_name(place: &ConfigPlace<'_>) -> Result<String, ValueError> {
    let name = place.text()?;
    let seen = text::clean_line(name, MODEL_BYTES_MAX);
    if name.trim().is_empty() || seen != name {
        return Err(place.malformed(format!(
            "expected the name of a model, 1 to {MODEL_BYTES_MAX} visible characters"
        )));
    }
    Ok(name.to_owned())
}
