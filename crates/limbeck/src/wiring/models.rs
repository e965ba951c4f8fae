//! Models that programs may ask, from `[llm]` and from the variables of code-executor-mcp.

use std::sync::Arc;
use std::time::Duration;

use limbeck_gateway::ModelsConfig;
use limbeck_setup::{LlmEntry, ProviderEntry, Settings, World};
use limbeck_upstream::http::{LocalSecrets, NetworkRules, SecretReference};
use limbeck_upstream::models::{ProviderKind, ProviderSpec};

/// Variables by which users of code-executor-mcp turn sampling on; without one of them a key alone counts for requests that do.
const ENABLED: &str = "CODE_EXECUTOR_SAMPLING_ENABLED";
const PROVIDER: &str = "CODE_EXECUTOR_AI_PROVIDER";
const BASE_URL: &str = "CODE_EXECUTOR_AI_BASE_URL";
const ROUNDS: &str = "CODE_EXECUTOR_MAX_SAMPLING_ROUNDS";
const TOKENS: &str = "CODE_EXECUTOR_MAX_SAMPLING_TOKENS";
const TIMEOUT: &str = "CODE_EXECUTOR_SAMPLING_TIMEOUT_MS";
const SYSTEM_PROMPTS: &str = "CODE_EXECUTOR_ALLOWED_SYSTEM_PROMPTS";
const FILTERS: [&str; 2] = [
    "CODE_EXECUTOR_CONTENT_FILTERING_ENABLED",
    "CODE_EXECUTOR_CONTENT_FILTERING",
];
const MODELS: &str = "CODE_EXECUTOR_ALLOWED_MODELS";
/// Providers that code-executor-mcp knew, in the order in which a key chooses one.
const KNOWN: [ProviderKind; 5] = [
    ProviderKind::Anthropic,
    ProviderKind::OpenAi,
    ProviderKind::Gemini,
    ProviderKind::Grok,
    ProviderKind::Perplexity,
];

/// The models of the configuration. What the user's file says comes before what variables say.
///
/// # Errors
///
/// A variable with a value that it cannot have, or a provider that cannot be used; the text has no secret.
pub(crate) fn models_config(
    settings: &Settings,
    world: &World,
    secrets: &Arc<LocalSecrets>,
) -> Result<ModelsConfig, String> {
    let entry = settings.llm.as_ref().map(|setting| &setting.value);
    let none = LlmEntry::default();
    let entry = entry.unwrap_or(&none);
    let timeout_ms = entry.timeout_ms.or(duration_ms(world, TIMEOUT)?);
    let finished = |mut spec: ProviderSpec| {
        spec.secrets = secrets.clone();
        if let Some(ms) = timeout_ms {
            spec.timeout = Duration::from_millis(ms);
        }
        spec
    };
    let (provider, by_variables) = match &entry.provider {
        Some(provider) => {
            let spec = of_entry(provider).map_err(|problem| format!("[llm]: {problem}"))?;
            (Some(finished(spec)), None)
        }
        None => match of_variables(world)? {
            Some((spec, kind)) => (Some(finished(spec)), Some(kind)),
            None => (None, None),
        },
    };
    let is_named = [PROVIDER, BASE_URL]
        .iter()
        .any(|name| world.nonempty_variable(name).is_some());
    let of_provider = by_variables.and_then(|kind| {
        let name = format!("{MODELS}_{}", kind.as_str().to_uppercase());
        list(world, &name)
    });
    Ok(ModelsConfig {
        enabled: entry.enabled.unwrap_or(true),
        provider_is_for_all: by_variables.is_none()
            || is_named
            || flag(world, ENABLED)? == Some(true),
        provider,
        rounds: entry
            .rounds
            .or(number(world, ROUNDS, 1, 100)?.and_then(|it| u32::try_from(it).ok())),
        tokens: entry.tokens.or(number(world, TOKENS, 100, 100_000)?),
        models: entry
            .models
            .clone()
            .or(of_provider)
            .or_else(|| list(world, MODELS)),
        system_prompts: entry
            .system_prompts
            .clone()
            .or_else(|| list(world, SYSTEM_PROMPTS)),
        filter: match entry.filter {
            Some(filter) => Some(filter),
            None => {
                let set = FILTERS.iter().map(|name| flag(world, name));
                set.collect::<Result<Vec<_>, _>>()?
                    .into_iter()
                    .flatten()
                    .next()
            }
        },
    })
}

