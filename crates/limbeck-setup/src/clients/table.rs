//! Clients as data: where each keeps the servers of its user, and in which form.
//!
//! A new client is one row here and one fixture in `tests/it/clients`. A row names exact files: below the same directories
//! clients keep caches and worktrees, whose files a stranger wrote.

use std::path::PathBuf;

use crate::world::{OperatingSystem, World};

/// One client.
#[derive(Debug)]
pub(crate) struct Client {
    /// Name for `--client`: the program's usual name in kebab case.
    pub(crate) id: &'static str,
    /// Name for people.
    pub(crate) title: &'static str,
    /// Its files. Each that exists is one place with servers.
    pub(crate) files: &'static [Place],
    /// Form of its servers.
    pub(crate) form: Form,
}

/// One file of a client.
#[derive(Debug)]
pub(crate) struct Place {
    systems: Systems,
    base: Base,
    /// Path below the base; a part that ends with `*` is every name with that beginning.
    path: &'static str,
}

/// Systems on which a file is at this place.
#[derive(Clone, Copy, Debug)]
enum Systems {
    All,
    Windows,
    /// All but Windows.
    NotWindows,
}

/// Directory that a path begins at.
#[derive(Clone, Copy, Debug)]
enum Base {
    /// Home directory.
    Home,
    /// `XDG_CONFIG_HOME`, or `.config` in the home directory, on every system.
    Config,
    /// Files of applications: as [`Base::Config`] on Linux, `Library/Application Support` on macOS, `%APPDATA%` on Windows.
    Applications,
    /// `%LOCALAPPDATA%`.
    LocalApplications,
    /// The directory that a variable names, or else this one in the home directory.
    Variable(&'static str, &'static str),
}

