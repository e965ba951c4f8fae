//! The attempts themselves: raw system calls, as foreign code would make them.

mod system_calls;

use std::io;

use limbeck_domain::Layer::{
    self, Capabilities, Descriptors, EmptyRoot, Environment, Landlock, NetworkNamespace, NoNewCode,
    NoNewPrivileges, NotDumpable, PidNamespace, ResourceLimits, Seccomp, Session, Speculation,
    UnprivilegedUser, UtsNamespace,
};

use super::Probe;
use system_calls::{
    PAGE, call, dumpable, environment, execute, foreign_descriptors, fork, host_name, io_uring,
    map, map_with, memory_file, no_new_privileges, old_interface, open, read_parent, session,
    socket, speculation, stat, tcp_bind, udp,
};
#[cfg(feature = "assume-escape")]
pub(super) use system_calls::{fill_memory_file, raw};

const fn probe(
    name: &'static str,
    what: &'static str,
    layers: &'static [Layer],
    attempt: fn() -> io::Result<String>,
) -> Probe {
    Probe {
        name,
        what,
        layers,
        attempt,
    }
}

pub(super) const ALL: &[Probe] = &[
    probe(
        "environment",
        "read environment variables",
        &[Environment],
        environment,
    ),
    probe(
        "open_file",
        "open /etc/passwd",
        &[EmptyRoot, Landlock, ResourceLimits, Seccomp],
        || open(c"/etc/passwd", libc::O_RDONLY),
    ),
    probe(
        "open_proc",
        "open /proc/self/maps",
        &[EmptyRoot, Landlock, ResourceLimits, Seccomp],
        || open(c"/proc/self/maps", libc::O_RDONLY),
    ),
    probe(
        "open_device",
        "open /dev/zero",
        &[EmptyRoot, Landlock, ResourceLimits, Seccomp],
        || open(c"/dev/zero", libc::O_RDONLY),
    ),
    probe(
        "create_file",
        "create a file in /tmp",
        &[EmptyRoot, Landlock, ResourceLimits, Seccomp],
        || open(c"/tmp", libc::O_TMPFILE | libc::O_RDWR),
    ),
    probe(
        "stat_file",
        "look at /etc/passwd",
        &[EmptyRoot, Seccomp],
        stat,
    ),
    probe(
        "memory_file",
        "create a file in memory",
        &[ResourceLimits, Seccomp],
        memory_file,
    ),
    probe(
        "foreign_descriptors",
        "use a descriptor that was left open",
        &[Descriptors],
        foreign_descriptors,
    ),
    probe(
        "open_more",
        "open one more descriptor",
        &[ResourceLimits, Seccomp],
        || call(libc::SYS_dup, [0, 0, 0, 0, 0]).map(|number| format!("descriptor {number}")),
    ),
    probe(
        "tcp_bind",
        "listen on a TCP port",
        &[Landlock, ResourceLimits, Seccomp],
        tcp_bind,
    ),
    probe(
        "udp_send",
        "reach a UDP port",
        &[NetworkNamespace, ResourceLimits, Seccomp],
        udp,
    ),
    probe(
        "unix_socket",
        "create a Unix socket",
        &[ResourceLimits, Seccomp],
        || socket(libc::AF_UNIX, libc::SOCK_STREAM),
    ),
    probe(
        "netlink_socket",
        "create a netlink socket",
        &[ResourceLimits, Seccomp],
        || socket(libc::AF_NETLINK, libc::SOCK_RAW),
    ),
    probe("fork", "start a process", &[ResourceLimits, Seccomp], fork),
    probe(
        "execute",
        "execute /bin/true",
        &[EmptyRoot, Landlock, Seccomp],
        execute,
    ),
    probe(
        "signal_parent",
        "signal another process",
        &[PidNamespace, Landlock, Seccomp],
        || {
            let parent = call(libc::SYS_getppid, [0; 5])?;
            if parent == 0 {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            call(libc::SYS_kill, [parent, 0, 0, 0, 0]).map(|_| format!("process {parent}"))
        },
    ),
    probe(
        "read_parent",
        "read another process's memory",
        &[PidNamespace, Capabilities, Seccomp],
        read_parent,
    ),
    probe(
        "own_session",
        "share a session with others",
        &[Session, Seccomp],
        session,
    ),
    probe(
        "host_name",
        "read the host's name",
        &[UtsNamespace, Seccomp],
        host_name,
    ),
    probe(
        "become_root",
        "become another user",
        &[UnprivilegedUser, Seccomp],
        || call(libc::SYS_setresuid, [0, 0, 0, 0, 0]).map(|_| "user 0".to_owned()),
    ),
    probe(
        "change_root",
        "change the root directory",
        &[Capabilities, Seccomp],
        || {
            call(libc::SYS_chroot, [c"/".as_ptr() as i64, 0, 0, 0, 0])
                .map(|_| "root changed".to_owned())
        },
    ),
    probe(
        "new_namespace",
        "make a namespace",
        &[Capabilities, Seccomp],
        || {
            call(
                libc::SYS_unshare,
                [i64::from(libc::CLONE_NEWUTS), 0, 0, 0, 0],
            )
            .map(|_| "unshared".to_owned())
        },
    ),
    probe(
        "gain_privileges",
        "gain privileges by executing",
        &[NoNewPrivileges, Seccomp],
        no_new_privileges,
    ),
    probe(
        "dump_core",
        "leave a core dump, be traced",
        &[NotDumpable, Seccomp],
        dumpable,
    ),
    probe(
        "write_then_execute",
        "execute memory it has written",
        &[NoNewCode, Seccomp],
        || {
            let at = map(libc::PROT_READ | libc::PROT_WRITE, PAGE)?;
            let flags = i64::from(libc::PROT_READ | libc::PROT_EXEC);
            call(libc::SYS_mprotect, [at, PAGE, flags, 0, 0]).map(|_| format!("code at {at:#x}"))
        },
    ),
    probe(
        "map_executable",
        "map executable memory",
        &[NoNewCode, Seccomp],
        || {
            map(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC, PAGE)
                .map(|at| format!("code at {at:#x}"))
        },
    ),
    probe(
        "map_much",
        "map 4 GiB of writable memory",
        &[ResourceLimits],
        || map(libc::PROT_READ | libc::PROT_WRITE, 4 << 30).map(|at| format!("memory at {at:#x}")),
    ),
    probe(
        "share_memory",
        "map shared memory, which no limit counts",
        &[Seccomp],
        || {
            map_with(libc::MAP_SHARED | libc::MAP_ANONYMOUS, PAGE)
                .map(|at| format!("memory at {at:#x}"))
        },
    ),
    probe(
        "hide_memory",
        "keep memory that does not count as resident",
        &[Seccomp],
        || {
            let at = map(libc::PROT_READ | libc::PROT_WRITE, PAGE)?;
            let advice = i64::from(libc::MADV_PAGEOUT);
            call(libc::SYS_madvise, [at, PAGE, advice, 0, 0])
                .map(|_| "a page swapped out".to_owned())
        },
    ),
    probe(
        "inherit_priority",
        "lock with priority inheritance",
        &[Seccomp],
        || {
            let at = map(libc::PROT_READ | libc::PROT_WRITE, PAGE)?;
            let lock = i64::from(libc::FUTEX_LOCK_PI | libc::FUTEX_PRIVATE_FLAG);
            call(libc::SYS_futex, [at, lock, 0, 0, 0]).map(|_| "locked".to_owned())
        },
    ),
    probe(
        "lock_memory",
        "lock memory",
        &[ResourceLimits, Seccomp],
        || {
            let at = map(libc::PROT_READ | libc::PROT_WRITE, PAGE)?;
            call(libc::SYS_mlock, [at, PAGE, 0, 0, 0]).map(|_| "a page locked".to_owned())
        },
    ),
    probe("trace_me", "be traced", &[Seccomp], || {
        call(
            libc::SYS_ptrace,
            [i64::from(libc::PTRACE_TRACEME), 0, 0, 0, 0],
        )
        .map(|_| "traced".to_owned())
    }),
    probe(
        "io_uring",
        "set up io_uring",
        &[ResourceLimits, Seccomp],
        io_uring,
    ),
    probe(
        "user_faults",
        "handle page faults of its own",
        &[ResourceLimits, Seccomp],
        || {
            call(libc::SYS_userfaultfd, [1, 0, 0, 0, 0])
                .map(|number| format!("descriptor {number}"))
        },
    ),
    probe("keys", "use the kernel's key rings", &[Seccomp], || {
        // KEYCTL_GET_KEYRING_ID of the process's key ring, created if need be.
        call(libc::SYS_keyctl, [0, -2, 1, 0, 0]).map(|id| format!("key ring {id}"))
    }),
    probe(
        "another_abi",
        "call the kernel by its 32-bit interface",
        &[Seccomp],
        old_interface,
    ),
    probe(
        "speculation",
        "speculate past a store",
        &[Speculation, Seccomp],
        speculation,
    ),
];
