//! The environment a server starts with: a short list, and what its entry declares on top.
//!
//! Whatever else is exported in the user's shell (tokens, mostly) stays with the user. A server that
//! needs a variable says so in its entry: `"env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"}`.

/// What every server gets when it is set.
///
/// First the list of the MCP SDKs, so that a server finds what it finds under other clients; then
/// language and place for temporary files; then how to get out to the network, without which package
/// runners (`npx`, `uvx`) cannot start anything behind a proxy or a private certificate authority.
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    #[cfg(windows)]
    "APPDATA",
    #[cfg(windows)]
    "COMSPEC",
    #[cfg(windows)]
    "HOMEDRIVE",
    #[cfg(windows)]
    "HOMEPATH",
    #[cfg(windows)]
    "LOCALAPPDATA",
    #[cfg(windows)]
    "PATHEXT",
    #[cfg(windows)]
    "PROCESSOR_ARCHITECTURE",
    #[cfg(windows)]
    "PROGRAMFILES",
    #[cfg(windows)]
    "SYSTEMDRIVE",
    #[cfg(windows)]
    "SYSTEMROOT",
    #[cfg(windows)]
    "TEMP",
    #[cfg(windows)]
    "TMP",
    #[cfg(windows)]
    "USERNAME",
    #[cfg(windows)]
    "USERPROFILE",
];

/// Variables that make a program load code of somebody's choice.
const LOADERS: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "GIT_SSH_COMMAND",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NODE_OPTIONS",
    "PATH",
    "PERL5OPT",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYOPT",
];

/// The whole environment of a server: the inherited part under `declared`, each name once.
pub(crate) fn complete(
    env: &dyn Fn(&str) -> Option<String>,
    declared: Vec<(String, String)>,
) -> Vec<(String, String)> {
    INHERITED
        .iter()
        .filter(|name| !declared.iter().any(|(taken, _)| taken == *name))
        .filter_map(|name| Some(((*name).to_owned(), env(name)?)))
        // A shell exports functions as variables; nobody needs those, and some have been exploits.
        .filter(|(_, value)| !value.starts_with("()"))
        .chain(declared.iter().cloned())
        .collect()
}

/// Whether setting `name` chooses code that the server loads.
pub(crate) fn chooses_code(name: &str) -> bool {
    LOADERS.contains(&name) || name.starts_with("DYLD_")
}
