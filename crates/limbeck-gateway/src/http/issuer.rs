//! Tokens of an identity provider: JSON web tokens, checked here against the keys it publishes.
//!
//! The issuer is one that the operator named. What it serves is fetched by the guarded client of
//! `upstream`, over HTTPS (plain HTTP on this machine only), bounded in bytes and time, and never more
//! often than every [`ISSUER_RETRY_MS`], however many unknown keys are presented to us. A token is good when its
//! algorithm is an asymmetric one, its signature is of a published key, its audience is ours, its issuer
//! is the one that was named, and its times include now. A token ends here: it is not sent on.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use http::header::ACCEPT;
use http::{Request, StatusCode};
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use limbeck_domain::limits::{
    ISSUER_FETCH_MS, ISSUER_KEYS_FRESH_MS, ISSUER_KEYS_STALE_MS, ISSUER_RETRY_MS,
    PRINCIPAL_BYTES_MAX, TOKEN_BYTES_MAX,
};
use limbeck_domain::text;
use limbeck_upstream::http::NetworkRules;
use limbeck_upstream::http::guard::{Client, GuardError, Redirects};
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

/// Algorithms that are taken: asymmetric, so that keys that verify cannot sign.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];
/// How far clocks may differ, in seconds.
const LEEWAY_SECONDS: u64 = 30;
/// Keys of one issuer; two during a rotation are usual.
const KEYS_MAX: usize = 64;

/// Verifies tokens of one issuer.
#[derive(Debug)]
pub struct Issuer {
    url: String,
    audience: String,
    client: Client,
    keys: RwLock<Option<Arc<Keys>>>,
    /// When keys were last asked for. Held while they are fetched, so one request fetches for all.
    asked: Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct Keys {
    keys: Vec<Jwk>,
    fetched: Instant,
}

/// An issuer that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IssuerError {
    /// Its address is none.
    #[error("`{0}` is no issuer; accepted: an https URL without query and fragment")]
    Url(String),
    /// There is nothing tokens could be issued for.
    #[error("the audience is empty")]
    Audience,
    /// Its address is one that is not asked.
    #[error(transparent)]
    Guard(#[from] GuardError),
}

/// Why an issuer's keys are not there. For the log; the client hears nothing of it.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error(transparent)]
    Guard(#[from] GuardError),
    #[error("`{0}` is no URL")]
    Url(String),
    #[error("{url} answered {status}")]
    Status { url: String, status: u16 },
    #[error("{url} is not what it should be")]
    Json {
        url: String,
        #[source]
        error: serde_json::Error,
    },
    #[error("{url} is of another issuer")]
    OtherIssuer { url: String },
    #[error("the keys are at an address that is not fetched: https is needed")]
    KeysUrl,
}

/// What we read of an issuer's metadata (OpenID Connect Discovery 1.0 §3, RFC 8414 §2).
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

/// What we read of a token besides what its validation does.
#[derive(Deserialize)]
struct Claims {
    sub: String,
}

impl Issuer {
    /// An issuer by its URL, exactly as its tokens have it in `iss`, and the audience that stands for
    /// this gateway. Fetches nothing yet.
    ///
    /// # Errors
    ///
    /// [`IssuerError`]
    pub fn new(url: &str, audience: &str) -> Result<Self, IssuerError> {
        let parsed = Url::parse(url).map_err(|_| IssuerError::Url(url.to_owned()))?;
        if parsed.query().is_some() || parsed.fragment().is_some() {
            return Err(IssuerError::Url(url.to_owned()));
        }
        if audience.is_empty() {
            return Err(IssuerError::Audience);
        }
        let client = Client::new(&parsed, NetworkRules::default())?;
        Ok(Self {
            url: url.to_owned(),
            audience: audience.to_owned(),
            client,
            keys: RwLock::new(None),
            asked: Mutex::new(None),
        })
    }

