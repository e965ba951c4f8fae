//! Resources that a worker has used, as counted by the kernel and not by the worker.

use std::time::Duration;

/// Memory and processor time of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of memory it holds, shared pages included.
    pub resident_bytes: u64,
    /// Processor time of all its threads, user and system together; in steps of 10 ms.
    pub cpu: Duration,
}

#[cfg(not(target_os = "linux"))]
impl Usage {
    /// Unknown: no counters are read on this system.
    pub(crate) fn of(_: u32) -> Option<Self> {
        None
    }
}

#[cfg(target_os = "linux")]
mod procfs {
    use super::{Duration, Usage};

    /// Ticks of the counters in `/proc/PID/stat`: 100 a second on every kernel that runs Limbeck.
    const TICK: Duration = Duration::from_millis(10);
    /// Fields of `/proc/PID/stat` between the name in brackets and `utime`.
    const FIELDS_BEFORE_UTIME: usize = 11;
    /// Fields between `stime` and `rss`.
    const FIELDS_BEFORE_RSS: usize = 8;

    impl Usage {
        /// Reads `/proc/PID/stat`.
        pub(crate) fn of(pid: u32) -> Option<Self> {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            Self::parse(&stat)
        }

        /// The name may hold anything, brackets too; what follows the last one are numbers.
        fn parse(stat: &str) -> Option<Self> {
            let (_, fields) = stat.rsplit_once(") ")?;
            let mut fields = fields.split_ascii_whitespace().skip(FIELDS_BEFORE_UTIME);
            let user: u32 = fields.next()?.parse().ok()?;
            let system: u32 = fields.next()?.parse().ok()?;
            let pages: u64 = fields.nth(FIELDS_BEFORE_RSS)?.parse().ok()?;
            Some(Self {
                resident_bytes: pages.saturating_mul(rustix::param::page_size() as u64),
                cpu: TICK.saturating_mul(user.saturating_add(system)),
            })
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_fields_are_found_behind_a_hostile_name() {
            let stat = "7 (a) b (c) S 1 7 7 0 -1 4194304 1 0 0 0 30 12 0 0 20 0 2 0 100 4096000 250 18446744073709551615 1 1";
            let usage = Usage::parse(stat).unwrap();
            assert_eq!(usage.cpu, Duration::from_millis(420));
            assert_eq!(
                usage.resident_bytes,
                250 * rustix::param::page_size() as u64
            );
        }

        #[test]
        fn our_own_usage_is_there_and_nobodys_is_not() {
            let usage = Usage::of(std::process::id()).unwrap();
            assert!(usage.resident_bytes > 0);
            assert_eq!(Usage::of(u32::MAX), None);
        }
    }
}
