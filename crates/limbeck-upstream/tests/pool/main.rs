//! The pool against real child processes: well-behaved ones and hostile ones, side by side.
//!
//! The servers are stdlib Python in `tests/servers`; `hNN` are the hostile ones. `python3` is required.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod caller;
mod conversation;
mod eras;
mod hostile_calls;
mod hostile_lists;
mod hostile_starts;
mod lifecycle;
mod offers;
mod results;
mod shutdown;
mod support;
