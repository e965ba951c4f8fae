//! The zygote process: loads the engine once, clones a worker for each request of the gateway, and reports how
//! workers end.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::process::ExitCode;

use limbeck_domain::{Layer, MissingLayer};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{
    Resource, Rlimit, WaitId, WaitIdOptions, WaitIdStatus, getrlimit, setrlimit, setsid, waitid,
};

use super::lockdown::{self, Lockdown};
use super::namespaces::Surroundings;
use super::seccomp::Filters;
use super::verify::Seen;
use super::{ActiveLayers, WorkerMain, WorkerMainError};
use crate::control::{self, FromZygote, ToZygote};
use crate::exit::{Exit, SETUP_FAILED};
use crate::probe;

/// First of the user ids workers of a gateway that is root get, one after another: far from any that
/// is given to people or services, and each in no use by another worker.
const FIRST_ID: u32 = 0x6C62_0000;
/// How many there are before the first comes again.
const IDS: u32 = 1 << 16;
/// Mark of the control socket among the events; no process has this id.
const CONTROL: u64 = 0;
/// Events taken at a time.
const EVENTS: usize = 32;

/// Main function of the zygote.
pub(super) fn main<T: WorkerMain>(
    prepare: impl FnOnce() -> Result<T, WorkerMainError>,
) -> ExitCode {
    // Descriptors that a parent left open must not reach a worker.
    if lockdown::close_from(lockdown::CHANNEL.cast_unsigned()).is_err() {
        return ExitCode::FAILURE;
    }
    match Zygote::prepare(prepare) {
        Ok(zygote) => zygote.serve(),
        Err(error) => {
            // The gateway may have ended already; the report is lost then.
            let _ = control::send(io::stdin().as_fd(), &FromZygote::down(&*error), None);
            ExitCode::FAILURE
        }
    }
}

/// The zygote process. Its control socket is standard input, which no other code reads.
struct Zygote<T> {
    tenant: T,
    null: OwnedFd,
    layers: ActiveLayers,
    surroundings: Surroundings,
    filters: Filters,
    events: OwnedFd,
    workers: HashMap<u32, OwnedFd>,
    /// `CLONE_NEW*` of a worker.
    namespaces: libc::c_int,
    cloned: u32,
}

/// Next step after an event.
enum Next {
    GoOn,
    Leave,
    /// This process is a new worker.
    Work(ToZygote, OwnedFd),
}

/// Side of a clone on which the code runs.
enum Side {
    Zygote { pid: u32, pidfd: OwnedFd },
    Worker,
}

impl<T: WorkerMain> Zygote<T> {
    fn prepare(
        prepare: impl FnOnce() -> Result<T, WorkerMainError>,
    ) -> Result<Self, WorkerMainError> {
        // Leaves the gateway's terminal. It fails in a process that leads a group already.
        let _ = setsid();
        raise_descriptor_limit();
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let null = openat(CWD, "/dev/null", flags, Mode::empty())?;
        let tenant = prepare()?;
        let filters = Filters::compile()?;
        let events = epoll::create(CreateFlags::CLOEXEC)?;
        let event = EventData::new_u64(CONTROL);
        epoll::add(&events, io::stdin(), event, EventFlags::IN)?;
        let layers = ActiveLayers::read();
        let surroundings = Surroundings::leave(layers)?;
        let namespaces = [
            (Layer::PidNamespace, libc::CLONE_NEWPID),
            (Layer::IpcNamespace, libc::CLONE_NEWIPC),
        ];
        Ok(Self {
            tenant,
            null,
            layers,
            surroundings,
            filters,
            events,
            workers: HashMap::new(),
            namespaces: namespaces
                .into_iter()
                .filter(|(layer, _)| layers.has(*layer))
                .fold(0, |flags, (_, flag)| flags | flag),
            cloned: 0,
        })
    }

    fn serve(mut self) -> ExitCode {
        if control::send(io::stdin().as_fd(), &FromZygote::Up, None).is_err() {
            return ExitCode::FAILURE;
        }
        loop {
            match self.turn() {
                Ok(Next::GoOn) => {}
                Ok(Next::Leave) => return ExitCode::SUCCESS,
                Ok(Next::Work(request, channel)) => return self.work(request, channel),
                Err(_) => return ExitCode::FAILURE,
            }
        }
    }