/// The provider of `[llm]`.
fn of_entry(entry: &ProviderEntry) -> Result<ProviderSpec, String> {
    let kind = ProviderKind::named(&entry.name).ok_or("its provider is not known")?;
    let mut spec = ProviderSpec::new(kind, entry.url.as_deref(), entry.model.as_deref())?;
    spec.network = NetworkRules {
        clear: entry.allow_http,
        ..NetworkRules::default()
    };
    spec.key = match entry.key.as_deref().and_then(SecretReference::parse) {
        Some(reference) => Some(reference.map_err(|problem| format!("its key: {problem}"))?),
        // The key of a provider is sent to that provider's own address alone, unless the user says otherwise.
        None if entry.url.is_none() => kind.key_variable().map(variable),
        None => None,
    };
    Ok(spec)
}

fn variable(name: &str) -> SecretReference {
    SecretReference::Variable(name.to_owned())
}

/// The provider that variables name, or have a key of.
fn of_variables(world: &World) -> Result<Option<(ProviderSpec, ProviderKind)>, String> {
    let has_key = |kind: &ProviderKind| {
        let name = kind.key_variable();
        name.and_then(|name| world.nonempty_variable(name))
            .is_some()
    };
    let kind = match world.nonempty_variable(PROVIDER) {
        Some(name) => {
            let name = name.trim().to_ascii_lowercase();
            let known = KNOWN.into_iter().find(|kind| kind.as_str() == name);
            let known = known.ok_or_else(|| {
                let names = KNOWN.map(ProviderKind::as_str).join(", ");
                format!("{PROVIDER} is not one of {names}")
            })?;
            Some(known)
        }
        None => KNOWN.into_iter().find(has_key),
    };
    let general = world.nonempty_variable(BASE_URL);
    let Some(kind) = kind.or(general.map(|_| ProviderKind::Anthropic)) else {
        return Ok(None);
    };
    let own = match kind {
        ProviderKind::Anthropic => Some("ANTHROPIC_BASE_URL"),
        ProviderKind::OpenAi => Some("OPENAI_BASE_URL"),
        ProviderKind::Gemini => Some("GOOGLE_GEMINI_BASE_URL"),
        ProviderKind::Grok
        | ProviderKind::Perplexity
        | ProviderKind::Ollama
        | ProviderKind::OpenAiCompatible => None,
    };
    let url = general.or_else(|| own.and_then(|name| world.nonempty_variable(name)));
    if url.is_none() && !has_key(&kind) {
        return Ok(None);
    }
    let spec = ProviderSpec::new(kind, url, None);
    let mut spec = spec.map_err(|problem| format!("the address of the provider: {problem}"))?;
    // The user named key and address together.
    let key = kind.key_variable().filter(|_| has_key(&kind));
    spec.key = key.map(variable);
    Ok(Some((spec, kind)))
}

fn list(world: &World, name: &str) -> Option<Vec<String>> {
    let value = world.nonempty_variable(name)?;
    let items = value.split(',').map(str::trim);
    Some(
        items
            .filter(|item| !item.is_empty())
            .map(str::to_owned)
            .collect(),
    )
}

fn flag(world: &World, name: &str) -> Result<Option<bool>, String> {
    match world.nonempty_variable(name).map(str::trim) {
        None => Ok(None),
        Some("true" | "1") => Ok(Some(true)),
        Some("false" | "0") => Ok(Some(false)),
        Some(_) => Err(format!("{name} must be true or false")),
    }
}

fn number(world: &World, name: &str, min: u64, max: u64) -> Result<Option<u64>, String> {
    let Some(value) = world.nonempty_variable(name) else {
        return Ok(None);
    };
    let number = value.trim().parse().ok();
    let number = number.filter(|number| (min..=max).contains(number));
    number
        .map(Some)
        .ok_or_else(|| format!("{name} must be a whole number from {min} to {max}"))
}

/// Milliseconds, or a number with `ms`, `s` or `m`.
fn duration_ms(world: &World, name: &str) -> Result<Option<u64>, String> {
    let Some(value) = world.nonempty_variable(name) else {
        return Ok(None);
    };
    let value = value.trim();
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("", 1)];
    let read = units.into_iter().find_map(|(unit, ms)| {
        let number: u64 = value.strip_suffix(unit)?.trim().parse().ok()?;
        number.checked_mul(ms)
    });
    let read = read.filter(|ms| (1_000..=600_000).contains(ms));
    read.map(Some)
        .ok_or_else(|| format!("{name} must be a time from 1000 to 600000 ms"))
}
