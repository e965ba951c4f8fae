//! Client of a provider of language models: Anthropic, Google Gemini, and the interface of OpenAI, which xAI, Perplexity, Ollama and
//! many others have too.
//!
//! The provider is configured by the user and still untrusted. Requests go through the guarded client ([`crate::http::guard`]): the
//! address is checked like that of a configured server, redirects are not followed, body and time are bounded. Answers are read as
//! streams ([`answer`]), and one that ends before its end is an error and not half an answer. The key is looked up when it is first
//! needed and again after the provider rejected it. It is sent in a header, and it is removed from every error and every answer.
//!
//! A question is sent only with a [`ModelPermit`]. Start reading at [`ModelProvider::ask`], then [`wire`] for the formats.

mod addresses;
mod answer;
mod anthropic;
mod error;
mod gemini;
mod openai;
mod partial_answer;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use limbeck_domain::text;
use limbeck_policy::ModelPermit;
use secrecy::ExposeSecret;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::timeout;
use url::Url;

use crate::embeddings::reason_in;
use crate::http::guard::{self, GuardedClient};
use crate::http::{LocalSecrets, NetworkRules, SecretReference, SecretResolver};
use crate::redactor::Redactor;
use answer::AnswerReader;

pub use error::ModelError;
pub use wire::ProviderKind;

/// Bytes read of an error response.
const REFUSAL_BYTES_MAX: usize = 64 << 10;
/// Bytes shown of the reason in an error response.
const REASON_BYTES_MAX: usize = 300;

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The program, for its user.
    User,
    /// The model.
    Assistant,
}

/// One question to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelPrompt {
    /// The model.
    pub model: String,
    /// Instructions that come before the conversation.
    pub system: Option<String>,
    /// The conversation, at least one message.
    pub messages: Vec<(Speaker, String)>,
    /// Most tokens of the answer.
    pub max_tokens: u64,
}

/// Answer of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelAnswer {
    /// Its text.
    pub text: String,
    /// The model that answered, as the provider names it.
    pub model: Option<String>,
    /// Why it ended, as the protocol names it (`endTurn`, `maxTokens`, `stopSequence`) where it has a name.
    pub stop_reason: Option<String>,
    /// Tokens of the prompt, as the provider counted them.
    pub input_tokens: Option<u64>,
    /// Tokens of the answer, as the provider counted them.
    pub output_tokens: Option<u64>,
}

/// Configuration of a provider.
#[derive(Clone)]
pub struct ProviderSpec {
    kind: ProviderKind,
    base: Url,
    model: String,
    /// Reference to the API key; without one no key is sent.
    pub key: Option<SecretReference>,
    /// Looks up the API key.
    pub secrets: Arc<dyn SecretResolver>,
    /// Networks allowed besides the host of the address.
    pub network: NetworkRules,
    /// Time for one answer.
    pub timeout: Duration,
}

/// Time for one answer, unless the configuration says another.
pub const MODEL_TIMEOUT: Duration = Duration::from_secs(60);

impl ProviderSpec {
    /// The provider at `url`, or at its own address, without a key; `model` is that of questions that name none.
    ///
    /// # Errors
    ///
    /// What is wrong with the address, or that there is no model.
    pub fn new(kind: ProviderKind, url: Option<&str>, model: Option<&str>) -> Result<Self, String> {
        let address = url.or(kind.url()).ok_or("it needs a `url`")?;
        let base = Url::parse(address).map_err(|error| error.to_string())?;
        if !matches!(base.scheme(), "http" | "https") || base.host().is_none() {
            return Err("its url is neither `https://…` nor `http://…`".to_owned());
        }
        let model = model.or(kind.model()).ok_or("it needs a `model`")?;
        Ok(Self {
            kind,
            base,
            model: model.to_owned(),
            key: None,
            secrets: Arc::new(LocalSecrets::default()),
            network: NetworkRules::default(),
            timeout: MODEL_TIMEOUT,
        })
    }

    /// Scheme, host and port: what may be shown.
    pub fn origin(&self) -> String {
        guard::origin(&self.base)
    }

    /// Model of questions that name none.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The provider's name.
    pub fn name(&self) -> &'static str {
        self.kind.as_str()
    }
}

impl fmt::Debug for ProviderSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderSpec")
            .field("kind", &self.kind)
            .field("origin", &self.origin())
            .field("model", &self.model)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// Client of one provider.
pub struct ModelProvider {
    spec: ProviderSpec,
    client: GuardedClient,
    key: Mutex<Option<ApiKey>>,
}

/// API key, with a redactor that recognizes it.
#[derive(Clone, Default)]
struct ApiKey {
    header: Option<(&'static str, HeaderValue)>,
    redactor: Redactor,
}

impl fmt::Debug for ModelProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ModelProvider").field(&self.spec).finish()
    }
}

impl ModelProvider {
    /// Creates a client for the provider of `spec`. Sends nothing.
    ///
    /// # Errors
    ///
    /// [`ModelError::Unreachable`] for an address that is not allowed.
    pub fn new(spec: ProviderSpec) -> Result<Self, ModelError> {
        let client = GuardedClient::new(&spec.base, spec.network.clone());
        let client = client.map_err(|error| ModelError::Unreachable {
            reason: error.to_string(),
        })?;
        Ok(Self {
            spec,
            client,
            key: Mutex::default(),
        })
    }

