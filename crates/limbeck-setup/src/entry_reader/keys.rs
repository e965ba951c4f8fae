//! Keys that an entry may have, in each dialect.

use limbeck_domain::text;

/// Keys of an entry in `limbeck.toml`.
pub(super) const LIMBECK_KEYS: &[&str] = &[
    "allow_http",
    "allow_networks",
    "args",
    "blocked",
    "command",
    "concurrency",
    "cwd",
    "description",
    "disabled",
    "disabled_tools",
    "enabled_tools",
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
/// Keys of clients that are read, or that do not change how a server is reached.
pub(super) const CLIENT_KEYS: &[&str] = &[
    "allow_http",
    "allow_networks",
    "alwaysAllow",
    "alwaysLoad",
    "args",
    "auth",
    "autoApprove",
    "bearer_token_env_var",
    "blocked",
    "command",
    "concurrency",
    "cwd",
    "default_tools_approval_mode",
    "description",
    "dev",
    "disabled",
    "disabledTools",
    "disabled_tools",
    "enabled",
    "enabledTools",
    "enabled_tools",
    "env",
    "env_http_headers",
    "env_vars",
    "excludeTools",
    "expose",
    "gallery",
    "headers",
    "httpUrl",
    "http_headers",
    "icon",
    "idle_timeout_ms",
    "includeTools",
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
    "tools",
    "transport",
    "trust",
    "type",
    "uri",
    "url",
    "version",
    "watchPaths",
];
/// Keys of clients that restrict or extend a server in a way that Limbeck does not: they cause a warning.
pub(super) const UNSUPPORTED_KEYS: &[&str] =
    &["envFile", "headersHelper", "sandbox", "sandboxEnabled"];

/// Known keys that are listed when none is similar.
const KEYS_LISTED_MAX: usize = 6;
/// Bytes of an unknown key that are compared with the known ones.
const KEY_BYTES_COMPARED: usize = 64;

/// Problem text for an unknown key, with the most similar known key, or all of them where they are few.
pub(crate) fn unknown_key(known: &[&str], key: &str) -> String {
    // The key of other programs with the opposite meaning, whose nearest name is that of a list.
    if key == "enabled" && known.contains(&"disabled") && !known.contains(&key) {
        return "unknown key, did you mean `disabled = true`?".to_owned();
    }
    match nearest_key(known, key) {
        Some(nearest) => format!("unknown key, did you mean `{nearest}`?"),
        None if known.len() <= KEYS_LISTED_MAX => {
            format!("unknown key; accepted: `{}`", known.join("`, `"))
        }
        None => "unknown key".to_owned(),
    }
}

/// The known key that `key` is probably meant to be.
pub(super) fn nearest_key<'k>(known: &[&'k str], key: &str) -> Option<&'k str> {
    let key = text::cut(key, KEY_BYTES_COMPARED);
    let nearest = known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(candidate, key), *candidate))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    nearest
        .filter(|(similarity, _)| *similarity > 0.8)
        .map(|(_, nearest)| nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_that_switches_a_server_off_is_named_for_its_opposite() {
        let problem = unknown_key(LIMBECK_KEYS, "enabled");
        assert_eq!(problem, "unknown key, did you mean `disabled = true`?");
        // The control: another key, and keys of other programs.
        let problem = unknown_key(LIMBECK_KEYS, "enabled_tool");
        assert!(problem.contains("`enabled_tools`"), "{problem}");
        assert!(CLIENT_KEYS.contains(&"enabled"));
    }
}
