//! Guard of the servers: a process that ends them when the gateway is killed.
//!
//! None of the gateway's own cleanup runs then, and a server that works does not look at the end of its input. The guard is the
//! gateway's executable under the name [`SERVER_GUARD_ARGV0`]. It reads lines from a pipe: `+ID` for each process group that the
//! gateway starts and `-ID` for each that has ended. The end of the pipe is the end of the gateway, and what is in the list
//! then is ended in the steps of a shutdown. A parent death signal would not do: it is tied to the thread that started the
//! process, needs unsafe code, and reaches no process below a package runner.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tokio::process::Child;

/// Name under which the gateway's executable is the guard.
pub(crate) const SERVER_GUARD_ARGV0: &str = "limbeck-guard";

/// The gateway's end of the guard, which is started with the first server.
#[derive(Debug)]
pub(crate) struct ServerGuard {
    /// The gateway's executable; without one there is no guard.
    program: Option<PathBuf>,
    state: Mutex<GuardState>,
}

#[derive(Debug, Default)]
enum GuardState {
    #[default]
    NotStarted,
    #[cfg(unix)]
    Running(unix::RunningGuard),
    /// It cannot be started or has ended. The servers run without it.
    #[cfg(unix)]
    Gone,
}

/// A process that is in the list of the guard, until it is dropped.
#[derive(Debug)]
pub(crate) struct GuardedProcess {
    #[cfg(unix)]
    guard: Arc<ServerGuard>,
    #[cfg(unix)]
    id: u32,
}

impl ServerGuard {
    /// The guard of a gateway whose executable is `program`. Starts nothing.
    pub(crate) fn new(program: Option<PathBuf>) -> Arc<Self> {
        Arc::new(Self {
            program,
            state: Mutex::default(),
        })
    }

    /// Puts the process group of `child` into the list.
    #[cfg(unix)]
    pub(crate) fn watch(self: &Arc<Self>, child: &Child) -> Option<GuardedProcess> {
        let id = child.id()?;
        self.write(unix::Change::Started(id))
            .then(|| GuardedProcess {
                guard: Arc::clone(self),
                id,
            })
    }

    /// Without process groups there is no guard.
    #[cfg(not(unix))]
    pub(crate) fn watch(self: &Arc<Self>, _: &Child) -> Option<GuardedProcess> {
        None
    }
}

/// Whether this process was started as a guard; its life is then [`run_server_guard`].
pub fn is_server_guard() -> bool {
    cfg!(unix)
        && std::env::args_os()
            .next()
            .is_some_and(|name| name == SERVER_GUARD_ARGV0)
}

/// Reads the list from standard input until it ends, and then ends the processes that are in it.
pub fn run_server_guard() {
    #[cfg(unix)]
    unix::run(std::io::stdin().lock());
}

#[cfg(unix)]
mod unix {
    use std::collections::BTreeSet;
    use std::io::{BufRead, Write as _};
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, ChildStdin, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::{GuardState, GuardedProcess, SERVER_GUARD_ARGV0, ServerGuard};
    use crate::stdio::process::{EOF_GRACE, TERM_GRACE};
    use crate::stdio::process_group::ProcessGroup;
    use crate::sync::lock;

    /// Process groups of one gateway; further ones are not ended by the guard.
    const GROUPS_MAX: usize = 4096;
    /// Interval between two looks whether the processes have ended.
    const LOOK: Duration = Duration::from_millis(10);

    #[derive(Debug)]
    pub(super) struct RunningGuard {
        child: Child,
        input: ChildStdin,
    }

