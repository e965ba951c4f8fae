//! Verification of JSON web tokens by the keys that their issuer publishes.
//!
//! The operator configures the issuer. Metadata and keys are fetched by the guarded client of
//! `limbeck-upstream`, over HTTPS (plain HTTP on this machine only), bounded in bytes and time, and at most
//! once in [`ISSUER_RETRY_MS`], however many unknown keys clients present. A token is valid when its
//! algorithm is asymmetric, it is not of another kind than an access token (an ID token) nor bound to a key, its
//! signature verifies with a published key, audience and issuer are the
//! configured ones, and the current time is within its validity. Tokens are never sent on.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use http::header::ACCEPT;
use http::{Request, StatusCode};
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use limbeck_domain::limits::{
    GROUPS_PER_TOKEN_MAX, ISSUER_FETCH_MS, ISSUER_KEYS_FRESH_MS, ISSUER_KEYS_STALE_MS,
    ISSUER_RETRY_MS, PRINCIPAL_BYTES_MAX, TOKEN_BYTES_MAX,
};
use limbeck_domain::text;
use limbeck_upstream::http::NetworkRules;
use limbeck_upstream::http::guard::{GuardError, GuardedClient, RedirectPolicy};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use super::authentication::TokenOwner;

/// Accepted algorithms: asymmetric, so that a published key cannot sign.
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
/// Accepted clock difference, in seconds.
const LEEWAY_SECONDS: u64 = 30;
/// Keys of one issuer; two during a rotation are usual.
const KEYS_MAX: usize = 64;

/// Verifies tokens of one issuer.
#[derive(Debug)]
pub struct Issuer {
    url: String,
    audience: String,
    client: GuardedClient,
    keys: RwLock<Option<Arc<Keys>>>,
    /// Time of the last fetch. Locked while keys are fetched, so concurrent requests share one fetch.
    asked: Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct Keys {
    keys: Vec<Jwk>,
    fetched: Instant,
}

/// Configuration of an issuer that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IssuerError {
    /// Not an https URL without query and fragment.
    #[error("`{0}` is not an issuer URL; accepted: an https URL without query and fragment")]
    Url(String),
    /// The audience is empty.
    #[error("the audience is empty")]
    Audience,
    /// The address rules do not allow a request to it.
    #[error(transparent)]
    Guard(#[from] GuardError),
}

/// Failure to fetch an issuer's keys. Goes to the log; clients get no reason.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error(transparent)]
    Guard(#[from] GuardError),
    #[error("`{0}` is not a URL")]
    Url(String),
    #[error("{url} answered {status}")]
    Status { url: String, status: u16 },
    #[error("{url} returned an unexpected document")]
    Json {
        url: String,
        #[source]
        error: serde_json::Error,
    },
    #[error("{url} belongs to another issuer")]
    OtherIssuer { url: String },
    #[error("the keys are not at an https address, so they are not fetched")]
    KeysUrl,
}

/// Members used of an issuer's metadata (OpenID Connect Discovery 1.0 §3, RFC 8414 §2).
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

/// Claims used besides those that validation reads.
#[derive(Deserialize)]
struct Claims {
    sub: String,
    /// Kind of the token, as Keycloak writes it: `Bearer`, `ID`, `Refresh`, `Logout`.
    #[serde(default)]
    typ: Option<Value>,
    #[serde(default)]
    nonce: Option<IgnoredAny>,
    #[serde(default)]
    at_hash: Option<IgnoredAny>,
    #[serde(default)]
    c_hash: Option<IgnoredAny>,
    #[serde(default)]
    events: Option<IgnoredAny>,
    /// Groups of the subject. No standard has the claim, and most issuers write it like this.
    #[serde(default)]
    groups: Option<Value>,
    /// Key that the sender has to prove that it has (RFC 7800 §3.1).
    #[serde(default)]
    cnf: Option<IgnoredAny>,
}

impl Claims {
    /// Whether the token is not for access: an ID token (OpenID Connect Core 1.0 §2, §3.3.2.11), a logout token
    /// (Back-Channel Logout 1.0 §2.4), or of a kind that the issuer names.
    fn is_of_another_kind(&self) -> bool {
        let names_another = self.typ.as_ref().is_some_and(|kind| {
            let kind = kind.as_str().unwrap_or_default();
            !kind.eq_ignore_ascii_case("Bearer") && !is_access_token_type(kind)
        });
        let marks = [&self.nonce, &self.at_hash, &self.c_hash, &self.events];
        names_another || marks.into_iter().any(Option::is_some)
    }
}

/// Whether `typ` may be that of an access token: RFC 9068 §2.1, or the general one that many issuers write.
fn is_access_token_type(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    let kind = kind.strip_prefix("application/").unwrap_or(&kind);
    matches!(kind, "at+jwt" | "jwt")
}

impl Issuer {
    /// An issuer by its URL, exactly as in the `iss` of its tokens, and the audience of this gateway. Fetches
    /// nothing.
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
        let client = GuardedClient::new(&parsed, NetworkRules::default())?;
        Ok(Self {
            url: url.to_owned(),
            audience: audience.to_owned(),
            client,
            keys: RwLock::new(None),
            asked: Mutex::new(None),
        })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The audience, when it is a URL and so names the resource that tokens are for (RFC 8707).
    pub(crate) fn resource(&self) -> Option<&str> {
        let is_url = self.audience.starts_with("https://") || self.audience.starts_with("http://");
        is_url.then_some(self.audience.as_str())
    }

