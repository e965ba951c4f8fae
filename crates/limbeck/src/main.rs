//! The `limbeck` command: what people and MCP clients start.
//!
//! One executable with two faces. Started under the name the launcher gives its children it is a
//! worker and nothing else; otherwise it is the command line. This crate alone reads environment,
//! home and terminal (`env`), and passes what it found down as values.
//!
//! - `cli` says what can be typed, `commands` what is done about it;
//! - `wiring` turns configuration into a running gateway;
//! - `printer` owns standard output and standard error, `exit` the exit codes;
//! - `demo` is the built-in sample: its own upstream, its own program, its own ledger.

#![forbid(unsafe_code)]

mod cli;
mod commands;
mod demo;
mod env;
mod exit;
mod logging;
mod printer;
mod report;
mod signin;
mod table;
mod wiring;
mod words;

use std::process::ExitCode;

use limbeck_gateway::domain::Sandbox;
use limbeck_gateway::launcher::inside::{self, Tenant, TenantError};
use limbeck_gateway::launcher::process;
use limbeck_worker::{Armed, Prepared, Worker, WorkerChannel};

fn main() -> ExitCode {
    // First of all: a worker must not parse arguments, read its environment or start a runtime.
    if inside::is_worker() {
        return worker();
    }
    process::pass_on_no_descriptors();
    commands::main()
}

/// The process that workers are cloned from, and in each clone the worker.
fn worker() -> ExitCode {
    inside::main(|language| Ok(Engine(Worker::prepare(language)?)))
}

/// What lives in a worker: the engine. It knows nothing of its confinement, and the confinement
/// nothing of it.
struct Engine(Prepared);

impl Tenant for Engine {
    type Armed = Armed;

    fn arm(self) -> Result<Armed, TenantError> {
        Ok(self.0.arm()?)
    }

    fn serve(armed: Armed, channel: WorkerChannel, sandbox: Sandbox) -> ExitCode {
        armed.serve(channel, sandbox)
    }
}
