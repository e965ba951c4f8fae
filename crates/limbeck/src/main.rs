//! The `limbeck` executable: the command line for people and MCP clients, and the worker process.
//!
//! Started under the name that the launcher gives its children it is a worker, under that of the guard it ends the servers of a
//! gateway that was killed; otherwise it is the command line. This
//! crate alone reads the environment, the home directory and the terminal (`environment`), and passes them down as values.
//!
//! - `cli` defines the arguments, `commands` runs the commands;
//! - `wiring` builds a running gateway from the configuration;
//! - `printer` owns standard output and standard error, `exit` the exit codes, `terminal` is where a person is asked;
//! - `demo` is the built-in sample: a server, a program and a gateway.

#![forbid(unsafe_code)]

mod audit_key;
mod cli;
mod command_form;
mod commands;
mod demo;
mod earlier_settings;
mod environment;
mod exit;
mod format;
mod invocation;
mod listed_surfaces;
mod live_output;
mod logging;
mod output_files;
mod printer;
mod report;
mod shell;
mod sign_in;
mod table;
mod terminal;
mod time_zone;
mod wiring;
mod wrapped;

use std::process::ExitCode;

use limbeck_domain::Sandbox;
use limbeck_launcher::inside::{self, WorkerMain, WorkerMainError};
use limbeck_launcher::process;
use limbeck_wire::WorkerChannel;
use limbeck_worker::{ArmedWorker, PreparedWorker};

fn main() -> ExitCode {
    // Before everything else: a worker must not parse arguments, read its environment or start a runtime.
    if inside::is_worker() {
        return worker();
    }
    if limbeck_upstream::is_server_guard() {
        limbeck_upstream::run_server_guard();
        return ExitCode::SUCCESS;
    }
    // Before any server is started: a descriptor left open by the caller would reach it.
    process::pass_on_no_descriptors();
    commands::main()
}

/// Runs the zygote, the process that workers are cloned from, and in each clone the worker.
fn worker() -> ExitCode {
    inside::main(|language| Ok(WorkerEngine(PreparedWorker::load(language)?)))
}

/// Language engine of a worker. Engine and confinement are independent of each other.
struct WorkerEngine(PreparedWorker);

impl WorkerMain for WorkerEngine {
    type Armed = ArmedWorker;

    fn arm(self) -> Result<ArmedWorker, WorkerMainError> {
        Ok(self.0.arm()?)
    }

    fn serve(armed: ArmedWorker, channel: WorkerChannel, sandbox: Sandbox) -> ExitCode {
        armed.serve(channel, sandbox)
    }
}
