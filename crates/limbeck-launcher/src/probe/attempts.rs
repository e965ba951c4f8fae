//! The attempts themselves: raw system calls, as foreign code would make them.

use std::io;

use limbeck_domain::Layer::{
    self, Capabilities, Descriptors, EmptyRoot, Environment, Landlock, NetworkNamespace, NoNewCode,
    NoNewPrivileges, NotDumpable, PidNamespace, ResourceLimits, Seccomp, Session, Speculation,
    UnprivilegedUser, UtsNamespace,
};

use super::Probe;

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

const PAGE: i64 = 4096;

/// One raw system call.
fn call(number: libc::c_long, [a, b, c, d, e]: [i64; 5]) -> io::Result<i64> {
    #[expect(unsafe_code, reason = "a probe is what foreign code would do")]
    // SAFETY: each call above passes numbers, or pointers to data that lives longer than the call.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, 0) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// System call `number` with arguments that mean nothing: only its being let through is of interest.
#[cfg(feature = "assume-escape")]
pub(super) fn raw(number: u16) -> io::Result<String> {
    call(libc::c_long::from(number), [-1; 5]).map(|result| result.to_string())
}

fn open(path: &std::ffi::CStr, flags: libc::c_int) -> io::Result<String> {
    let here = i64::from(libc::AT_FDCWD);
    let number = call(
        libc::SYS_openat,
        [here, path.as_ptr() as i64, i64::from(flags), 0o600, 0],
    )?;
    Ok(format!("{} as descriptor {number}", path.to_string_lossy()))
}

fn stat() -> io::Result<String> {
    let here = i64::from(libc::AT_FDCWD);
    let path = c"/etc/passwd";
    call(libc::SYS_faccessat, [here, path.as_ptr() as i64, 0, 0, 0])?;
    Ok("/etc/passwd exists".to_owned())
}

fn memory_file() -> io::Result<String> {
    let name = c"probe";
    let number = call(libc::SYS_memfd_create, [name.as_ptr() as i64, 0, 0, 0, 0])?;
    Ok(format!("descriptor {number}"))
}

/// Writes a file in memory, which no limit of a process counts and which is not resident in one.
#[cfg(feature = "assume-escape")]
pub(super) fn fill_memory_file(mebibytes: u16) -> io::Result<String> {
    const MEBIBYTE: usize = 1 << 20;
    let name = c"probe".as_ptr() as i64;
    let file = call(libc::SYS_memfd_create, [name, 0, 0, 0, 0])?;
    let zeros = vec![0_u8; MEBIBYTE];
    for _ in 0..mebibytes {
        let bytes = [file, zeros.as_ptr() as i64, MEBIBYTE as i64, 0, 0];
        if call(libc::SYS_write, bytes)? != MEBIBYTE as i64 {
            return Err(io::ErrorKind::WriteZero.into());
        }
    }
    Ok(format!("{mebibytes} MiB"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "an attempt at reading what has to be empty"
)]
fn environment() -> io::Result<String> {
    match std::env::vars_os().next() {
        Some((name, _)) => Ok(name.to_string_lossy().into_owned()),
        None => Err(io::Error::from_raw_os_error(libc::ENOENT)),
    }
}

/// Looks by `close`, which the filter lets through: what can be closed was open.
fn foreign_descriptors() -> io::Result<String> {
    for number in 4..256 {
        if call(libc::SYS_close, [number, 0, 0, 0, 0]).is_ok() {
            return Ok(format!("descriptor {number}"));
        }
    }
    Err(io::Error::from_raw_os_error(libc::EBADF))
}

fn socket(family: libc::c_int, kind: libc::c_int) -> io::Result<String> {
    let number = call(
        libc::SYS_socket,
        [i64::from(family), i64::from(kind), 0, 0, 0],
    )?;
    Ok(format!("descriptor {number}"))
}

/// 127.0.0.1 and a port, in the kernel's form.
fn loopback(port: u16) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes([127, 0, 0, 1]),
        },
        sin_zero: [0; 8],
    }
}

fn tcp_bind() -> io::Result<String> {
    let kind = i64::from(libc::SOCK_STREAM);
    let socket = call(libc::SYS_socket, [i64::from(libc::AF_INET), kind, 0, 0, 0])?;
    let address = loopback(0);
    let bytes = size_of_val(&address) as i64;
    call(
        libc::SYS_bind,
        [socket, (&raw const address) as i64, bytes, 0, 0],
    )?;
    Ok("a port of 127.0.0.1".to_owned())
}

fn udp() -> io::Result<String> {
    let kind = i64::from(libc::SOCK_DGRAM);
    let socket = call(libc::SYS_socket, [i64::from(libc::AF_INET), kind, 0, 0, 0])?;
    let address = loopback(9);
    let bytes = size_of_val(&address) as i64;
    call(
        libc::SYS_connect,
        [socket, (&raw const address) as i64, bytes, 0, 0],
    )?;
    Ok("127.0.0.1".to_owned())
}

