//! Other systems: workers that are child processes of the gateway, one for each execution. They lose only the
//! environment, the arguments and the gateway's terminal.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use limbeck_domain::Language;
use limbeck_wire::WORKER_ARGV0;
use tokio::io::Join;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::exit::EXIT_WAIT_MS;
use crate::{Exit, MemoryBound, WorkerError, WorkerProgram};

/// The gateway's end of a worker's channel: the two pipes that are its standard output and input.
pub(crate) type Stream = Join<ChildStdout, ChildStdin>;

/// Has nothing to keep: children are made one by one and are killed with their handles.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessSource;

impl ProcessSource {
    /// What makes workers for a language.
    pub(crate) async fn parent<'a>(
        &self,
        program: &'a WorkerProgram,
        language: Language,
    ) -> Result<Parent<'a>, WorkerError> {
        Ok(Parent { program, language })
    }

    /// There is nothing besides the workers.
    pub(crate) async fn shutdown(&self) {}
}

/// The gateway itself, as the parent of workers for one language.
pub(crate) struct Parent<'a> {
    program: &'a WorkerProgram,
    language: Language,
}

impl Parent<'_> {
    /// A worker that serves one program, and our end of its channel.
    pub(crate) async fn worker(&self) -> Result<(Process, Stream), WorkerError> {
        let mut child = command(self.program, self.language)
            .spawn()
            .map_err(|error| WorkerError::Spawn {
                path: self.program.path.clone(),
                error,
            })?;
        let output = child.stdout.take().expect("its output is a pipe");
        let input = child.stdin.take().expect("its input is a pipe");
        let process = Process {
            pid: child.id().unwrap_or_default(),
            child,
        };
        Ok((process, tokio::io::join(output, input)))
    }

    /// No group is made on this system.
    pub(crate) fn memory_bound(&self) -> MemoryBound {
        MemoryBound::Absent {
            reason: format!("Limbeck uses no such group on {}", std::env::consts::OS),
        }
    }

    /// A child has no other parent that could be gone.
    pub(crate) async fn confirm(&self) -> Result<(), WorkerError> {
        Ok(())
    }
}

/// The executable as a worker: no environment, no terminal, and its channel in place of standard input
/// and output.
fn command(program: &WorkerProgram, language: Language) -> Command {
    let mut command = Command::new(&program.path);
    name(&mut command);
    command
        .arg(language.as_str())
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Names it a worker, and keeps the terminal's signals from it.
#[cfg(unix)]
fn name(command: &mut Command) {
    command.arg0(WORKER_ARGV0).process_group(0);
}

/// Names it a worker in the first argument, as it cannot have another name than its path, and keeps
/// the console from it.
#[cfg(windows)]
fn name(command: &mut Command) {
    /// `CREATE_NO_WINDOW` of `CreateProcess`.
    const NO_CONSOLE: u32 = 0x0800_0000;
    command.arg(WORKER_ARGV0).creation_flags(NO_CONSOLE);
}

/// A child that can be killed and waited for. Dropping it kills.
#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    child: Child,
}

impl Process {
    /// Its id.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether the process runs. A frame out of order is found when it is read.
    pub(crate) fn is_silent(&mut self, _: &Stream) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills the process. It is not an error when the process has ended already.
    pub(crate) fn kill(&mut self) {
        if let Err(error) = self.child.start_kill()
            && matches!(self.child.try_wait(), Ok(None))
        {
            tracing::warn!(%error, "worker could not be killed");
        }
    }

    /// Exit status; waits for it at most [`EXIT_WAIT_MS`].
    pub(crate) async fn ended(&mut self) -> Option<Exit> {
        let status = timeout(Duration::from_millis(EXIT_WAIT_MS), self.child.wait()).await;
        exit(status.ok()?.ok()?)
    }
}

#[cfg(unix)]
fn exit(status: ExitStatus) -> Option<Exit> {
    use std::os::unix::process::ExitStatusExt as _;
    let signal = status.signal().map(Exit::Signal);
    signal.or(status.code().map(Exit::Code))
}

#[cfg(windows)]
fn exit(status: ExitStatus) -> Option<Exit> {
    status.code().map(Exit::Code)
}
