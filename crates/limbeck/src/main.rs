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
mod table;
mod wiring;

use std::os::fd::AsFd;
use std::process::ExitCode;

fn main() -> ExitCode {
    // First of all: a worker must not parse arguments, read its environment or start a runtime.
    let name = std::env::args_os().next();
    if name.is_some_and(|name| name == limbeck_worker::WORKER_ARGV0) {
        return worker();
    }
    commands::main()
}

/// Serves one program on the channel that stands in the place of standard input.
fn worker() -> ExitCode {
    limbeck_worker::die_with_parent();
    match std::io::stdin().as_fd().try_clone_to_owned() {
        Ok(channel) => limbeck_worker::run(channel),
        Err(_) => ExitCode::FAILURE,
    }
}
