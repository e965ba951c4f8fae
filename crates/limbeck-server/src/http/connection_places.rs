//! Places of open connections, some of them for clients that showed a token.
//!
//! Every client that reaches the port can open connections, so one without a token never waits for a place and never
//! keeps one: when theirs are taken, the oldest of them is closed. A connection moves to the other places with
//! its first valid token. There a principal has a bounded number, and when all are taken, the oldest connection
//! of the principal with the most is closed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::http_bounds::HttpBounds;

/// Places of all connections of a server. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionPlaces(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Connections without a token.
    anonymous_max: usize,
    /// Connections of all principals.
    known_max: usize,
    /// Connections of one principal.
    each_max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Connections by number; lower ones are older.
    anonymous: BTreeMap<u64, CancellationToken>,
    known: HashMap<Arc<str>, BTreeMap<u64, CancellationToken>>,
    known_count: usize,
    opened: u64,
}

/// Place of one connection, free again when it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPlace {
    places: ConnectionPlaces,
    number: u64,
    closed: CancellationToken,
    principal: Mutex<Option<Arc<str>>>,
}

/// Rejection: the principal has as many connections as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyConnectionsError;

impl ConnectionPlaces {
    pub(crate) fn new(bounds: &HttpBounds) -> Self {
        let anonymous_max = (bounds.connections / 4).max(1);
        let known_max = bounds.connections.saturating_sub(anonymous_max).max(1);
        Self(Arc::new(Inner {
            anonymous_max,
            known_max,
            each_max: bounds.connections_each.clamp(1, known_max),
            state: Mutex::default(),
        }))
    }

    /// Takes a place for a connection without a token, at once. May close the oldest such connection.
    pub(crate) fn enter(&self) -> ConnectionPlace {
        let closed = CancellationToken::new();
        let mut state = self.0.state();
        if state.anonymous.len() >= self.0.anonymous_max
            && let Some((_, oldest)) = state.anonymous.pop_first()
        {
            oldest.cancel();
        }
        let number = state.opened;
        state.opened += 1;
        state.anonymous.insert(number, closed.clone());
        ConnectionPlace {
            places: self.clone(),
            number,
            closed,
            principal: Mutex::default(),
        }
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Closes the oldest connection of the principal with the most of them.
    fn close_one_of_the_most(&mut self) {
        let most = self.known.values_mut().max_by_key(|places| places.len());
        if let Some((_, oldest)) = most.and_then(BTreeMap::pop_first) {
            oldest.cancel();
            self.known_count -= 1;
        }
    }
}

impl ConnectionPlace {
    /// Completes when the connection has to be closed.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Closes the connection when cancelled.
    pub(crate) fn closing(&self) -> CancellationToken {
        self.closed.clone()
    }

    /// Moves the connection to the places of `principal`, whose token it has shown. Later tokens change nothing.
    pub(crate) fn known_as(&self, principal: &Arc<str>) -> Result<(), TooManyConnectionsError> {
        let inner = &self.places.0;
        let mut own = self
            .principal
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut state = inner.state();
        // Closed meanwhile, or moved before.
        if own.is_some() || self.closed.is_cancelled() {
            return Ok(());
        }
        let held = state.known.get(principal).map_or(0, BTreeMap::len);
        if held >= inner.each_max {
            return Err(TooManyConnectionsError);
        }
        if state.known_count >= inner.known_max {
            state.close_one_of_the_most();
        }
        state.anonymous.remove(&self.number);
        state.known_count += 1;
        let places = state.known.entry(Arc::clone(principal)).or_default();
        places.insert(self.number, self.closed.clone());
        *own = Some(Arc::clone(principal));
        Ok(())
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let own = self.principal.get_mut();
        let own = own.unwrap_or_else(PoisonError::into_inner).take();
        let mut state = self.places.0.state();
        let Some(principal) = own else {
            state.anonymous.remove(&self.number);
            return;
        };
        let Some(places) = state.known.get_mut(&principal) else {
            return;
        };
        let was_counted = places.remove(&self.number).is_some();
        if places.is_empty() {
            state.known.remove(&principal);
        }
        state.known_count -= usize::from(was_counted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(connections: usize, connections_each: usize) -> ConnectionPlaces {
        ConnectionPlaces::new(&HttpBounds {
            connections,
            connections_each,
            ..HttpBounds::default()
        })
    }

    #[test]
    fn the_oldest_connection_without_a_token_makes_room_and_those_with_one_stay() {
        let places = places(8, 6);
        let alice: Arc<str> = "alice".into();
        let known = places.enter();
        known.known_as(&alice).unwrap();
        let open: Vec<ConnectionPlace> = (0..5).map(|_| places.enter()).collect();
        let closed: Vec<bool> = open
            .iter()
            .map(|place| place.closed.is_cancelled())
            .collect();
        assert_eq!(closed, [true, true, true, false, false]);
        assert!(!known.closed.is_cancelled());
        drop((open, known));
        let state = places.0.state();
        assert!(state.anonymous.is_empty() && state.known.is_empty() && state.known_count == 0);
    }

    #[test]
    fn a_principal_has_a_bounded_number_and_takes_no_place_of_another() {
        let places = places(8, 4);
        let (alice, bob, carol): (Arc<str>, Arc<str>, Arc<str>) =
            ("alice".into(), "bob".into(), "carol".into());
        let of = |principal: &Arc<str>| {
            let place = places.enter();
            place.known_as(principal).map(|()| place)
        };
        let of_alice: Vec<ConnectionPlace> = (0..4).map(|_| of(&alice).unwrap()).collect();
        assert_eq!(of(&alice).unwrap_err(), TooManyConnectionsError);
        let of_bob = [of(&bob).unwrap(), of(&bob).unwrap()];
        // Six places are taken: the principal with the most gives one.
        let of_carol = of(&carol).unwrap();
        assert!(of_alice[0].closed.is_cancelled());
        assert!(
            of_bob
                .iter()
                .chain([&of_carol])
                .all(|place| !place.closed.is_cancelled())
        );
        assert_eq!(places.0.state().known_count, 6);
        drop((of_alice, of_bob, of_carol));
        assert_eq!(places.0.state().known_count, 0);
    }
}