    /// Owner of a valid token: the principal `jwt:ISSUER#SUBJECT`, in the groups of the claim `groups`.
    pub(crate) async fn owner(&self, token: &str) -> Option<TokenOwner> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let header = decode_header(token).ok()?;
        let has_type = header.typ.as_deref().is_none_or(is_access_token_type);
        if !ALGORITHMS.contains(&header.alg) || header.crit.is_some() || !has_type {
            return None;
        }
        let key = self.key(header.kid.as_deref(), header.alg).await?;
        let mut validation = Validation::new(header.alg);
        validation.set_audience(&[&self.audience]);
        validation.set_issuer(&[&self.url]);
        validation.set_required_spec_claims(&["exp", "aud", "iss", "sub"]);
        validation.validate_nbf = true;
        validation.leeway = LEEWAY_SECONDS;
        let claims = decode::<Claims>(token, &key, &validation).ok()?.claims;
        // A token bound to a key (RFC 8705, RFC 9449) is worth nothing without a proof of the key, and a request
        // with a bearer token has none.
        if claims.is_of_another_kind() || claims.cnf.is_some() {
            return None;
        }
        let subject = claims.sub;
        let fits = !subject.is_empty() && subject.len() <= PRINCIPAL_BYTES_MAX;
        if !fits || subject.chars().any(char::is_control) {
            return None;
        }
        Some(TokenOwner {
            principal: format!("jwt:{}#{subject}", self.url).into(),
            groups: claims.groups.map(group_names).unwrap_or_default(),
        })
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

    /// Fetches the keys, unless another request did within [`ISSUER_RETRY_MS`].
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
        // An issuer over https must not delegate to keys over plain HTTP, which every host on the way could replace.
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
            .fetch(request, RedirectPolicy::SameOrigin, limit)
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

/// Names of groups in a claim. A claim of another form, and a name that no rule can have, gives no right.
fn group_names(claim: Value) -> Vec<String> {
    let Value::Array(names) = claim else {
        return Vec::new();
    };
    let names = names.into_iter().take(GROUPS_PER_TOKEN_MAX);
    let names = names.filter_map(|name| match name {
        Value::String(name) => Some(name),
        _ => None,
    });
    names
        .filter(|name| {
            !name.is_empty() && name.len() <= PRINCIPAL_BYTES_MAX && text::is_clean(name)
        })
        .collect()
}

impl Keys {
    /// Key with the id of a token. A token without an id is verified only when exactly one key fits.
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

/// Key set in which keys of unknown kinds are skipped.
#[derive(Deserialize)]
struct LenientSet {
    keys: Vec<Value>,
}

impl LenientSet {
    fn keys(self) -> Vec<Jwk> {
        let keys = self.keys.into_iter().take(KEYS_MAX);
        let known = keys.filter_map(|key| serde_json::from_value(key).ok());
        known.collect()
    }
}

/// Metadata URL by RFC 8414 §3.1: the well-known part comes before the issuer's path.
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
    use serde_json::json;

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
    fn groups_are_names_in_a_list_and_every_other_claim_gives_none() {
        let names = |claim: Value| group_names(claim);
        assert_eq!(names(json!(["leads", "ops team"])), ["leads", "ops team"]);
        let odd = json!(["leads", "", 7, null, ["ops"], "a\u{202e}b", "x".repeat(257)]);
        assert_eq!(names(odd), ["leads"]);
        for claim in [json!("leads"), json!({"leads": true}), json!(null)] {
            assert!(names(claim.clone()).is_empty(), "{claim}");
        }
        let many: Vec<String> = (0..1_000).map(|number| number.to_string()).collect();
        assert_eq!(names(json!(many)).len(), GROUPS_PER_TOKEN_MAX);
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
