//! Discovery and validation of a server's authorization server.
//!
//! Protected resource metadata (RFC 9728), then authorization server metadata (RFC 8414 and OpenID Connect,
//! every path variant), then the fixed paths of revision 2025-03-26: the SDK tries them in order and checks
//! `resource` and `issuer`. Rejected here, although the SDK accepts it: metadata without S256, addresses that
//! are not `https`, and the scope `*`.

use std::sync::Arc;

use http::Request;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataSource,
    ProtectedResourceMetadataInvalidReason,
};
use serde_json::Value;
use url::Url;

use super::address;
use super::error::{OAuthError, quoted};
use super::http::OAuthHttp;
use super::record::SignInRecord;
use super::settings::OAuthSettings;

/// Most scopes requested at once.
const SCOPES_MAX: usize = 64;
/// Longest scope.
const SCOPE_BYTES_MAX: usize = 256;

/// Sign-in challenge of the server, as far as it is known.
#[derive(Clone, Debug)]
pub(super) enum AuthChallenge {
    /// The server rejected a request with this `WWW-Authenticate`.
    Header(String),
    /// The server rejected a request without a usable challenge.
    WithoutHeader,
    /// No request was rejected.
    NotChallenged,
}

/// An authorization server that was accepted.
pub(super) struct AuthorizationServer {
    pub(super) manager: AuthorizationManager,
    pub(super) published: MetadataSummary,
}

/// The relevant parts of the metadata.
pub(super) struct MetadataSummary {
    /// Issuer; absent for a server older than metadata.
    pub(super) issuer: Option<String>,
    /// Whether the url of a metadata document is accepted as client id.
    pub(super) takes_metadata_url: bool,
    /// Whether clients can be registered dynamically.
    pub(super) registers: bool,
    /// Revocation endpoint, when there is one.
    pub(super) revocation: Option<Url>,
    /// Origin of the token endpoint, which receives refresh tokens and client secrets.
    pub(super) token_origin: String,
}

impl MetadataSummary {
    /// Whether tokens of `record` may be sent to this authorization server: it is the issuer they came from, and its
    /// token endpoint is where they came from.
    pub(super) fn issued(&self, record: &SignInRecord) -> bool {
        let is_same = |known: &Option<String>, now: Option<&String>| match known {
            Some(known) => now == Some(known),
            // Older records do not say.
            None => true,
        };
        is_same(&record.issuer, self.issuer.as_ref())
            && is_same(&record.token_origin, Some(&self.token_origin))
    }
}

/// Finds the authorization server of `server`.
///
/// # Errors
///
/// [`OAuthError::NotAsked`] when the server rejected no request and publishes no metadata.
pub(super) async fn discover(
    http: &Arc<OAuthHttp>,
    server: &Url,
    settings: &OAuthSettings,
    demand: &AuthChallenge,
) -> Result<AuthorizationServer, OAuthError> {
    let made = AuthorizationManager::new_with_oauth_http_client(server.clone(), http.clone());
    let mut manager = made.await.map_err(|error| explain(error, http))?;
    let (metadata, discovered) = match &settings.metadata_url {
        Some(url) => {
            let metadata = fetch(http, url).await?;
            check_issuer(url, metadata.issuer.as_deref())?;
            (metadata, true)
        }
        None => resolve(&manager, http, server, demand).await?,
    };
    // Without discovery there is nothing that could announce S256; it is used all the same.
    if discovered && !settings.grant.is_unattended() && !offers_s256(&metadata) {
        return Err(OAuthError::NoS256);
    }
    let published = published(&metadata, server)?;
    manager.set_metadata(metadata);
    Ok(AuthorizationServer { manager, published })
}

