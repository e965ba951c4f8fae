//! The guest clock and its timers.
//!
//! The clock does not advance while a program runs: only `start` and `pump` move it, so that a replay sees the
//! same times. A timer is a deadline and a number; the prelude keeps its callback.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// Deadlines lie on multiples of this. A program that counts how often it is woken between two
/// milliseconds has a clock; this is the finest it can have.
const GRAIN_US: u64 = 100;

thread_local! {
    static NOW_US: Cell<u64> = const { Cell::new(0) };
    static TIMERS: RefCell<Timers> = RefCell::default();
}

#[derive(Default)]
struct Timers {
    by_deadline: BTreeSet<(u64, u32)>,
    deadlines: BTreeMap<u32, u64>,
}

/// Microseconds since 1970, as the host set them last.
pub(crate) fn now_us() -> u64 {
    NOW_US.get()
}

/// Moves the clock. An earlier time than the current one is ignored.
pub(crate) fn set(now_us: u64) {
    NOW_US.set(NOW_US.get().max(now_us));
}

/// Sets timer `id` to be due `delay_us` from now, or up to [`GRAIN_US`] later; a timer that is set already moves.
pub(crate) fn start_timer(id: u32, delay_us: u64) {
    stop_timer(id);
    let earliest = now_us().saturating_add(delay_us);
    let deadline = earliest
        .checked_next_multiple_of(GRAIN_US)
        .unwrap_or(u64::MAX);
    TIMERS.with_borrow_mut(|timers| {
        timers.by_deadline.insert((deadline, id));
        timers.deadlines.insert(id, deadline);
    });
}

/// Forgets timer `id`, if it is set.
pub(crate) fn stop_timer(id: u32) {
    TIMERS.with_borrow_mut(|timers| {
        if let Some(deadline) = timers.deadlines.remove(&id) {
            timers.by_deadline.remove(&(deadline, id));
        }
    });
}

/// Takes the timer that is due first, if one is due: by deadline, then by number.
pub(crate) fn take_due() -> Option<u32> {
    TIMERS.with_borrow_mut(|timers| {
        let &(deadline, id) = timers.by_deadline.first()?;
        if deadline > now_us() {
            return None;
        }
        timers.by_deadline.pop_first();
        timers.deadlines.remove(&id);
        Some(id)
    })
}

/// Deadline of the earliest timer.
pub(crate) fn wake_at() -> Option<u64> {
    TIMERS.with_borrow(|timers| timers.by_deadline.first().map(|&(deadline, _)| deadline))
}
