//! Client of an embeddings endpoint: `POST {url}/embeddings`, with the interface of OpenAI.
//!
//! The endpoint is configured by the user and still untrusted. Requests go through the guarded client
//! ([`crate::http::guard`]): the address is checked like that of a configured server, redirects are not
//! followed, body and time are bounded. A response is validated: one vector per text, all of one length, every
//! number finite. The key is looked up when it is first needed and again after the endpoint rejected it, and it
//! is removed from every error.
//!
//! Start reading at [`Embedder::embed`].

mod error;
mod response;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use limbeck_domain::text;
use secrecy::ExposeSecret;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;
use tokio::time::timeout;
use url::Url;

use crate::http::guard::{self, GuardedClient};
use crate::http::{LocalSecrets, NetworkRules, SecretReference, SecretResolver};
use crate::redactor::Redactor;

pub use error::EmbeddingsError;
pub(crate) use response::reason as reason_in;

/// Texts per request. Hosted models take hundreds; text-embeddings-inference rejects more than this.
pub const EMBEDDINGS_BATCH_MAX: usize = 32;
/// Bytes sent of one text: more than any model uses of a tool, and some 500 tokens.
pub const EMBEDDINGS_TEXT_BYTES_MAX: usize = 2 << 10;
/// Longest vector accepted, as long as those of the largest known model.
const EMBEDDINGS_DIMENSIONS_MAX: usize = 4_096;
/// Longest response body: the longest vectors of a whole batch, 24 bytes a number, and some overhead.
const ANSWER_BYTES_MAX: usize = EMBEDDINGS_BATCH_MAX * EMBEDDINGS_DIMENSIONS_MAX * 24 + (64 << 10);
/// Bytes read of an error response.
const REFUSAL_BYTES_MAX: usize = 64 << 10;
/// Bytes shown of the reason in an error response.
const REASON_BYTES_MAX: usize = 200;

/// Configuration of an embeddings endpoint.
#[derive(Clone)]
pub struct EmbeddingsSpec {
    url: Url,
    model: String,
    /// Reference to the API key; without one no key is sent.
    pub key: Option<SecretReference>,
    /// Looks up the API key.
    pub secrets: Arc<dyn SecretResolver>,
    /// Networks allowed besides the host of the url.
    pub network: NetworkRules,
}

impl EmbeddingsSpec {
    /// The endpoint at `url`, to which `/embeddings` is added, without a key.
    ///
    /// # Errors
    ///
    /// What is wrong with the url.
    pub fn new(url: &str, model: &str) -> Result<Self, String> {
        let mut url = Url::parse(url).map_err(|error| error.to_string())?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err("it is neither `https://…` nor `http://…`".to_owned());
        }
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push("embeddings");
        }
        Ok(Self {
            url,
            model: model.to_owned(),
            key: None,
            secrets: Arc::new(LocalSecrets::default()),
            network: NetworkRules::default(),
        })
    }

    /// Scheme, host and port: what may be shown.
    pub fn origin(&self) -> String {
        guard::origin(&self.url)
    }

    /// Name of the model.
    pub fn model(&self) -> &str {
        &self.model
    }
}

impl fmt::Debug for EmbeddingsSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingsSpec")
            .field("origin", &self.origin())
            .field("model", &self.model)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// Client of one embeddings endpoint.
pub struct Embedder {
    spec: EmbeddingsSpec,
    client: GuardedClient,
    key: Mutex<Option<ApiKey>>,
}

/// API key as a header value, with a redactor that recognizes it.
#[derive(Clone, Default)]
struct ApiKey {
    header: Option<HeaderValue>,
    redactor: Redactor,
}

impl fmt::Debug for Embedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Embedder").field(&self.spec).finish()
    }
}

#[derive(Serialize)]
struct EmbeddingsRequest<'t> {
    model: &'t str,
    input: Vec<&'t str>,
    encoding_format: &'static str,
}

impl Embedder {
    /// Creates a client for the endpoint of `spec`. Sends nothing.
    ///
    /// # Errors
    ///
    /// [`EmbeddingsError::Unreachable`] for an address that is not allowed.
    pub fn new(spec: EmbeddingsSpec) -> Result<Self, EmbeddingsError> {
        let client = GuardedClient::new(&spec.url, spec.network.clone());
        let client = client.map_err(|error| EmbeddingsError::Unreachable {
            reason: error.to_string(),
        })?;
        Ok(Self {
            spec,
            client,
            key: Mutex::default(),
        })
    }

