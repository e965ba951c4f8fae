//! Records of requests that were refused before anything ran.

use limbeck_gateway::Gateway;
use limbeck_gateway::audit::{AuditEvent, AuditEventKind};
use rmcp::ErrorData;

use super::client_surface::Surface;

impl Surface {
    /// Records that a request for `operation` was refused with `code`.
    pub(super) fn note_refusal(&self, operation: &str, code: &str) {
        note(&self.gateway, &self.principal, operation, code);
    }

    /// Records an error response to a request for `operation`.
    pub(super) fn noted<T>(
        &self,
        operation: &str,
        answered: Result<T, ErrorData>,
    ) -> Result<T, ErrorData> {
        if let Err(error) = &answered {
            self.note_refusal(operation, &error.code.0.to_string());
        }
        answered
    }
}

/// Records that a request of `principal` was refused.
pub(super) fn note(gateway: &Gateway, principal: &str, operation: &str, code: &str) {
    gateway.record(AuditEvent {
        client: Some("mcp".to_owned()),
        operation: Some(operation.to_owned()),
        code: Some(code.to_owned()),
        ..AuditEvent::new(AuditEventKind::Refuse, principal)
    });
}
