//! Process group of a server, and the descendants that left it.

#[cfg(not(unix))]
pub(super) use other::ProcessGroup;
#[cfg(unix)]
pub(super) use unix::ProcessGroup;

#[cfg(unix)]
mod unix {
    use rustix::io::Errno;
    use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
    use tokio::process::Child;

    /// Process group of a child.
    pub(in crate::stdio) struct ProcessGroup {
        leader: Option<Pid>,
    }

    impl ProcessGroup {
        pub(in crate::stdio) fn of(child: &Child) -> Self {
            let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
            Self::led_by(pid.unwrap_or_default())
        }

        /// The group whose leader has this id; an empty one for an id that no process has.
        pub(in crate::stdio) fn led_by(pid: i32) -> Self {
            let leader = (pid > 1).then_some(pid).and_then(Pid::from_raw);
            Self { leader }
        }

        /// Whether a process is in it that has not ended. One that waits to be reaped has: the first process of a container may
        /// never reap it.
        pub(in crate::stdio) fn has_process(&self) -> bool {
            let is_there = |leader: &Pid| test_kill_process_group(*leader) != Err(Errno::SRCH);
            self.leader.filter(is_there).is_some_and(has_running)
        }

        pub(in crate::stdio) fn ask_to_end(&self) {
            self.signal(Signal::TERM);
        }

        /// Kills the rest of the group; an empty group is not an error.
        pub(in crate::stdio) fn kill_group(&self) {
            self.signal(Signal::KILL);
        }

        fn signal(&self, signal: Signal) {
            if let Some(leader) = self.leader {
                let _ = kill_process_group(leader, signal);
            }
        }

        pub(in crate::stdio) fn descendants(&self) -> Descendants {
            Descendants::below(self.leader)
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(in crate::stdio) struct Descendants;

    #[cfg(not(target_os = "linux"))]
    impl Descendants {
        fn below(_: Option<Pid>) -> Self {
            Self
        }

        pub(in crate::stdio) fn kill(self) {}
    }

    /// Without procfs every process counts.
    #[cfg(not(target_os = "linux"))]
    fn has_running(_: Pid) -> bool {
        true
    }

    #[cfg(target_os = "linux")]
    pub(in crate::stdio) use linux::Descendants;
    #[cfg(target_os = "linux")]
    use linux::has_running;

    #[cfg(target_os = "linux")]
    mod linux {
        use std::os::fd::OwnedFd;

        use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

        /// Descendants searched for; a fork bomb is not followed further.
        const DESCENDANTS_MAX: usize = 256;

        /// Handles of a child's descendants; they stay valid when a pid is reused.
        pub(in crate::stdio) struct Descendants(Vec<OwnedFd>);

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

            pub(in crate::stdio) fn kill(self) {
                for descendant in self.0 {
                    let _ = pidfd_send_signal(descendant, Signal::KILL);
                }
            }
        }

        /// Whether a process of the group runs: it does not wait to be reaped.
        pub(super) fn has_running(group: Pid) -> bool {
            let leader = group.as_raw_nonzero().to_string();
            let Ok(processes) = std::fs::read_dir("/proc") else {
                return true;
            };
            let names = processes.flatten().map(|process| process.file_name());
            let names = names.filter_map(|name| name.into_string().ok());
            // Mostly it is the leader, which is found without a look at the others.
            std::iter::once(leader.clone())
                .chain(names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())))
                .any(|process| is_running_in(&process, &leader))
        }

        fn is_running_in(process: &str, group: &str) -> bool {
            let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            // The name before the bracket may hold anything.
            let fields = stat.rsplit(')').next().unwrap_or_default();
            let mut fields = fields.split_whitespace();
            let state = fields
                .next()
                .is_some_and(|state| !matches!(state, "Z" | "X"));
            state && fields.nth(1) == Some(group)
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
    pub(in crate::stdio) struct ProcessGroup;

    impl ProcessGroup {
        pub(in crate::stdio) fn of(_: &Child) -> Self {
            Self
        }

        pub(in crate::stdio) fn ask_to_end(&self) {}

        pub(in crate::stdio) fn kill_group(&self) {}

        pub(in crate::stdio) fn descendants(&self) -> Descendants {
            Descendants
        }
    }

    pub(in crate::stdio) struct Descendants;

    impl Descendants {
        pub(in crate::stdio) fn kill(self) {}
    }
}
