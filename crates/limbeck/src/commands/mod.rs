//! From arguments to an exit code: one module a command.

mod auth;
mod call;
mod doctor;
mod executions;
mod learn;
mod ledger;
mod replay;
mod run;
mod search;
mod serve;
mod signals;
mod tools;
mod trust;
mod types;

pub(crate) use executions::numbered;
pub(crate) use ledger::verdict;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::{CommandFactory as _, Parser as _, ValueEnum as _};
use clap_complete::Shell;
use limbeck_gateway::domain::Tier;
use tokio::runtime::{Builder, Runtime};

use crate::cli::{Cli, Command, Global, LogLevel, ServeArgs};
use crate::demo;
use crate::env::Environment;
use crate::exit::{Exit, Failure};
use crate::logging;
use crate::printer::Printer;

/// Threads that run tasks. A gateway waits more than it works, and each thread has its own caches.
const RUNTIME_THREADS: usize = 2;

/// Time for tasks to be dropped when a command has ended; most have none left.
const LAST_TASKS: Duration = Duration::from_millis(500);

/// What every command is given.
pub(crate) struct Invocation {
    pub(crate) environment: Environment,
    pub(crate) global: Global,
    pub(crate) printer: Printer,
}

/// Runs the command line of this process.
pub(crate) fn main() -> ExitCode {
    let printer = Printer::default();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            printer.clap(&error);
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Completed
            };
            return printer.finish(exit).into();
        }
    };
    let environment = match Environment::read() {
        Ok(environment) => environment,
        Err(failure) => {
            printer.failure(&failure);
            return printer.finish(failure.exit).into();
        }
    };
    let invocation = Invocation {
        environment,
        global: cli.global,
        printer,
    };
    let exit = dispatch(&invocation, cli.command).unwrap_or_else(|failure| {
        invocation.printer.failure(&failure);
        failure.exit
    });
    invocation.printer.finish(exit).into()
}

fn dispatch(invocation: &Invocation, command: Option<Command>) -> Result<Exit, Failure> {
    if invocation.global.lost_config(std::env::args_os()) {
        let error = anyhow!("`--config` stands before and after the command");
        return Err(Failure::usage(error).with_hint("put all of them behind the command"));
    }
    let command = match command {
        Some(command) => command,
        None if invocation.environment.stdin_is_terminal => {
            let help = Cli::command().render_help();
            invocation.printer.help(&help.ansi());
            return Ok(Exit::Completed);
        }
        None => Command::Serve(ServeArgs::default()),
    };
    if let Command::Completions { shell } = command {
        completions(&invocation.printer, shell);
        return Ok(Exit::Completed);
    }
    logging::start(log_level(invocation, &command));
    let runtime = runtime()?;
    let exit = runtime.block_on(async {
        match command {
            Command::Serve(arguments) => serve::serve(invocation, &arguments).await,
            Command::Run(arguments) => run::run(invocation, &arguments).await,
            Command::Search(arguments) => search::search(invocation, arguments).await,
            Command::Tools(arguments) => tools::tools(invocation, &arguments).await,
            Command::Types(arguments) => types::types(invocation, &arguments).await,
            Command::Call(arguments) => call::call(invocation, &arguments).await,
            Command::Learn(arguments) => learn::learn(invocation, &arguments).await,
            Command::Trust(arguments) => trust::trust(invocation, &arguments),
            Command::Auth { command } => auth::auth(invocation, &command).await,
            Command::Executions(arguments) => executions::executions(invocation, &arguments).await,
            Command::Ledger(arguments) => ledger::ledger(invocation, &arguments).await,
            Command::Replay(arguments) => replay::replay(invocation, &arguments).await,
            Command::Doctor(arguments) => doctor::doctor(invocation, &arguments).await,
            Command::Demo => demo::demo(&invocation.printer, demo_tier(invocation)).await,
            Command::DemoUpstream => demo::upstream::serve().await,
            Command::Completions { .. } => Ok(Exit::Completed),
        }
    });
    // Dropping what is left kills the workers of programs that still run. A read of standard input
    // may be under way as well, on a thread that nothing can interrupt.
    runtime.shutdown_timeout(LAST_TASKS);
    exit
}

/// The demo's program and server are Limbeck's own, so it shows itself in any sandbox unless told not to.
fn demo_tier(invocation: &Invocation) -> Tier {
    invocation
        .global
        .minimum_tier
        .map_or(Tier::Wasm, Tier::from)
}

fn runtime() -> Result<Runtime, Failure> {
    Builder::new_multi_thread()
        .worker_threads(RUNTIME_THREADS)
        .enable_all()
        .build()
        .context("the runtime cannot be started")
        .map_err(Failure::fault)
}

fn completions(printer: &Printer, shell: Shell) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "limbeck", &mut script);
    printer.data(&String::from_utf8_lossy(&script));
}

/// `--log`, else `LIMBECK_LOG`, else warnings.
fn log_level(invocation: &Invocation, command: &Command) -> LogLevel {
    if let Some(level) = invocation.global.log {
        return level;
    }
    let Some(name) = invocation.environment.variable("LIMBECK_LOG") else {
        return match command {
            // It says of every server what is wrong with it; said twice is harder to read.
            Command::Tools(_) | Command::Types(_) | Command::Trust(_) | Command::Doctor(_) => {
                LogLevel::Error
            }
            _ => LogLevel::Warn,
        };
    };
    LogLevel::from_str(name, true).unwrap_or_else(|_| {
        invocation.printer.warning(&format!(
            "LIMBECK_LOG is `{name}`, accepted are off, error, warn, info, debug and trace; using warn"
        ));
        LogLevel::Warn
    })
}
