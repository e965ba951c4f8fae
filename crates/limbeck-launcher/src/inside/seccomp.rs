//! The system call filter: what a program that runs, waits and ends needs, and nothing else.
//!
//! Two filters are loaded and the stricter answer counts. The first allows by name and refuses the
//! rest with `EPERM`, so that a library that asks for more than it needs goes on without. The second
//! kills for what no library asks for by accident. A filter of another architecture's calls, x32
//! included, matches neither and is killed or refused.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter_all_threads,
};

/// Calls of a guest that runs: its channel, memory without new code, waiting, ending.
const ALLOWED: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_close,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_futex,
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

/// Calls with an argument that must not ask for executable memory.
const WITHOUT_EXEC: &[i64] = &[libc::SYS_mmap, libc::SYS_mprotect];

/// Calls that only somebody makes who is already out of the engine.
const DEADLY: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fsconfig,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Both filters, compiled.
#[derive(Debug)]
pub(super) struct Filters {
    allow: BpfProgram,
    kill: BpfProgram,
}

impl Filters {
    /// Compiles them.
    ///
    /// # Errors
    ///
    /// On an architecture that the compiler does not know.
    pub(super) fn compile() -> Result<Self, seccompiler::BackendError> {
        let arch = TargetArch::try_from(std::env::consts::ARCH)?;
        let mut allowed = rules(ALLOWED);
        for call in WITHOUT_EXEC {
            allowed.insert(*call, vec![without_exec()?]);
        }
        let eperm = SeccompAction::Errno(libc::EPERM as u32);
        let allow = SeccompFilter::new(allowed, eperm, SeccompAction::Allow, arch)?;
        let kill = SeccompFilter::new(
            rules(DEADLY),
            SeccompAction::Allow,
            SeccompAction::KillProcess,
            arch,
        )?;
        Ok(Self {
            allow: allow.try_into()?,
            kill: kill.try_into()?,
        })
    }

    /// Loads them into every thread of the process, for ever.
    ///
    /// # Errors
    ///
    /// When the kernel has no filters or a thread cannot take them.
    pub(super) fn load(&self) -> Result<(), seccompiler::Error> {
        apply_filter_all_threads(&self.kill)?;
        // Last: it refuses loading another.
        apply_filter_all_threads(&self.allow)
    }
}

fn rules(calls: &[i64]) -> BTreeMap<i64, Vec<SeccompRule>> {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

/// Third argument without `PROT_EXEC`.
fn without_exec() -> Result<SeccompRule, seccompiler::BackendError> {
    let exec = libc::PROT_EXEC as u64;
    let operator = SeccompCmpOp::MaskedEq(exec);
    let condition = SeccompCondition::new(2, SeccompCmpArgLen::Dword, operator, 0)?;
    SeccompRule::new(vec![condition])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_both_allowed_and_deadly_and_none_is_named_twice() {
        let mut all = [ALLOWED, WITHOUT_EXEC, DEADLY].concat();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn the_filters_compile_for_this_machine() {
        let filters = Filters::compile().unwrap();
        assert!(!filters.allow.is_empty() && !filters.kill.is_empty());
    }
}
