//! System call filter: allows only what a program needs to run, wait and end.
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

/// Calls that are allowed with some arguments only.
const CONDITIONAL: &[i64] = &[
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_futex,
];

/// Flags that a mapping must have: memory of its own, from nowhere. Shared memory is outside of `RLIMIT_DATA`, and
/// its pages can be taken off the resident size and stay allocated.
const MAP_NEEDED: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
/// Flags that it may have. Not `MAP_HUGETLB`, `MAP_LOCKED`, `MAP_POPULATE` and `MAP_GROWSDOWN`.
const MAP_ALLOWED: libc::c_int =
    libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE | libc::MAP_NORESERVE | libc::MAP_STACK;

/// Advices about memory: giving pages back, which the allocator and the engine do. Others keep pages out of sight
/// of the gateway, which watches the resident size.
const ADVICES: &[libc::c_int] = &[
    libc::MADV_NORMAL,
    libc::MADV_DONTNEED,
    libc::MADV_FREE,
    libc::MADV_NOHUGEPAGE,
];

/// Operations of locks and condition variables. Not priority inheritance, requeueing and futex arrays.
const FUTEX_OPERATIONS: &[libc::c_int] = &[
    libc::FUTEX_WAIT,
    libc::FUTEX_WAKE,
    libc::FUTEX_WAIT_BITSET,
    libc::FUTEX_WAKE_BITSET,
];
/// Flags of a futex operation.
const FUTEX_FLAGS: libc::c_int = libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME;

/// System calls that only native code outside of the engine would make.
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
        for call in CONDITIONAL {
            allowed.insert(*call, conditions(*call)?);
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

/// Arguments with which one of [`CONDITIONAL`] is allowed: any of the rules.
fn conditions(call: i64) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let without_exec = || masked(2, libc::PROT_EXEC, 0);
    match call {
        libc::SYS_mmap => Ok(vec![SeccompRule::new(vec![
            without_exec()?,
            masked(3, !MAP_ALLOWED, MAP_NEEDED)?,
        ])?]),
        libc::SYS_mprotect => Ok(vec![SeccompRule::new(vec![without_exec()?])?]),
        // The address may change; a place of the caller's choice and a copy may not be asked for.
        libc::SYS_mremap => Ok(vec![SeccompRule::new(vec![masked(
            3,
            !libc::MREMAP_MAYMOVE,
            0,
        )?])?]),
        libc::SYS_madvise => any_of(2, 0, ADVICES),
        libc::SYS_futex => any_of(1, FUTEX_FLAGS, FUTEX_OPERATIONS),
        // None: refused with any arguments.
        _ => Ok(vec![SeccompRule::new(vec![
            masked(0, 1, 0)?,
            masked(0, 1, 1)?,
        ])?]),
    }
}

/// One rule for each of `values`, compared without the bits of `ignored`.
fn any_of(
    argument: u8,
    ignored: libc::c_int,
    values: &[libc::c_int],
) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    values
        .iter()
        .map(|value| SeccompRule::new(vec![masked(argument, !ignored, *value)?]))
        .collect()
}

/// The argument's bits in `mask` are those of `value`. All of these arguments are 32 bits wide, or the kernel gives
/// no meaning to the upper ones.
fn masked(
    argument: u8,
    mask: libc::c_int,
    value: libc::c_int,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    let bits = |number: libc::c_int| u64::from(number.cast_unsigned());
    let operator = SeccompCmpOp::MaskedEq(bits(mask));
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, bits(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_both_allowed_and_deadly_and_none_is_named_twice() {
        let mut all = [ALLOWED, CONDITIONAL, DEADLY].concat();
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
