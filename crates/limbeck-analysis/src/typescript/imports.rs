//! Modules that a program may import. All of them are names for globals and members of `tools`.
//!
//! | specifier | meaning |
//! |---|---|
//! | `limbeck`, `@limbeck` | the globals; any other name is a server |
//! | `skills`, `limbeck/skills` | the skills that are kept |
//! | `mcp-wrappers`, `wrappers`, `servers`, `tools` | every server by its name |
//! | `servers/NAME`, `mcp-wrappers/NAME`, `mcp-NAME`, `limbeck/NAME`, `@limbeck/NAME` | the tools of one server |
//! | `servers/NAME/TOOL` | one tool |
//! | `…/.code-executor/wrappers/typescript/mcp-NAME` | the tools of one server, in the file that code-executor-mcp wrote |
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
    "skills",
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

/// Meaning of a specifier.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ImportedModule<'a> {
    Globals,
    Skills,
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

/// Resolves a specifier. `None` for an unknown module.
pub(super) fn resolve(specifier: &str) -> Option<ImportedModule<'_>> {
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
    if let [.., "wrappers", "typescript", file] = parts.as_slice() {
        return Some(ImportedModule::Server(file.strip_prefix("mcp-")?));
    }
    let (&root, mut rest) = parts.split_first()?;
    let is_limbeck = matches!(root, "limbeck" | "@limbeck");
    if is_limbeck && matches!(rest.first(), Some(&("servers" | "tools"))) {
        rest = &rest[1..];
        if rest.is_empty() {
            return Some(ImportedModule::Servers);
        }
    }
    if rest.is_empty() && root == "skills" || is_limbeck && rest == ["skills"] {
        return Some(ImportedModule::Skills);
    }
    let wrappers = matches!(root, "mcp-wrappers" | "wrappers" | "servers" | "tools");
    match rest {
        [] if is_limbeck => Some(ImportedModule::Globals),
        [] if wrappers => Some(ImportedModule::Servers),
        [] => Some(ImportedModule::Server(root.strip_prefix("mcp-")?)),
        [server] if is_limbeck || wrappers => Some(ImportedModule::Server(server)),
        [server, tool] if is_limbeck || wrappers => Some(ImportedModule::Tool(server, tool)),
        _ => None,
    }
}

impl ImportedModule<'_> {
    /// Writes the declaration of `local`, a JavaScript identifier.
    pub(super) fn declare(&self, local: &str, binding: &Binding<'_>, out: &mut String) {
        let value = match (self, binding) {
            (Self::Globals, Binding::Named(name)) => global_or_server(name, GLOBALS),
            (Self::Globals, Binding::Default) if GLOBALS.contains(&local) => {
                member("globalThis", local)
            }
            (Self::Globals, Binding::Default | Binding::Namespace) => "globalThis".to_owned(),
            (Self::Skills, Binding::Named(name)) => member("globalThis.skills", name),
            (Self::Skills, Binding::Default | Binding::Namespace) => "globalThis.skills".to_owned(),
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

/// Whether a name of a module is a built-in function, and not a server.
pub(super) fn is_global(module: &ImportedModule<'_>, name: &str) -> bool {
    match module {
        ImportedModule::Globals => GLOBALS.contains(&name),
        ImportedModule::Servers => WRAPPER_FUNCTIONS.contains(&name),
        ImportedModule::Skills => true,
        ImportedModule::Server(_) | ImportedModule::Tool(..) => false,
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
            ("limbeck", Some(ImportedModule::Globals)),
            ("@limbeck/github", Some(ImportedModule::Server("github"))),
            (
                "limbeck/servers/github",
                Some(ImportedModule::Server("github")),
            ),
            ("skills", Some(ImportedModule::Skills)),
            ("./skills.js", Some(ImportedModule::Skills)),
            ("limbeck/skills", Some(ImportedModule::Skills)),
            ("./mcp-wrappers", Some(ImportedModule::Servers)),
            ("../../servers/index.ts", Some(ImportedModule::Servers)),
            (
                "./servers/google-drive",
                Some(ImportedModule::Server("google-drive")),
            ),
            (
                "./servers/google-drive/index.js",
                Some(ImportedModule::Server("google-drive")),
            ),
            (
                "./servers/drive/getDocument.ts",
                Some(ImportedModule::Tool("drive", "getDocument")),
            ),
            ("./mcp-github.ts", Some(ImportedModule::Server("github"))),
            (
                "/home/u/.code-executor/wrappers/typescript/mcp-github.ts",
                Some(ImportedModule::Server("github")),
            ),
            (
                "./wrappers/typescript/mcp-google-drive",
                Some(ImportedModule::Server("google-drive")),
            ),
            ("./wrappers/typescript/other", None),
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
        ImportedModule::Server("a\"]; evil();//").declare("x", &Binding::Named("b\n"), &mut out);
        assert_eq!(
            out,
            r#"const x=globalThis.tools["a\"]; evil();//"]["b\n"];"#
        );
    }
}