/// Discovery by the SDK; the flag is `false` when nothing was found and the fixed paths are used.
async fn resolve(
    manager: &AuthorizationManager,
    http: &OAuthHttp,
    server: &Url,
    demand: &AuthChallenge,
) -> Result<(AuthorizationMetadata, bool), OAuthError> {
    let resolution = match demand {
        AuthChallenge::Header(challenge) => {
            let resolution = manager.resolve_metadata_from_challenge(Some(challenge));
            resolution.await
        }
        AuthChallenge::WithoutHeader | AuthChallenge::NotChallenged => {
            manager.resolve_metadata().await
        }
    };
    let resolution = resolution.map_err(|error| explain(error, http))?;
    match (resolution.source, demand) {
        (AuthorizationMetadataSource::LegacyEndpointFallback, AuthChallenge::NotChallenged) => {
            Err(OAuthError::NotAsked {
                url: address::shown(server),
            })
        }
        (source, _) => Ok((resolution.metadata, source.is_discovered())),
    }
}

/// Fetches metadata from the address in the entry.
async fn fetch(http: &OAuthHttp, url: &Url) -> Result<AuthorizationMetadata, OAuthError> {
    let unusable = |reason: String| OAuthError::Metadata {
        reason: format!("{reason} at {}", address::shown(url)),
    };
    let request = Request::get(url.as_str())
        .header(http::header::ACCEPT, "application/json")
        .body(Vec::new())
        .map_err(|_| unusable("no request can be sent".to_owned()))?;
    let response = http.exchange(request).await?;
    if response.status() != http::StatusCode::OK {
        return Err(unusable(format!("status {}", response.status().as_u16())));
    }
    serde_json::from_slice(response.body()).map_err(|_| unusable("there is no metadata".to_owned()))
}

/// Checks that the document at `url` may speak for `issuer` (RFC 8414 §3.3): where the address is made of an issuer, it
/// must be this one; any other address must at least have the issuer's origin. Without this a document could claim the
/// issuer that the user's tokens came from, and name a token endpoint of its own.
fn check_issuer(url: &Url, issuer: Option<&str>) -> Result<(), OAuthError> {
    let mismatch = |expected: &str| OAuthError::Issuer {
        expected: quoted(expected),
        received: quoted(issuer.unwrap_or("(no issuer)")),
    };
    let origin = address::shown(url);
    let issuers = issuers_of(url);
    let is_same = |expected: &String| {
        issuer.is_some_and(|issuer| issuer.trim_end_matches('/') == expected.trim_end_matches('/'))
    };
    match issuers.first() {
        Some(_) if issuers.iter().any(is_same) => Ok(()),
        Some(expected) => Err(mismatch(expected)),
        None => {
            let named = issuer.and_then(|issuer| Url::parse(issuer).ok());
            match named {
                Some(named) if named.origin() == url.origin() => Ok(()),
                Some(_) | None => Err(mismatch(&origin)),
            }
        }
    }
}

/// Issuers whose metadata is published at `url`: RFC 8414 inserts the well-known path before the issuer's path, OpenID
/// Connect appends it. Empty for an address of another form.
fn issuers_of(url: &Url) -> Vec<String> {
    let origin = address::shown(url);
    let path = url.path();
    let inserted = [
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
    ];
    let inserted = inserted.iter().filter_map(|known| {
        let rest = path.strip_prefix(known)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{origin}{rest}"))
    });
    let appended = path.strip_suffix("/.well-known/openid-configuration");
    inserted
        .chain(appended.map(|before| format!("{origin}{before}")))
        .collect()
}

/// The MCP specification requires rejection when the field is absent, OpenID providers included.
fn offers_s256(metadata: &AuthorizationMetadata) -> bool {
    let methods = metadata.code_challenge_methods_supported.as_ref();
    methods.is_some_and(|methods| methods.iter().any(|method| method == "S256"))
}

