//! Sign-ins to the configured HTTP servers: where their tokens are, and what an entry says about them.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use limbeck_gateway::upstream::http::guard::Client;
use limbeck_gateway::upstream::http::{LocalSecrets, NetworkRules, SecretResolver};
use limbeck_gateway::upstream::oauth::{
    Grant, KeyAlgorithm, OAuthSettings, Secret, ServerAuth, TokenStore,
};
use limbeck_setup::{GrantEntry, OAuthEntry, Scope, ServerEntry, Transport};
use url::Url;

use crate::commands::Invocation;
use crate::exit::Failure;
use crate::wiring::state_file;

/// Directory of token files in the state directory.
const TOKENS: &str = "oauth";
/// Where an earlier system left its token files, in the home directory.
const EARLIER: &str = ".claude/mcp-tokens";

/// The sign-in to one server, or `None` for one that is not reached over HTTP or has it switched off.
///
/// # Errors
///
/// A url or an `oauth` that cannot be used, and no place to keep tokens in.
pub(crate) fn server_auth(
    invocation: &Invocation,
    entry: &ServerEntry,
) -> Result<Option<Arc<ServerAuth>>, Failure> {
    let Ok(Transport::Http {
        url,
        allow_networks,
        ..
    }) = &entry.definition
    else {
        return Ok(None);
    };
    if entry.oauth.disabled {
        return Ok(None);
    }
    if entry.is_held_back() {
        let error = anyhow!(
            "`{}` came with the repository and waits for trust",
            entry.name
        );
        return Err(Failure::usage(error).with_hint("see what it is: `limbeck trust`"));
    }
    let unusable = |problem: String| {
        Failure::usage(anyhow!(
            "the entry of `{}` at {}: {problem}",
            entry.name,
            entry.origin
        ))
    };
    let url = Url::parse(url).map_err(|error| unusable(error.to_string()))?;
    let rules = NetworkRules {
        // The entry may have such a url only where it says so.
        clear: url.scheme() == "http",
        allow: allow_networks.clone(),
    };
    let client = Client::new(&url, rules).map_err(|error| unusable(error.to_string()))?;
    let variables = invocation.environment.variables.clone();
    let secrets: Arc<dyn SecretResolver> =
        Arc::new(LocalSecrets::new(variables.into_iter().collect()));
    let settings = settings(&entry.oauth, &secrets).map_err(unusable)?;
    let store = token_store(invocation, entry)?;
    Ok(Some(ServerAuth::new(
        entry.name.clone(),
        url,
        settings,
        &store,
        client,
    )))
}

/// Files beside the journal. Those of an earlier system are for servers the user has configured, not for
/// a repository that takes a name.
fn token_store(invocation: &Invocation, entry: &ServerEntry) -> Result<TokenStore, Failure> {
    let state = state_file(invocation);
    let Some(directory) = state.as_deref().and_then(std::path::Path::parent) else {
        let error = anyhow!("there is no state directory to keep tokens in: HOME is not set");
        return Err(Failure::usage(error).with_hint("name one: `--state-dir DIR`"));
    };
    let store = TokenStore::new(directory.join(TOKENS));
    let home: Option<&PathBuf> = invocation.environment.home.as_ref();
    Ok(match (&entry.origin.scope, home) {
        (Scope::Repository, _) | (_, None) => store,
        (Scope::User | Scope::Project(_) | Scope::Given, Some(home)) => {
            store.with_earlier(home.join(EARLIER))
        }
    })
}

/// The settings of an entry; its secrets are looked up when they are needed.
fn settings(
    entry: &OAuthEntry,
    secrets: &Arc<dyn SecretResolver>,
) -> Result<OAuthSettings, String> {
    let metadata_url = entry.metadata_url.as_deref().map(Url::parse);
    let metadata_url = metadata_url
        .transpose()
        .map_err(|error| format!("`authServerMetadataUrl`: {error}"))?;
    let secret = |text: &Option<String>| {
        let parsed = text.as_deref().map(|text| Secret::parse(text, secrets));
        parsed.transpose()
    };
    let grant = match (entry.grant, secret(&entry.private_key)?) {
        (GrantEntry::AuthorizationCode, _) => Grant::AuthorizationCode,
        (GrantEntry::ClientCredentials, None) => Grant::ClientSecret,
        (GrantEntry::ClientCredentials, Some(key)) => {
            let name = entry.algorithm.as_deref().unwrap_or("ES256");
            let algorithm = KeyAlgorithm::from_name(name).ok_or_else(|| {
                "`algorithm` is none of RS256, RS384, RS512, ES256 and ES384".to_owned()
            })?;
            Grant::PrivateKey { key, algorithm }
        }
    };
    Ok(OAuthSettings {
        client_id: entry.client_id.clone(),
        client_secret: secret(&entry.client_secret)?,
        scopes: entry.scopes.clone(),
        client_metadata_url: entry.client_metadata_url.clone(),
        callback_port: entry.callback_port,
        metadata_url,
        grant,
        shared: entry.shared,
    })
}
