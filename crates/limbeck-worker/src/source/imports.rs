//! Modules a program may import, all of them names for what is there anyway.
//!
//! | specifier | what it stands for |
//! |---|---|
//! | `limbeck`, `@limbeck` | the globals; a name that is none of them is a server |
//! | `mcp-wrappers`, `wrappers`, `servers`, `tools` | every server by its name |
//! | `servers/NAME`, `mcp-wrappers/NAME`, `mcp-NAME`, `limbeck/NAME`, `@limbeck/NAME` | the tools of one server |
//! | `servers/NAME/TOOL` | one tool |
//!
//! A leading `./`, `../` or `/`, a trailing `/index` and an extension do not matter. Whether a
//! server or a tool exists is found out when it is used, as with `tools` itself.

use std::fmt::Write as _;

/// Names importable from `limbeck` that are globals and not servers.
const GLOBALS: &[&str] = &[
    "tools",
    "search",
    "describe",
    "servers",
    "input",
    "store",
    "console",
    "callMCPTool",
    "discoverMCPTools",
    "getToolSchema",
    "searchTools",
    "listServers",
];
/// Functions that generated wrappers of earlier systems export beside the servers.
const WRAPPER_FUNCTIONS: &[&str] = &[
    "tools",
    "callMCPTool",
    "discoverMCPTools",
    "getToolSchema",
    "searchTools",
    "listServers",
];

/// What a specifier stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Imported<'a> {
    Globals,
    Servers,
    Server(&'a str),
    Tool(&'a str, &'a str),
}

/// How a name is bound.
pub(super) enum Binding<'a> {
    Named(&'a str),
    Default,
    Namespace,
}

/// Looks a specifier up. `None`: there is no such module.
pub(super) fn resolve(specifier: &str) -> Option<Imported<'_>> {
    let mut path = specifier;
    while let Some(rest) = ["./", "../", "/"]
        .iter()
        .find_map(|up| path.strip_prefix(up))
    {
        path = rest;
    }
    for extension in [".d.ts", ".ts", ".mts", ".js", ".mjs"] {
        path = path.strip_suffix(extension).unwrap_or(path);
    }
    let mut parts = path
        .split('/')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>();
    if parts.len() > 1 && parts.last() == Some(&"index") {
        parts.pop();
    }
    let (&root, mut rest) = parts.split_first()?;
    let ours = matches!(root, "limbeck" | "@limbeck");
    if ours && matches!(rest.first(), Some(&("servers" | "tools"))) {
        rest = &rest[1..];
        if rest.is_empty() {
            return Some(Imported::Servers);
        }
    }
    let wrappers = matches!(root, "mcp-wrappers" | "wrappers" | "servers" | "tools");
    match rest {
        [] if ours => Some(Imported::Globals),
        [] if wrappers => Some(Imported::Servers),
        [] => Some(Imported::Server(root.strip_prefix("mcp-")?)),
        [server] if ours || wrappers => Some(Imported::Server(server)),
        [server, tool] if ours || wrappers => Some(Imported::Tool(server, tool)),
        _ => None,
    }
}

impl Imported<'_> {
    /// Writes the declaration of `local`, a JavaScript identifier.
    pub(super) fn declare(&self, local: &str, binding: &Binding<'_>, out: &mut String) {
        let value = match (self, binding) {
            (Self::Globals, Binding::Named(name)) => global_or_server(name, GLOBALS),
            (Self::Globals, Binding::Default) if GLOBALS.contains(&local) => {
                member("globalThis", local)
            }
            (Self::Globals, Binding::Default | Binding::Namespace) => "globalThis".to_owned(),
            (Self::Servers, Binding::Named(name)) => global_or_server(name, WRAPPER_FUNCTIONS),
            (Self::Servers, Binding::Default | Binding::Namespace) => "globalThis.tools".to_owned(),
            (Self::Server(server) | Self::Tool(server, _), Binding::Named(tool)) => {
                member(&server_value(server), tool)
            }
            (Self::Tool(server, tool), Binding::Default) => member(&server_value(server), tool),
            (Self::Server(server), Binding::Default | Binding::Namespace)
            | (Self::Tool(server, _), Binding::Namespace) => server_value(server),
        };
        write!(out, "const {local}={value};").expect("a String takes everything");
    }
}

/// Whether a name of a module is a function of ours, and no server.
pub(super) fn is_global(module: &Imported<'_>, name: &str) -> bool {
    match module {
        Imported::Globals => GLOBALS.contains(&name),
        Imported::Servers => WRAPPER_FUNCTIONS.contains(&name),
        Imported::Server(_) | Imported::Tool(..) => false,
    }
}

fn global_or_server(name: &str, globals: &[&str]) -> String {
    if globals.contains(&name) {
        member("globalThis", name)
    } else {
        server_value(name)
    }
}

fn server_value(server: &str) -> String {
    member("globalThis.tools", server)
}

fn member(object: &str, name: &str) -> String {
    let name = serde_json::Value::from(name);
    format!("{object}[{name}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_wrappers_resolve_and_other_modules_do_not() {
        for (specifier, expected) in [
            ("limbeck", Some(Imported::Globals)),
            ("@limbeck/github", Some(Imported::Server("github"))),
            ("limbeck/servers/github", Some(Imported::Server("github"))),
            ("./mcp-wrappers", Some(Imported::Servers)),
            ("../../servers/index.ts", Some(Imported::Servers)),
            (
                "./servers/google-drive",
                Some(Imported::Server("google-drive")),
            ),
            (
                "./servers/google-drive/index.js",
                Some(Imported::Server("google-drive")),
            ),
            (
                "./servers/drive/getDocument.ts",
                Some(Imported::Tool("drive", "getDocument")),
            ),
            ("./mcp-github.ts", Some(Imported::Server("github"))),
            ("fs", None),
            ("node:fs", None),
            ("lodash", None),
            ("./helper", None),
            ("./servers/a/b/c", None),
            ("", None),
            ("./", None),
        ] {
            assert_eq!(resolve(specifier), expected, "{specifier}");
        }
    }

    #[test]
    fn names_are_quoted_and_never_become_code() {
        let mut out = String::new();
        Imported::Server("a\"]; evil();//").declare("x", &Binding::Named("b\n"), &mut out);
        assert_eq!(
            out,
            r#"const x=globalThis.tools["a\"]; evil();//"]["b\n"];"#
        );
    }
}
