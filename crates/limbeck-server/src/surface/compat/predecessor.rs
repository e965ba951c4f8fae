//! The earlier systems whose tools can be called.

use std::fmt;

/// An earlier system whose tools can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Predecessor {
    /// `code-executor-mcp` of npm.
    S0,
    /// `mcp/code-executor` of royhenengel/claude-customizations.
    S1,
    /// `mcp-server-code-execution-mode`.
    S2,
}

impl Predecessor {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::S0, Self::S1, Self::S2];

    /// Its name in `--compat`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::S0 => "s0",
            Self::S1 => "s1",
            Self::S2 => "s2",
        }
    }

    /// The name that its users know.
    pub const fn product(self) -> &'static str {
        match self {
            Self::S0 => "code-executor-mcp",
            Self::S1 => "code-executor of claude-customizations",
            Self::S2 => "mcp-server-code-execution-mode",
        }
    }

    /// Whether this system read the environment variable `name`, and no other did.
    pub(super) fn read_alone(self, name: &str) -> bool {
        match self {
            Self::S0 => {
                name.starts_with("CODE_EXECUTOR_")
                    || ["DENO_PATH", "PYTHON_SANDBOX_READY", "ALLOWED_PROJECTS"].contains(&name)
            }
            Self::S1 => name == "CONNECTED_SERVERS",
            Self::S2 => name.starts_with("MCP_BRIDGE_"),
        }
    }
}

impl fmt::Display for Predecessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