    /// Change of the list.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Change {
        Started(u32),
        Ended(u32),
    }

    impl Change {
        fn line(self) -> String {
            match self {
                Self::Started(id) => format!("+{id}\n"),
                Self::Ended(id) => format!("-{id}\n"),
            }
        }
    }

    impl Drop for GuardedProcess {
        fn drop(&mut self) {
            self.guard.write(Change::Ended(self.id));
        }
    }

    impl ServerGuard {
        /// Writes a change, starting the guard for the first one. Returns whether the guard has it. What is in the pipe is read
        /// also when this process is killed right after.
        pub(super) fn write(&self, change: Change) -> bool {
            let Some(program) = &self.program else {
                return false;
            };
            let mut state = lock(&self.state);
            if let (GuardState::NotStarted, Change::Started(_)) = (&*state, change) {
                *state = match start(program) {
                    Ok(running) => GuardState::Running(running),
                    Err(error) => {
                        tracing::warn!(%error, "no process guards the servers: one that works when the gateway is killed may outlive it");
                        GuardState::Gone
                    }
                };
            }
            let GuardState::Running(running) = &mut *state else {
                return false;
            };
            let written = running.input.write_all(change.line().as_bytes());
            if let Err(error) = written {
                tracing::warn!(%error, "the process that guards the servers has ended: one that works when the gateway is killed may outlive it");
                // Reaped here, because no one else waits for it.
                let _ = running.child.try_wait();
                *state = GuardState::Gone;
                return false;
            }
            true
        }

        /// Ends the guard, which has ended what is left in its list when this returns.
        pub(crate) async fn close(&self) {
            let state = std::mem::take(&mut *lock(&self.state));
            let GuardState::Running(RunningGuard { mut child, input }) = state else {
                return;
            };
            drop(input);
            let ended = tokio::task::spawn_blocking(move || child.wait()).await;
            if let Ok(Err(error)) = ended {
                tracing::debug!(%error, "the end of the guard is not known");
            }
        }
    }

    fn start(program: &std::path::Path) -> std::io::Result<RunningGuard> {
        let mut child = Command::new(program)
            .arg0(SERVER_GUARD_ARGV0)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A signal to the gateway's group, such as that of Ctrl-C, does not reach it.
            .process_group(0)
            .spawn()?;
        let input = child.stdin.take();
        let input = input.ok_or_else(|| std::io::Error::other("a pipe is missing"))?;
        Ok(RunningGuard { child, input })
    }

    pub(super) fn run(list: impl BufRead) {
        let groups: Vec<ProcessGroup> = read(list).into_iter().map(ProcessGroup::led_by).collect();
        // Collected first: once a server exits, its descendants are reparented and cannot be found.
        let descendants: Vec<_> = groups.iter().map(ProcessGroup::descendants).collect();
        if !have_ended(&groups, EOF_GRACE) {
            groups.iter().for_each(ProcessGroup::ask_to_end);
            have_ended(&groups, TERM_GRACE);
        }
        groups.iter().for_each(ProcessGroup::kill_group);
        for descendant in descendants {
            descendant.kill();
        }
    }

    /// The groups that are in the list when it ends.
    fn read(list: impl BufRead) -> BTreeSet<i32> {
        let mut groups = BTreeSet::new();
        for line in list.lines().map_while(Result::ok) {
            let id = |text: &str| text.parse::<i32>().ok().filter(|id| *id > 1);
            if let Some(id) = line.strip_prefix('+').and_then(id) {
                if groups.len() < GROUPS_MAX {
                    groups.insert(id);
                }
            } else if let Some(id) = line.strip_prefix('-').and_then(id) {
                groups.remove(&id);
            }
        }
        groups
    }

    /// Waits until no group has a process, at most `limit`.
    fn have_ended(groups: &[ProcessGroup], limit: Duration) -> bool {
        let until = Instant::now() + limit;
        loop {
            if !groups.iter().any(ProcessGroup::has_process) {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(LOOK);
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_list_has_what_was_started_and_has_not_ended() {
            let text = "+10\n+11\n-10\n+12\nnonsense\n+1\n+0\n+-7\n-99\n+13";
            assert_eq!(read(text.as_bytes()), BTreeSet::from([11, 12, 13]));
            let changes = [Change::Started(10), Change::Ended(10)];
            let lines: String = changes.map(Change::line).concat();
            assert_eq!(read(lines.as_bytes()), BTreeSet::new());
            let many: String = (2..10_000).map(|id| Change::Started(id).line()).collect();
            assert_eq!(read(many.as_bytes()).len(), GROUPS_MAX);
        }

        /// A server that ignores the end of its input and the request to end, and has a child outside of its group.
        #[cfg(target_os = "linux")]
        #[expect(
            clippy::zombie_processes,
            reason = "its caller waits for it; a loop that panics ends the test"
        )]
        fn stubborn() -> (Child, Vec<u32>) {
            let script = "trap '' TERM; setsid sleep 600 & while :; do sleep 600; done";
            let mut command = Command::new("sh");
            let child = command.args(["-c", script]).process_group(0).spawn();
            let child = child.unwrap();
            let list = format!("/proc/{0}/task/{0}/children", child.id());
            loop {
                let list = std::fs::read_to_string(&list).unwrap();
                let below: Vec<u32> = list.split(' ').filter_map(|id| id.parse().ok()).collect();
                if below.len() == 2 {
                    return (child, below);
                }
                std::thread::yield_now();
            }
        }

        /// Whether a process is there that does not wait to be reaped.
        #[cfg(target_os = "linux")]
        fn is_running(id: u32) -> bool {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            let state = stat.rsplit(')').next().unwrap_or_default();
            !state.is_empty() && !state.starts_with(" Z")
        }

        #[cfg(target_os = "linux")]
        #[test]
        fn what_is_in_the_list_is_ended_with_what_is_below_it_and_nothing_else() {
            let ((mut one, below_one), (mut other, below_other)) = (stubborn(), stubborn());
            let (id, other_id) = (one.id(), other.id());
            // Reaped beside the guard, as by the system after the end of a gateway.
            let reaped = std::thread::spawn(move || one.wait().unwrap());
            run(format!("+{id}\n+{other_id}\n-{other_id}\n").as_bytes());
            assert!(!reaped.join().unwrap().success());
            while below_one.iter().any(|id| is_running(*id)) {
                std::thread::yield_now();
            }
            // The control: the one that was taken out of the list.
            assert!(other.try_wait().unwrap().is_none());
            assert!(below_other.iter().all(|id| is_running(*id)));
            let group = ProcessGroup::led_by(i32::try_from(other_id).unwrap());
            let below = group.descendants();
            group.kill_group();
            below.kill();
            other.wait().unwrap();
        }
    }
}

#[cfg(not(unix))]
impl ServerGuard {
    /// Without process groups there is no guard.
    pub(crate) async fn close(&self) {}
}
