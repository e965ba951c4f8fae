//! Asks an endpoint what texts mean: `POST {url}/embeddings`, as OpenAI's interface has it.
//!
//! The endpoint is the user's choice and still a stranger's program. It is asked through the guarded client
//! ([`crate::http::guard`]): its address is judged as that of a server in the configuration, no redirect is
//! followed, body and time are bounded. Of an answer nothing is believed: as many vectors as texts, all of one
//! length, every number finite. The key is looked up when it is first needed, anew after it was refused, and taken
//! out of every error.
//!
//! Start reading at [`Embedder::embed`].

mod answer;
mod error;

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

use crate::http::guard::{self, Client};
use crate::http::{LocalSecrets, NetworkRules, SecretReference, SecretResolver};
use crate::redactor::Redactor;

pub use error::EmbeddingsError;

/// Texts of one request. Hosted models take hundreds; text-embeddings-inference refuses more than this.
pub const EMBEDDINGS_BATCH_MAX: usize = 32;
/// What is sent of one text: more than any model reads of a tool, and some 500 tokens.
pub const EMBEDDINGS_TEXT_BYTES_MAX: usize = 2 << 10;
/// Numbers of one vector; the longest of a known model.
pub const EMBEDDINGS_DIMENSIONS_MAX: usize = 4_096;
/// Body of an answer: the longest vectors of a whole batch, 24 bytes a number, and a little around them.
const ANSWER_BYTES_MAX: usize = EMBEDDINGS_BATCH_MAX * EMBEDDINGS_DIMENSIONS_MAX * 24 + (64 << 10);
/// Body of a refusal that is read for its reason.
const REFUSAL_BYTES_MAX: usize = 64 << 10;
/// What is shown of that reason.
const REASON_BYTES_MAX: usize = 200;

/// An endpoint, as the configuration says.
#[derive(Clone)]
pub struct EmbeddingsSpec {
    url: Url,
    model: String,
    /// Where the key is; without one none is sent.
    pub key: Option<SecretReference>,
    /// Looks it up.
    pub secrets: Arc<dyn SecretResolver>,
    /// What is allowed besides the url.
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

    /// The model asked for.
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

/// A client of one endpoint.
pub struct Embedder {
    spec: EmbeddingsSpec,
    client: Client,
    key: Mutex<Option<Key>>,
}

/// The key as it is sent, and what knows it again.
#[derive(Clone, Default)]
struct Key {
    header: Option<HeaderValue>,
    redactor: Redactor,
}

impl fmt::Debug for Embedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Embedder").field(&self.spec).finish()
    }
}

#[derive(Serialize)]
struct Request<'t> {
    model: &'t str,
    input: Vec<&'t str>,
    encoding_format: &'static str,
}

impl Embedder {
    /// A client of the endpoint `spec` names. Nothing is sent.
    ///
    /// # Errors
    ///
    /// [`EmbeddingsError::Unreachable`] for an address that may never be asked.
    pub fn new(spec: EmbeddingsSpec) -> Result<Self, EmbeddingsError> {
        let client = Client::new(&spec.url, spec.network.clone());
        let client = client.map_err(|error| EmbeddingsError::Unreachable {
            reason: error.to_string(),
        })?;
        Ok(Self {
            spec,
            client,
            key: Mutex::default(),
        })
    }

    /// Names url and model without showing either: vectors of one space compare with each other and no others.
    pub fn space(&self) -> String {
        let mut hash = Sha256::new();
        for part in [self.spec.url.as_str(), &self.spec.model] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let bytes = hash.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// A vector for each of `texts`, in their order, all of one length; within `limit` for everything.
    ///
    /// Of a text the first [`EMBEDDINGS_TEXT_BYTES_MAX`] are sent, and [`EMBEDDINGS_BATCH_MAX`] texts at a time.
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
            ms: crate::connection::in_ms(limit),
        };
        timeout(limit, all).await.map_err(late)?
    }

    async fn batch(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbeddingsError> {
        let key = self.key().await?;
        let input = texts.iter();
        let request = Request {
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
                // It may have been replaced meanwhile.
                *self.key.lock().await = None;
            }
            let body = response.bytes(REFUSAL_BYTES_MAX).await.unwrap_or_default();
            return Err(self.refused(status, &key.redactor, &body));
        }
        let body = response
            .bytes(ANSWER_BYTES_MAX)
            .await
            .map_err(unreachable)?;
        // What is wrong is said in words of ours alone.
        answer::vectors(&body, texts.len()).map_err(|problem| self.answer(problem))
    }

    /// Whoever comes while it is looked up waits for the one who does.
    async fn key(&self) -> Result<Key, EmbeddingsError> {
        let mut kept = self.key.lock().await;
        if let Some(key) = &*kept {
            return Ok(key.clone());
        }
        let mut key = Key::default();
        if let Some(reference) = &self.spec.key {
            let problem = |reason: String| EmbeddingsError::Key { reason };
            let secret = self.spec.secrets.resolve(reference).await;
            let secret = secret.map_err(problem)?;
            let value = format!("Bearer {}", secret.expose_secret());
            let mut header = HeaderValue::from_str(&value)
                .map_err(|_| problem("it has a character that no header can have".to_owned()))?;
            header.set_sensitive(true);
            key = Key {
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
            // Where it leads is the endpoint's word, and of no use: it is not followed.
            return EmbeddingsError::Redirected { origin };
        }
        let said = answer::reason(body);
        // Before it is cut: half of a key would not be known again.
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
