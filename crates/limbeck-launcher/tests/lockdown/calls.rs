//! Every system call of this architecture, issued raw in a locked worker.

use limbeck_domain::Tier;
use limbeck_launcher::{Launcher, ProbeOutcome};

use crate::{all_but, launcher};

/// Beyond the newest call of Linux 6.18.
const LAST: u16 = 475;
/// Numbers of x32, a second interface with another table.
const X32: u16 = 0x4000;

/// What a running guest needs, with any arguments; `mmap`, `mprotect`, `mremap`, `madvise` and `futex` are
/// refused here, because their arguments mean nothing. Written down here once more, so that a change of the filter is a
/// change of this test.
const ALLOWED: &[libc::c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_close,
    libc::SYS_munmap,
    libc::SYS_brk,
    libc::SYS_sched_yield,
    libc::SYS_clock_gettime,
    libc::SYS_getrandom,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Calls that end the worker: what they open up is worth more than an error.
const KILLED: &[libc::c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_kexec_load,
    libc::SYS_open_by_handle_at,
    libc::SYS_pidfd_getfd,
];

/// Calls of the kernel's own trampolines, exempt from filters; from anywhere else they kill or do nothing.
const TRAMPOLINES: &[u16] = if cfg!(target_arch = "x86_64") {
    &[335, 336]
} else {
    &[]
};

/// The signal of a filter that kills.
const SIGSYS: i32 = libc::SIGSYS;

async fn outcome(launcher: &Launcher, number: u16) -> ProbeOutcome {
    launcher.raw_call(number).await.unwrap()
}

fn is_refused(outcome: &ProbeOutcome) -> bool {
    matches!(
        outcome,
        ProbeOutcome::Denied {
            errno: libc::EPERM,
            ..
        }
    )
}

fn is_killed(outcome: &ProbeOutcome) -> bool {
    matches!(outcome, ProbeOutcome::Killed { signal: SIGSYS })
}

#[tokio::test]
async fn every_system_call_is_allowed_refused_or_deadly_as_written_down() {
    let launcher = launcher(&[], Tier::Strict);
    for number in 0..=LAST {
        let call = libc::c_long::from(number);
        if call == libc::SYS_exit {
            // It ends one thread and leaves the other waiting for it.
            continue;
        }
        let outcome = outcome(&launcher, number).await;
        if ALLOWED.contains(&call) {
            let through = !is_refused(&outcome) && !is_killed(&outcome);
            assert!(through, "call {number} is needed: {outcome:?}");
        } else if TRAMPOLINES.contains(&number) {
            let reached = matches!(outcome, ProbeOutcome::Reached { .. });
            assert!(!reached, "call {number}: {outcome:?}");
        } else if KILLED.contains(&call) {
            assert!(is_killed(&outcome), "call {number} is deadly: {outcome:?}");
        } else {
            let denied = is_refused(&outcome) || is_killed(&outcome);
            assert!(denied, "call {number} got through: {outcome:?}");
        }
    }
    for number in [0, 59, 520] {
        let outcome = outcome(&launcher, X32 + number).await;
        assert!(is_refused(&outcome) || is_killed(&outcome), "{outcome:?}");
    }
    launcher.shutdown().await;
}

/// The arguments of these are all ones, so memory would be executable: without the filter the kernel
/// finds another fault with them.
#[tokio::test]
async fn without_the_filter_the_same_calls_get_another_answer() {
    let launcher = launcher(&all_but(&[]), Tier::Wasm);
    for call in [libc::SYS_openat, libc::SYS_socket, libc::SYS_mprotect] {
        let outcome = outcome(&launcher, u16::try_from(call).unwrap()).await;
        assert!(!is_refused(&outcome) && !is_killed(&outcome), "{outcome:?}");
    }
    launcher.shutdown().await;
}
