//! The section `[llm]`: which models programs may ask, and how much.

use limbeck_domain::model::{MODEL_ROUNDS_MAX, MODEL_TOKENS_MAX};
use limbeck_domain::text;

use super::Loader;
use super::embeddings::{model_name, reference};
use super::open_file::OpenFile;
use crate::configuration::{LlmEntry, ProviderEntry, Setting};
use crate::diagnostic::{Severity, ValueError};
use crate::document::ConfigPlace;
use crate::entry::EntryScope;
use crate::entry_reader::unknown_key;

/// Keys of `[llm]`.
const KEYS: &[&str] = &[
    "allow_http",
    "enabled",
    "filter",
    "key",
    "model",
    "models",
    "provider",
    "rounds",
    "system_prompts",
    "timeout_ms",
    "tokens",
    "url",
];
/// Providers that are known by name.
const PROVIDERS: &[&str] = &[
    "anthropic",
    "gemini",
    "grok",
    "ollama",
    "openai",
    "openai-compatible",
    "perplexity",
];
/// Longest time for one answer.
const TIMEOUT_MS_MAX: u64 = 600_000;
/// Most tokens that a user may allow one execution.
const TOKENS_MAX: u64 = 100 * MODEL_TOKENS_MAX;
/// Most rounds that a user may allow one execution.
const ROUNDS_MAX: u64 = 10 * MODEL_ROUNDS_MAX as u64;
/// Entries of a list.
const LISTED_MAX: usize = 100;
/// Bytes of a system prompt.
const PROMPT_BYTES_MAX: usize = 8 << 10;
/// Hint of every error in this section.
pub(crate) const FORM: &str = "the accepted form is [llm] provider = \"anthropic\", model = \"…\", key = \"env:ANTHROPIC_API_KEY\", rounds = 10, tokens = 10000";

impl Loader<'_> {
    /// Reads the section. It decides where programs' questions are sent, with which secret and at what cost, so a repository's
    /// file cannot set it.
    pub(super) fn read_llm(
        &mut self,
        file: &OpenFile<'_>,
        place: &ConfigPlace<'_>,
    ) -> Result<(), ValueError> {
        if file.source.scope == EntryScope::Repository {
            let problem = place.malformed_key(
                "is ignored: a file of a repository cannot choose which models are asked, or how much",
            );
            self.report(file, Severity::Warning, problem);
            return Ok(());
        }
        let value = self.llm(place).map_err(|error| match error.hint {
            Some(_) => error,
            None => error.with_hint(FORM),
        })?;
        self.found.settings.llm = Some(Setting {
            value,
            origin: file.origin(place),
        });
        Ok(())
    }

    fn llm(&self, place: &ConfigPlace<'_>) -> Result<LlmEntry, ValueError> {
        let mut entry = LlmEntry::default();
        for (key, value) in place.entries()? {
            match key {
                "enabled" => entry.enabled = Some(value.boolean()?),
                "rounds" => entry.rounds = u32::try_from(value.number(0, ROUNDS_MAX)?).ok(),
                "tokens" => entry.tokens = Some(value.number(0, TOKENS_MAX)?),
                "timeout_ms" => entry.timeout_ms = Some(value.number(1_000, TIMEOUT_MS_MAX)?),
                "models" => entry.models = Some(listed(&value, model_name)?),
                "system_prompts" => entry.system_prompts = Some(listed(&value, system_prompt)?),
                "filter" => entry.filter = Some(value.boolean()?),
                "allow_http" | "key" | "model" | "provider" | "url" => {}
                _ => return Err(value.malformed_key(unknown_key(KEYS, key))),
            }
        }
        entry.provider = self.provider(place)?;
        Ok(entry)
    }

    fn provider(&self, place: &ConfigPlace<'_>) -> Result<Option<ProviderEntry>, ValueError> {
        let allow_http = match place.get("allow_http")? {
            Some(found) => found.boolean()?,
            None => false,
        };
        let url = place.get("url")?;
        let url = url
            .map(|url| self.address(&url, allow_http, "key"))
            .transpose()?;
        let name = match place.get("provider")? {
            Some(named) => {
                let name = named.text()?;
                let known = PROVIDERS.iter().find(|known| **known == name);
                let known = known.ok_or_else(|| {
                    named.malformed(format!(
                        "`{}` is not a known provider; known are {}",
                        text::clean_line(name, 40),
                        PROVIDERS.join(", ")
                    ))
                })?;
                (*known).to_owned()
            }
            None if url.is_some() => "openai-compatible".to_owned(),
            None => {
                for key in ["model", "key"] {
                    if let Some(found) = place.get(key)? {
                        return Err(found.malformed_key("needs a `provider` or a `url`"));
                    }
                }
                return Ok(None);
            }
        };
        let model = place.get("model")?;
        let model = model.map(|model| model_name(&model)).transpose()?;
        if name == "openai-compatible" && url.is_none() {
            return Err(place.malformed("has no `url` for its provider `openai-compatible`"));
        }
        if matches!(name.as_str(), "openai-compatible" | "ollama") && model.is_none() {
            return Err(place.malformed(format!("has no `model` for its provider `{name}`")));
        }
        let key = place.get("key")?.map(|key| reference(&key)).transpose()?;
        Ok(Some(ProviderEntry {
            name,
            url,
            model,
            key,
            allow_http,
        }))
    }
}

fn listed(
    place: &ConfigPlace<'_>,
    read: impl Fn(&ConfigPlace<'_>) -> Result<String, ValueError>,
) -> Result<Vec<String>, ValueError> {
    let items = place.list()?;
    if items.len() > LISTED_MAX {
        return Err(place.malformed(format!("has more than {LISTED_MAX} entries")));
    }
    items.iter().map(read).collect()
}

fn system_prompt(place: &ConfigPlace<'_>) -> Result<String, ValueError> {
    let prompt = place.text()?;
    if prompt.len() > PROMPT_BYTES_MAX {
        return Err(place.malformed(format!("is longer than {PROMPT_BYTES_MAX} bytes")));
    }
    Ok(prompt.to_owned())
}