    /// Its URL.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The audience, when it is a URL and so names the resource that tokens are for (RFC 8707).
    pub(crate) fn resource(&self) -> Option<&str> {
        let is_url = self.audience.starts_with("https://") || self.audience.starts_with("http://");
        is_url.then_some(self.audience.as_str())
    }

    /// Whom a token stands for: `jwt:ISSUER#SUBJECT`.
    pub(crate) async fn principal(&self, token: &str) -> Option<Arc<str>> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let header = decode_header(token).ok()?;
        if !ALGORITHMS.contains(&header.alg) || header.crit.is_some() {
            return None;
        }
        let key = self.key(header.kid.as_deref(), header.alg).await?;
        let mut validation = Validation::new(header.alg);
        validation.set_audience(&[&self.audience]);
        validation.set_issuer(&[&self.url]);
        validation.set_required_spec_claims(&["exp", "aud", "iss", "sub"]);
        validation.validate_nbf = true;
        validation.leeway = LEEWAY_SECONDS;
        let subject = decode::<Claims>(token, &key, &validation).ok()?.claims.sub;
        let fits = !subject.is_empty() && subject.len() <= PRINCIPAL_BYTES_MAX;
        if !fits || subject.chars().any(char::is_control) {
            return None;
        }
        Some(format!("jwt:{}#{subject}", self.url).into())
    }

    async fn key(&self, id: Option<&str>, algorithm: Algorithm) -> Option<DecodingKey> {
        let now = Instant::now();
        if let Some(keys) = self.known()
            && now - keys.fetched < Duration::from_millis(ISSUER_KEYS_FRESH_MS)
            && let Some(key) = keys.find(id, algorithm)
        {
            return Some(key);
        }
        self.refresh().await;
        let keys = self.known()?;
        let age = Instant::now() - keys.fetched;
        if age > Duration::from_millis(ISSUER_KEYS_STALE_MS) {
            return None;
        }
        keys.find(id, algorithm)
    }

    fn known(&self) -> Option<Arc<Keys>> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.clone()
    }

    /// Fetches the keys, unless somebody just did.
    async fn refresh(&self) {
        let mut asked = self.asked.lock().await;
        let retry = Duration::from_millis(ISSUER_RETRY_MS);
        if asked.is_some_and(|asked| asked.elapsed() < retry) {
            return;
        }
        *asked = Some(Instant::now());
        match self.fetch().await {
            Ok(keys) => {
                let mut known = self.keys.write().unwrap_or_else(PoisonError::into_inner);
                *known = Some(Arc::new(keys));
            }
            Err(error) => tracing::error!(
                error = &error as &dyn std::error::Error,
                "keys of the token issuer could not be fetched"
            ),
        }
    }

    async fn fetch(&self) -> Result<Keys, FetchError> {
        let base = self.url.trim_end_matches('/');
        let openid = format!("{base}/.well-known/openid-configuration");
        let metadata: Metadata = match self.get(&openid).await {
            Err(FetchError::Status { .. }) => self.get(&oauth_metadata_url(base)).await?,
            other => other?,
        };
        if metadata.issuer != self.url {
            return Err(FetchError::OtherIssuer { url: openid });
        }
        let keys_url = metadata.jwks_uri;
        // A key may lie in clear text only where the issuer itself does.
        if is_https(&self.url) && !is_https(&keys_url) {
            return Err(FetchError::KeysUrl);
        }
        let set: LenientSet = self.get(&keys_url).await?;
        Ok(Keys {
            keys: set.keys(),
            fetched: Instant::now(),
        })
    }

    async fn get<T: for<'de> Deserialize<'de>>(&self, url: &str) -> Result<T, FetchError> {
        let request = Request::get(url)
            .header(ACCEPT, "application/json")
            .body(Vec::new())
            .map_err(|_| FetchError::Url(text::clean_line(url, 200)))?;
        let limit = Duration::from_millis(ISSUER_FETCH_MS);
        let response = self
            .client
            .fetch(request, Redirects::SameOrigin, limit)
            .await?;
        let status = response.status();
        if status != StatusCode::OK {
            return Err(FetchError::Status {
                url: url.to_owned(),
                status: status.as_u16(),
            });
        }
        serde_json::from_slice(response.body()).map_err(|error| FetchError::Json {
            url: url.to_owned(),
            error,
        })
    }
}

