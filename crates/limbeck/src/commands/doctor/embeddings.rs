//! State of the embedding endpoint for `limbeck doctor`, which requests one vector.

use std::time::Duration;

use limbeck_setup::Settings;
use limbeck_upstream::embeddings::{Embedder, EmbeddingsError, EmbeddingsSpec};
use serde::Serialize;

use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::wiring;

/// Time for one vector. The endpoint may have to load its model first.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// Text that is embedded.
const TEXT: &str = "limbeck doctor";

/// JSON of the endpoint in `limbeck doctor --json`.
#[derive(Serialize)]
pub(super) struct EmbeddingsReport {
    /// Scheme, host and port; the rest of the URL may contain a secret.
    url: String,
    model: String,
    /// File and line of the entry.
    source: String,
    /// Length of the vector, when the endpoint returned one.
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl EmbeddingsReport {
    /// Requests a vector when an endpoint is configured.
    pub(super) async fn of(invocation: &Invocation, settings: &Settings) -> Option<Self> {
        let setting = settings.embeddings.as_ref()?;
        let spec = wiring::embeddings_spec(settings, &wiring::secrets(invocation))?;
        let mut report = Self {
            url: String::new(),
            model: setting.value.model.clone(),
            source: setting.origin.to_string(),
            dimensions: None,
            error: None,
            hint: None,
        };
        match spec {
            Ok(spec) => {
                report.url = spec.origin();
                match ask(spec).await {
                    Ok(dimensions) => report.dimensions = Some(dimensions),
                    Err(error) => {
                        report.hint = Some(error.hint().to_owned());
                        report.error = Some(error.to_string());
                    }
                }
            }
            Err(problem) => {
                report.hint = Some(format!(
                    "correct `[search.embeddings]` in {}",
                    report.source
                ));
                report.error = Some(problem);
            }
        }
        Some(report)
    }

    pub(super) fn works(&self) -> bool {
        self.error.is_none()
    }

    /// Line of the table.
    pub(super) fn line(&self) -> String {
        let state = match self.dimensions {
            Some(dimensions) => format!("vectors of {dimensions} numbers"),
            None => "not used".to_owned(),
        };
        let Self {
            url, model, source, ..
        } = self;
        format!("{model} at {url}, {state} ({source})")
    }

    pub(super) fn print_problem(&self, printer: &Printer) {
        if let Some(error) = &self.error {
            printer.error(&format!(
                "the embedding endpoint cannot be used, so search uses the built-in table: {error}"
            ));
        }
        if let Some(hint) = &self.hint {
            printer.hint(hint);
        }
    }
}

async fn ask(spec: EmbeddingsSpec) -> Result<usize, EmbeddingsError> {
    let vectors = Embedder::new(spec)?.embed(&[TEXT], REQUEST_TIMEOUT).await?;
    Ok(vectors.first().map_or(0, Vec::len))
}
