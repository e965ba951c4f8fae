//! The tool `health`: load of the gateway.

use limbeck_domain::limits::EXECUTIONS_MAX;
use limbeck_gateway::artifacts::when;
use limbeck_gateway::clock::now_us;
use rmcp::model::CallToolResult;
use serde_json::json;

use crate::surface::built_in_results::text;
use crate::surface::client_surface::Surface;

impl Surface {
    /// Running and waiting programs, known tools and uptime. `connected` counts tools, as it did.
    pub(super) fn health(&self) -> CallToolResult {
        let (active, waiting) = self.gateway.load();
        let uptime_ms = self.started.elapsed().as_millis();
        let health = json!({
            "healthy": true,
            "auditLog": {"enabled": self.compat.execution_log.is_some()},
            "mcpClients": {"connected": self.gateway.catalog().tools().count()},
            "connectionPool": {"active": active, "waiting": waiting, "max": EXECUTIONS_MAX},
            "uptime": uptime_ms as f64 / 1_000.0,
            "timestamp": when(now_us()),
        });
        let mut result = text(format!("{health:#}"), false);
        result.structured_content = Some(health);
        result
    }
}
