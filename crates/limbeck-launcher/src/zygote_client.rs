//! Gateway side of a zygote: requests workers and receives their exit statuses.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use limbeck_domain::Language;
use limbeck_wire::WORKER_ARGV0;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::process::{Child, Command};
use tokio::sync::{Mutex as AsyncMutex, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::control::{self, FromZygote, ToZygote};
use crate::memory_group::MemoryGroup;
use crate::{Exit, WorkerError, WorkerProgram};

/// Time for a zygote to load the engine: a hundred times what it takes on an idle machine.
const UP_MS: u64 = 5_000;
/// Requests in flight; the pool has fewer.
const REQUESTS_MAX: usize = 1024;

/// A worker as the zygote made it.
#[derive(Debug)]
pub(crate) struct Forked {
    pub(crate) pid: u32,
    pub(crate) pidfd: OwnedFd,
    /// Its exit status. The channel closes without one when the zygote ends.
    pub(crate) exit: oneshot::Receiver<Exit>,
}

/// A running zygote. Dropping it kills it, and with it every worker.
#[derive(Debug)]
pub(crate) struct ZygoteClient {
    shared: Arc<Shared>,
    /// Held while it is being ended.
    child: Arc<AsyncMutex<Child>>,
    listener: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    control: AsyncFd<OwnedFd>,
    /// The zygote's and its workers'; the reason when it does not exist.
    memory_group: Result<MemoryGroup, String>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    gone: bool,
    /// In the order the requests were sent.
    requests: VecDeque<oneshot::Sender<Result<Forked, String>>>,
    living: HashMap<u32, Living>,
    /// Processes of the memory group that the kernel had killed for want of memory, when last counted.
    kills: u64,
}

/// A worker that has not ended.
#[derive(Debug)]
struct Living {
    exit: oneshot::Sender<Exit>,
    /// [`State::kills`] when it was forked.
    kills_before: u64,
}

impl ZygoteClient {
    /// Starts one and waits until it can fork.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Spawn`] or [`WorkerError::Zygote`].
    pub(crate) async fn start(
        program: &WorkerProgram,
        language: Language,
    ) -> Result<Self, WorkerError> {
        let spawn_error = |error: io::Error| WorkerError::Spawn {
            path: program.path.clone(),
            error,
        };
        let (ours, theirs) = control_sockets().map_err(spawn_error)?;
        let child = command(program, language)
            .stdin(Stdio::from(theirs))
            .spawn()
            .map_err(spawn_error)?;
        let (wanted, pid) = (program.wants_memory_group(), child.id());
        #[expect(
            unsafe_code,
            reason = "registering needs a promise about the descriptor"
        )]
        // SAFETY: an owned descriptor is open and the same as long as its owner, which is moved in.
        let control = unsafe { AsyncFd::register(ours) };
        let control = control.map_err(|error| spawn_error(error.into()))?;
        // In another thread, while the zygote loads the engine: the kernel takes a while to move it.
        let grouped = tokio::task::spawn_blocking(move || group(wanted, pid));
        let up = timeout(Duration::from_millis(UP_MS), receive(&control)).await;
        match up {
            Ok(Ok(Some((FromZygote::Up, _)))) => {}
            Ok(Ok(Some((FromZygote::Down { reason }, _)))) => {
                return Err(WorkerError::Zygote { reason });
            }
            Ok(Ok(_)) => return Err(zygote_error("it ended before it was ready")),
            Ok(Err(error)) => return Err(zygote_error(error)),
            Err(_) => return Err(zygote_error(format!("it was not ready within {UP_MS} ms"))),
        }
        // Before the first worker is cloned, which is where the zygote is.
        let memory_group = grouped.await.unwrap_or_else(|error| Err(error.to_string()));
        let shared = Arc::new(Shared {
            control,
            memory_group,
            state: Mutex::default(),
        });
        let child = Arc::new(AsyncMutex::new(child));
        let listener = tokio::spawn(listen(Arc::clone(&shared), Arc::clone(&child)));
        Ok(Self {
            shared,
            child,
            listener,
        })
    }

    /// The memory control group, or the reason why it does not exist.
    pub(crate) fn memory_group(&self) -> Result<&MemoryGroup, &String> {
        self.shared.memory_group.as_ref()
    }

    /// Whether it can be asked no more.
    pub(crate) fn is_gone(&self) -> bool {
        self.shared.state().gone
    }

    /// Whether the process has not ended.
    ///
    /// A worker that was cloned just before its zygote ended may have missed the signal which ends it
    /// with its zygote. Of one that is ready and whose zygote has not ended after that, this is certain.
    pub(crate) async fn is_alive(&self) -> bool {
        if self.is_gone() {
            return false;
        }
        let is_alive = matches!(self.child.lock().await.try_wait(), Ok(None));
        if !is_alive {
            self.shared.state().gone = true;
        }
        is_alive
    }

    /// Asks for a worker that holds `channel`.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Zygote`] when it is gone or cannot clone.
    pub(crate) async fn fork(
        &self,
        request: ToZygote,
        channel: OwnedFd,
    ) -> Result<Forked, WorkerError> {
        let answer = self.shared.request(request, channel).await?;
        match answer.await {
            Ok(Ok(forked)) => Ok(forked),
            Ok(Err(reason)) => Err(WorkerError::Zygote { reason }),
            Err(_) => Err(zygote_error("it ended")),
        }
    }

    /// Ends it and waits until it is gone; its workers are killed by the kernel.
    pub(crate) async fn end(&self) {
        self.listener.abort();
        self.shared.lost();
        if let Err(error) = self.child.lock().await.kill().await {
            tracing::warn!(%error, "zygote could not be killed");
        }
        self.shared.remove_memory_group().await;
    }
}

