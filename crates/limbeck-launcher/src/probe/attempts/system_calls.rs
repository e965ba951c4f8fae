//! Raw system calls of the attempts. Each succeeds with what it reached, or fails with the kernel's error.

use std::io;

pub(super) const PAGE: i64 = 4096;

/// One raw system call.
pub(super) fn call(number: libc::c_long, [a, b, c, d, e]: [i64; 5]) -> io::Result<i64> {
    #[expect(unsafe_code, reason = "a probe is what foreign code would do")]
    // SAFETY: each caller passes numbers, or pointers to data that lives longer than the call.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, 0) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// System call `number` with arguments that mean nothing: only its being let through is of interest.
#[cfg(feature = "assume-escape")]
pub(in crate::probe) fn raw(number: u16) -> io::Result<String> {
    call(libc::c_long::from(number), [-1; 5]).map(|result| result.to_string())
}

pub(super) fn open(path: &std::ffi::CStr, flags: libc::c_int) -> io::Result<String> {
    let here = i64::from(libc::AT_FDCWD);
    let number = call(
        libc::SYS_openat,
        [here, path.as_ptr() as i64, i64::from(flags), 0o600, 0],
    )?;
    Ok(format!("{} as descriptor {number}", path.to_string_lossy()))
}

pub(super) fn stat() -> io::Result<String> {
    let here = i64::from(libc::AT_FDCWD);
    let path = c"/etc/passwd";
    call(libc::SYS_faccessat, [here, path.as_ptr() as i64, 0, 0, 0])?;
    Ok("/etc/passwd exists".to_owned())
}

pub(super) fn memory_file() -> io::Result<String> {
    let name = c"probe";
    let number = call(libc::SYS_memfd_create, [name.as_ptr() as i64, 0, 0, 0, 0])?;
    Ok(format!("descriptor {number}"))
}

/// Writes a file in memory, which no limit of a process counts and which is not resident in one.
#[cfg(feature = "assume-escape")]
pub(in crate::probe) fn fill_memory_file(mebibytes: u16) -> io::Result<String> {
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
pub(super) fn environment() -> io::Result<String> {
    match std::env::vars_os().next() {
        Some((name, _)) => Ok(name.to_string_lossy().into_owned()),
        None => Err(io::Error::from_raw_os_error(libc::ENOENT)),
    }
}

/// Looks by `close`, which the filter lets through: what can be closed was open.
pub(super) fn foreign_descriptors() -> io::Result<String> {
    for number in 4..256 {
        if call(libc::SYS_close, [number, 0, 0, 0, 0]).is_ok() {
            return Ok(format!("descriptor {number}"));
        }
    }
    Err(io::Error::from_raw_os_error(libc::EBADF))
}

pub(super) fn socket(family: libc::c_int, kind: libc::c_int) -> io::Result<String> {
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

pub(super) fn tcp_bind() -> io::Result<String> {
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

pub(super) fn udp() -> io::Result<String> {
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

pub(super) fn fork() -> io::Result<String> {
    let child = call(libc::SYS_clone, [i64::from(libc::SIGCHLD), 0, 0, 0, 0])?;
    if child == 0 {
        call(libc::SYS_exit_group, [0; 5])?;
    }
    Ok(format!("process {child}"))
}

/// An attempt that succeeds ends the process, so the launcher recognises success by a missing report.
pub(super) fn execute() -> io::Result<String> {
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

pub(super) fn read_parent() -> io::Result<String> {
    let parent = call(libc::SYS_getppid, [0; 5])?;
    if parent == 0 {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    // PTRACE_SEIZE and nothing after it: the parent goes on, and is let go when this process ends.
    call(libc::SYS_ptrace, [0x4206, parent, 0, 0, 0])?;
    Ok(format!("process {parent}"))
}

pub(super) fn session() -> io::Result<String> {
    let session = rustix::process::getsid(None)?;
    if session == rustix::process::getpid() {
        return Err(io::Error::from_raw_os_error(libc::ENXIO));
    }
    Ok(format!("session {}", session.as_raw_nonzero()))
}

pub(super) fn host_name() -> io::Result<String> {
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

pub(super) fn no_new_privileges() -> io::Result<String> {
    match call(
        libc::SYS_prctl,
        [i64::from(libc::PR_GET_NO_NEW_PRIVS), 0, 0, 0, 0],
    ) {
        Ok(0) => Ok("executing a set-user-ID program gains its rights".to_owned()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EPERM)),
        Err(error) => Err(error),
    }
}

pub(super) fn dumpable() -> io::Result<String> {
    match call(
        libc::SYS_prctl,
        [i64::from(libc::PR_GET_DUMPABLE), 0, 0, 0, 0],
    ) {
        Ok(1) => Ok("the process can be dumped".to_owned()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EPERM)),
        Err(error) => Err(error),
    }
}

pub(super) fn map(protection: libc::c_int, bytes: i64) -> io::Result<i64> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    call(
        libc::SYS_mmap,
        [0, bytes, i64::from(protection), i64::from(flags), -1],
    )
}

/// Maps memory to read and write, with `flags`.
pub(super) fn map_with(flags: libc::c_int, bytes: i64) -> io::Result<i64> {
    let protection = i64::from(libc::PROT_READ | libc::PROT_WRITE);
    call(libc::SYS_mmap, [0, bytes, protection, i64::from(flags), -1])
}

pub(super) fn io_uring() -> io::Result<String> {
    let mut parameters = [0_u64; 16];
    let number = call(
        libc::SYS_io_uring_setup,
        [1, parameters.as_mut_ptr() as i64, 0, 0, 0],
    )?;
    Ok(format!("descriptor {number}"))
}

/// `getpid` by `int 0x80`, which a filter for one architecture does not see unless it looks.
#[cfg(target_arch = "x86_64")]
pub(super) fn old_interface() -> io::Result<String> {
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
pub(super) fn old_interface() -> io::Result<String> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

pub(super) fn speculation() -> io::Result<String> {
    // PR_GET_SPECULATION_CTRL of PR_SPEC_STORE_BYPASS: 0 is not vulnerable, bit 2 and 3 are off.
    match call(libc::SYS_prctl, [52, 0, 0, 0, 0]) {
        Ok(state) if state == 0 || state & 0b1100 != 0 => {
            Err(io::Error::from_raw_os_error(libc::EPERM))
        }
        Ok(state) => Ok(format!("state {state}")),
        Err(error) => Err(error),
    }
}
