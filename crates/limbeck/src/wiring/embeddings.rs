//! Specification of the embedding endpoint, from the configuration.

use std::sync::Arc;

use limbeck_setup::Settings;
use limbeck_upstream::embeddings::EmbeddingsSpec;
use limbeck_upstream::http::{LocalSecrets, NetworkRules, SecretReference};

/// Specification of the configured endpoint, or what is wrong with the entry; the error contains no secret.
pub(crate) fn embeddings_spec(
    settings: &Settings,
    secrets: &Arc<LocalSecrets>,
) -> Option<Result<EmbeddingsSpec, String>> {
    let entry = &settings.embeddings.as_ref()?.value;
    let spec = || {
        let spec = EmbeddingsSpec::new(&entry.url, &entry.model);
        let mut spec = spec.map_err(|problem| format!("its url: {problem}"))?;
        let key = entry.key.as_deref().and_then(SecretReference::parse);
        let key = key.transpose();
        spec.key = key.map_err(|problem| format!("its key: {problem}"))?;
        spec.network = NetworkRules {
            clear: entry.allow_http,
            ..NetworkRules::default()
        };
        spec.secrets = secrets.clone();
        Ok(spec)
    };
    Some(spec())
}
