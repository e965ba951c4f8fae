//! Records of the audit trail that belong to no execution.

use limbeck_store::{AuditEvent, Store};

/// Queues a record for the audit trail. One that cannot be stored is a line of the log.
pub(crate) fn record(store: Store, event: AuditEvent) {
    tokio::spawn(async move {
        if let Err(error) = store.record(event).await {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a record of the audit trail was not stored"
            );
        }
    });
}
