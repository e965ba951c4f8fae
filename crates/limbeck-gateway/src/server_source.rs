//! Configuration entries of upstream servers, as the gateway uses them.

use limbeck_domain::{Expose, ServerName, ToolRules};

/// Configuration entry of an upstream server.
#[derive(Clone, Debug)]
pub struct ServerSource {
    /// Key of the entry.
    pub name: ServerName,
    /// File and place of the entry, as shown to users.
    pub source: String,
    /// Hash of the whole definition: the key of its cached tools.
    pub definition_hash: String,
    /// Whether clients, programs or both see its tools.
    pub expose: Expose,
    /// Whether result types are learned from its tools' results.
    pub observe: bool,
    /// Which of its tools exist for programs and clients.
    pub tool_rules: ToolRules,
}
