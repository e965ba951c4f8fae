//! Executions that wait: paused, taken by a process, and settled by a person.

use std::sync::Arc;

use limbeck_domain::{CallId, ExecutionId, JournalEntry, ProgramStart, Settlement};

use super::Store;
use crate::error::StoreError;
use crate::journal_operation::{JournalStep, encode, marks};
use crate::operation::Durability;
use crate::records::{DoubtfulCall, PausedExecution, PausedGuest, Taken};
use crate::tables::pauses::{TakenExecution, TakenFor};
use crate::tables::{doubts, journal, pauses};

/// Guests that are listed.
const GUESTS_MAX: u32 = 20;

impl Store {
    /// Moves a running execution of this process to `paused`, once everything before it is on disk: no process works on
    /// it any more, and any may take it. Without `paused.expires_us` it has a day from the next
    /// [`Self::expire_approvals`].
    ///
    /// # Errors
    ///
    /// The reason why it is not paused, such as [`StoreError::TooManyPaused`].
    pub async fn pause(&self, id: &ExecutionId, paused: PausedExecution) -> Result<(), StoreError> {
        self.check_durable()?;
        let room = Arc::clone(&self.inner.room);
        let of = id.clone();
        self.change(
            id,
            (JournalStep::Change, Durability::Synced),
            (0, 0),
            move |transaction, owner| {
                let result = pauses::pause(transaction, owner, &of, &paused)?;
                if result.is_ok() {
                    // Counted with what the state file has. A caller that is gone leaves nothing behind.
                    drop(room.finish(&of, 0));
                }
                Ok(result)
            },
        )
        .await
    }

    /// Takes a paused execution for this process: exactly one of several that try gets it. Its journal gets a
    /// [`JournalEntry::Took`], and entries of earlier owners are refused from now on.
    ///
    /// # Errors
    ///
    /// An error of SQLite; then no process took it.
    pub async fn take(&self, id: &ExecutionId) -> Result<Taken, StoreError> {
        self.take_for(id, TakenFor::Decisions).await
    }

    /// Takes a paused execution as [`Self::take`] does, when a timer of its program is due at `now_us`; one whose timers have
    /// woken it [`WAKES_MAX`](crate::WAKES_MAX) times ends instead.
    ///
    /// # Errors
    ///
    /// As [`Self::take`].
    pub async fn take_due(&self, id: &ExecutionId, now_us: u64) -> Result<Taken, StoreError> {
        self.take_for(id, TakenFor::Timer(now_us)).await
    }

    /// The next timers of paused executions, at most `limit`, in the order in which they are due: in microseconds since 1970.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn next_wakes(&self, limit: u32) -> Result<Vec<(ExecutionId, u64)>, StoreError> {
        self.query(move |connection| pauses::next_wakes(connection, limit))
            .await
    }

    /// When the next timer of a paused execution is due, in microseconds since 1970; none for any other execution.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn wake_us(&self, id: &ExecutionId) -> Result<Option<u64>, StoreError> {
        let id = id.clone();
        self.barrier().await?;
        self.query(move |connection| pauses::wake_us(connection, &id))
            .await
    }

    /// Guests that paused executions ran in, those of the newest executions first.
    ///
    /// # Errors
    ///
    /// An error of SQLite, or a start that cannot be decoded.
    pub async fn paused_guests(&self) -> Result<Vec<PausedGuest>, StoreError> {
        self.barrier().await?;
        self.read(|reader| {
            let guests = reader.run(|connection| pauses::guests(connection, GUESTS_MAX))?;
            let guests = guests.into_iter().map(|(guest_hash, start, executions)| {
                let start: ProgramStart = reader.decode("program", &start)?;
                Ok(PausedGuest {
                    guest_hash,
                    language: start.language,
                    release: start.release,
                    executions: u64::try_from(executions).unwrap_or(0),
                })
            });
            guests.collect()
        })
        .await
    }

    async fn take_for(&self, id: &ExecutionId, why: TakenFor) -> Result<Taken, StoreError> {
        let of = id.clone();
        // A caller that is gone before its turn leaves no execution behind that no task continues.
        let caller = Arc::new(());
        let is_waited_for = Arc::downgrade(&caller);
        let taken = self
            .change(
                id,
                (JournalStep::Take, Durability::Committed),
                (1, 0),
                move |transaction, owner| match is_waited_for.upgrade() {
                    Some(_) => pauses::take(transaction, owner, &of, why),
                    None => Ok(Ok(TakenExecution {
                        taken: Taken::Unknown,
                        held: None,
                    })),
                },
            )
            .await?;
        drop(caller);
        if let Some((principal, bytes)) = taken.held {
            self.inner.room.begin(id.clone(), &principal, bytes);
        }
        Ok(taken.taken)
    }

    /// Calls in doubt of an execution that needs reconciliation, in the order they were made; none for any other execution.
    ///
    /// # Errors
    ///
    /// An error of SQLite, or an entry that cannot be decoded.
    pub async fn in_doubt(&self, id: &ExecutionId) -> Result<Vec<DoubtfulCall>, StoreError> {
        let id = id.clone();
        self.barrier().await?;
        self.read(move |reader| {
            let entries = reader.run(|_| doubts::of(reader, id.as_str()))?;
            let mut calls = Vec::with_capacity(entries.len());
            for entry in entries {
                if let JournalEntry::Call {
                    call,
                    tool,
                    key,
                    sent_us,
                    ..
                } = reader.decode("journal", &entry)?
                {
                    calls.push(DoubtfulCall {
                        call,
                        tool,
                        key,
                        sent_us,
                    });
                }
            }
            Ok(calls)
        })
        .await
    }

    /// Records a person's word about a call in doubt. When no other call is in doubt, the execution is `paused` and can be
    /// taken; a direct call has failed, and so has an execution that lost results to retention. Returns whether the call was in doubt.
    ///
    /// # Errors
    ///
    /// An error of SQLite; then nothing was recorded.
    pub async fn settle(
        &self,
        id: &ExecutionId,
        call: CallId,
        how: Settlement,
    ) -> Result<bool, StoreError> {
        let id = id.clone();
        let settled = JournalEntry::Settled { call, how };
        let marks = marks(&settled);
        let entry = encode(&settled)?;
        self.write_returning(entry.len(), Durability::Synced, move |transaction| {
            let Some(row) = doubts::execution(transaction, id.as_str())? else {
                return Ok(Ok(false));
            };
            let in_doubt = doubts::numbers(transaction, row)?;
            if !in_doubt.contains(&call.0) {
                return Ok(Ok(false));
            }
            journal::add_beside(transaction, row, marks, &entry)?;
            if in_doubt.len() == 1 {
                pauses::hand_on(transaction, row, &id)?;
            }
            Ok(Ok(true))
        })
        .await
    }
}
