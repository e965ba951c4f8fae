//! One configured server as the pool and the catalogue take it.

use std::sync::Arc;
use std::time::Duration;

use limbeck_gateway::ServerSource;
use limbeck_gateway::upstream::http::{self, HeaderValueSpec, LocalSecrets, NetworkRules};
use limbeck_gateway::upstream::{
    Credentials, HttpSpec, ServerSpec, StdioSpec, TransportSpec, Unusable, UnusableKind,
};
use limbeck_setup::{HttpKind, ServerEntry, Transport, Trust};
use sha2::{Digest, Sha256};

use crate::commands::Invocation;
use crate::signin::server_auth;
use crate::words::quoted;

/// Variables that tell one terminal from another, not one server from another.
const SESSION_VARIABLES: &[&str] = &[
    "LANG", "LC_ALL", "LC_CTYPE", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
];

/// One server as the pool takes it. What cannot be used is listed with its reason.
pub(super) fn server_spec(
    entry: &ServerEntry,
    secrets: &Arc<LocalSecrets>,
    credentials: Option<Arc<dyn Credentials>>,
) -> ServerSpec {
    let transport = match &entry.definition {
        // Whatever it says, nothing of it is used.
        _ if entry.is_held_back() => TransportSpec::Unusable(untrusted(entry)),
        Ok(Transport::Stdio {
            command,
            args,
            env,
            cwd,
        }) => TransportSpec::Stdio(StdioSpec {
            command: command.clone(),
            args: args.clone(),
            env: env.clone(),
            cwd: cwd.clone(),
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
                Err(reason) => TransportSpec::Unusable(Unusable {
                    kind: UnusableKind::Invalid,
                    reason,
                    next_step: None,
                }),
            }
        }
        Err(fault) => TransportSpec::Unusable(Unusable {
            kind: if fault.is_unsupported() {
                UnusableKind::Unsupported
            } else {
                UnusableKind::Invalid
            },
            reason: fault.to_string(),
            next_step: fault.step().map(str::to_owned),
        }),
    };
    let mut spec = ServerSpec::new(entry.name.clone(), transport);
    spec.disabled = entry.disabled;
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

/// Why a server of a repository is not started, and how it would be. A model reads it too, so it names no
/// place of this machine; whoever lists servers sees where the entry stands.
fn untrusted(entry: &ServerEntry) -> Unusable {
    let reason = match entry.trust {
        Trust::Changed => "its definition in the repository changed since it was trusted",
        Trust::Own | Trust::Accepted | Trust::AcceptedByClient | Trust::Waiting => {
            "it came with the repository and waits for trust"
        }
    };
    Unusable {
        kind: UnusableKind::Untrusted,
        reason: reason.to_owned(),
        next_step: Some(format!(
            "a person looks at what it would start, with `limbeck trust` in the project's directory, and \
             accepts it: `limbeck trust {}`",
            quoted(entry.name.as_str())
        )),
    }
}

/// The tokens of a server over HTTP. A sign-in that cannot be used costs the server nothing but the sign-in.
pub(super) fn credentials(
    invocation: &Invocation,
    entry: &ServerEntry,
) -> Option<Arc<dyn Credentials>> {
    if entry.is_held_back() {
        return None;
    }
    match server_auth(invocation, entry) {
        Ok(auth) => auth.map(|auth| auth as Arc<dyn Credentials>),
        Err(failure) => {
            tracing::warn!(server = %entry.name, "no sign-in: {:#}", failure.error);
            None
        }
    }
}

/// A server over HTTP; an error says what is wrong with its entry and holds no secret.
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

pub(super) fn server_source(
    entry: &ServerEntry,
    own: &dyn Fn(&str) -> Option<String>,
) -> ServerSource {
    ServerSource {
        name: entry.name.clone(),
        source: match url_origin(entry) {
            Some(origin) => format!("{} ({origin})", entry.origin),
            None => entry.origin.to_string(),
        },
        definition_hash: definition_hash(entry, own),
        expose: entry.expose,
        observe: entry.observe,
    }
}

/// Scheme, host and port of a server over HTTP; the rest of its url may hold a secret.
fn url_origin(entry: &ServerEntry) -> Option<String> {
    match &entry.definition {
        Ok(Transport::Http { url, .. }) => Some(HttpSpec::new(url).ok()?.origin()),
        Ok(Transport::Stdio { .. }) | Err(_) => None,
    }
}

/// SHA-256 of what decides which server is started: the key of its cached tools.
///
/// Every part is preceded by its length, so that no two definitions share their bytes. Variables of
/// the session (`PATH`, `TERM` …) count only where the entry sets them to something else than ours:
/// the same entry is the same server in every terminal and under every client.
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
