//! Specification of one configured server for the upstream pool and the catalog.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use limbeck_gateway::ServerSource;
use limbeck_setup::{EntryScope, HttpKind, ServerEntry, Settings, Transport, TrustState};
use limbeck_upstream::http::{self, HeaderValueSpec, LocalSecrets, NetworkRules};
use limbeck_upstream::{
    CredentialSource, HttpSpec, ServerSpec, StdioSpec, TransportSpec, UnusableKind, UnusableServer,
};
use sha2::{Digest, Sha256};

use super::{GatewayLifetime, secrets};
use crate::invocation::Invocation;
use crate::shell::quoted;
use crate::sign_in::server_auth;

/// Variables that differ between terminals and do not identify a server.
const SESSION_VARIABLES: &[&str] = &[
    "LANG", "LC_ALL", "LC_CTYPE", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
];

/// Variable with which Python leaves the working directory out of its search for modules.
const SAFE_PATH: &str = "PYTHONSAFEPATH";

/// What a gateway needs of each entry: how the server is reached, and where it was configured.
pub(super) fn servers_in_use<'e>(
    invocation: &Invocation,
    entries: impl Iterator<Item = &'e ServerEntry>,
    settings: &Settings,
    lifetime: GatewayLifetime,
) -> Vec<(ServerSpec, ServerSource)> {
    let secrets = secrets(invocation);
    let own = |name: &str| invocation.world.nonempty_variable(name).map(str::to_owned);
    let observe = settings.observe.as_ref();
    let observe =
        observe.is_none_or(|setting| setting.value) && lifetime != GatewayLifetime::SharedByClients;
    entries
        .map(|entry| {
            let credentials = credentials(invocation, entry);
            let source = ServerSource {
                observe: observe && entry.observe,
                ..server_source(entry, &own)
            };
            (server_spec(entry, &secrets, credentials), source)
        })
        .collect()
}

/// Specification of a server for the pool. An entry that cannot be used is listed with the reason.
fn server_spec(
    entry: &ServerEntry,
    secrets: &Arc<LocalSecrets>,
    credentials: Option<Arc<dyn CredentialSource>>,
) -> ServerSpec {
    let transport = match &entry.definition {
        // Nothing of an untrusted definition is used.
        _ if entry.is_held_back() => TransportSpec::Unusable(untrusted(entry)),
        Ok(Transport::Stdio {
            command,
            args,
            env,
            cwd,
        }) => TransportSpec::Stdio(StdioSpec {
            command: command.clone(),
            args: args.clone(),
            env: environment(entry, args, env),
            cwd: Some(cwd.clone().unwrap_or_else(|| start_directory(entry))),
        }),
        Ok(Transport::Http {
            url,
            headers,
            kind,
            allow_http,
            allow_networks,
        }) => {
            let network = NetworkRules {
                allow: allow_networks.clone(),
                clear: *allow_http,
            };
            match http_spec(url, headers, *kind, network, secrets) {
                Ok(spec) => TransportSpec::Http(Box::new(HttpSpec {
                    credentials,
                    ..spec
                })),
                Err(reason) => TransportSpec::Unusable(UnusableServer {
                    kind: UnusableKind::Invalid,
                    reason,
                    next_step: None,
                }),
            }
        }
        Err(error) => TransportSpec::Unusable(UnusableServer {
            kind: if error.is_unsupported() {
                UnusableKind::Unsupported
            } else {
                UnusableKind::Invalid
            },
            reason: error.to_string(),
            next_step: error.hint().map(str::to_owned),
        }),
    };
    let mut spec = ServerSpec::new(entry.name.clone(), transport);
    spec.disabled = entry.disabled;
    // 0 means that the server is never stopped for being idle.
    if let Some(idle_ms) = entry.idle_timeout_ms {
        spec.idle_timeout = Some(Duration::from_millis(idle_ms)).filter(|idle| !idle.is_zero());
    }
    if let Some(start_ms) = entry.start_timeout_ms {
        spec.start_timeout = Duration::from_millis(start_ms);
    }
    if let Some(timeout_ms) = entry.timeout_ms {
        spec.call_timeout = Duration::from_millis(timeout_ms);
    }
    if let Some(concurrency) = entry.concurrency {
        spec.concurrency = concurrency;
    }
    spec
}

/// Directory in which a server without `cwd` starts. A directory that does not exist, such as the home directory of a
/// service, is replaced by one that does: the gateway's own may be a repository.
pub(super) fn start_directory(entry: &ServerEntry) -> PathBuf {
    if entry.start_directory.is_dir() {
        entry.start_directory.clone()
    } else {
        std::env::temp_dir()
    }
}

