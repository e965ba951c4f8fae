//! Configuration entries of upstream servers, as the gateway uses them.

use limbeck_domain::{Expose, ServerName, ToolRules};
use limbeck_upstream::ServerSpec;

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

/// Change of the servers of a running gateway.
#[derive(Debug, Default)]
pub struct ServerChange {
    /// Servers that are in the configuration no more.
    pub removed: Vec<ServerName>,
    /// New servers, and changed ones in the place of those with their names.
    pub added: Vec<(ServerSpec, ServerSource)>,
    /// Sentences about the whole configuration for clients and users, as in [`GatewayConfig`](crate::GatewayConfig).
    pub notices: Vec<String>,
}