/// Checks every address of `metadata` that will be used.
fn published(
    metadata: &AuthorizationMetadata,
    server: &Url,
) -> Result<MetadataSummary, OAuthError> {
    let endpoint = |text: &str, what| address::endpoint(text, what, server);
    endpoint(&metadata.authorization_endpoint, "authorization endpoint")?;
    let token = endpoint(&metadata.token_endpoint, "token endpoint")?;
    let registration = metadata.registration_endpoint.as_deref();
    if let Some(text) = registration {
        endpoint(text, "registration endpoint")?;
    }
    let field = |key: &str| metadata.additional_fields.get(key);
    let revocation = field("revocation_endpoint").and_then(Value::as_str);
    let revocation = revocation.map(|text| endpoint(text, "revocation endpoint"));
    let takes = field("client_id_metadata_document_supported").and_then(Value::as_bool);
    Ok(MetadataSummary {
        issuer: metadata.issuer.clone(),
        takes_metadata_url: takes == Some(true),
        registers: registration.is_some(),
        revocation: revocation.transpose()?,
        token_origin: address::shown(&token),
    })
}

/// Returns the scopes of a sign-in.
///
/// Those of the entry, else of the challenge, else of the resource's metadata, else none. `kept` is added:
/// scopes already held, and those requested by the server since. A step-up must request the union, or it would
/// lose what was granted before.
pub(super) async fn scopes(
    manager: &AuthorizationManager,
    settings: &OAuthSettings,
    kept: &[String],
) -> Result<Vec<String>, OAuthError> {
    let mut scopes = match settings.scopes.is_empty() {
        false => settings.scopes.clone(),
        true => {
            let asked = manager.select_initial_scopes(&[]).await;
            if asked.iter().any(|scope| scope == "*") {
                return Err(OAuthError::WildcardScope);
            }
            asked
        }
    };
    for scope in kept {
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
    scopes.retain(|scope| is_scope(scope));
    if scopes.len() > SCOPES_MAX {
        return Err(OAuthError::Metadata {
            reason: format!("the server requests {} scopes", scopes.len()),
        });
    }
    Ok(scopes)
}

/// `scope-token` of RFC 6749 §3.3.
pub(super) fn is_scope(scope: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    (1..=SCOPE_BYTES_MAX).contains(&scope.len()) && scope.bytes().all(allowed)
}

/// Value of `resource` in token requests (RFC 8707): the one the server publishes, else its address.
///
/// The SDK exposes it only in the authorization url, so it is read from there.
pub(super) async fn resource(manager: &mut AuthorizationManager, server: &Url) -> String {
    let shown = match manager.configure_client_id("resource") {
        Ok(()) => manager.get_authorization_url(&[]).await.ok(),
        Err(_) => None,
    };
    let url = shown.and_then(|text| Url::parse(&text).ok());
    let named = url.and_then(|url| {
        let mut pairs = url.query_pairs();
        let (_, value) = pairs.find(|(key, _)| key == "resource")?;
        Some(value.into_owned())
    });
    named.unwrap_or_else(|| server.to_string())
}

/// Converts an error of the SDK, whose text may contain a server's response.
pub(super) fn explain(error: AuthError, http: &OAuthHttp) -> OAuthError {
    let fault = http.take_fault();
    let metadata = |reason: String| OAuthError::Metadata { reason };
    match error {
        AuthError::AuthorizationServerMismatch {
            expected_issuer,
            received_issuer,
        } => OAuthError::Issuer {
            expected: quoted(&expected_issuer),
            received: quoted(&received_issuer),
        },
        AuthError::AuthorizationServerMissingIssuer { expected_issuer } => OAuthError::Issuer {
            expected: quoted(&expected_issuer),
            received: "(no issuer)".to_owned(),
        },
        AuthError::PkceUnsupported => OAuthError::NoS256,
        AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired => {
            OAuthError::Expired
        }
        AuthError::ProtectedResourceMetadataInvalid { url, reason } => metadata(format!(
            "{} {}",
            address::shown(&url),
            resource_problem(&reason)
        )),
        AuthError::AuthorizationServersUnavailable {
            authorization_servers,
            ..
        } => fault.unwrap_or_else(|| {
            let named = quoted(&authorization_servers.join(", "));
            metadata(format!("none of {named} publishes usable metadata"))
        }),
        AuthError::DiscoveryRequestFailed { url, .. } => {
            fault.unwrap_or_else(|| OAuthError::Unreachable {
                url: address::shown(&url),
                reason: "it did not answer as a server of metadata does".to_owned(),
            })
        }
        AuthError::CredentialStoreError(reason) => fault.unwrap_or(OAuthError::Settings { reason }),
        AuthError::JwtSigningError(_) => OAuthError::Settings {
            reason: "nothing can be signed with the private key".to_owned(),
        },
        AuthError::AuthorizationFailed(_) => {
            metadata("the answer names an issuer and the metadata none".to_owned())
        }
        AuthError::InvalidScope(_) => metadata("it does not support the code flow".to_owned()),
        AuthError::NoAuthorizationSupport => OAuthError::NoClient,
        other => fault.unwrap_or_else(|| metadata(class(&other).to_owned())),
    }
}

fn resource_problem(reason: &ProtectedResourceMetadataInvalidReason) -> String {
    match reason {
        ProtectedResourceMetadataInvalidReason::ResourceMismatch {
            reference,
            permitted,
        } => format!(
            "is about `{}`, not about `{}`",
            quoted(permitted.as_str()),
            address::shown(reference)
        ),
        ProtectedResourceMetadataInvalidReason::MissingResource => "names no resource".to_owned(),
        _ => "does not describe this server".to_owned(),
    }
}

/// What failed, without the text of the server.
fn class(error: &AuthError) -> &'static str {
    match error {
        AuthError::TokenExchangeFailed(_) => "the code could not be exchanged for a token",
        AuthError::TokenRefreshFailed(_) => "the token could not be renewed",
        AuthError::ClientCredentialsError(_) => "no token is given to this client",
        AuthError::RegistrationFailed(_) => "this client could not be registered",
        AuthError::UrlError(_) => "an address in it is not a URI",
        AuthError::OAuthError(_) => "an endpoint in it is not a URI",
        _ => "the sign-in cannot continue",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(url: &str, issuer: Option<&str>) -> bool {
        check_issuer(&Url::parse(url).unwrap(), issuer).is_ok()
    }

    #[test]
    fn a_document_speaks_for_its_own_issuer_alone() {
        let known = "https://as.example/.well-known/oauth-authorization-server";
        for (url, issuer) in [
            (known.to_owned(), "https://as.example"),
            (known.to_owned(), "https://as.example/"),
            (format!("{known}/tenant"), "https://as.example/tenant"),
            (
                "https://as.example/tenant/.well-known/openid-configuration".to_owned(),
                "https://as.example/tenant",
            ),
            (
                "https://as.example/.well-known/openid-configuration/tenant".to_owned(),
                "https://as.example/tenant",
            ),
            (
                "https://as.example/metadata.json".to_owned(),
                "https://as.example/x",
            ),
        ] {
            assert!(accepted(&url, Some(issuer)), "{url} {issuer}");
        }
        for (url, issuer) in [
            (known.to_owned(), Some("https://evil.example")),
            (known.to_owned(), Some("https://as.example:444")),
            (known.to_owned(), Some("http://as.example")),
            (format!("{known}/tenant"), Some("https://as.example")),
            (format!("{known}/tenant"), Some("https://as.example/other")),
            (known.to_owned(), None),
            (
                "https://evil.example/metadata.json".to_owned(),
                Some("https://as.example"),
            ),
            ("https://evil.example/metadata.json".to_owned(), None),
            (
                "https://evil.example/metadata.json".to_owned(),
                Some("not a url"),
            ),
        ] {
            assert!(!accepted(&url, issuer), "{url} {issuer:?}");
        }
    }
}
