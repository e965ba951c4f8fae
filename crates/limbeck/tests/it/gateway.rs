//! Tests of the gateway with real workers, and with servers inside of the test process.

mod admission;
mod artifacts;
mod budgets;
mod calls;
mod check;
mod confinement;
mod disk;
mod embeddings;
mod flood;
mod habits;
mod journal;
mod learning;
mod leftovers;
mod limits;
mod models;
mod mutations;
mod paused;
mod policy;
mod pool;
mod printed;
pub(crate) mod processes;
mod programs;
mod python;
mod python_programs;
mod random;
mod reload;
mod replay;
mod resources;
mod result_reads;
mod search;
mod unawaited;

use std::path::Path;

/// Executable that serves as worker.
pub(crate) fn worker() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_limbeck"))
}
