//! Starts a child, watches it, and takes it away with everything it started.
//!
//! The child leads its own process group, gets the environment of its entry and nothing else, and three
//! pipes. Its supervisor task is tracked by the server, so a shutdown can wait for it: the order is
//! end of input, `SIGTERM` to the group, `SIGKILL` to the group, as the specification asks. Processes that
//! left the group but are still descendants when the end begins are killed too (Linux); one that
//! cut both ties before is out of reach without control groups. Every descriptor of ours is close-on-exec, so
//! a child holds its three pipes and whatever our own parent leaked into us.

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

use crate::redactor::Redactor;
use crate::{StdioSpec, UpstreamError};

use super::stderr::StderrRing;

/// Time to leave after the end of input. Most servers need a few milliseconds.
const EOF_GRACE: Duration = Duration::from_millis(500);
/// Time to leave after `SIGTERM`.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// Time for the pipes to run dry after the exit; a descendant may hold them open for ever.
pub(crate) const DRAIN_GRACE: Duration = Duration::from_millis(250);

/// A running or ended child.
pub(crate) struct Process {
    /// Cancelled to end the child; never un-cancelled.
    pub(crate) stop: CancellationToken,
    /// What it wrote to standard error.
    pub(crate) stderr: StderrRing,
    /// Knows the secrets of its environment.
    pub(crate) redactor: Redactor,
    exited: watch::Receiver<Option<String>>,
}

/// The two ends of the protocol.
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

impl Process {
    /// Starts `program` as `spec` says; its supervisor runs on `tracker` until the child is gone.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::Spawn`] with the system's reason.
    pub(crate) fn spawn(
        spec: &StdioSpec,
        program: &Path,
        stop: CancellationToken,
        tracker: &TaskTracker,
    ) -> Result<(Self, Pipes), UpstreamError> {
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
        let redactor = Redactor::of_environment(&spec.env);
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
        Ok((process, Pipes { stdin, stdout }))
    }

    /// Waits for the end, on its own: the future does not borrow the process.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut exited = self.exited.clone();
        async move {
            // A supervisor that is gone has no child left either.
            let _ = exited.wait_for(Option::is_some).await;
        }
    }

    /// How it ended, in words, once it has: `exit status: 3`, `signal: 9 (SIGKILL)`.
    pub(crate) fn status(&self) -> Option<String> {
        self.exited.borrow().clone()
    }

    /// The end of standard error, short enough for a message.
    pub(crate) fn last_words(&self) -> String {
        self.stderr.tail(5, 600)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn command(spec: &StdioSpec, program: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(&spec.args)
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
    command.process_group(0);
    command
}

/// Reaps the child, by its own will or by ours, and says how it ended once its pipes ran dry.
async fn supervise(
    mut child: Child,
    stop: CancellationToken,
    mut drain: JoinHandle<()>,
    exit: watch::Sender<Option<String>>,
) {
    let family = Family::of(&child);
    let ended = tokio::select! {
        status = child.wait() => status,
        () = stop.cancelled() => terminate(&mut child, &family).await,
    };
    family.kill_group();
    if timeout(DRAIN_GRACE, &mut drain).await.is_err() {
        drain.abort();
    }
    let status = match ended {
        Ok(status) => in_words(status),
        Err(error) => format!("exit status unknown: {error}"),
    };
    exit.send_replace(Some(status));
    // A connection that has not noticed yet ends now.
    stop.cancel();
}

/// Ends the child; the writer closed its input when `stop` was cancelled.
async fn terminate(child: &mut Child, family: &Family) -> std::io::Result<ExitStatus> {
    let strays = family.descendants();
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
    strays.kill();
    ended
}

fn in_words(status: ExitStatus) -> String {
    status.to_string()
}

#[cfg(unix)]
use unix::Family;

#[cfg(not(unix))]
use other::Family;

#[cfg(unix)]
mod unix {
    use rustix::process::{Pid, Signal, kill_process_group};
    use tokio::process::Child;

    /// The process group a child leads.
    pub(super) struct Family {
        leader: Option<Pid>,
    }

    impl Family {
        pub(super) fn of(child: &Child) -> Self {
            let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
            Self {
                leader: pid.and_then(Pid::from_raw),
            }
        }

        pub(super) fn ask_to_end(&self) {
            self.signal(Signal::TERM);
        }

        /// Ends whatever is left of the group; no member left is no error.
        pub(super) fn kill_group(&self) {
            self.signal(Signal::KILL);
        }

        fn signal(&self, signal: Signal) {
            if let Some(leader) = self.leader {
                let _ = kill_process_group(leader, signal);
            }
        }

        pub(super) fn descendants(&self) -> Strays {
            Strays::below(self.leader)
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) struct Strays;

    #[cfg(not(target_os = "linux"))]
    impl Strays {
        fn below(_: Option<Pid>) -> Self {
            Self
        }

        pub(super) fn kill(self) {}
    }

    #[cfg(target_os = "linux")]
    pub(super) use linux::Strays;

    #[cfg(target_os = "linux")]
    mod linux {
        use std::os::fd::OwnedFd;

        use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

        /// Descendants looked for; a fork bomb is not chased further.
        const DESCENDANTS_MAX: usize = 256;

        /// Handles of a child's descendants, which stay theirs when a pid is used again.
        pub(in super::super) struct Strays(Vec<OwnedFd>);

        impl Strays {
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

        /// Children of all threads of `pid`; none when the kernel does not tell.
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

    /// Without process groups only the child itself is ended.
    pub(super) struct Family;

    impl Family {
        pub(super) fn of(_: &Child) -> Self {
            Self
        }

        pub(super) fn ask_to_end(&self) {}

        pub(super) fn kill_group(&self) {}

        pub(super) fn descendants(&self) -> Strays {
            Strays
        }
    }

    pub(super) struct Strays;

    impl Strays {
        pub(super) fn kill(self) {}
    }
}
