//! Room for journals: retention behind the writes, and principals that may begin no more executions.

use super::Writer;
use crate::error::StoreError;
use crate::records::NewExecution;
use crate::retention;

impl Writer {
    /// Refuses an execution of a principal whose journals are above their last bound. One step of retention comes first: the
    /// time of this request may have made some of them a month old.
    pub(super) fn check_room(&mut self, new: &NewExecution) -> Result<(), StoreError> {
        self.requested_us = self.requested_us.max(new.created_us);
        if !self.full.contains_key(&new.principal) {
            return Ok(());
        }
        self.prune();
        self.find_full();
        self.prune_due = true;
        match self.full.get(&new.principal) {
            Some(bytes) => Err(StoreError::JournalsFull {
                mib: bytes >> 20,
                mib_max: self.retention.writing.records >> 20,
            }),
            None => Ok(()),
        }
    }

    /// Reads what the journals and artifacts of each principal have, and whose journals have more than they may.
    fn find_full(&mut self) {
        let found = retention::full(&self.connection, &self.retention)
            .and_then(|full| Ok((full, retention::held(&self.connection)?)));
        match found {
            Ok((full, held)) => {
                self.room.read(held, full.keys().cloned().collect());
                self.full = full;
            }
            Err(error) => {
                tracing::warn!(error = %error, "the sizes of journals could not be read");
            }
        }
    }

    /// Runs one bounded step of retention; another is due as long as it removed something.
    pub(super) fn prune(&mut self) {
        // First for a principal that comes near to its share of the disk, and of its own executions alone.
        let tight = self.tight.first().cloned();
        let within = match &tight {
            Some(_) => self.retention.within(self.room.disk().free_above()),
            None => self.retention,
        };
        let of = tight.as_deref();
        let has_more = retention::prune(&mut self.connection, &within, self.requested_us, of);
        let is_done = !matches!(has_more, Ok(true));
        match has_more {
            Ok(has_more) => {
                // After the steps for one principal, those for all may have more to do.
                self.prune_due = has_more || tight.is_some();
                if !has_more {
                    self.find_full();
                }
            }
            Err(error) => {
                // Old executions stay for now; the next run tries again.
                tracing::warn!(error = %error, "old executions were not removed");
                self.prune_due = false;
            }
        }
        if let Some(tight) = tight.filter(|_| is_done) {
            self.tight.remove(&tight);
        }
    }
}
