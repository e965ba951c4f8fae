//! Start of the command line: parsing of arguments, dispatch to a command, exit status.

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::{CommandFactory as _, Parser as _, ValueEnum as _};
use clap_complete::Shell;
use limbeck_domain::Tier;
use limbeck_upstream::Redaction;
use tokio::runtime::{Builder, Runtime};

use super::signals::EndSignals;
use super::{
    approvals, audit, auth, call, doctor, executions, health, learn, ledger, own_servers, pins,
    policy, reconcile, replay, resume, run, search, serve, setup, skills, sync, sync_wrappers,
    tools, trust, types,
};
use crate::cli::{
    Cli, Command, DoctorArgs, LogLevel, ServeArgs, ToolsArgs, TypesArgs, usage_error,
};
use crate::demo;
use crate::environment::read_world;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::{FindingsReport, Invocation};
use crate::logging::{self, UnavailableServers};
use crate::printer::Printer;
use crate::wiring::check_state_directory;

/// Threads that run tasks. A gateway waits most of the time, and more threads would only add caches of their own.
const RUNTIME_THREADS: usize = 2;

/// Time for the remaining tasks to be dropped when a command has ended.
const LAST_TASKS: Duration = Duration::from_millis(500);

/// Runs the command line of this process.
pub(crate) fn main() -> ExitCode {
    // The printer exists before the arguments, because it prints their errors.
    let redaction = Redaction::default();
    let printer = Printer::new(redaction.clone());
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let arguments = std::env::args_os().skip(1);
            let arguments: Vec<String> = arguments
                .map(|argument| argument.to_string_lossy().into_owned())
                .collect();
            let exit = match usage_error(&error, &arguments) {
                Some(failure) => {
                    printer.command_error(&failure);
                    failure.exit
                }
                None => {
                    printer.clap_help(&error);
                    if error.use_stderr() {
                        ExitStatus::Usage
                    } else {
                        ExitStatus::Completed
                    }
                }
            };
            return printer.finish(exit).into();
        }
    };
    let world = match read_world() {
        Ok(world) => world,
        Err(failure) => {
            printer.command_error(&failure);
            return printer.finish(failure.exit).into();
        }
    };
    let invocation = Invocation {
        world,
        stdin_is_terminal: std::io::stdin().is_terminal(),
        global: cli.global,
        printer,
        redaction,
        findings: findings_report(cli.command.as_ref()),
    };
    let exit = dispatch(&invocation, cli.command).unwrap_or_else(|failure| {
        invocation.printer.command_error(&failure);
        failure.exit
    });
    invocation.printer.finish(exit).into()
}

fn dispatch(invocation: &Invocation, command: Option<Command>) -> Result<ExitStatus, CommandError> {
    if invocation.global.lost_config(std::env::args_os()) {
        let error = anyhow!("`--config` is given both before and after the command");
        return Err(CommandError::usage(error).with_hint("give every `--config` after the command"));
    }
    let command = match command {
        Some(command) => command,
        None if invocation.stdin_is_terminal => {
            let help = Cli::command().render_help();
            invocation.printer.help(&help.ansi());
            return Ok(ExitStatus::Completed);
        }
        None => Command::Serve(ServeArgs::default()),
    };
    // Before logging and the runtime: shells generate completions at every start.
    if let Command::Completions { shell } = command {
        completions(&invocation.printer, shell);
        return Ok(ExitStatus::Completed);
    }
    if let Command::Man { directory } = &command {
        manual_pages(directory)?;
        return Ok(ExitStatus::Completed);
    }
    // Before anything is read from it.
    if !matches!(command, Command::Demo | Command::DemoUpstream) {
        check_state_directory(invocation)?;
    }
    logging::start(
        log_level(invocation, &command),
        unavailable_servers(invocation, &command),
        &invocation.redaction,
    );
    let runtime = runtime()?;
    let exit = runtime.block_on(async {
        match command {
            Command::Serve(arguments) => serve::serve(invocation, &arguments).await,
            Command::Run(arguments) => run::run(invocation, &arguments).await,
            Command::Search(arguments) => search::search(invocation, arguments).await,
            Command::Tools(arguments) => tools::tools(invocation, &arguments).await,
            Command::Types(arguments) => types::types(invocation, &arguments).await,
            Command::SyncWrappers(arguments) => {
                sync_wrappers::sync_wrappers(invocation, &arguments).await
            }
            Command::Call(arguments) => call::call(invocation, &arguments).await,
            Command::Learn(arguments) => learn::learn(invocation, &arguments).await,
            Command::Trust(arguments) => trust::trust(invocation, &arguments).await,
            Command::Pins(arguments) => {
                let mut signals = EndSignals::listen()?;
                let done = signals.interrupting(pins::pins(invocation, &arguments));
                done.await?
            }
            Command::Policy { command } => policy::policy(invocation, &command).await,
            Command::Setup(arguments) => setup::setup(invocation, &arguments).await,
            Command::Sync(arguments) => sync::sync(invocation, &arguments).await,
            Command::Add(arguments) => own_servers::add(invocation, &arguments),
            Command::Remove(arguments) => own_servers::remove(invocation, &arguments),
            Command::Import(arguments) => own_servers::import(invocation, &arguments),
            Command::Auth { command } => {
                let mut signals = EndSignals::listen()?;
                let done = signals.interrupting(auth::auth(invocation, &command));
                done.await?
            }
            Command::Executions(arguments) => executions::executions(invocation, &arguments).await,
            Command::Skills(arguments) => skills::skills(invocation, &arguments).await,
            Command::Health(arguments) => health::health(invocation, &arguments).await,
            Command::Ledger(arguments) => ledger::ledger(invocation, &arguments).await,
            Command::Approvals(arguments) => approvals::approvals(invocation, &arguments).await,
            Command::Resume(arguments) => resume::resume(invocation, &arguments).await,
            Command::Reconcile(arguments) => reconcile::reconcile(invocation, &arguments).await,
            Command::Audit(command) => audit::audit(invocation, &command).await,
            Command::Replay(arguments) => {
                let mut signals = EndSignals::listen()?;
                let done = signals.interrupting(replay::replay(invocation, &arguments));
                done.await?
            }
            Command::Doctor(arguments) => doctor::doctor(invocation, &arguments).await,
            Command::Demo => demo::demo(&invocation.printer, demo_tier(invocation)).await,
            Command::DemoUpstream => demo::sample_server::serve().await,
            Command::Completions { .. } | Command::Man { .. } => Ok(ExitStatus::Completed),
        }
    });
    // Dropping the remaining tasks kills the workers of running programs. A read of standard input may still be in
    // flight, on a thread that cannot be interrupted, so the runtime does not wait for it.
    runtime.shutdown_timeout(LAST_TASKS);
    exit
}

