//! Environment of a server: a short list of inherited variables, and those that its entry declares.
//!
//! Other variables of the user's shell, which are often tokens, are not passed on. A server that needs one
//! declares it in its entry: `"env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"}`.

use crate::world::{OperatingSystem, World};

/// Variables that every server inherits.
///
/// First the list of the MCP SDKs, so that a server finds what it finds under other clients; then language and
/// temporary directory; then proxies and certificates, without which package runners (`npx`, `uvx`) cannot
/// download anything behind a proxy or a private certificate authority.
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
];

/// Variables that servers inherit on Windows in addition.
const INHERITED_ON_WINDOWS: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
];

/// The whole environment of a server: inherited variables and `declared` ones, which win; each name once.
pub(crate) fn complete(world: &World, declared: Vec<(String, String)>) -> Vec<(String, String)> {
    // Windows has one variable of a name, in capitals or not: `Path` of an entry is its `PATH`.
    let is_same = |one: &str, other: &str| match world.system {
        OperatingSystem::Windows => one.eq_ignore_ascii_case(other),
        OperatingSystem::Linux | OperatingSystem::MacOs => one == other,
    };
    let of_system = match world.system {
        OperatingSystem::Windows => INHERITED_ON_WINDOWS,
        OperatingSystem::Linux | OperatingSystem::MacOs => &[],
    };
    INHERITED
        .iter()
        .chain(of_system)
        .filter(|name| !declared.iter().any(|(taken, _)| is_same(taken, name)))
        .filter_map(|name| Some(((*name).to_owned(), world.variable(name)?.to_owned())))
        // A shell exports functions as variables; servers do not need them, and some were exploits
        // (CVE-2014-6271).
        .filter(|(_, value)| !value.starts_with("()"))
        .chain(declared.iter().cloned())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn environment(system: OperatingSystem) -> Vec<(String, String)> {
        let variables = BTreeMap::from([("PATH".to_owned(), "inherited".to_owned())]);
        let world = World::new(system, "/work", variables);
        complete(&world, vec![("Path".to_owned(), "declared".to_owned())])
    }

    #[test]
    fn a_variable_is_inherited_on_windows_in_whatever_letters() {
        let of = |system| {
            let variables = BTreeMap::from([("Path".to_owned(), "inherited".to_owned())]);
            complete(&World::new(system, "/work", variables), Vec::new())
        };
        let inherited = ("PATH".to_owned(), "inherited".to_owned());
        assert_eq!(of(OperatingSystem::Windows), [inherited]);
        assert_eq!(of(OperatingSystem::Linux), []);
    }

    #[test]
    fn names_differ_by_their_letters_but_on_windows() {
        let values = |system| -> Vec<String> {
            environment(system)
                .into_iter()
                .map(|(_, value)| value)
                .collect()
        };
        assert_eq!(values(OperatingSystem::Windows), ["declared"]);
        assert_eq!(values(OperatingSystem::Linux), ["inherited", "declared"]);
    }

    #[test]
    fn the_guide_names_every_inherited_variable_and_no_other() {
        let guide = include_str!("../../../docs/guide/server-lifecycle.md");
        let (_, section) = guide.split_once("\n## Environment of a server\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let named = |begin: &str| -> Vec<&str> {
            let row = section.lines().find(|line| line.starts_with(begin));
            let words = row.unwrap().split('`').skip(1).step_by(2);
            words.collect()
        };
        assert_eq!(named("| everywhere |"), INHERITED);
        assert_eq!(named("| on Windows |"), INHERITED_ON_WINDOWS);
    }
}