    /// Waits for events and handles them.
    fn turn(&mut self) -> io::Result<Next> {
        let mut events = Vec::with_capacity(EVENTS);
        match epoll::wait(&self.events, spare_capacity(&mut events), None) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Next::GoOn),
            Err(error) => return Err(error.into()),
        }
        for event in events {
            match event.data.u64() {
                CONTROL => match self.request()? {
                    Next::GoOn => {}
                    next => return Ok(next),
                },
                pid => self.reap(pid as u32)?,
            }
        }
        Ok(Next::GoOn)
    }

    fn request(&mut self) -> io::Result<Next> {
        let stdin = io::stdin();
        let Some((request, channel)) = control::receive::<ToZygote>(stdin.as_fd())? else {
            return Ok(Next::Leave);
        };
        let Some(channel) = channel else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        self.cloned = self.cloned.wrapping_add(1);
        match self.clone_worker() {
            Ok(Side::Worker) => Ok(Next::Work(request, channel)),
            Ok(Side::Zygote { pid, pidfd }) => {
                let event = EventData::new_u64(u64::from(pid));
                epoll::add(&self.events, &pidfd, event, EventFlags::IN)?;
                let forked = FromZygote::Forked { pid };
                control::send(stdin.as_fd(), &forked, Some(pidfd.as_fd()))?;
                self.workers.insert(pid, pidfd);
                Ok(Next::GoOn)
            }
            Err(error) => {
                control::send(stdin.as_fd(), &FromZygote::refused(&error), None)?;
                Ok(Next::GoOn)
            }
        }
    }

    /// Clones with namespaces, or without from the first clone on that the system refuses.
    fn clone_worker(&mut self) -> io::Result<Side> {
        match clone(self.namespaces) {
            Err(error) if self.namespaces != 0 => {
                for layer in [Layer::PidNamespace, Layer::IpcNamespace] {
                    let reason = format!("clone: {error}");
                    let missing = MissingLayer { layer, reason };
                    self.surroundings.failures.push(missing);
                }
                self.namespaces = 0;
                clone(0)
            }
            result => result,
        }
    }

    fn reap(&mut self, pid: u32) -> io::Result<()> {
        let Some(pidfd) = self.workers.remove(&pid) else {
            return Ok(());
        };
        let status = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED)?;
        let signal = |status: &WaitIdStatus| status.terminating_signal().map(Exit::Signal);
        let exit = status.and_then(|status| {
            let code = status.exit_status().map(Exit::Code);
            code.or_else(|| signal(&status))
        });
        let exit = exit.unwrap_or(Exit::Code(-1));
        control::send(io::stdin().as_fd(), &FromZygote::Exited { pid, exit }, None)
    }

    /// The life of a worker: lockdown, then one program or one probe.
    fn work(self, request: ToZygote, channel: OwnedFd) -> ExitCode {
        let id = self.worker_id();
        let Self {
            tenant,
            null,
            layers,
            mut surroundings,
            filters,
            events,
            workers,
            ..
        } = self;
        surroundings.give_way();
        let mut seen = Seen::first(&surroundings);
        let failures = std::mem::take(&mut surroundings.failures);
        // Their numbers are closed or given to others below: dropping them would close those.
        std::mem::forget((surroundings, events, workers));
        let Ok(channel) = lockdown::arrange_descriptors(layers, null, channel) else {
            return ExitCode::from(SETUP_FAILED);
        };
        let mut lockdown = Lockdown::new(layers, failures);
        lockdown.before_threads(id);
        seen.before_threads();
        let Ok(armed) = tenant.arm() else {
            return ExitCode::from(SETUP_FAILED);
        };
        lockdown.after_threads();
        seen.before_filter();
        lockdown.load_filter(&filters);
        let sandbox = seen.sum_up(lockdown.into_failures());
        match request {
            ToZygote::Serve => T::serve(armed, File::from(channel), sandbox),
            ToZygote::Probe(number) => probe::run(number, channel),
        }
    }

    /// The user a worker becomes; none where the user namespace has but one.
    fn worker_id(&self) -> Option<u32> {
        let own = self.surroundings.own_user_namespace;
        (!own).then_some(FIRST_ID + self.cloned % IDS)
    }
}

/// A copy of this process, which has one thread, in new namespaces; and a descriptor of it.
///
/// Not `fork`: no wrapper of it takes namespaces, and entering a PID namespace before a fork cannot
/// be taken back without privileges on the host.
fn clone(namespaces: libc::c_int) -> io::Result<Side> {
    let mut pidfd: libc::c_int = -1;
    let flags = namespaces | libc::CLONE_PIDFD | libc::SIGCHLD;
    let none = std::ptr::null_mut::<libc::c_void>();
    #[expect(unsafe_code, reason = "cloning has no safe form")]
    // SAFETY: memory is copied, not shared, and there is no other thread whose locks could be held in
    // the copy. The kernel writes one number to `pidfd`, which outlives the call.
    let pid = unsafe {
        let flags = libc::c_long::from(flags);
        libc::syscall(libc::SYS_clone, flags, none, &raw mut pidfd, none, none)
    };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    if pid == 0 {
        return Ok(Side::Worker);
    }
    #[expect(unsafe_code, reason = "the kernel returns a number")]
    // SAFETY: the call succeeded, so the number is a new descriptor that nothing else owns.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok(Side::Zygote {
        pid: u32::try_from(pid).map_err(io::Error::other)?,
        pidfd,
    })
}

/// The zygote holds one descriptor a worker.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // With the limit as it was there are fewer workers at a time, and the one too many is refused.
    let _ = setrlimit(Resource::Nofile, raised);
}
