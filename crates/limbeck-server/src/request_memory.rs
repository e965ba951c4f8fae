//! Bound on the bytes of request bodies that wait or run, of all principals and of each.
//!
//! The number of requests is bounded elsewhere, but a hundred of the largest take a gigabyte. A body is counted while it
//! arrives and until the work of its request has ended: also when its client has disconnected meanwhile, and while the
//! request is suspended for questions. The count travels with the request, in the extensions of its head.
//!
//! A principal that holds little may use the last quarter of the room, so those that hold much leave room for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::request::Parts;
use limbeck_domain::limits::HTTP_BODY_BYTES_MAX;
use rmcp::service::{RequestContext, RoleServer};

/// Room for the bodies of requests. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct RequestMemory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    bytes_max: usize,
    each_max: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    all: usize,
    by_principal: HashMap<Arc<str>, usize>,
}

/// Bytes of one request, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    memory: RequestMemory,
    principal: Arc<str>,
    bytes: usize,
}

impl RequestMemory {
    /// Room for `bytes_max` bytes, of which one principal holds `each_max` at most.
    pub(crate) fn new(bytes_max: usize, each_max: usize) -> Self {
        Self(Arc::new(Inner {
            bytes_max,
            each_max,
            held: Mutex::default(),
        }))
    }

    /// Begins to count a request of `principal`, which holds nothing yet.
    pub(crate) fn request_of(&self, principal: &Arc<str>) -> HeldBytes {
        HeldBytes {
            memory: self.clone(),
            principal: Arc::clone(principal),
            bytes: 0,
        }
    }
}

impl HeldBytes {
    /// Counts `bytes` more. Returns whether there was room; without room, nothing is counted.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        let inner = &self.memory.0;
        let mut held = inner.held.lock().unwrap_or_else(PoisonError::into_inner);
        let theirs = held.by_principal.get(&self.principal).copied();
        let theirs = theirs.unwrap_or_default().saturating_add(bytes);
        let all = held.all.saturating_add(bytes);
        let room = match theirs > HTTP_BODY_BYTES_MAX {
            true => inner.bytes_max - inner.bytes_max / 4,
            false => inner.bytes_max,
        };
        if theirs > inner.each_max || all > room {
            return false;
        }
        held.all = all;
        held.by_principal
            .insert(Arc::clone(&self.principal), theirs);
        self.bytes += bytes;
        true
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        let inner = &self.memory.0;
        let mut held = inner.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.all = held.all.saturating_sub(self.bytes);
        let left = held.by_principal.get(&self.principal).copied();
        match left.unwrap_or_default().saturating_sub(self.bytes) {
            0 => {
                held.by_principal.remove(&self.principal);
            }
            left => {
                held.by_principal.insert(Arc::clone(&self.principal), left);
            }
        }
    }
}

/// What the request of `context` holds: for work that goes on when its handler has returned. `None` over standard
/// input, where one client sends line by line.
pub(crate) fn held_by(context: &RequestContext<RoleServer>) -> Option<Arc<HeldBytes>> {
    let head = context.extensions.get::<Parts>()?;
    head.extensions.get::<Arc<HeldBytes>>().map(Arc::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_principal_has_a_share_and_gives_back_what_it_held() {
        let memory = RequestMemory::new(1_000, 300);
        let (alice, bob): (Arc<str>, Arc<str>) = ("alice".into(), "bob".into());
        let mut first = memory.request_of(&alice);
        assert!(first.take(100) && first.take(100));
        let mut second = memory.request_of(&alice);
        assert!(!second.take(101), "above the share");
        assert!(second.take(100));
        assert!(!second.take(1));
        // The control: another principal has its own share.
        let mut other = memory.request_of(&bob);
        assert!(other.take(300));
        drop(first);
        assert!(second.take(200));
        drop((second, other));
        let held = memory.0.held.lock().unwrap();
        assert_eq!((held.all, held.by_principal.len()), (0, 0));
    }

    #[test]
    fn principals_that_hold_much_leave_room_for_one_that_holds_little() {
        let body = HTTP_BODY_BYTES_MAX;
        let memory = RequestMemory::new(8 * body, 4 * body);
        let mut held = Vec::new();
        for name in ["alice", "bob", "carol"] {
            let principal: Arc<str> = name.into();
            for _ in 0..4 {
                let mut request = memory.request_of(&principal);
                if request.take(body) {
                    held.push(request);
                }
            }
        }
        // Alice has four, Bob two, which is three quarters, and Carol her first one.
        assert_eq!(held.len(), 7);
        let dave: Arc<str> = "dave".into();
        let mut last = memory.request_of(&dave);
        assert!(last.take(body));
        // The bound in all holds for a newcomer as well.
        let erin: Arc<str> = "erin".into();
        assert!(!memory.request_of(&erin).take(1));
    }
}
