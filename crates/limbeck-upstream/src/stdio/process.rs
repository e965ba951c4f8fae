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

use super::stderr::StderrRing;

/// Time to exit after the end of input. Most servers need a few milliseconds.
const EOF_GRACE: Duration = Duration::from_millis(500);
/// Time to exit after `SIGTERM`.
const TERM_GRACE: Duration = Duration::from_secs(2);
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
    /// the child has exited.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::Spawn`] with the system's reason.
    pub(crate) fn spawn(
        spec: &StdioSpec,
        program: &Path,
        stop: CancellationToken,
        tracker: &TaskTracker,
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
        let redactor = Redactor::of_entry(&spec.env, &spec.args);
        let ring = StderrRing::new(redactor.clone());
        let drain = tracker.spawn(ring.clone().drain(stderr));
        let (exit, exited) = watch::channel(None);
        tracker.spawn(supervise(child, stop.clone(), drain, exit));
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

#[cfg(unix)]
use unix::ProcessGroup;

#[cfg(not(unix))]
use other::ProcessGroup;

#[cfg(unix)]
mod unix {
    use rustix::process::{Pid, Signal, kill_process_group};
    use tokio::process::Child;

    /// Process group of a child.
    pub(super) struct ProcessGroup {
        leader: Option<Pid>,
    }

    impl ProcessGroup {
        pub(super) fn of(child: &Child) -> Self {
            let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
            Self {
                leader: pid.and_then(Pid::from_raw),
            }
        }

        pub(super) fn ask_to_end(&self) {
            self.signal(Signal::TERM);
        }

        /// Kills the rest of the group; an empty group is not an error.
        pub(super) fn kill_group(&self) {
            self.signal(Signal::KILL);
        }

        fn signal(&self, signal: Signal) {
            if let Some(leader) = self.leader {
                let _ = kill_process_group(leader, signal);
            }
        }

        pub(super) fn descendants(&self) -> Descendants {
            Descendants::below(self.leader)
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) struct Descendants;

    #[cfg(not(target_os = "linux"))]
    impl Descendants {
        fn below(_: Option<Pid>) -> Self {
            Self
        }

        pub(super) fn kill(self) {}
    }

    #[cfg(target_os = "linux")]
    pub(super) use linux::Descendants;

    #[cfg(target_os = "linux")]
    mod linux {
        use std::os::fd::OwnedFd;

        use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

        /// Descendants searched for; a fork bomb is not followed further.
        const DESCENDANTS_MAX: usize = 256;

        /// Handles of a child's descendants; they stay valid when a pid is reused.
        pub(in super::super) struct Descendants(Vec<OwnedFd>);

        impl Descendants {
            pub(super) fn below(leader: Option<Pid>) -> Self {
                let mut found: Vec<Pid> = leader.into_iter().collect();
                let mut next = 0;
                while next < found.len() && found.len() < DESCENDANTS_MAX {
                    found.extend(children(found[next]));
                    next += 1;
                }
                let below = found.into_iter().skip(1).take(DESCENDANTS_MAX);
                Self(
                    below
                        .filter_map(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
                        .collect(),
                )
            }

            pub(in super::super) fn kill(self) {
                for descendant in self.0 {
                    let _ = pidfd_send_signal(descendant, Signal::KILL);
                }
            }
        }

        /// Children of all threads of `pid`; none when the kernel does not list them.
        fn children(pid: Pid) -> Vec<Pid> {
            let tasks = format!("/proc/{}/task", pid.as_raw_nonzero());
            let Ok(tasks) = std::fs::read_dir(tasks) else {
                return Vec::new();
            };
            tasks
                .flatten()
                .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
                .flat_map(|list| {
                    list.split_whitespace()
                        .filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw))
                        .collect::<Vec<_>>()
                })
                .collect()
        }
    }
}

#[cfg(not(unix))]
mod other {
    use tokio::process::Child;

    /// Without process groups only the child itself is terminated.
    pub(super) struct ProcessGroup;

    impl ProcessGroup {
        pub(super) fn of(_: &Child) -> Self {
            Self
        }

        pub(super) fn ask_to_end(&self) {}

        pub(super) fn kill_group(&self) {}

        pub(super) fn descendants(&self) -> Descendants {
            Descendants
        }
    }

    pub(super) struct Descendants;

    impl Descendants {
        pub(super) fn kill(self) {}
    }
}