impl Keys {
    /// The key a token names. One that names none is verified by the only key there is.
    fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<DecodingKey> {
        let fits = |key: &&Jwk| serves(key, algorithm);
        let key = match id {
            Some(id) => self
                .keys
                .iter()
                .filter(|key| key.common.key_id.as_deref() == Some(id))
                .find(fits)?,
            None => {
                let mut keys = self.keys.iter().filter(fits);
                let key = keys.next()?;
                if keys.next().is_some() {
                    return None;
                }
                key
            }
        };
        DecodingKey::from_jwk(key).ok()
    }
}

/// Whether a key may verify signatures of an algorithm.
fn serves(key: &Jwk, algorithm: Algorithm) -> bool {
    let for_signatures = match &key.common.public_key_use {
        None | Some(PublicKeyUse::Signature) => true,
        Some(PublicKeyUse::Encryption | PublicKeyUse::Other(_)) => false,
    };
    let declared = key.common.key_algorithm;
    let of_algorithm = declared.is_none_or(|declared| declared == KeyAlgorithm::from(algorithm));
    let of_family = match algorithm {
        Algorithm::ES256 | Algorithm::ES384 => {
            matches!(key.algorithm, AlgorithmParameters::EllipticCurve(_))
        }
        Algorithm::EdDSA => matches!(key.algorithm, AlgorithmParameters::OctetKeyPair(_)),
        _ => matches!(key.algorithm, AlgorithmParameters::RSA(_)),
    };
    for_signatures && of_algorithm && of_family
}

/// A key set in which a key of a kind we do not know spoils none of the others.
#[derive(Deserialize)]
struct LenientSet {
    keys: Vec<serde_json::Value>,
}

impl LenientSet {
    fn keys(self) -> Vec<Jwk> {
        let keys = self.keys.into_iter().take(KEYS_MAX);
        let known = keys.filter_map(|key| serde_json::from_value(key).ok());
        known.collect()
    }
}

/// RFC 8414 §3.1: the well-known part stands before the issuer's path.
fn oauth_metadata_url(base: &str) -> String {
    let Some((scheme, rest)) = base.split_once("://") else {
        return base.to_owned();
    };
    let (authority, path) = match rest.split_once('/') {
        Some((authority, path)) => (authority, format!("/{path}")),
        None => (rest, String::new()),
    };
    format!("{scheme}://{authority}/.well-known/oauth-authorization-server{path}")
}

fn is_https(url: &str) -> bool {
    url.starts_with("https://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuers_are_asked_over_https_or_on_this_machine() {
        for url in [
            "https://id.example",
            "https://id.example/tenant/v2",
            "http://127.0.0.1:9000",
            "http://localhost:1/x",
        ] {
            assert!(Issuer::new(url, "us").is_ok(), "{url}");
        }
        for url in [
            "http://id.example",
            "ftp://id.example",
            "id.example",
            "https://u:p@id.example",
            "https://id.example?x",
            "https://id.example#x",
            "http://127.0.0.1.attacker.example/",
            "file:///etc/passwd",
            "",
        ] {
            assert!(Issuer::new(url, "us").is_err(), "{url}");
        }
        assert!(Issuer::new("https://id.example", "").is_err());
    }

    #[test]
    fn metadata_of_an_issuer_with_a_path_is_where_the_standard_says() {
        assert_eq!(
            oauth_metadata_url("https://id.example/tenant"),
            "https://id.example/.well-known/oauth-authorization-server/tenant"
        );
        assert_eq!(
            oauth_metadata_url("https://id.example"),
            "https://id.example/.well-known/oauth-authorization-server"
        );
    }
}
