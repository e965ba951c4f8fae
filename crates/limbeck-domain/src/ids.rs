//! Ids of servers, tools, executions and calls.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Name of an upstream server: the key of its configuration entry, verbatim.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ServerName(Arc<str>);

impl ServerName {
    /// Takes the name as the configuration has it.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for ServerName {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// One tool of one upstream. Both names are verbatim as configuration and upstream gave them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ToolId {
    /// Configuration key of the server.
    pub server: ServerName,
    /// Name the server itself gave the tool.
    pub tool: Arc<str>,
}

impl ToolId {
    /// Joins a server name and a tool name.
    pub fn new(server: impl Into<ServerName>, tool: impl Into<Arc<str>>) -> Self {
        Self {
            server: server.into(),
            tool: tool.into(),
        }
    }
}

/// `server.tool`, the form used in messages and in `--tools` patterns.
impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.server, self.tool)
    }
}

/// Name of one execution: `ex_` and a time-ordered unique part, at most 64 characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExecutionId(Arc<str>);

impl ExecutionId {
    /// Takes any text; whether an execution of this id exists shows only when it is looked up.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Number of a host call inside one execution: 1, 2, 3 … in the order the guest made them.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct CallId(pub u32);

impl CallId {
    /// The only id a guest may use after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}
