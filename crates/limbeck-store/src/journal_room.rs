//! What the journals and artifacts of each principal hold, in the writer's queue and on disk, and how much they may.
//!
//! Two things are bounded here, so that no principal takes what others need:
//! - bytes in the queue ([`JournalRoom::queue`]): a principal with more waits for its own writes and not others for them;
//! - bytes on disk ([`JournalRoom::check`]): its journals and artifacts have at most half of what the disk has for them, which
//!   is the free space above the floor and what they have now.
//!
//! The bytes on disk are those that retention last read, those of executions that run, and those of executions that ended and of
//! artifacts since. The latter are [`Queued`] until the writer applied their operation: what retention reads before that is
//! without them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use limbeck_domain::ExecutionId;
use tokio::sync::Semaphore;

use crate::disk_space::DiskFloor;
use crate::error::StoreError;

/// Memory of the queued operations of one principal: an eighth of the queue.
pub(crate) const QUEUE_BYTES_EACH: u32 = 8 << 20;
/// Operations of this size and below wait for the space of all alone.
pub(crate) const QUEUE_BYTES_SMALL: u32 = 4 << 10;

/// Sizes of the journals and artifacts of each principal.
#[derive(Debug)]
pub(crate) struct JournalRoom {
    disk: DiskFloor,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes of executions that ended and of artifacts, by principal: what the state file had when it was last read, and what
    /// was applied since.
    stored: BTreeMap<String, u64>,
    /// Bytes of those that the writer has not applied yet, by principal.
    queued: HashMap<Arc<str>, u64>,
    /// Executions of this process that run.
    running: HashMap<ExecutionId, Running>,
    /// Principals whose next execution the writer may refuse.
    full: BTreeSet<String>,
    /// Space in the queue of each principal that uses some.
    queues: HashMap<String, Arc<Semaphore>>,
}

#[derive(Debug)]
struct Running {
    principal: Arc<str>,
    /// Queued so far.
    bytes: u64,
}

/// Bytes of an execution that ended, or of an artifact, while its operation is queued.
///
/// The operation drops it in its transaction. From then on the bytes count as stored, also if the transaction is not committed:
/// then until the state file is read again.
#[derive(Debug)]
pub(crate) struct Queued {
    room: Arc<JournalRoom>,
    principal: Arc<str>,
    bytes: u64,
}

impl Queued {
    pub(crate) fn principal(&self) -> &str {
        &self.principal
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.room.state().apply(&self.principal, self.bytes);
    }
}

impl State {
    /// Adds to what `principal` has in the queue.
    fn queue(&mut self, principal: &Arc<str>, bytes: u64) {
        let queued = self.queued.entry(Arc::clone(principal)).or_default();
        *queued = queued.saturating_add(bytes);
    }

    /// Moves what `principal` has in the queue to what it has stored.
    fn apply(&mut self, principal: &str, bytes: u64) {
        if let Some(queued) = self.queued.get_mut(principal) {
            *queued = queued.saturating_sub(bytes);
            if *queued == 0 {
                self.queued.remove(principal);
            }
        }
        let stored = self.stored.entry(principal.to_owned()).or_default();
        *stored = stored.saturating_add(bytes);
    }
}

impl JournalRoom {
    pub(crate) fn new(disk: DiskFloor) -> Self {
        Self {
            disk,
            state: Mutex::default(),
        }
    }

    pub(crate) fn disk(&self) -> &DiskFloor {
        &self.disk
    }

    /// Fails when the journals and artifacts of `principal` have more than half of what the disk has for them.
    pub(crate) fn check(&self, principal: &str) -> Result<(), StoreError> {
        match self.disk.free_above() {
            Some(free) => self.check_beside(principal, free),
            None => Ok(()),
        }
    }

    /// [`Self::check`] where `free` bytes are left for journals and artifacts.
    fn check_beside(&self, principal: &str, free: u64) -> Result<(), StoreError> {
        let held = self.held(principal);
        if held <= free {
            return Ok(());
        }
        Err(StoreError::DiskShare {
            mib: held >> 20,
            mib_max: held.midpoint(free) >> 20,
        })
    }

    /// Whether `principal` comes near to its share of the disk, so that old journals and artifacts of it should go.
    pub(crate) fn is_tight(&self, principal: &str) -> bool {
        let free = self.disk.free_above();
        free.is_some_and(|free| self.held(principal) > free / 4 * 3)
    }

    /// Counts an execution that begins, or that this process took. What one that was taken has may count twice until the state
    /// file is read again.
    pub(crate) fn begin(&self, id: ExecutionId, principal: &str, bytes: usize) {
        let running = Running {
            principal: principal.into(),
            bytes: bytes as u64,
        };
        self.state().running.insert(id, running);
    }

    /// Counts an entry; returns the principal of its execution, when that runs in this process.
    pub(crate) fn append(&self, id: &ExecutionId, bytes: usize) -> Option<Arc<str>> {
        let mut state = self.state();
        let running = state.running.get_mut(id)?;
        running.bytes = running.bytes.saturating_add(bytes as u64);
        Some(Arc::clone(&running.principal))
    }

    /// Counts the last entry of an execution that ended; returns what it has in the queue when it ran in this process.
    pub(crate) fn finish(self: &Arc<Self>, id: &ExecutionId, bytes: usize) -> Option<Queued> {
        let mut state = self.state();
        let ended = state.running.remove(id)?;
        let bytes = ended.bytes.saturating_add(bytes as u64);
        state.queue(&ended.principal, bytes);
        Some(Queued {
            room: Arc::clone(self),
            principal: ended.principal,
            bytes,
        })
    }

