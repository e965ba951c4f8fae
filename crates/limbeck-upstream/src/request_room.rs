//! Room for the requests of callers at one server, in bytes, of all principals and of each.
//!
//! The number of requests at a time is bounded by places, but a request that was cancelled gives its place back at once,
//! while its line waits until the server reads it. So its bytes are counted until the request has ended and its lines are
//! written or dropped. A request without room waits, before it is sent; a server that reads none of its input is ended,
//! which makes room.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use limbeck_domain::limits::CALL_ARGS_BYTES_MAX;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::sync::lock;

/// Bytes of all requests: the default number of places, each with the largest arguments.
const BYTES_MAX: usize = 16 * CALL_ARGS_BYTES_MAX;
/// Bytes of the requests of one principal. The user who runs the gateway may use all of the room.
const BYTES_EACH_MAX: usize = 6 * CALL_ARGS_BYTES_MAX;

/// Room for the bytes of requests. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct RequestRoom(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    all: Arc<Semaphore>,
    bytes_max: usize,
    each_max: usize,
    /// Shares of the principals that have requests.
    shares: Mutex<HashMap<Arc<str>, Share>>,
}

#[derive(Debug)]
struct Share {
    bytes: Arc<Semaphore>,
    /// Requests that hold some of it or wait for it.
    requests: usize,
}

/// Room of one request, given back when it is dropped. The fields are dropped in this order: the share is forgotten last.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    _all: OwnedSemaphorePermit,
    _own: Option<(OwnedSemaphorePermit, ShareUse)>,
}

/// A request that is counted at the share of its principal.
#[derive(Debug)]
struct ShareUse {
    room: RequestRoom,
    principal: Arc<str>,
}

impl Default for RequestRoom {
    fn default() -> Self {
        Self::new(BYTES_MAX, BYTES_EACH_MAX)
    }
}

impl RequestRoom {
    /// Room for `bytes_max` bytes, of which one principal holds `each_max` at most.
    pub(crate) fn new(bytes_max: usize, each_max: usize) -> Self {
        Self(Arc::new(Inner {
            all: Arc::new(Semaphore::new(bytes_max)),
            bytes_max,
            each_max: each_max.min(bytes_max),
            shares: Mutex::default(),
        }))
    }

    /// Waits for room for a request of `principal`; `None` is the user who runs the gateway. A request that is larger than
    /// all that its principal may hold takes that. Dropping the future leaves the queue.
    pub(crate) async fn take(&self, principal: Option<&Arc<str>>, bytes: usize) -> HeldBytes {
        let bytes = match principal {
            Some(_) => bytes.min(self.0.each_max),
            None => bytes.min(self.0.bytes_max),
        };
        // First the own share: what waits for room in all is then bounded for each principal.
        let own = match principal {
            Some(principal) => {
                let (share, entry) = self.share_of(principal);
                Some((take(share, bytes).await, entry))
            }
            None => None,
        };
        HeldBytes {
            _all: take(Arc::clone(&self.0.all), bytes).await,
            _own: own,
        }
    }

    fn share_of(&self, principal: &Arc<str>) -> (Arc<Semaphore>, ShareUse) {
        let mut shares = lock(&self.0.shares);
        let share = shares
            .entry(Arc::clone(principal))
            .or_insert_with(|| Share {
                bytes: Arc::new(Semaphore::new(self.0.each_max)),
                requests: 0,
            });
        share.requests += 1;
        let entry = ShareUse {
            room: self.clone(),
            principal: Arc::clone(principal),
        };
        (Arc::clone(&share.bytes), entry)
    }
}

async fn take(room: Arc<Semaphore>, bytes: usize) -> OwnedSemaphorePermit {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    let taken = room.acquire_many_owned(bytes).await;
    taken.expect("the semaphore is never closed")
}

impl Drop for ShareUse {
    fn drop(&mut self) {
        let mut shares = lock(&self.room.0.shares);
        if let Some(share) = shares.get_mut(&self.principal) {
            share.requests -= 1;
            if share.requests == 0 {
                shares.remove(&self.principal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn each_principal_has_a_share_and_a_request_without_room_waits() {
        let room = RequestRoom::new(100, 60);
        let (alice, bob): (Arc<str>, Arc<str>) = ("alice".into(), "bob".into());
        let first = room.take(Some(&alice), 40).now_or_never().unwrap();
        let second = room.take(Some(&alice), 20).now_or_never().unwrap();
        let mut third = Box::pin(room.take(Some(&alice), 1));
        assert!(third.as_mut().now_or_never().is_none());
        // The controls: another principal has a share of its own, up to the room in all.
        let other = room.take(Some(&bob), 40).now_or_never().unwrap();
        assert!(room.take(Some(&bob), 1).now_or_never().is_none());
        drop(second);
        let third = third.now_or_never().expect("there is room");
        drop((first, third, other));
        // A request that is larger than its share takes all of it; the user of the gateway may take all room.
        let large = room.take(Some(&alice), 1_000).now_or_never().unwrap();
        drop(large);
        let all = room.take(None, 1_000).now_or_never().unwrap();
        assert!(room.take(None, 1).now_or_never().is_none());
        drop(all);
        assert_eq!(room.0.all.available_permits(), 100);
        assert!(lock(&room.0.shares).is_empty());
    }
}