impl Drop for ZygoteClient {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn request(
        &self,
        request: ToZygote,
        channel: OwnedFd,
    ) -> Result<oneshot::Receiver<Result<Forked, String>>, WorkerError> {
        loop {
            {
                // Sent under the lock, so that requests and answers have the same order.
                let mut state = self.state();
                if state.gone || state.requests.len() >= REQUESTS_MAX {
                    return Err(zygote_error("it takes no requests"));
                }
                self.allow_memory(&state, 1);
                match control::send(
                    self.control.get_ref().as_fd(),
                    &request,
                    Some(channel.as_fd()),
                ) {
                    Ok(()) => {
                        let (sender, answer) = oneshot::channel();
                        state.requests.push_back(sender);
                        return Ok(answer);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => {
                        // The listener sees the end later. Until then other requests must not be sent to it.
                        state.gone = true;
                        return Err(zygote_error(error));
                    }
                }
            }
            let mut ready = self.control.writable().await.map_err(zygote_error)?;
            ready.clear_ready();
        }
    }

    /// Handles one message.
    fn handle(&self, message: FromZygote, descriptor: Option<OwnedFd>) {
        let mut state = self.state();
        match (message, descriptor) {
            (FromZygote::Forked { pid }, Some(pidfd)) => {
                let (sender, exit) = oneshot::channel();
                let living = Living {
                    exit: sender,
                    kills_before: state.kills,
                };
                state.living.insert(pid, living);
                if let Some(request) = state.requests.pop_front() {
                    // The requester may have been dropped. Its end of the channel is closed then, and the
                    // worker ends by itself.
                    let _ = request.send(Ok(Forked { pid, pidfd, exit }));
                }
            }
            (FromZygote::Forked { .. }, None) => {
                if let Some(request) = state.requests.pop_front() {
                    let _ = request.send(Err("no descriptor left for another worker".to_owned()));
                }
            }
            (FromZygote::Refused { reason }, _) => {
                if let Some(request) = state.requests.pop_front() {
                    let _ = request.send(Err(reason));
                }
            }
            (FromZygote::Exited { pid, exit }, _) => {
                if exit == Exit::Signal(libc::SIGKILL) {
                    state.kills = self.kills();
                }
                if let Some(living) = state.living.remove(&pid) {
                    living.ended(exit, state.kills);
                }
            }
            (FromZygote::Up | FromZygote::Down { .. }, _) => {}
        }
        self.allow_memory(&state, 0);
    }

    /// Adapts the limit of the memory group to the workers there are and `more`.
    fn allow_memory(&self, state: &State, more: usize) {
        if let Ok(group) = &self.memory_group {
            group.allow(state.living.len() + state.requests.len() + more);
        }
    }

    fn kills(&self) -> u64 {
        self.memory_group.as_ref().map_or(0, MemoryGroup::kills)
    }

    async fn remove_memory_group(&self) {
        if let Ok(group) = &self.memory_group {
            group.remove().await;
        }
    }

    fn lost(&self) {
        let mut state = self.state();
        state.gone = true;
        state.requests.clear();
        // The kernel may have killed the zygote, and its workers end with it.
        state.kills = self.kills();
        let kills = state.kills;
        for (_, living) in state.living.drain() {
            if living.ended_for_memory(kills) {
                living.ended(Exit::OutOfMemory, kills);
            }
        }
    }
}

impl Living {
    /// Reports its end. A kill counts as one for memory when the kernel has killed for memory in its life:
    /// of a worker that the gateway kills, it does not read how it ended.
    fn ended(self, exit: Exit, kills: u64) {
        let is_kill = exit == Exit::Signal(libc::SIGKILL);
        let exit = if is_kill && self.ended_for_memory(kills) {
            Exit::OutOfMemory
        } else {
            exit
        };
        // The handle of the worker may have been dropped.
        let _ = self.exit.send(exit);
    }

