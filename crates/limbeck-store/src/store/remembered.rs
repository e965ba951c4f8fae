//! Answers of people that count for more calls than one: choices to remember an approval, and late denials.

use limbeck_domain::{
    Approval, ApprovalDecision, ApprovalId, ExecutionId, JournalEntry, Remembered, ToolId,
};

use super::Store;
use crate::error::StoreError;
use crate::journal_operation::{JournalStep, encode};
use crate::operation::Durability;
use crate::reader::Reader;
use crate::tables::approvals::{self, EncodedQuestion};
use crate::tables::{denied, journal, remembered};

impl Store {
    /// Choices that count for the call of `approval` at `now_us`, oldest first. Whether those who chose may still do so is the
    /// caller's to check.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn remembered_for(
        &self,
        approval: &Approval,
        now_us: u64,
    ) -> Result<Vec<Remembered>, StoreError> {
        let approval = approval.clone();
        self.barrier().await?;
        self.read(move |reader| {
            let found =
                reader.run(|connection| remembered::counting(connection, &approval, now_us))?;
            found.iter().map(|found| found.decode(reader)).collect()
        })
        .await
    }

    /// Records a question that the choice called `remembered` answers, approved, with its [`JournalEntry::Asked`] and the
    /// decisions, and counts the use of the choice, in one transaction that is on disk when this returns. `None` when the
    /// choice counts no more: then nothing was written.
    ///
    /// # Errors
    ///
    /// The reason why nothing was written.
    pub async fn ask_remembered(
        &self,
        id: &ExecutionId,
        entry: JournalEntry,
        approval: Approval,
        remembered: String,
        now_us: u64,
    ) -> Result<Option<Approval>, StoreError> {
        self.check_durable()?;
        let entry = encode(&entry)?;
        let (of, path) = (id.clone(), self.inner.path.clone());
        let size = (2, entry.len() + approval.arguments.len());
        self.change(
            id,
            (JournalStep::Change, Durability::Synced),
            size,
            move |transaction, owner| {
                let execution = match journal::running_row(transaction, owner, &of)? {
                    Ok(execution) => execution,
                    Err(error) => return Ok(Err(error)),
                };
                let reader = Reader {
                    connection: transaction,
                    path: &path,
                };
                let id = Some(remembered.as_str());
                let by = remembered::take(transaction, &reader, execution, &approval, id, now_us)?;
                let Some(by) = by else {
                    return Ok(Ok(None));
                };
                let made =
                    remembered::approved(approval, &by, now_us).and_then(|(approved, entries)| {
                        Ok((approvals::body(&approved)?, approved, entries))
                    });
                let (body, approved, entries) = match made {
                    Ok(made) => made,
                    Err(error) => return Ok(Err(error)),
                };
                let question = EncodedQuestion {
                    id: approved.id.to_string(),
                    call: approved.call.0,
                    created_us: approved.created_us,
                    expires_us: approved.expires_us,
                    body,
                    entry,
                };
                let added = approvals::add_approved(transaction, execution, &question, &entries)?;
                Ok(added.map(|()| Some(approved)))
            },
        )
        .await
    }

    /// The denial of the same call of a principal in the last 10 minutes, in any run, with the id of its question.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn denied_lately(
        &self,
        principal: &str,
        tool: &ToolId,
        sha256: &str,
        now_us: u64,
    ) -> Result<Option<(ApprovalId, ApprovalDecision)>, StoreError> {
        let (principal, tool, sha256) = (principal.to_owned(), tool.clone(), sha256.to_owned());
        self.barrier().await?;
        self.read(move |reader| {
            let found = reader
                .run(|connection| denied::find(connection, &principal, &tool, &sha256, now_us))?;
            let decoded = |(id, body): (String, String)| {
                Ok((ApprovalId::new(id), reader.decode("denial", &body)?))
            };
            found.map(decoded).transpose()
        })
        .await
    }

    /// Lets a call be asked about again that was denied with this question. Returns whether the denial still counted.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn forget_denial(&self, id: &ApprovalId) -> Result<bool, StoreError> {
        let id = id.clone();
        self.write_returning(0, Durability::Synced, move |transaction| {
            denied::forget(transaction, id.as_str()).map(Ok)
        })
        .await
    }

    /// Choices that count at `now_us`, of one principal or of all, oldest first.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn remembered(
        &self,
        principal: Option<&str>,
        now_us: u64,
    ) -> Result<Vec<Remembered>, StoreError> {
        let principal = principal.map(str::to_owned);
        self.barrier().await?;
        self.read(move |reader| {
            let found = reader
                .run(|connection| remembered::list(connection, principal.as_deref(), now_us))?;
            found.iter().map(|found| found.decode(reader)).collect()
        })
        .await
    }

    /// Forgets a choice, and returns once that is on disk: no call is sent by it any more. Returns whether there was one.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn forget_remembered(&self, id: &str) -> Result<bool, StoreError> {
        let id = id.to_owned();
        self.write_returning(0, Durability::Synced, move |transaction| {
            remembered::forget(transaction, &id).map(Ok)
        })
        .await
    }
}
