//! Operations in the writer's queue, and when their callers are answered.

use rusqlite::Transaction;
use tokio::sync::OwnedSemaphorePermit;

use crate::apply::{Applied, Apply};
use crate::journal_operation::JournalOperation;

/// Memory of one queued operation besides its texts, estimated.
pub(crate) const OVERHEAD_BYTES: usize = 512;

/// The event that a caller waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The operation is in the queue. A later failure is logged.
    Queued,
    /// The transaction is committed: other processes see it and it survives this one, but not a power
    /// failure.
    Committed,
    /// The transaction is synced to disk, with everything that was queued before.
    Synced,
}

/// Share of the queue's memory that an operation holds until it is answered.
pub(crate) struct QueueSpace {
    _of_all: OwnedSemaphorePermit,
    /// Of the principal's own share; `None` for what the gateway writes.
    _own: Option<OwnedSemaphorePermit>,
}

impl QueueSpace {
    pub(crate) fn new(of_all: OwnedSemaphorePermit, own: Option<OwnedSemaphorePermit>) -> Self {
        Self {
            _of_all: of_all,
            _own: own,
        }
    }
}

/// One operation for the writer.
pub(crate) enum Operation {
    /// An operation on a journal. The writer looks into these, because it tracks gaps per execution.
    Journal(JournalOperation),
    /// Any other write.
    Write(Write),
}

impl Operation {
    /// Memory that it holds while queued, estimated: its texts and a constant.
    pub(crate) fn bytes(&self) -> usize {
        let texts = match self {
            Self::Journal(operation) => operation.text_bytes(),
            Self::Write(write) => write.text_bytes,
        };
        OVERHEAD_BYTES + texts
    }
}

/// A write that the writer applies without looking into it.
pub(crate) struct Write {
    /// Bytes of the texts and contents that `apply` owns.
    text_bytes: usize,
    pub(crate) apply: Apply,
}

impl Write {
    /// A write that only SQLite can reject.
    pub(crate) fn new(
        text_bytes: usize,
        apply: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()> + Send + 'static,
    ) -> Self {
        Self::checked(text_bytes, |transaction| apply(transaction).map(Ok))
    }

    /// A write that may find, before it changes anything, that it is not allowed.
    pub(crate) fn checked(
        text_bytes: usize,
        apply: impl FnOnce(&Transaction<'_>) -> Applied + Send + 'static,
    ) -> Self {
        Self {
            text_bytes,
            apply: Box::new(apply),
        }
    }

    /// A write without statements. Waiting for its sync brings everything queued before to disk.
    pub(crate) fn empty() -> Self {
        Self::new(0, |_| Ok(()))
    }
}
