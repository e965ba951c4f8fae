//! Questions to people about calls that are not sent yet, and their answers.

use limbeck_domain::{
    Approval, ApprovalDecision, ApprovalId, ApprovalState, ExecutionId, JournalEntry,
};
use rusqlite::Transaction;

use super::Store;
use crate::decision::{self, DecisionEffect};
use crate::error::StoreError;
use crate::journal_operation::{JournalStep, encode, marks};
use crate::operation::Durability;
use crate::reader::Reader;
use crate::records::{ApprovalFilter, Decided, Spent};
use crate::tables::approvals::{self, EncodedApproval, EncodedQuestion};
use crate::tables::journal::{self, CallMarks};
use crate::tables::{denied, pauses, remembered};

impl Store {
    /// Records questions, each with its [`JournalEntry::Asked`], in one transaction; returns once they are on disk.
    ///
    /// # Errors
    ///
    /// The reason why none of them is stored, and no person may be asked. After [`StoreError::TooManyPending`] they can be
    /// asked when others are decided.
    pub async fn ask(
        &self,
        id: &ExecutionId,
        asked: Vec<(JournalEntry, Approval)>,
    ) -> Result<(), StoreError> {
        self.check_durable()?;
        let mut questions = Vec::with_capacity(asked.len());
        let mut text_bytes = 0;
        for (entry, approval) in &asked {
            let question = EncodedQuestion {
                id: approval.id.to_string(),
                call: approval.call.0,
                created_us: approval.created_us,
                expires_us: approval.expires_us,
                body: approvals::body(approval)?,
                entry: encode(entry)?,
            };
            text_bytes += question.body.len() + question.entry.len();
            questions.push(question);
        }
        let of = id.clone();
        let size = (questions.len() as u64, text_bytes);
        self.change(
            id,
            (JournalStep::Change, Durability::Synced),
            size,
            move |transaction, owner| approvals::ask(transaction, owner, &of, &questions),
        )
        .await
    }