    /// What it is configured with.
    pub fn spec(&self) -> &ProviderSpec {
        &self.spec
    }

    /// Sends one question and reads the whole answer. The permit is for this question and for the correction of its answer.
    /// Dropping the future ends the request at the provider.
    ///
    /// # Errors
    ///
    /// Any [`ModelError`]; no part of the key is in it.
    pub async fn ask(
        &self,
        _permit: &ModelPermit,
        question: &ModelPrompt,
    ) -> Result<ModelAnswer, ModelError> {
        let key = self.key().await?;
        let limit = self.spec.timeout;
        let answered = timeout(limit, self.request(question, &key)).await;
        let late = |_| ModelError::Late {
            origin: self.spec.origin(),
            ms: crate::time::in_ms(limit),
        };
        let mut answer = answered.map_err(late)??;
        // A provider that echoes headers would hand the key to the program.
        answer.text = key.redactor.redact(&answer.text).into_owned();
        Ok(answer)
    }

    async fn request(
        &self,
        question: &ModelPrompt,
        key: &ApiKey,
    ) -> Result<ModelAnswer, ModelError> {
        let spec = &self.spec;
        let format = spec.kind.format();
        let url = format.url(&spec.base, &question.model);
        let body: Value = format.body(spec.kind, question);
        let unreachable = |error: guard::GuardError| ModelError::Unreachable {
            reason: key.redactor.redact(&error.to_string()).into_owned(),
        };
        let body = body.to_string().into_bytes();
        let sent = self
            .client
            .send(Method::POST, &url, headers(key, format.headers()), body);
        let mut response = sent.await.map_err(unreachable)?;
        let status = response.status();
        if !status.is_success() {
            if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                // The user may have replaced the key: look it up again for the next question.
                *self.key.lock().await = None;
            }
            let body = response.bytes(REFUSAL_BYTES_MAX).await.unwrap_or_default();
            return Err(self.refused(status, &key.redactor, &reason_in(&body)));
        }
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|it| it.to_str().ok());
        let mut reader = AnswerReader::new(format, content_type);
        let problem = |problem: partial_answer::AnswerProblem| {
            problem.into_error(spec.origin(), |said| self.shown(&key.redactor, said))
        };
        while !reader.has_ended() {
            match response.chunk().await {
                Ok(Some(chunk)) => reader.read(chunk).map_err(problem)?,
                Ok(None) => break,
                Err(error) => {
                    return Err(ModelError::Cut {
                        origin: spec.origin(),
                        reason: key.redactor.redact(&error.to_string()).into_owned(),
                        answer_bytes: reader.answer_bytes(),
                    });
                }
            }
        }
        reader.finish().map_err(problem)
    }

    /// Returns the API key. Concurrent callers wait for one lookup.
    async fn key(&self) -> Result<ApiKey, ModelError> {
        // Held across the lookup on purpose: an `exec:` command or a keychain prompt must run only once.
        let mut kept = self.key.lock().await;
        if let Some(key) = &*kept {
            return Ok(key.clone());
        }
        let mut key = ApiKey::default();
        if let Some(reference) = &self.spec.key {
            let problem = |reason: String| ModelError::Key { reason };
            let secret = self.spec.secrets.resolve(reference).await;
            let secret = secret.map_err(problem)?;
            let (name, prefix) = self.spec.kind.format().key_header();
            let value = format!("{prefix}{}", secret.expose_secret());
            let mut header = HeaderValue::from_str(&value).map_err(|_| {
                problem("it has a character that is not allowed in a header".to_owned())
            })?;
            // Keeps the value out of `Debug` output and out of HTTP/2 header compression.
            header.set_sensitive(true);
            key = ApiKey {
                header: Some((name, header)),
                redactor: Redactor::of(secret.expose_secret()),
            };
        }
        *kept = Some(key.clone());
        Ok(key)
    }

    fn refused(&self, status: StatusCode, redactor: &Redactor, said: &str) -> ModelError {
        let origin = self.spec.origin();
        if status.is_redirection() {
            // The target is not shown: it comes from the provider and is not followed.
            return ModelError::Redirected { origin };
        }
        ModelError::Refused {
            origin,
            status: status.as_u16(),
            said: self.shown(redactor, said),
        }
    }

    /// Words of the provider as they may be shown: after a colon; empty without any.
    fn shown(&self, redactor: &Redactor, said: &str) -> String {
        // Redact before cutting: half of a key would not be recognized.
        let said = redactor.redact(said);
        let said = text::clean_line(&said, REASON_BYTES_MAX);
        match said.trim() {
            "" => String::new(),
            said => format!(": {said}"),
        }
    }
}

fn headers(key: &ApiKey, more: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let accept = HeaderValue::from_static("text/event-stream, application/json");
    headers.insert(ACCEPT, accept);
    for (name, value) in more {
        headers.insert(*name, HeaderValue::from_static(value));
    }
    if let Some((name, value)) = &key.header {
        headers.insert(*name, value.clone());
    }
    headers
}