/// Form of the servers in a client's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// JSON whose object of servers is at one of these key paths, the first that is there; a new one is made at the last.
    Json(&'static [&'static [&'static str]], EntryForm),
    /// TOML with `[mcp_servers.NAME]`, as Codex has it.
    Codex,
    /// The same with the keys of other clients.
    Toml,
    /// Limbeck's own file, with `[servers.NAME]`.
    Own,
}

/// Form of one entry in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryForm {
    /// `command` and `args`, or a url; the members given are added to a new entry.
    Standard(&'static [(&'static str, &'static str)]),
    /// `{"type": "local", "command": ["program", "argument"], "environment": {}}`.
    CommandList,
}

const PLAIN: EntryForm = EntryForm::Standard(&[]);
const TYPED: EntryForm = EntryForm::Standard(&[("type", "\"stdio\"")]);
const MCP_SERVERS: Form = Form::Json(&[&["mcpServers"]], PLAIN);

const fn at(systems: Systems, base: Base, path: &'static str) -> Place {
    Place {
        systems,
        base,
        path,
    }
}

const fn home(path: &'static str) -> Place {
    at(Systems::All, Base::Home, path)
}

const fn config(path: &'static str) -> Place {
    at(Systems::All, Base::Config, path)
}

const fn application(path: &'static str) -> Place {
    at(Systems::All, Base::Applications, path)
}

const fn local(path: &'static str) -> Place {
    at(Systems::Windows, Base::LocalApplications, path)
}

const fn variable(name: &'static str, below: &'static str, path: &'static str) -> Place {
    at(Systems::All, Base::Variable(name, below), path)
}

const fn client(
    id: &'static str,
    title: &'static str,
    form: Form,
    files: &'static [Place],
) -> Client {
    Client {
        id,
        title,
        files,
        form,
    }
}

/// Every client whose files are read and written, in the order of a plan.
pub(crate) const CLIENTS: &[Client] = &[
    client(
        CLAUDE_CODE,
        "Claude Code",
        Form::Json(
            &[&["mcpServers"]],
            EntryForm::Standard(&[("type", "\"stdio\""), ("alwaysLoad", "true")]),
        ),
        &[at(
            Systems::All,
            Base::Variable("CLAUDE_CONFIG_DIR", ""),
            ".claude.json",
        )],
    ),
    client(
        "claude-desktop",
        "Claude Desktop",
        MCP_SERVERS,
        &[
            application("Claude/claude_desktop_config.json"),
            // The copy of the application from the store reads a file of its own.
            local("Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json"),
        ],
    ),
    client("cursor", "Cursor", MCP_SERVERS, &[home(".cursor/mcp.json")]),
    client(
        "vscode",
        "VS Code",
        Form::Json(&[&["servers"]], TYPED),
        &[
            application("Code/User/mcp.json"),
            application("Code/User/profiles/*/mcp.json"),
            application("Code - Insiders/User/mcp.json"),
            application("Code - Insiders/User/profiles/*/mcp.json"),
            application("VSCodium/User/mcp.json"),
            application("VSCodium/User/profiles/*/mcp.json"),
            home(".vscode-server/data/User/mcp.json"),
            home(".vscode-server-insiders/data/User/mcp.json"),
        ],
    ),
    client(
        "devin",
        "Devin",
        MCP_SERVERS,
        &[
            at(Systems::NotWindows, Base::Config, "devin/mcp_config.json"),
            at(
                Systems::Windows,
                Base::Applications,
                "devin/mcp_config.json",
            ),
        ],
    ),
    client(
        "windsurf",
        "Windsurf",
        MCP_SERVERS,
        &[
            home(".codeium/windsurf/mcp_config.json"),
            home(".codeium/mcp_config.json"),
        ],
    ),
    client(
        "zed",
        "Zed",
        Form::Json(
            &[&["context_servers"]],
            EntryForm::Standard(&[("source", "\"custom\"")]),
        ),
        &[
            at(Systems::NotWindows, Base::Config, "zed/settings.json"),
            at(Systems::Windows, Base::Applications, "Zed/settings.json"),
        ],
    ),
    client(
        "codex",
        "Codex",
        Form::Codex,
        &[variable("CODEX_HOME", ".codex", "config.toml")],
    ),
    client(
        "gemini",
        "Gemini CLI",
        MCP_SERVERS,
        &[home(".gemini/settings.json")],
    ),
    client(
        "antigravity",
        "Antigravity",
        MCP_SERVERS,
        &[home(".gemini/config/mcp_config.json")],
    ),
    client(
        "qwen",
        "Qwen Code",
        MCP_SERVERS,
        &[home(".qwen/settings.json")],
    ),
    client(
        "opencode",
        "OpenCode",
        Form::Json(&[&["mcp", "servers"], &["mcp"]], EntryForm::CommandList),
        &[
            config("opencode/opencode.jsonc"),
            config("opencode/opencode.json"),
        ],
    ),
    client(
        "kilo",
        "Kilo Code",
        Form::Json(&[&["mcp"]], EntryForm::CommandList),
        &[config("kilo/kilo.jsonc"), config("kilo/kilo.json")],
    ),
    client(
        "cline",
        "Cline",
        MCP_SERVERS,
        &[
            variable(
                "CLINE_DIR",
                ".cline",
                "data/settings/cline_mcp_settings.json",
            ),
            application(
                "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
            application(
                "Code - Insiders/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
            application(
                "Cursor/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
            home(
                ".vscode-server/data/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
        ],
    ),
    client(
        "roo",
        "Roo Code",
        MCP_SERVERS,
        &[
            application(
                "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            ),
            application(
                "Code - Insiders/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            ),
            application(
                "Cursor/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            ),
            home(
                ".vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            ),
        ],
    ),
    client(
        "amp",
        "Amp",
        Form::Json(&[&["amp.mcpServers"]], PLAIN),
        &[
            at(Systems::NotWindows, Base::Config, "amp/settings.json"),
            at(Systems::Windows, Base::Applications, "amp/settings.json"),
        ],
    ),
    client(
        "kiro",
        "Kiro",
        MCP_SERVERS,
        &[home(".kiro/settings/mcp.json")],
    ),
    client(
        "copilot",
        "Copilot CLI",
        Form::Json(
            &[&["mcpServers"]],
            EntryForm::Standard(&[("type", "\"local\""), ("tools", "[\"*\"]")]),
        ),
        &[variable("COPILOT_HOME", ".copilot", "mcp-config.json")],
    ),
    client(
        "junie",
        "Junie",
        MCP_SERVERS,
        &[home(".junie/mcp/mcp.json")],
    ),
    client(
        "lm-studio",
        "LM Studio",
        MCP_SERVERS,
        &[
            home(".lmstudio/mcp.json"),
            home(".cache/lm-studio/mcp.json"),
        ],
    ),
    client(
        "droid",
        "Factory Droid",
        MCP_SERVERS,
        &[home(".factory/mcp.json")],
    ),
    client(
        "crush",
        "Crush",
        Form::Json(&[&["mcp"]], TYPED),
        &[
            at(Systems::NotWindows, Base::Config, "crush/crush.json"),
            local("crush/crush.json"),
        ],
    ),
    client("warp", "Warp", MCP_SERVERS, &[home(".warp/.mcp.json")]),
    client(
        "kimi",
        "Kimi Code",
        Form::Json(
            &[&["mcpServers"]],
            EntryForm::Standard(&[("transport", "\"stdio\"")]),
        ),
        &[
            variable("KIMI_CODE_HOME", ".kimi-code", "mcp.json"),
            home(".kimi/mcp.json"),
        ],
    ),
    client(
        "grok",
        "Grok Build",
        Form::Toml,
        &[variable("GROK_HOME", ".grok", "config.toml")],
    ),
    client(
        "trae",
        "Trae",
        MCP_SERVERS,
        &[application("Trae/User/mcp.json")],
    ),
    client(
        "qoder",
        "Qoder",
        MCP_SERVERS,
        &[
            at(Systems::NotWindows, Base::Home, ".qoder/mcp.json"),
            at(
                Systems::Windows,
                Base::Applications,
                "Qoder/SharedClientCache/mcp.json",
            ),
        ],
    ),
    client(
        "fx",
        "fx",
        Form::Json(&[&["mcp"]], PLAIN),
        &[home(".fx/mcp.json")],
    ),
    client("pi", "Pi", MCP_SERVERS, &[home(".pi/agent/mcp.json")]),
    client(
        "mastracode",
        "Mastra Code",
        MCP_SERVERS,
        &[home(".mastracode/mcp.json")],
    ),
    client(
        "mcporter",
        "MCPorter",
        MCP_SERVERS,
        &[
            home(".mcporter/mcporter.jsonc"),
            home(".mcporter/mcporter.json"),
        ],
    ),
];

/// Id of the client whose file Limbeck also reads itself, and which has many megabytes.
pub(crate) const CLAUDE_CODE: &str = "claude-code";

/// The client of this id.
pub(crate) fn client_of(id: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.id == id)
}

impl Client {
    /// Paths of its files in `world`, whether they exist or not; a pattern gives the files that exist.
    pub(crate) fn paths(&self, world: &World) -> Vec<PathBuf> {
        let places = self.files.iter();
        places.flat_map(|place| place.paths(world)).collect()
    }
}

impl Place {
    fn paths(&self, world: &World) -> Vec<PathBuf> {
        if !self.systems.has(world.system) {
            return Vec::new();
        }
        let Some(base) = self.base.directory(world) else {
            return Vec::new();
        };
        let mut paths = vec![base];
        for part in self.path.split('/') {
            paths = match part.strip_suffix('*') {
                Some(beginning) => paths
                    .iter()
                    .flat_map(|path| names_in(world, path, beginning))
                    .collect(),
                None => paths.into_iter().map(|path| path.join(part)).collect(),
            };
        }
        paths
    }
}

/// Directories in one directory that are looked at for a pattern.
const NAMES_MAX: usize = 64;

fn names_in(world: &World, directory: &std::path::Path, beginning: &str) -> Vec<PathBuf> {
    let Ok(read) = std::fs::read_dir(world.on_disk(directory)) else {
        return Vec::new();
    };
    let names = read.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| name.starts_with(beginning))
        .take(NAMES_MAX)
        .collect();
    names.sort_unstable();
    names.into_iter().map(|name| directory.join(name)).collect()
}

impl Systems {
    fn has(self, system: OperatingSystem) -> bool {
        match self {
            Self::All => true,
            Self::Windows => system == OperatingSystem::Windows,
            Self::NotWindows => system != OperatingSystem::Windows,
        }
    }
}

impl Base {
    fn directory(self, world: &World) -> Option<PathBuf> {
        let home = || world.home.clone();
        let named = |name: &str| {
            let path = world.nonempty_variable(name)?;
            world.is_absolute(path).then(|| PathBuf::from(path))
        };
        match (self, world.system) {
            (Self::Home, _) => home(),
            (Self::Config, _) | (Self::Applications, OperatingSystem::Linux) => {
                world.config_directory()
            }
            (Self::Applications, OperatingSystem::MacOs) => {
                Some(home()?.join("Library/Application Support"))
            }
            (Self::Applications, OperatingSystem::Windows) => {
                named("APPDATA").or_else(|| Some(home()?.join("AppData/Roaming")))
            }
            (Self::LocalApplications, _) => {
                named("LOCALAPPDATA").or_else(|| Some(home()?.join("AppData/Local")))
            }
            (Self::Variable(name, ""), _) => named(name).or_else(home),
            (Self::Variable(name, below), _) => named(name).or_else(|| Some(home()?.join(below))),
        }
    }
}
