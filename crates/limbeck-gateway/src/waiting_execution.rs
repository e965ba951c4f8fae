//! An execution as a client sees it that asks again and again how far it is.

use limbeck_domain::{ApprovalId, ExecutionId, ExecutionStatus};
use limbeck_store::{ApprovalFilter, StoreError};
use limbeck_upstream::ServerRequest;

use crate::broker::BrokerContext;
use crate::clock::{now_us, rfc3339};

/// Questions of one execution that are read; a principal has far fewer open at a time.
const QUESTIONS_MAX: u32 = 100;

/// How far an execution is, and what it waits for.
#[derive(Debug)]
pub struct WaitingExecution {
    /// Its whole id.
    pub id: ExecutionId,
    /// Its status.
    pub status: ExecutionStatus,
    /// When it was requested, RFC 3339.
    pub created_at: String,
    /// When it ended, RFC 3339; the present while it has not.
    pub updated_at: String,
    /// Open questions about its calls.
    pub pending: Vec<ApprovalId>,
    /// Forms of those that a client may answer.
    pub forms: Vec<ServerRequest>,
}

impl BrokerContext {
    /// How far the execution with this whole id is. `None` when `principal` has no such execution.
    pub(crate) async fn waiting_execution(
        &self,
        id: &str,
        principal: &str,
    ) -> Result<Option<WaitingExecution>, StoreError> {
        self.approvals.end_expired().await;
        let record = self.store.execution(id).await?;
        let record = record.filter(|it| it.row.id.as_str() == id && it.row.principal == principal);
        let Some(row) = record.map(|record| record.row) else {
            return Ok(None);
        };
        let pending = ApprovalFilter {
            execution: Some(row.id.clone()),
            only_pending: true,
            limit: QUESTIONS_MAX,
            ..ApprovalFilter::default()
        };
        let pending = self.store.approvals(pending).await?;
        let mut forms = Vec::new();
        for approval in &pending {
            forms.extend(self.form_of(approval).await);
        }
        let updated_us = match row.took_us {
            Some(took_us) => row.created_us.saturating_add(took_us),
            None => now_us(),
        };
        Ok(Some(WaitingExecution {
            id: row.id,
            status: row.status,
            created_at: rfc3339(row.created_us).unwrap_or_default(),
            updated_at: rfc3339(updated_us).unwrap_or_default(),
            pending: pending.into_iter().map(|approval| approval.id).collect(),
            forms,
        }))
    }
}