    fn ended_for_memory(&self, kills: u64) -> bool {
        kills > self.kills_before
    }
}

/// The group for the zygote `pid`, if one is wanted; the reason when it does not exist.
fn group(wanted: bool, pid: Option<u32>) -> Result<MemoryGroup, String> {
    if !wanted {
        return Err("a test leaves it out".to_owned());
    }
    let pid = pid.ok_or("the zygote has ended")?;
    MemoryGroup::around(pid)
}

async fn receive(control: &AsyncFd<OwnedFd>) -> io::Result<Option<(FromZygote, Option<OwnedFd>)>> {
    control
        .async_io(Interest::READABLE, |control| {
            control::receive(control.as_fd())
        })
        .await
}

/// Reads messages of the zygote until it ends, and reaps it.
async fn listen(shared: Arc<Shared>, child: Arc<AsyncMutex<Child>>) {
    loop {
        match receive(&shared.control).await {
            Ok(Some((message, descriptor))) => shared.handle(message, descriptor),
            Ok(None) => break,
            Err(error) => {
                tracing::error!(%error, "cannot receive from the zygote");
                break;
            }
        }
    }
    shared.lost();
    // A zygote whose messages cannot be read may still run.
    if let Err(error) = child.lock().await.kill().await {
        tracing::warn!(%error, "zygote could not be killed");
    }
    shared.remove_memory_group().await;
}

fn control_sockets() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((ours, theirs))
}

/// The executable under the worker's name, with the control socket as its only descriptor.
fn command(program: &WorkerProgram, language: Language) -> Command {
    let mut command = Command::new(&program.path);
    command
        .arg0(WORKER_ARGV0)
        .arg(language.as_str())
        .env_clear()
        .current_dir("/")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    #[cfg(feature = "assume-escape")]
    program.add_test_arguments(&mut command);
    command
}

fn zygote_error(reason: impl ToString) -> WorkerError {
    WorkerError::Zygote {
        reason: reason.to_string(),
    }
}