/// Environment of a server's process. A Python module of the user's own configuration, started in the home directory,
/// does not import what happens to be there.
fn environment(
    entry: &ServerEntry,
    args: &[String],
    env: &[(String, String)],
) -> Vec<(String, String)> {
    let mut env = env.to_vec();
    // With a script as argument, `sys.path` begins with the script's directory, which it needs.
    let is_module = args
        .first()
        .is_some_and(|first| first == "-m" || first == "-c");
    let is_set = env.iter().any(|(name, _)| name == SAFE_PATH);
    if entry.origin.scope == EntryScope::User && is_module && !is_set {
        env.push((SAFE_PATH.to_owned(), "1".to_owned()));
    }
    env
}

/// Reason why a server of a repository is not started, which models read too, and the next step, which only users read.
fn untrusted(entry: &ServerEntry) -> UnusableServer {
    let reason = match entry.trust {
        TrustState::Changed => "its definition in the repository changed since the user trusted it",
        TrustState::Own
        | TrustState::Accepted
        | TrustState::AcceptedByClient
        | TrustState::Waiting => {
            "it was added by the repository and the user has not trusted it yet"
        }
    };
    UnusableServer {
        kind: UnusableKind::Untrusted,
        reason: reason.to_owned(),
        next_step: Some(format!(
            "see what it would start with `limbeck trust`, then accept it with `limbeck trust {}`",
            quoted(entry.name.as_str())
        )),
    }
}

/// Credentials of a server over HTTP. When the sign-in cannot be set up, the server is used without it.
fn credentials(invocation: &Invocation, entry: &ServerEntry) -> Option<Arc<dyn CredentialSource>> {
    if entry.is_held_back() {
        return None;
    }
    match server_auth(invocation, entry) {
        Ok(auth) => auth.map(|auth| auth as Arc<dyn CredentialSource>),
        Err(failure) => {
            tracing::warn!(server = %entry.name, "the server is used without sign-in: {:#}", failure.error);
            None
        }
    }
}

/// Specification of a server over HTTP, or what is wrong with its entry; the error contains no secret.
fn http_spec(
    url: &str,
    headers: &[(String, String)],
    kind: HttpKind,
    network: NetworkRules,
    secrets: &Arc<LocalSecrets>,
) -> Result<HttpSpec, String> {
    let mut spec = HttpSpec::new(url).map_err(|problem| format!("its url: {problem}"))?;
    spec.kind = match kind {
        HttpKind::Auto => http::HttpKind::Auto,
        HttpKind::Streamable => http::HttpKind::Streamable,
        HttpKind::Sse => http::HttpKind::Sse,
    };
    for (name, value) in headers {
        let value = HeaderValueSpec::parse(value);
        let value = value.map_err(|problem| format!("its header `{name}`: {problem}"))?;
        spec.headers.push((name.clone(), value));
    }
    spec.network = network;
    spec.secrets = secrets.clone();
    Ok(spec)
}

/// Origin and identity of a server for the catalog.
fn server_source(entry: &ServerEntry, own: &dyn Fn(&str) -> Option<String>) -> ServerSource {
    ServerSource {
        name: entry.name.clone(),
        source: match url_origin(entry) {
            Some(origin) => format!("{} ({origin})", entry.origin),
            None => entry.origin.to_string(),
        },
        definition_hash: definition_hash(entry, own),
        expose: entry.expose,
        observe: entry.observe,
        tool_rules: entry.tool_rules.clone(),
    }
}

/// Scheme, host and port of a server over HTTP; the rest of its URL may contain a secret.
fn url_origin(entry: &ServerEntry) -> Option<String> {
    match &entry.definition {
        Ok(Transport::Http { url, .. }) => Some(HttpSpec::new(url).ok()?.origin()),
        Ok(Transport::Stdio { .. }) | Err(_) => None,
    }
}

/// SHA-256 of the definition of a server: the key of its cached tools.
///
/// Every part is preceded by its length, so that two definitions never share their bytes. Variables of the session
/// (`PATH`, `TERM` …) are hashed only when the entry sets them to another value than this process has: the same entry is
/// the same server in every terminal and under every client.
fn definition_hash(entry: &ServerEntry, own: &dyn Fn(&str) -> Option<String>) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(entry.name.as_str().as_bytes());
    match &entry.definition {
        Ok(Transport::Stdio {
            command,
            args,
            env,
            cwd,
        }) => {
            part(b"stdio");
            part(command.as_os_str().as_encoded_bytes());
            part(&(args.len() as u64).to_le_bytes());
            args.iter().for_each(|arg| part(arg.as_bytes()));
            let cwd = cwd.as_ref().map(|cwd| cwd.as_os_str());
            part(cwd.unwrap_or_default().as_encoded_bytes());
            for (name, value) in env {
                let ambient = SESSION_VARIABLES.contains(&name.as_str());
                if !ambient || own(name).as_ref() != Some(value) {
                    part(name.as_bytes());
                    part(value.as_bytes());
                }
            }
        }
        Ok(Transport::Http { url, headers, .. }) => {
            part(b"http");
            part(url.as_bytes());
            // Another token may see other tools.
            for (name, value) in headers {
                part(name.as_bytes());
                part(value.as_bytes());
            }
        }
        Err(_) => part(b"unusable"),
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
