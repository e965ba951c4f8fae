//! Sign-ins to configured HTTP servers: settings of the entry and storage of the tokens.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use limbeck_setup::{GrantEntry, OAuthEntry, ServerEntry, Transport};
use limbeck_upstream::http::guard::GuardedClient;
use limbeck_upstream::http::{NetworkRules, SecretResolver};
use limbeck_upstream::oauth::{
    ClientSecret, KeyAlgorithm, OAuthGrant, OAuthSettings, ServerAuth, TokenStore,
};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::exit::CommandError;
use crate::invocation::Invocation;
use crate::wiring::{secrets, state_file};

/// Directory of the token files in the state directory.
const TOKENS: &str = "oauth";
/// Directory of the token files of servers of repositories, with a directory for each configuration file.
const TOKENS_OF_REPOSITORIES: &str = "oauth-of-repositories";
/// Directory of token files of an earlier client, in the home directory.
const EARLIER: &str = ".claude/mcp-tokens";

/// Sign-in of one server; `None` when the server does not use HTTP or its entry disables sign-in.
///
/// # Errors
///
/// An invalid URL or `oauth` setting, or no state directory for the tokens.
pub(crate) fn server_auth(
    invocation: &Invocation,
    entry: &ServerEntry,
) -> Result<Option<Arc<ServerAuth>>, CommandError> {
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
            "server `{}` was added by the repository and is not trusted yet",
            entry.name
        );
        return Err(
            CommandError::usage(error).with_hint("review its definition with `limbeck trust`")
        );
    }
    let unusable = |problem: String| {
        CommandError::usage(anyhow!(
            "the entry of server `{}` in {} is not valid: {problem}",
            entry.name,
            entry.origin
        ))
    };
    let url = Url::parse(url).map_err(|error| unusable(error.to_string()))?;
    let rules = NetworkRules {
        // Setup accepts an `http` URL only where the entry allows it.
        clear: url.scheme() == "http",
        allow: allow_networks.clone(),
    };
    let client = GuardedClient::new(&url, rules).map_err(|error| unusable(error.to_string()))?;
    // Secrets are resolved when they are used, so that tokens of other servers are not read for nothing.
    let secrets: Arc<dyn SecretResolver> = secrets(invocation);
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

/// Store of the token files, beside the journal. Servers of a repository have a store of their own for each file:
/// otherwise an entry with the name and url of a server of the user would share its tokens. Files of an earlier client
/// are used only for servers that the user configured.
fn token_store(invocation: &Invocation, entry: &ServerEntry) -> Result<TokenStore, CommandError> {
    let state = state_file(invocation);
    let known = invocation.redaction.secrets();
    let Some(directory) = state.as_deref().and_then(std::path::Path::parent) else {
        let error = anyhow!(
            "tokens cannot be stored: {} and no state directory is given",
            invocation.world.home_problem()
        );
        return Err(CommandError::usage(error).with_hint("set one with `--state-dir DIR`"));
    };
    if entry.is_of_repository() {
        let file = entry.origin.file.as_os_str().as_encoded_bytes();
        let file: String = Sha256::digest(file)[..10]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let store = TokenStore::new(directory.join(TOKENS_OF_REPOSITORIES).join(file));
        return Ok(store.known_to(known.clone()));
    }
    let store = TokenStore::new(directory.join(TOKENS)).known_to(known.clone());
    let home: Option<&PathBuf> = invocation.world.home.as_ref();
    Ok(match home {
        None => store,
        Some(home) => store.with_earlier(home.join(EARLIER)),
    })
}

/// Sign-in settings of an entry; its secrets are resolved when they are needed.
fn settings(
    entry: &OAuthEntry,
    secrets: &Arc<dyn SecretResolver>,
) -> Result<OAuthSettings, String> {
    let metadata_url = entry.metadata_url.as_deref().map(Url::parse);
    let metadata_url = metadata_url
        .transpose()
        .map_err(|error| format!("`authServerMetadataUrl`: {error}"))?;
    let secret = |text: &Option<String>| {
        let parsed = text
            .as_deref()
            .map(|text| ClientSecret::parse(text, secrets));
        parsed.transpose()
    };
    let grant = match (entry.grant, secret(&entry.private_key)?) {
        (GrantEntry::AuthorizationCode, _) => OAuthGrant::AuthorizationCode,
        (GrantEntry::ClientCredentials, None) => OAuthGrant::ClientSecret,
        (GrantEntry::ClientCredentials, Some(key)) => {
            let name = entry.algorithm.as_deref().unwrap_or("ES256");
            let algorithm = KeyAlgorithm::from_name(name).ok_or_else(|| {
                "`algorithm` must be RS256, RS384, RS512, ES256 or ES384".to_owned()
            })?;
            OAuthGrant::PrivateKey { key, algorithm }
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
