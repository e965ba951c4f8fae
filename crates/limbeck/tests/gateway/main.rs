//! The gateway with real workers and servers that live in this process.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails with the place"
)]

mod artifacts;
mod calls;
mod check;
mod confinement;
mod embeddings;
mod flood;
mod journal;
mod learning;
mod leftovers;
mod limits;
mod mutations;
mod offers;
mod pool;
mod processes;
mod programs;
mod python;
mod python_programs;
mod random;
mod replay;
mod search;

use std::path::Path;

/// The executable that serves as worker.
fn worker() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_limbeck"))
}