    /// Counts an artifact that is about to be stored. One that replaces an equal one, or is not stored after all, counts until
    /// the state file is read again.
    pub(crate) fn keep(self: &Arc<Self>, principal: &str, bytes: usize) -> Queued {
        let principal: Arc<str> = principal.into();
        let bytes = bytes as u64;
        self.state().queue(&principal, bytes);
        Queued {
            room: Arc::clone(self),
            principal,
            bytes,
        }
    }

    /// Replaces what is known of executions that ended and of artifacts by what the state file has. What is queued is not in the
    /// file yet and stays.
    pub(crate) fn read(&self, stored: BTreeMap<String, u64>, full: BTreeSet<String>) {
        let mut state = self.state();
        state.stored = stored;
        state.full = full;
    }

    /// Whether the writer may refuse an execution of `principal`, so that its answer has to be awaited.
    pub(crate) fn may_be_refused(&self, principal: &str) -> bool {
        self.state().full.contains(principal)
    }

    /// Space of `principal` in the queue: [`QUEUE_BYTES_EACH`].
    pub(crate) fn queue(&self, principal: &str) -> Arc<Semaphore> {
        let mut state = self.state();
        if let Some(queue) = state.queues.get(principal) {
            return Arc::clone(queue);
        }
        // An operation that waits for space, or has some, holds the semaphore too.
        state.queues.retain(|_, queue| Arc::strong_count(queue) > 1);
        let queue = Arc::new(Semaphore::new(QUEUE_BYTES_EACH as usize));
        state
            .queues
            .insert(principal.to_owned(), Arc::clone(&queue));
        queue
    }

    fn held(&self, principal: &str) -> u64 {
        let state = self.state();
        let running = state.running.values();
        let running = running
            .filter(|running| *running.principal == *principal)
            .map(|running| running.bytes);
        let stored = state.stored.get(principal).copied().unwrap_or(0);
        let queued = state.queued.get(principal).copied().unwrap_or(0);
        running.fold(stored.saturating_add(queued), u64::saturating_add)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_principal_with_half_of_the_disk_is_refused_and_others_are_not() {
        let room = Arc::new(JournalRoom::new(DiskFloor::new(None)));
        let id = ExecutionId::new("ex_1");
        room.begin(id.clone(), "alice", MIB);
        // 400 MiB are left for journals at first, and an entry takes some of them.
        for written in 2..=200 {
            assert_eq!(room.append(&id, MIB).as_deref(), Some("alice"));
            let free = ((400 - written) * MIB) as u64;
            room.check_beside("alice", free).unwrap();
        }
        room.append(&id, MIB);
        let error = room.check_beside("alice", (199 * MIB) as u64).unwrap_err();
        assert!(
            matches!(
                error,
                StoreError::DiskShare {
                    mib: 201,
                    mib_max: 200
                }
            ),
            "{error:?}"
        );
        assert!(error.hint().is_some());
        room.check_beside("bob", (199 * MIB) as u64).unwrap();
        // An execution that ended counts too, until retention reads that it is gone.
        room.finish(&id, MIB);
        assert!(room.check_beside("alice", (198 * MIB) as u64).is_err());
        room.read(BTreeMap::new(), BTreeSet::new());
        room.check_beside("alice", 0).unwrap();
    }

    #[test]
    fn what_is_queued_counts_also_while_the_state_file_is_read() {
        let room = Arc::new(JournalRoom::new(DiskFloor::new(None)));
        let id = ExecutionId::new("ex_1");
        room.begin(id.clone(), "alice", MIB);
        let ended = room.finish(&id, MIB).unwrap();
        let kept = room.keep("alice", MIB);
        let held = || room.check_beside("alice", (3 * MIB - 1) as u64).is_err();
        assert!(held());
        // Retention reads before either is applied.
        room.read(BTreeMap::new(), BTreeSet::new());
        assert!(held());
        // Applied and not read yet.
        drop((ended, kept));
        assert!(held());
        // The control: after that only what the state file has counts.
        let stored = BTreeMap::from([("alice".to_owned(), MIB as u64)]);
        room.read(stored, BTreeSet::new());
        room.check_beside("alice", MIB as u64).unwrap();
        assert!(room.check_beside("alice", MIB as u64 - 1).is_err());
    }

    #[test]
    fn artifacts_count_with_the_journals_of_their_principal() {
        let room = Arc::new(JournalRoom::new(DiskFloor::new(None)));
        room.begin(ExecutionId::new("ex_1"), "alice", 2 * MIB);
        room.keep("alice", 2 * MIB);
        room.check_beside("alice", (4 * MIB) as u64).unwrap();
        room.keep("alice", MIB);
        let error = room.check_beside("alice", (4 * MIB) as u64).unwrap_err();
        assert!(
            matches!(error, StoreError::DiskShare { mib: 5, .. }),
            "{error:?}"
        );
        // The control: another principal has its own share.
        room.keep("bob", MIB);
        room.check_beside("bob", (4 * MIB) as u64).unwrap();
    }

    #[test]
    fn a_queue_belongs_to_a_principal_and_is_forgotten_when_it_is_not_used() {
        let room = JournalRoom::new(DiskFloor::new(None));
        let alice = room.queue("alice");
        let taken = Arc::clone(&alice).try_acquire_many_owned(QUEUE_BYTES_EACH);
        drop(alice);
        assert_eq!(
            room.queue("bob").available_permits(),
            QUEUE_BYTES_EACH as usize
        );
        assert_eq!(room.queue("alice").available_permits(), 0);
        drop(taken.unwrap());
        room.queue("carol");
        assert_eq!(room.state().queues.len(), 1);
    }
}
