//! Child process of a server: start, supervision and termination with all of its descendants.
//!
//! The child leads its own process group and gets the environment of its entry and three pipes. Its supervisor
//! task is tracked by the server, so a shutdown can wait for it. Termination follows the specification: end of
//! input, `SIGTERM` to the group, `SIGKILL` to the group. Processes that left the group but are still
//! descendants when the termination begins are killed too (Linux); a process that left both before cannot be
//! found without control groups. All our descriptors are close-on-exec, so a child inherits its three pipes and
//! those that our own parent leaked into us.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::UpstreamError;
use crate::redactor::Redactor;
use crate::spec::StdioSpec;

use super::guard::{GuardedProcess, ServerGuard};
use super::process_group::ProcessGroup;
use super::stderr::StderrRing;

/// Time to exit after the end of input. Most servers need a few milliseconds.
pub(super) const EOF_GRACE: Duration = Duration::from_millis(500);
/// Time to exit after `SIGTERM`.
pub(super) const TERM_GRACE: Duration = Duration::from_secs(2);
/// Time to drain the pipes after the exit; a descendant may hold them open for ever.
pub(crate) const DRAIN_GRACE: Duration = Duration::from_millis(250);

/// A child process, running or ended.
pub(crate) struct ChildProcess {
    /// Cancelled to end the child; never un-cancelled.
    pub(crate) stop: CancellationToken,
    /// End of its standard error.
    pub(crate) stderr: StderrRing,
    /// Recognizes the secrets of its environment.
    pub(crate) redactor: Redactor,
    exited: watch::Receiver<Option<String>>,
}

/// Pipes that carry the protocol.
pub(crate) struct ChildPipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

impl ChildProcess {
    /// Starts `program` with the arguments and environment of `spec`; its supervisor runs on `tracker` until
    /// the child has exited. `guard` ends it when this process is killed.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::Spawn`] with the system's reason.
    pub(crate) fn spawn(
        spec: &StdioSpec,
        program: &Path,
        stop: CancellationToken,
        tracker: &TaskTracker,
        guard: &Arc<ServerGuard>,
    ) -> Result<(Self, ChildPipes), UpstreamError> {
        let failed = |source: std::io::Error| UpstreamError::Spawn {
            program: spec.command.display().to_string(),
            source: Arc::new(source),
        };
        let mut child = command(spec, program).spawn().map_err(failed)?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed(std::io::Error::other("a pipe is missing")));
        };
        // Before anything is sent to it, so that no call is at work in a process that the guard does not know.
        let guarded = guard.watch(&child);
        let redactor = Redactor::of_entry(&spec.env, &spec.args);
        let ring = StderrRing::new(redactor.clone());
        let drain = tracker.spawn(ring.clone().drain(stderr));
        let (exit, exited) = watch::channel(None);
        tracker.spawn(supervise(child, guarded, stop.clone(), drain, exit));
        let process = Self {
            stop,
            stderr: ring,
            redactor,
            exited,
        };
        Ok((process, ChildPipes { stdin, stdout }))
    }

    /// Waits until the child has exited. The future does not borrow the process.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut exited = self.exited.clone();
        async move {
            // When the supervisor is gone, so is its child.
            let _ = exited.wait_for(Option::is_some).await;
        }
    }

    /// Exit status as text, once the child has exited: `exit status: 3`, `signal: 9 (SIGKILL)`.
    pub(crate) fn status(&self) -> Option<String> {
        self.exited.borrow().clone()
    }

    /// End of standard error, short enough for an error message.
    pub(crate) fn stderr_excerpt(&self) -> String {
        self.stderr.tail(5, 600)
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn command(spec: &StdioSpec, program: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(&spec.args)
        // The gateway's own environment may hold credentials of other servers.
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    if let Some(cwd) = &spec.cwd {
        command.current_dir(cwd);
    }
    #[cfg(unix)]
    // A group of its own lets one signal reach the whole tree, and keeps Ctrl+C in the terminal away from the
    // server.
    command.process_group(0);
    command
}

/// Waits for the child to exit, or terminates it on `stop`, and publishes its status when its pipes are
/// drained.
async fn supervise(
    mut child: Child,
    guarded: Option<GuardedProcess>,
    stop: CancellationToken,
    mut drain: JoinHandle<()>,
    exit: watch::Sender<Option<String>>,
) {
    let family = ProcessGroup::of(&child);
    let ended = tokio::select! {
        status = child.wait() => status,
        () = stop.cancelled() => terminate(&mut child, &family).await,
    };
    // Also after a regular exit: a server may leave children in its group.
    family.kill_group();
    drop(guarded);
    if timeout(DRAIN_GRACE, &mut drain).await.is_err() {
        drain.abort();
    }
    let status = match ended {
        Ok(status) => in_words(status),
        Err(error) => format!("exit status unknown: {error}"),
    };
    // After the drain, so that an error can quote everything the server wrote.
    exit.send_replace(Some(status));
    // A connection that has not noticed the exit ends now.
    stop.cancel();
}

/// Terminates the child. The writer closed its input when `stop` was cancelled.
async fn terminate(child: &mut Child, family: &ProcessGroup) -> std::io::Result<ExitStatus> {
    // Collected first: once the child exits, its descendants are reparented and cannot be found.
    let descendants_left = family.descendants();
    let ended = match timeout(EOF_GRACE, child.wait()).await {
        Ok(ended) => ended,
        Err(_) => {
            family.ask_to_end();
            match timeout(TERM_GRACE, child.wait()).await {
                Ok(ended) => ended,
                Err(_) => {
                    family.kill_group();
                    child.start_kill()?;
                    child.wait().await
                }
            }
        }
    };
    descendants_left.kill();
    ended
}

fn in_words(status: ExitStatus) -> String {
    status.to_string()
}