fn fork() -> io::Result<String> {
    let child = call(libc::SYS_clone, [i64::from(libc::SIGCHLD), 0, 0, 0, 0])?;
    if child == 0 {
        call(libc::SYS_exit_group, [0; 5])?;
    }
    Ok(format!("process {child}"))
}

/// An attempt that succeeds ends the process, so the launcher recognises success by a missing report.
fn execute() -> io::Result<String> {
    let path = c"/bin/true";
    let arguments = [path.as_ptr(), std::ptr::null()];
    let environment = [std::ptr::null::<libc::c_char>()];
    call(
        libc::SYS_execve,
        [
            path.as_ptr() as i64,
            arguments.as_ptr() as i64,
            environment.as_ptr() as i64,
            0,
            0,
        ],
    )?;
    Ok("executed".to_owned())
}

fn read_parent() -> io::Result<String> {
    let parent = call(libc::SYS_getppid, [0; 5])?;
    if parent == 0 {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    // PTRACE_SEIZE and nothing after it: the parent goes on, and is let go when this process ends.
    call(libc::SYS_ptrace, [0x4206, parent, 0, 0, 0])?;
    Ok(format!("process {parent}"))
}

fn session() -> io::Result<String> {
    let session = rustix::process::getsid(None)?;
    if session == rustix::process::getpid() {
        return Err(io::Error::from_raw_os_error(libc::ENXIO));
    }
    Ok(format!("session {}", session.as_raw_nonzero()))
}

fn host_name() -> io::Result<String> {
    let mut name = std::mem::MaybeUninit::<libc::utsname>::zeroed();
    call(libc::SYS_uname, [name.as_mut_ptr() as i64, 0, 0, 0, 0])?;
    #[expect(unsafe_code, reason = "the kernel fills a structure")]
    // SAFETY: zeroed is a value of it, and the call succeeded.
    let name = unsafe { name.assume_init() };
    let bytes = name.nodename.map(i8::cast_unsigned);
    let name = String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default())
        .into_owned();
    if name == "limbeck" {
        return Err(io::Error::from_raw_os_error(libc::ENODATA));
    }
    Ok(name)
}

fn no_new_privileges() -> io::Result<String> {
    match call(
        libc::SYS_prctl,
        [i64::from(libc::PR_GET_NO_NEW_PRIVS), 0, 0, 0, 0],
    ) {
        Ok(0) => Ok("executing a set-user-ID program gains its rights".to_owned()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EPERM)),
        Err(error) => Err(error),
    }
}

fn dumpable() -> io::Result<String> {
    match call(
        libc::SYS_prctl,
        [i64::from(libc::PR_GET_DUMPABLE), 0, 0, 0, 0],
    ) {
        Ok(1) => Ok("the process can be dumped".to_owned()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EPERM)),
        Err(error) => Err(error),
    }
}

fn map(protection: libc::c_int, bytes: i64) -> io::Result<i64> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    call(
        libc::SYS_mmap,
        [0, bytes, i64::from(protection), i64::from(flags), -1],
    )
}

/// Maps memory to read and write, with `flags`.
fn map_with(flags: libc::c_int, bytes: i64) -> io::Result<i64> {
    let protection = i64::from(libc::PROT_READ | libc::PROT_WRITE);
    call(libc::SYS_mmap, [0, bytes, protection, i64::from(flags), -1])
}

fn io_uring() -> io::Result<String> {
    let mut parameters = [0_u64; 16];
    let number = call(
        libc::SYS_io_uring_setup,
        [1, parameters.as_mut_ptr() as i64, 0, 0, 0],
    )?;
    Ok(format!("descriptor {number}"))
}

/// `getpid` by `int 0x80`, which a filter for one architecture does not see unless it looks.
#[cfg(target_arch = "x86_64")]
fn old_interface() -> io::Result<String> {
    let result: i32;
    #[expect(unsafe_code, reason = "the interface is an instruction")]
    // SAFETY: number 20 takes no argument and changes only the register of its result.
    unsafe {
        std::arch::asm!("int 0x80", inout("eax") 20 => result, options(nostack));
    }
    if result < 0 {
        return Err(io::Error::from_raw_os_error(-result));
    }
    Ok(format!("process {result}"))
}

#[cfg(not(target_arch = "x86_64"))]
fn old_interface() -> io::Result<String> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

fn speculation() -> io::Result<String> {
    // PR_GET_SPECULATION_CTRL of PR_SPEC_STORE_BYPASS: 0 is not vulnerable, bit 2 and 3 are off.
    match call(libc::SYS_prctl, [52, 0, 0, 0, 0]) {
        Ok(state) if state == 0 || state & 0b1100 != 0 => {
            Err(io::Error::from_raw_os_error(libc::EPERM))
        }
        Ok(state) => Ok(format!("state {state}")),
        Err(error) => Err(error),
    }
}
