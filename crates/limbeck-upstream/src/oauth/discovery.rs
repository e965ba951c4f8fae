//! Who may issue tokens for a server, and whether to deal with them.
//!
//! Protected resource metadata (RFC 9728), then authorization server metadata (RFC 8414 and OpenID
//! Connect, every path variant), then the fixed paths of revision 2025-03-26: the SDK walks them and
//! checks `resource` and `issuer`. What it tolerates and we do not is refused here: metadata without
//! S256, addresses that are not `https`, and the scope `*`.

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
use super::http::Http;
use super::settings::OAuthSettings;

/// Scopes asked for at once, at most.
const SCOPES_MAX: usize = 64;
/// Bytes of one scope.
const SCOPE_BYTES_MAX: usize = 256;

/// What is known of the demand for a sign-in.
#[derive(Clone, Debug)]
pub(super) enum Demand {
    /// The server refused with this `WWW-Authenticate`.
    Challenge(String),
    /// The server refused and said nothing more.
    Bare,
    /// Nobody has heard the server refuse.
    Unheard,
}

/// An authorization server that is dealt with.
pub(super) struct Authority {
    pub(super) manager: AuthorizationManager,
    pub(super) published: Published,
}

/// What counts of its metadata.
pub(super) struct Published {
    /// Its name for itself; absent for a server older than metadata.
    pub(super) issuer: Option<String>,
    /// Whether it takes the address of a document for a client id.
    pub(super) takes_metadata_url: bool,
    /// Whether it registers whoever asks.
    pub(super) registers: bool,
    /// Where tokens are revoked, when anywhere.
    pub(super) revocation: Option<Url>,
}

/// Finds the authorization server of `server`.
///
/// # Errors
///
/// [`OAuthError::NotAsked`] when nobody heard the server refuse and it publishes nothing.
pub(super) async fn discover(
    http: &Arc<Http>,
    server: &Url,
    settings: &OAuthSettings,
    demand: &Demand,
) -> Result<Authority, OAuthError> {
    let made = AuthorizationManager::new_with_oauth_http_client(server.clone(), http.clone());
    let mut manager = made.await.map_err(|error| explain(error, http))?;
    let (metadata, discovered) = match &settings.metadata_url {
        Some(url) => (fetch(http, url).await?, true),
        None => resolve(&manager, http, server, demand).await?,
    };
    if discovered && !settings.grant.is_unattended() && !offers_s256(&metadata) {
        return Err(OAuthError::NoS256);
    }
    let published = published(&metadata, server)?;
    manager.set_metadata(metadata);
    Ok(Authority { manager, published })
}

/// The SDK's walk; the flag says whether anything was found or the fixed paths are used.
async fn resolve(
    manager: &AuthorizationManager,
    http: &Http,
    server: &Url,
    demand: &Demand,
) -> Result<(AuthorizationMetadata, bool), OAuthError> {
    let resolution = match demand {
        Demand::Challenge(challenge) => {
            let resolution = manager.resolve_metadata_from_challenge(Some(challenge));
            resolution.await
        }
        Demand::Bare | Demand::Unheard => manager.resolve_metadata().await,
    };
    let resolution = resolution.map_err(|error| explain(error, http))?;
    match (resolution.source, demand) {
        (AuthorizationMetadataSource::LegacyEndpointFallback, Demand::Unheard) => {
            Err(OAuthError::NotAsked {
                url: address::shown(server),
            })
        }
        (source, _) => Ok((resolution.metadata, source.is_discovered())),
    }
}

/// Metadata from the address the entry gives.
async fn fetch(http: &Http, url: &Url) -> Result<AuthorizationMetadata, OAuthError> {
    let unusable = |reason: String| OAuthError::Metadata {
        reason: format!("{reason} at {}", address::shown(url)),
    };
    let request = Request::get(url.as_str())
        .header(http::header::ACCEPT, "application/json")
        .body(Vec::new())
        .map_err(|_| unusable("nothing can be asked".to_owned()))?;
    let response = http.exchange(request).await?;
    if response.status() != http::StatusCode::OK {
        return Err(unusable(format!("status {}", response.status().as_u16())));
    }
    serde_json::from_slice(response.body()).map_err(|_| unusable("there is no metadata".to_owned()))
}

/// The MCP specification has it refused when the field is absent, OpenID providers included.
fn offers_s256(metadata: &AuthorizationMetadata) -> bool {
    let methods = metadata.code_challenge_methods_supported.as_ref();
    methods.is_some_and(|methods| methods.iter().any(|method| method == "S256"))
}

/// Checks every address of `metadata` that is going to be used.
fn published(metadata: &AuthorizationMetadata, server: &Url) -> Result<Published, OAuthError> {
    let endpoint = |text: &str, what| address::endpoint(text, what, server);
    endpoint(&metadata.authorization_endpoint, "authorization endpoint")?;
    endpoint(&metadata.token_endpoint, "token endpoint")?;
    let registration = metadata.registration_endpoint.as_deref();
    if let Some(text) = registration {
        endpoint(text, "registration endpoint")?;
    }
    let field = |key: &str| metadata.additional_fields.get(key);
    let revocation = field("revocation_endpoint").and_then(Value::as_str);
    let revocation = revocation.map(|text| endpoint(text, "revocation endpoint"));
    let takes = field("client_id_metadata_document_supported").and_then(Value::as_bool);
    Ok(Published {
        issuer: metadata.issuer.clone(),
        takes_metadata_url: takes == Some(true),
        registers: registration.is_some(),
        revocation: revocation.transpose()?,
    })
}

/// The scopes a sign-in asks for.
///
/// The entry's own, else the challenge's, else those of the resource's metadata, else none. To them come
/// `kept`, those already held and asked for since: a step-up asks for the union, or it would lose what
/// was granted before.
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
            reason: format!("the server asks for {} scopes", scopes.len()),
        });
    }
    Ok(scopes)
}

/// `scope-token` of RFC 6749 §3.3.
pub(super) fn is_scope(scope: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    (1..=SCOPE_BYTES_MAX).contains(&scope.len()) && scope.bytes().all(allowed)
}

/// The `resource` of token requests (RFC 8707): the one the server publishes, else its address.
///
/// The SDK keeps it to itself and shows it in the authorization URL alone.
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

/// The SDK's error in our words: its own texts may carry what a server wrote.
pub(super) fn explain(error: AuthError, http: &Http) -> OAuthError {
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
            received: "nobody".to_owned(),
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
            metadata(format!("none of {named} publishes any that can be used"))
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

/// What failed, without what was said about it.
fn class(error: &AuthError) -> &'static str {
    match error {
        AuthError::TokenExchangeFailed(_) => "the code could not be exchanged for a token",
        AuthError::TokenRefreshFailed(_) => "the token could not be renewed",
        AuthError::ClientCredentialsError(_) => "no token is given to this client",
        AuthError::RegistrationFailed(_) => "this client could not be registered",
        AuthError::UrlError(_) => "an address in it is not a URI",
        AuthError::OAuthError(_) => "an endpoint in it is not a URI",
        _ => "the sign-in cannot go on",
    }
}
