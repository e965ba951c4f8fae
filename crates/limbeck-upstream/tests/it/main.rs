//! The pool against child processes, sockets and authorization servers, well-behaved and hostile ones side by side.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(unix)]
mod http;
mod oauth;
#[cfg(unix)]
mod pool;