    /// Hash that identifies url and model. Vectors compare only with vectors of the same space.
    pub fn space(&self) -> String {
        let mut hash = Sha256::new();
        for part in [self.spec.url.as_str(), &self.spec.model] {
            // The length prefix keeps different pairs of url and model from producing the same bytes.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let bytes = hash.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns one vector per text, in their order, all of one length; `limit` covers all requests together.
    ///
    /// Only the first [`EMBEDDINGS_TEXT_BYTES_MAX`] of a text are sent, and [`EMBEDDINGS_BATCH_MAX`] texts per
    /// request.
    ///
    /// # Errors
    ///
    /// Any [`EmbeddingsError`]; no part of the key is in it.
    pub async fn embed(
        &self,
        texts: &[&str],
        limit: Duration,
    ) -> Result<Vec<Vec<f32>>, EmbeddingsError> {
        let all = async {
            let mut vectors: Vec<Vec<f32>> = Vec::with_capacity(texts.len());
            for batch in texts.chunks(EMBEDDINGS_BATCH_MAX) {
                let found = self.batch(batch).await?;
                if let (Some(one), Some(other)) = (vectors.first(), found.first())
                    && one.len() != other.len()
                {
                    return Err(self.answer("vectors of different lengths".to_owned()));
                }
                vectors.extend(found);
            }
            Ok(vectors)
        };
        let late = |_| EmbeddingsError::Late {
            origin: self.spec.origin(),
            ms: crate::time::in_ms(limit),
        };
        timeout(limit, all).await.map_err(late)?
    }

    async fn batch(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbeddingsError> {
        let key = self.key().await?;
        let input = texts.iter();
        let request = EmbeddingsRequest {
            model: &self.spec.model,
            input: input
                .map(|it| text::cut(it, EMBEDDINGS_TEXT_BYTES_MAX))
                .collect(),
            encoding_format: "float",
        };
        let body = serde_json::to_vec(&request).map_err(|error| self.answer(error.to_string()))?;
        let headers = headers(key.header.clone());
        let unreachable = |error: guard::GuardError| EmbeddingsError::Unreachable {
            reason: key.redactor.redact(&error.to_string()).into_owned(),
        };
        let sent = self
            .client
            .send(Method::POST, &self.spec.url, headers, body);
        let mut response = sent.await.map_err(unreachable)?;
        if !response.status().is_success() {
            let status = response.status();
            if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                // The user may have replaced the key: look it up again for the next request.
                *self.key.lock().await = None;
            }
            let body = response.bytes(REFUSAL_BYTES_MAX).await.unwrap_or_default();
            return Err(self.refused(status, &key.redactor, &body));
        }
        let body = response
            .bytes(ANSWER_BYTES_MAX)
            .await
            .map_err(unreachable)?;
        // The problem is described without quoting the response, which may contain the key.
        response::vectors(&body, texts.len()).map_err(|problem| self.answer(problem))
    }

    /// Returns the API key. Concurrent callers wait for one lookup.
    async fn key(&self) -> Result<ApiKey, EmbeddingsError> {
        // Held across the lookup on purpose: an `exec:` command or a keychain prompt must run only once.
        let mut kept = self.key.lock().await;
        if let Some(key) = &*kept {
            return Ok(key.clone());
        }
        let mut key = ApiKey::default();
        if let Some(reference) = &self.spec.key {
            let problem = |reason: String| EmbeddingsError::Key { reason };
            let secret = self.spec.secrets.resolve(reference).await;
            let secret = secret.map_err(problem)?;
            let value = format!("Bearer {}", secret.expose_secret());
            let mut header = HeaderValue::from_str(&value).map_err(|_| {
                problem("it has a character that is not allowed in a header".to_owned())
            })?;
            // Keeps the value out of `Debug` output and out of HTTP/2 header compression.
            header.set_sensitive(true);
            key = ApiKey {
                header: Some(header),
                redactor: Redactor::of(&value),
            };
        }
        *kept = Some(key.clone());
        Ok(key)
    }

    fn answer(&self, problem: String) -> EmbeddingsError {
        EmbeddingsError::Answer {
            origin: self.spec.origin(),
            problem,
        }
    }

    fn refused(&self, status: StatusCode, redactor: &Redactor, body: &[u8]) -> EmbeddingsError {
        let origin = self.spec.origin();
        if status.is_redirection() {
            // The target is not shown: it comes from the endpoint and is not followed.
            return EmbeddingsError::Redirected { origin };
        }
        let said = response::reason(body);
        // Redact before cutting: half of a key would not be recognized.
        let said = redactor.redact(&said);
        let said = text::clean_line(&said, REASON_BYTES_MAX);
        EmbeddingsError::Refused {
            origin,
            status: status.as_u16(),
            said: match said.trim() {
                "" => String::new(),
                said => format!(": {said}"),
            },
        }
    }
}

fn headers(key: Option<HeaderValue>) -> HeaderMap {
    let json = HeaderValue::from_static("application/json");
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, json.clone());
    headers.insert(ACCEPT, json);
    if let Some(key) = key {
        headers.insert(AUTHORIZATION, key);
    }
    headers
}
