//! The audit trail: checked, listed and extracted.

use std::sync::PoisonError;
use std::time::Instant;

use super::Store;
use crate::audit::{self, AuditCheck, AuditErasure, AuditEvent, KnownCheckpoints};
use crate::error::StoreError;
use crate::operation::{Durability, Write};
use crate::records::AuditFilter;
use crate::tables;

impl Store {
    /// Records what belongs to no execution; returns once it is queued. It reaches the disk with the next synced write.
    ///
    /// Of one principal 50 records a second are kept; the next one says how many were left out.
    ///
    /// # Errors
    ///
    /// [`StoreError::Closed`]
    pub async fn record(&self, event: AuditEvent) -> Result<(), StoreError> {
        let admitted = self
            .inner
            .record_rate
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .admit(&event.principal, Instant::now());
        let Some(dropped) = admitted else {
            return Ok(());
        };
        let event = AuditEvent { dropped, ..event };
        let write = Write::new(event.bytes(), move |transaction| event.note(transaction));
        self.write(write, Durability::Queued).await
    }

    /// Checks every record of the audit trail: some seconds for a million.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn check_audit(&self) -> Result<AuditCheck, StoreError> {
        self.check_audit_with(KnownCheckpoints::default()).await
    }

    /// The same, and that the records are those which `checkpoints` name.
    ///
    /// # Errors
    ///
    /// As [`Self::check_audit`].
    pub async fn check_audit_with(
        &self,
        checkpoints: KnownCheckpoints,
    ) -> Result<AuditCheck, StoreError> {
        self.barrier().await?;
        let path = self.inner.path.clone();
        self.query(move |connection| audit::check(connection, &path, &checkpoints))
            .await
    }

    /// Erases salts and texts of records, and records that. Returns how many records had some.
    ///
    /// # Errors
    ///
    /// An error of SQLite; then nothing is erased.
    pub async fn erase_audit(&self, erasure: AuditErasure) -> Result<u64, StoreError> {
        self.write_returning(0, Durability::Synced, move |transaction| {
            audit::erase(transaction, &erasure).map(Ok)
        })
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
