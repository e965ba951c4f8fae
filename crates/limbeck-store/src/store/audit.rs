//! The audit trail: checked, listed and extracted.

use super::Store;
use crate::audit::{self, AuditCheck};
use crate::error::StoreError;
use crate::records::AuditFilter;
use crate::tables;

impl Store {
    /// Checks every record of the audit trail: some seconds for a million.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn check_audit(&self) -> Result<AuditCheck, StoreError> {
        self.barrier().await?;
        let path = self.inner.path.clone();
        self.query(move |connection| audit::check(connection, &path))
            .await
    }

    /// Records of the audit trail, oldest first: each a line of JSON with the hash of its principal's chain, at most 1,000.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn audit(&self, filter: &AuditFilter) -> Result<Vec<String>, StoreError> {
        self.barrier().await?;
        let filter = filter.clone();
        self.query(move |connection| tables::audit::list(connection, &filter))
            .await
    }
}