    /// The approval with this id.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn approval(&self, id: &ApprovalId) -> Result<Option<Approval>, StoreError> {
        let id = id.clone();
        self.barrier().await?;
        self.read(move |reader| {
            let found = reader.run(|connection| approvals::find(connection, &id))?;
            found.map(|found| found.decode(reader)).transpose()
        })
        .await
    }

    /// Approvals, oldest first: at most `filter.limit` (1,000 at most), and fewer when they have more than 64 MiB.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn approvals(&self, filter: ApprovalFilter) -> Result<Vec<Approval>, StoreError> {
        self.barrier().await?;
        self.read(move |reader| approvals::list(reader, &filter))
            .await
    }

    /// Adds a decision to a pending approval and its [`JournalEntry::Decided`] to the journal, in one transaction; returns
    /// once they are on disk. A denial ends the question at once, an approval when `terms.quorum` different people gave one
    /// of the same arguments. What those people chose to remember is kept, and approves the questions of the execution that
    /// are alike. The caller has checked the right of who decides.
    ///
    /// # Errors
    ///
    /// An error of SQLite; then nothing was decided.
    pub async fn decide(
        &self,
        id: &ApprovalId,
        decision: ApprovalDecision,
    ) -> Result<Decided, StoreError> {
        self.check_durable()?;
        let entry = encode(&JournalEntry::Decided {
            approval: id.clone(),
            decision: decision.clone(),
        })?;
        let (id, path) = (id.clone(), self.inner.path.clone());
        self.write_returning(entry.len(), Durability::Synced, move |transaction| {
            let Some(found) = approvals::find(transaction, &id)? else {
                return Ok(Ok(Decided::Unknown));
            };
            let reader = Reader {
                connection: transaction,
                path: &path,
            };
            match found.decode(&reader) {
                Ok(approval) => decide(&reader, transaction, &found, approval, decision, &entry),
                Err(error) => Ok(Err(error)),
            }
        })
        .await
    }

    /// Spends an approved approval: writes the intent of its call and marks it as spent, in one transaction that is on disk
    /// when this returns. `intent` is the call's [`JournalEntry::Call`]; `now_us` decides whether the approval's time has
    /// passed, in microseconds since 1970.
    ///
    /// # Errors
    ///
    /// The reason why nothing was written; the call must not be sent then.
    pub async fn spend(
        &self,
        id: &ExecutionId,
        approval: &ApprovalId,
        intent: JournalEntry,
        now_us: u64,
    ) -> Result<Spent, StoreError> {
        self.check_durable()?;
        let marks = marks(&intent);
        let entry = encode(&intent)?;
        let (of, approval) = (id.clone(), approval.clone());
        let size = (1, entry.len());
        self.change(
            id,
            (JournalStep::Change, Durability::Synced),
            size,
            move |transaction, owner| {
                let intent = (marks, entry.as_str());
                approvals::spend(transaction, owner, &of, &approval, now_us, intent)
            },
        )
        .await
    }

    /// Ends a pending or approved question that will not be spent: the call is asked about again, or not made any more.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn withdraw(&self, approval: &ApprovalId) -> Result<(), StoreError> {
        let id = approval.clone();
        self.write_returning(0, Durability::Synced, move |transaction| {
            approvals::withdraw(transaction, &id).map(Ok)
        })
        .await
    }

    /// Marks pending approvals whose time has passed as expired, and returns those that it marked: some of them, so that call
    /// it again until there are no more.
    ///
    /// A paused execution whose time has passed ends as cancelled, its pending approvals with it, unless each of them has
    /// `terms.deny_on_expiry`: then it is paused for another day, in which a process takes it and gives the program the
    /// denials. A paused execution that has no such time yet, as after the end of its gateway, has a day from `now_us`.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn expire_approvals(&self, now_us: u64) -> Result<Vec<Approval>, StoreError> {
        let is_due = self.query(move |connection| pauses::is_expiry_due(connection, now_us));
        if !is_due.await? {
            return Ok(Vec::new());
        }
        let path = self.inner.path.clone();
        self.write_returning(0, Durability::Synced, move |transaction| {
            let reader = Reader {
                connection: transaction,
                path: &path,
            };
            let expired = pauses::expire(transaction, now_us)?;
            // One that cannot be decoded is expired all the same.
            let expired = expired
                .iter()
                .filter_map(|found| found.decode(&reader).ok());
            let expired = expired.map(|approval| Approval {
                state: ApprovalState::Expired,
                ..approval
            });
            Ok(Ok(expired.collect()))
        })
        .await
    }

    /// A number that changes whenever an approval changed in the file, by this process or another. Cheap: to be polled.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn approval_changes(&self) -> Result<u64, StoreError> {
        let changes = self.query(approvals::changes).await?;
        Ok(u64::try_from(changes).unwrap_or(0))
    }
}

fn decide(
    reader: &Reader<'_>,
    transaction: &Transaction<'_>,
    found: &EncodedApproval,
    mut approval: Approval,
    decision: ApprovalDecision,
    entry: &str,
) -> rusqlite::Result<Result<Decided, StoreError>> {
    let effect = decision::add(&mut approval, decision);
    Ok(Ok(match effect {
        DecisionEffect::Counts => {
            let body = match approvals::body(&approval) {
                Ok(body) => body,
                Err(error) => return Ok(Err(error)),
            };
            approvals::replace(transaction, found.row, approval.state, &body)?;
            journal::add_beside(transaction, found.execution, CallMarks::default(), entry)?;
            if approval.state == ApprovalState::Denied
                && let Some(denial) = approval.decisions.iter().rev().find(|it| !it.approve)
            {
                denied::note(transaction, &approval, denial)?;
            }
            if approval.state == ApprovalState::Approved
                && let Some(choice) = remembered::chosen(&approval)
            {
                let execution = found.execution;
                remembered::choose(transaction, reader, execution, &approval, choice)?;
            }
            Decided::Counted(Box::new(approval))
        }
        DecisionEffect::Expires => {
            approvals::set_state(transaction, found.row, approval.state)?;
            Decided::TooLate(Box::new(approval))
        }
        DecisionEffect::Same => Decided::Same(Box::new(approval)),
        DecisionEffect::TooLate => Decided::TooLate(Box::new(approval)),
    }))
}
