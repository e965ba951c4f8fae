//! Commits: one transaction for a batch of operations, and the answers to their callers.

use std::sync::atomic::Ordering;

use rusqlite::TransactionBehavior;

use super::{BYTES_PER_PRUNE, Completion, FINISHES_PER_PRUNE, Writer, answer};
use crate::apply::Apply;
use crate::audit::{self, AuditEvent, AuditEventKind};
use crate::error::StoreError;
use crate::journal_operation::JournalStep;
use crate::schema;
use crate::tables::timestamp::now_us;

impl Writer {
    /// Stores a batch, on disk when `sync` is set, and answers its callers.
    pub(super) fn commit(&mut self, batch: Vec<(Completion, Apply)>, sync: bool) {
        let (completions, applies): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        let journals = completions
            .iter()
            .filter_map(|completion| completion.journal.as_ref());
        let entries: u64 = journals.map(|journal| journal.entries).sum();
        match self.transact(&completions, applies, sync) {
            Ok(results) => {
                self.counters.commits.fetch_add(1, Ordering::Relaxed);
                self.counters.entries.fetch_add(entries, Ordering::Relaxed);
                if sync {
                    self.counters.synced.fetch_add(1, Ordering::Relaxed);
                }
                self.unsynced = !sync;
                for (completion, result) in completions.into_iter().zip(results) {
                    self.complete(completion, result);
                }
            }
            Err(error) => {
                // The next record says that there is a gap before it.
                let lost = u64::try_from(completions.len()).unwrap_or(u64::MAX);
                self.lost = self.lost.saturating_add(lost);
                for completion in completions {
                    self.complete(completion, Err(error.clone()));
                }
            }
        }
        if self.finishes >= FINISHES_PER_PRUNE || self.written_bytes >= BYTES_PER_PRUNE {
            self.finishes = 0;
            self.written_bytes = 0;
            self.prune_due = true;
        }
    }

    /// Applies the batch as one transaction. An operation that fails before it changes anything fails
    /// alone; an error of SQLite ends the whole batch, and nothing of it is stored.
    fn transact(
        &mut self,
        completions: &[Completion],
        applies: Vec<Apply>,
        sync: bool,
    ) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        self.set_sync_mode(sync)?;
        let path = &self.path;
        let sqlite = |error| StoreError::from_sqlite(path, schema::BUSY_MS, error);
        // Immediate: a transaction that begins by reading and upgrades to writing can fail at once
        // instead of waiting its turn behind another process.
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(sqlite)?;
        let mut results = Vec::with_capacity(completions.len());
        for (completion, apply) in completions.iter().zip(applies) {
            let result = match &completion.journal {
                Some(journal) if journal.needs_whole() && self.incomplete.contains(&journal.id) => {
                    Err(StoreError::JournalIncomplete {
                        id: journal.id.to_string(),
                    })
                }
                _ => apply(&transaction).map_err(sqlite)?,
            };
            // Marked here and not in `complete`: the next operation of this batch may add to the same
            // journal.
            if let (Err(error), Some(journal)) = (&result, &completion.journal)
                && journal.leaves_gap(error)
            {
                self.incomplete.insert(journal.id.clone());
            }
            results.push(result);
        }
        // Records of what the batch changed, in its transaction.
        if self.lost > 0 {
            let gap = AuditEvent {
                dropped: self.lost,
                ..AuditEvent::new(AuditEventKind::Gap, "")
            };
            gap.note(&transaction).map_err(sqlite)?;
        }
        let newest = audit::append(&transaction, now_us(), &self.audit).map_err(sqlite)?;
        if sync {
            // SQLite syncs the log only for a commit that changes something, and earlier commits
            // without a sync may be all that has to be synced.
            transaction
                .prepare_cached("UPDATE flushed SET count = count + 1")
                .and_then(|mut statement| statement.execute([]))
                .map_err(sqlite)?;
        }
        transaction.commit().map_err(sqlite)?;
        self.lost = 0;
        if let (Some(newest), Some(file)) = (newest, &mut self.newest_file) {
            file.advance(newest);
        }
        Ok(results)
    }

    /// Sets whether the next commits return before or after they are on disk.
    pub(super) fn set_sync_mode(&mut self, sync: bool) -> Result<(), StoreError> {
        if self.sync_mode == Some(sync) {
            return Ok(());
        }
        let level = if sync { "FULL" } else { "NORMAL" };
        self.connection
            .pragma_update(None, "synchronous", level)
            .map_err(|error| StoreError::from_sqlite(&self.path, schema::BUSY_MS, error))?;
        self.sync_mode = Some(sync);
        Ok(())
    }

    /// Answers one caller. A lost entry leaves a gap, remembered until the journal ends; a loss without
    /// a waiting caller is logged.
    pub(super) fn complete(&mut self, completion: Completion, result: Result<(), StoreError>) {
        if let Some(journal) = &completion.journal {
            if journal.step == JournalStep::Finish {
                self.incomplete.remove(&journal.id);
            } else if let Err(error) = &result
                && journal.leaves_gap(error)
            {
                self.incomplete.insert(journal.id.clone());
            }
        }
        if let Err(error) = &result
            && completion.reply.is_none()
        {
            tracing::error!(
                error = error as &dyn std::error::Error,
                "a record was not stored"
            );
        }
        answer(completion.reply, result);
    }
}
