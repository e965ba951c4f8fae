//! Files in which clients keep servers of their user for every project, as each client documents them.
//!
//! Each file is named exactly: below the same directories clients and package managers also keep worktrees, extensions
//! and caches, whose files a stranger wrote.

use std::path::{Component, Path, PathBuf};

/// Files below the home directory. A part that ends with `*` is a name with that beginning.
const OF_HOME: &[&str] = &[
    ".cache/lm-studio/mcp.json",
    ".cline/data/settings/cline_mcp_settings.json",
    ".codeium/mcp_config.json",
    ".codeium/windsurf/mcp_config.json",
    ".codex/config.toml",
    ".copilot/mcp-config.json",
    ".cursor/mcp.json",
    ".factory/mcp.json",
    ".fx/mcp.json",
    ".gemini/antigravity/mcp_config.json",
    ".gemini/config/mcp_config.json",
    ".gemini/settings.json",
    ".grok/config.toml",
    ".junie/mcp/mcp.json",
    ".kimi-code/mcp.json",
    ".kimi/mcp.json",
    ".kiro/settings/mcp.json",
    ".lmstudio/mcp.json",
    ".mastracode/mcp.json",
    ".mcporter/mcporter.json",
    ".mcporter/mcporter.jsonc",
    ".pi/agent/mcp.json",
    ".qoder/mcp.json",
    ".qwen/settings.json",
    ".vibe/config.toml",
    ".vscode-server-insiders/data/User/mcp.json",
    ".vscode-server-insiders/data/User/profiles/*/mcp.json",
    ".vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
    ".vscode-server/data/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    ".vscode-server/data/User/mcp.json",
    ".vscode-server/data/User/profiles/*/mcp.json",
    ".warp/.mcp.json",
];

/// Directories below the home directory in which applications of Linux, macOS and Windows keep their files.
const APPLICATIONS: &[&str] = &[
    ".config",
    "AppData/Local",
    "AppData/Roaming",
    "Library/Application Support",
];

/// Files below a directory of applications.
const OF_APPLICATIONS: &[&str] = &[
    "Claude/claude_desktop_config.json",
    "Code - Insiders/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
    "Code - Insiders/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    "Code - Insiders/User/mcp.json",
    "Code - Insiders/User/profiles/*/mcp.json",
    "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
    "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    "Code/User/mcp.json",
    "Code/User/profiles/*/mcp.json",
    "Cursor/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
    "Cursor/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    "Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json",
    "Qoder/SharedClientCache/mcp.json",
    "Trae/User/mcp.json",
    "VSCodium/User/mcp.json",
    "VSCodium/User/profiles/*/mcp.json",
    "Zed/settings.json",
    "amp/settings.json",
    "crush/crush.json",
    "devin/mcp_config.json",
    "kilo/kilo.json",
    "kilo/kilo.jsonc",
    "limbeck/config.toml",
    "opencode/opencode.json",
    "opencode/opencode.jsonc",
    "zed/settings.json",
];

/// Whether `file` is one of these. `homes` are the paths of the home directory, `configurations` those of the directory of
/// the user's configuration files.
pub(super) fn is_of_client(file: &Path, homes: &[PathBuf], configurations: &[PathBuf]) -> bool {
    let is_one_of = |names: &[&str], directory: &Path| {
        let below = file.strip_prefix(directory);
        below.is_ok_and(|below| names.iter().any(|name| has_name(below, name)))
    };
    let is_of_home = |home: &PathBuf| {
        let mut applications = APPLICATIONS.iter();
        is_one_of(OF_HOME, home)
            || applications.any(|directory| is_one_of(OF_APPLICATIONS, &home.join(directory)))
    };
    let mut configurations = configurations.iter();
    homes.iter().any(is_of_home)
        || configurations.any(|directory| is_one_of(OF_APPLICATIONS, directory))
}

/// Whether the parts of a relative path are those of `name`.
fn has_name(path: &Path, name: &str) -> bool {
    let parts: Vec<Component<'_>> = path.components().collect();
    let expected: Vec<&str> = name.split('/').collect();
    let is_part = |(part, expected): (&Component<'_>, &&str)| {
        let part = part.as_os_str().to_str();
        part.is_some_and(|part| match expected.strip_suffix('*') {
            Some(beginning) => part.starts_with(beginning),
            None => part == *expected,
        })
    };
    parts.len() == expected.len() && parts.iter().zip(&expected).all(is_part)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn is_found(file: &str) -> bool {
        let homes = [PathBuf::from("/home/me")];
        let configurations = [PathBuf::from("/configuration")];
        is_of_client(Path::new(file), &homes, &configurations)
    }

    #[test]
    fn a_file_has_the_whole_name_that_its_client_documents() {
        for file in [
            "/home/me/.cursor/mcp.json",
            "/home/me/.config/zed/settings.json",
            "/home/me/.config/Code/User/profiles/-1ab/mcp.json",
            "/home/me/AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json",
            "/configuration/Code/User/mcp.json",
        ] {
            assert!(is_found(file), "{file}");
        }
        for file in [
            "/home/me/.cursor",
            "/home/me/.cursor/mcp.json/mcp.json",
            "/home/me/.cursor/other.json",
            "/home/me/.config/Code/User/profiles/a/b/mcp.json",
            "/home/me/AppData/Local/Packages/Other/LocalCache/Roaming/Claude/claude_desktop_config.json",
            "/home/me/work/.cursor/mcp.json",
            "/home/you/.cursor/mcp.json",
            "/configuration/.cursor/mcp.json",
        ] {
            assert!(!is_found(file), "{file}");
        }
    }
}
