//! Which keys an entry may have, in each dialect.

use crate::document::Place;

/// Keys of an entry in `limbeck.toml`.
pub(super) const OURS: &[&str] = &[
    "allow_http",
    "allow_networks",
    "args",
    "command",
    "concurrency",
    "cwd",
    "description",
    "disabled",
    "env",
    "expose",
    "headers",
    "idle_timeout_ms",
    "oauth",
    "observe",
    "shared_credentials",
    "start_timeout_ms",
    "timeout_ms",
    "type",
    "url",
];
/// Keys of other programs that change nothing about reaching a server or that only concern them.
pub(super) const LET_PASS: &[&str] = &[
    "allow_http",
    "allow_networks",
    "alwaysAllow",
    "alwaysLoad",
    "args",
    "auth",
    "autoApprove",
    "bearer_token_env_var",
    "command",
    "concurrency",
    "cwd",
    "default_tools_approval_mode",
    "description",
    "dev",
    "disabled",
    "enabled",
    "env",
    "env_http_headers",
    "env_vars",
    "expose",
    "gallery",
    "headers",
    "httpUrl",
    "http_headers",
    "icon",
    "idle_timeout_ms",
    "name",
    "oauth",
    "oauth_resource",
    "observe",
    "request_timeout_ms",
    "required",
    "scopes",
    "serverUrl",
    "shared_credentials",
    "source",
    "start_timeout_ms",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "supports_parallel_tool_calls",
    "timeout",
    "timeout_ms",
    "tool_timeout_sec",
    "transport",
    "trust",
    "type",
    "uri",
    "url",
    "version",
    "watchPaths",
];
/// Keys of other programs that restrict or complete a server in a way we do not: worth a warning.
pub(super) const NOT_APPLIED: &[&str] = &[
    "disabledTools",
    "disabled_tools",
    "enabledTools",
    "enabled_tools",
    "envFile",
    "excludeTools",
    "headersHelper",
    "includeTools",
    "sandbox",
    "sandboxEnabled",
    "tools",
];

/// Whether a list of tools lets all of them through: Copilot writes `["*"]` everywhere.
pub(super) fn is_everything(place: &Place<'_>) -> bool {
    place.list().is_ok_and(|tools| match tools.as_slice() {
        [one] => one.text() == Ok("*"),
        _ => false,
    })
}

/// "unknown key", with the one that was probably meant.
pub(crate) fn unknown_key(known: &[&str], key: &str) -> String {
    let nearest = known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(candidate, key), *candidate))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((likeness, nearest)) if likeness > 0.8 => {
            format!("unknown key, did you mean `{nearest}`?")
        }
        _ => "unknown key".to_owned(),
    }
}
