//! The pool against real child processes: well-behaved ones and hostile ones, side by side.
//!
//! The servers are stdlib Python in `tests/servers`; `hNN` are the hostile ones. `python3` is required.

mod changes;
mod conversation;
mod deaf_servers;
mod generations;
mod hostile_calls;
mod hostile_lists;
mod hostile_starts;
mod lifecycle;
mod observer;
mod offers;
mod principals;
mod results;
mod shutdown;
mod support;
