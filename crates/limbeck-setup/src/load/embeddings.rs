//! `[search.embeddings]`: an endpoint that says what texts mean.

use limbeck_domain::text;

use super::{Loader, Open};
use crate::document::Place;
use crate::entry::Scope;
use crate::error::{Fault, Level};
use crate::server::{UrlProblem, check_url, unknown_key};
use crate::{EmbeddingsEntry, Setting};

/// `[search]` of `limbeck.toml`.
const SEARCH_KEYS: &[&str] = &["embeddings"];
/// `[search.embeddings]` of `limbeck.toml`.
const KEYS: &[&str] = &["allow_http", "key", "model", "url"];
/// How a reference to a secret begins.
const REFERENCES: &[&str] = &["env:", "file:", "keychain:", "exec:"];
/// Name of a model, in bytes.
const MODEL_BYTES_MAX: usize = 200;
/// What to do about any of it.
const FORM: &str = "the accepted form is [search.embeddings] url = \"https://…/v1\", model = \"…\", key = \"env:NAME\"";

impl Loader<'_> {
    pub(super) fn search(&mut self, open: &Open<'_>, place: &Place<'_>) -> Result<(), Fault> {
        for (key, value) in place.entries()? {
            if key != "embeddings" {
                return Err(Fault {
                    at: value.at,
                    ..value.fault(unknown_key(SEARCH_KEYS, key))
                });
            }
            self.embeddings(open, &value)?;
        }
        Ok(())
    }

    /// It decides where descriptions and queries go, and with which secret: no word of a repository's.
    fn embeddings(&mut self, open: &Open<'_>, place: &Place<'_>) -> Result<(), Fault> {
        if open.source.scope == Scope::Repository {
            let told = Fault {
                at: place.at,
                ..place.fault(
                    "is not used: a file of the repository cannot say where descriptions and queries are sent",
                )
            };
            self.found.notes.push(open.note(Level::Warning, told));
            return Ok(());
        }
        let value = self.endpoint(place).map_err(|fault| match fault.step {
            Some(_) => fault,
            None => fault.with_step(FORM),
        })?;
        self.found.settings.embeddings = Some(Setting {
            value,
            origin: open.origin(place),
        });
        Ok(())
    }

    fn endpoint(&self, place: &Place<'_>) -> Result<EmbeddingsEntry, Fault> {
        for (key, value) in place.entries()? {
            if !KEYS.contains(&key) {
                return Err(Fault {
                    at: value.at,
                    ..value.fault(unknown_key(KEYS, key))
                });
            }
        }
        let needed = |key: &str| {
            let found = place.get(key)?;
            found.ok_or_else(|| place.fault(format!("has no `{key}`")))
        };
        let (url, model) = (needed("url")?, needed("model")?);
        let allow_http = match place.get("allow_http")? {
            Some(found) => found.boolean()?,
            None => false,
        };
        let key = place.get("key")?.map(|key| reference(&key)).transpose()?;
        Ok(EmbeddingsEntry {
            url: self.address(&url, allow_http)?,
            model: model_name(&model)?,
            key,
            allow_http,
        })
    }

    fn address(&self, place: &Place<'_>, allow_http: bool) -> Result<String, Fault> {
        let url = self
            .variables
            .expand(place.text()?)
            .map_err(|problem| place.unusable(problem))?;
        match check_url(&url, allow_http) {
            Ok(()) => Ok(url),
            Err(UrlProblem::Form(problem)) => Err(place.fault(problem)),
            Err(UrlProblem::User) => Err(place
                .fault("expected a url without a user name; say where the secret is with `key`")),
            Err(UrlProblem::Clear) => Err(place
                .unusable("`http://` to another machine sends everything in the clear")
                .with_step(
                    "use `https://`; where the way there is yours alone, add `allow_http = true`",
                )),
        }
    }
}

/// Where the secret is, and never the secret: this file is read by more than us.
fn reference(place: &Place<'_>) -> Result<String, Fault> {
    let text = place.text()?;
    let is_reference = |scheme: &&&str| text.len() > scheme.len() && text.starts_with(**scheme);
    if REFERENCES.iter().find(is_reference).is_none() || text.chars().any(char::is_control) {
        return Err(place.fault(
            "expected where the secret is, `env:NAME`, `file:PATH`, `keychain:SERVICE/ACCOUNT` or `exec:COMMAND`, and not the secret",
        ));
    }
    Ok(text.to_owned())
}

fn model_name(place: &Place<'_>) -> Result<String, Fault> {
    let name = place.text()?;
    let seen = text::clean_line(name, MODEL_BYTES_MAX);
    if name.trim().is_empty() || seen != name {
        return Err(place.fault(format!(
            "expected the name of a model, 1 to {MODEL_BYTES_MAX} visible characters"
        )));
    }
    Ok(name.to_owned())
}
