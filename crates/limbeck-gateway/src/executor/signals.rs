//! Signals that end a process, by name. Only Unix has them.

use std::borrow::Cow;

use limbeck_launcher::Exit;

/// The signal's name; its number when the name is unknown.
pub(super) fn name(number: i32) -> Cow<'static, str> {
    match known(number) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("signal {number}")),
    }
}

/// Whether a process was killed from outside, as far as its exit status shows.
pub(super) fn was_killed(exit: Exit) -> bool {
    match exit {
        Exit::Signal(signal) => known(signal) == Some("SIGKILL"),
        Exit::Code(_) | Exit::OutOfMemory => false,
    }
}

#[cfg(unix)]
use unix::known;

#[cfg(not(unix))]
fn known(_: i32) -> Option<&'static str> {
    None
}

#[cfg(unix)]
mod unix {
    use rustix::process::Signal;

    /// Signals that end a process by default; numbers differ between systems.
    pub(super) const ALL: &[(Signal, &str)] = &[
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::VTALARM, "SIGVTALRM"),
        (Signal::PROF, "SIGPROF"),
        (Signal::SYS, "SIGSYS"),
    ];

    pub(super) fn known(number: i32) -> Option<&'static str> {
        let found = ALL.iter().find(|(signal, _)| signal.as_raw() == number);
        found.map(|(_, name)| *name)
    }
}
