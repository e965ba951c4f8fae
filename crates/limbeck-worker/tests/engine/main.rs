//! The worker with its real engine behind a real socket.

#![expect(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod answers;
mod check;
mod compat;
mod gateway;
mod limits;
mod numbers;
mod positions;
mod programs;
mod python;
mod recorded;
mod shapes;
mod tail;
mod worker;
