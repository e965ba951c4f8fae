//! Protection of the gateway's own process, and of the processes it starts.

/// Keeps descriptors that were left open to this process from every program it starts: each gets
/// what is meant for it and no more. Nothing below 3 is touched.
///
/// Only on Linux from 5.11; elsewhere and before, what is inherited is passed on.
pub fn pass_on_no_descriptors() {
    #[cfg(target_os = "linux")]
    {
        #[expect(unsafe_code, reason = "no crate we use wraps close_range")]
        // SAFETY: with this flag it closes nothing; it marks descriptors to be closed by `exec`.
        let result = unsafe {
            let flag = libc::CLOSE_RANGE_CLOEXEC;
            libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, flag)
        };
        // Before Linux 5.11 the flag is unknown.
        let _ = result;
    }
}

/// Forbids core dumps of this process and tracing by its own user: it holds credentials.
///
/// Not before everything that was named on the command line is read: paths like `/dev/fd/63` are no
/// longer its own to open. Only on Linux.
pub fn refuse_dumps() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // It cannot fail with this value.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