/// How `command` reports findings about configuration files. A command that lists every server shows each finding once;
/// one that a user repeats for its own result names several in one line.
fn findings_report(command: Option<&Command>) -> FindingsReport {
    match command {
        Some(
            Command::Tools(ToolsArgs { server: None, .. })
            | Command::Types(TypesArgs { server: None, .. })
            | Command::Doctor(DoctorArgs { sandbox: false, .. }),
        ) => FindingsReport::BesideServers,
        Some(
            Command::Tools(ToolsArgs {
                server: Some(server),
                ..
            })
            | Command::Types(TypesArgs {
                server: Some(server),
                ..
            }),
        ) => FindingsReport::CountedBeside(server.clone()),
        Some(
            Command::Run(_)
            | Command::Resume(_)
            | Command::Reconcile(_)
            | Command::Search(_)
            | Command::Call(_)
            | Command::Learn(_)
            | Command::Auth { .. },
        ) => FindingsReport::Counted,
        _ => FindingsReport::Each,
    }
}

/// Weakest sandbox tier of the demo. Its program and server are Limbeck's own, so any tier is enough by default.
fn demo_tier(invocation: &Invocation) -> Tier {
    invocation
        .global
        .minimum_tier
        .map_or(Tier::Wasm, Tier::from)
}

fn runtime() -> Result<Runtime, CommandError> {
    Builder::new_multi_thread()
        .worker_threads(RUNTIME_THREADS)
        .enable_all()
        .build()
        .context("the async runtime could not be started")
        .map_err(CommandError::fault)
}

fn completions(printer: &Printer, shell: Shell) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "limbeck", &mut script);
    printer.data(&String::from_utf8_lossy(&script));
}

/// Writes `limbeck.1` and a page for each command, such as `limbeck-run.1`, to `directory`.
fn manual_pages(directory: &Path) -> Result<(), CommandError> {
    clap_mangen::generate_to(Cli::command(), directory)
        .with_context(|| {
            format!(
                "the manual pages could not be written to {}",
                directory.display()
            )
        })
        .map_err(CommandError::fault)
}

/// Log level: `--log`, else `LIMBECK_LOG`, else a default of the command.
fn log_level(invocation: &Invocation, command: &Command) -> LogLevel {
    if let Some(level) = invocation.global.log {
        return level;
    }
    let Some(name) = invocation.world.nonempty_variable("LIMBECK_LOG") else {
        // S2's users chose by this one, with the words of Python.
        let earlier = invocation.world.nonempty_variable("MCP_BRIDGE_LOG_LEVEL");
        if let (Command::Serve(_), Some(level)) = (command, earlier.and_then(python_level)) {
            return level;
        }
        return match command {
            // These commands print what is wrong with each server; the log would repeat it.
            Command::Tools(_)
            | Command::Search(_)
            | Command::Types(_)
            | Command::Setup(_)
            | Command::Sync(_)
            | Command::Trust(_)
            | Command::Pins(_)
            | Command::Doctor(_) => LogLevel::Error,
            _ => LogLevel::Warn,
        };
    };
    LogLevel::from_str(name, true).unwrap_or_else(|_| {
        invocation.printer.warning(&format!(
            "LIMBECK_LOG is `{name}`; accepted values are off, error, warn, info, debug and trace; using warn"
        ));
        LogLevel::Warn
    })
}

/// A level of Python's `logging`; `None` for another word.
fn python_level(name: &str) -> Option<LogLevel> {
    Some(match name.trim().to_ascii_uppercase().as_str() {
        "DEBUG" => LogLevel::Debug,
        "INFO" => LogLevel::Info,
        "WARNING" | "WARN" => LogLevel::Warn,
        "ERROR" | "CRITICAL" | "FATAL" => LogLevel::Error,
        _ => return None,
    })
}

/// Whether the log names servers that do not work. Every command but `serve` names those that it needs; a log level
/// that the user chose leaves nothing out.
fn unavailable_servers(invocation: &Invocation, command: &Command) -> UnavailableServers {
    let is_chosen = invocation.global.log.is_some()
        || invocation.world.nonempty_variable("LIMBECK_LOG").is_some();
    if is_chosen || matches!(command, Command::Serve(_)) {
        UnavailableServers::Logged
    } else {
        UnavailableServers::NamedByCommand
    }
}
