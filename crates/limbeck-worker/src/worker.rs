//! The life of a worker: prepare, arm, serve one program, end.
//!
//! Two threads. The *guest thread* has a stack large enough for the deepest program, reads and
//! writes the channel and runs the guest. The first thread is the watchdog: it sleeps until the
//! program's time is up and then makes the guest stop at its next loop or call.
//!
//! A lockdown has two places to stand, both before the first byte from outside is read:
//! - between [`Worker::prepare`] and [`Prepared::arm`] there is one thread, and executable pages
//!   are mapped: what is imposed on a thread here is inherited by the guest thread;
//! - between [`Prepared::arm`] and [`Armed::serve`] all threads, stacks and memory exist: nothing
//!   but reading, writing, memory management, waiting on a futex and exiting is needed any more.

use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use limbeck_wire::{FromWorker, PROTOCOL_VERSION, Ready};
use wasmtime::{Engine, InstancePre};

use crate::channel::Channel;
use crate::engine_config::engine_config;
use crate::guest::Guest;
use crate::host::{self, Host};
use crate::run::{self, RunError};
use crate::{image, source};

/// Stack of the guest thread: what the guest may use, and what the parser needs for the deepest
/// program it is given. Reserved, not used: pages count when they are touched.
const GUEST_STACK_BYTES: usize = crate::engine_config::WASM_STACK_BYTES + source::STACK_BYTES;

/// Why a worker could not be made ready.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The engine or the guest does not run on this machine.
    #[error("the engine cannot be initialised: {0:#}")]
    Engine(wasmtime::Error),
    /// The guest thread cannot be started.
    #[error("the guest thread cannot be started")]
    Thread(#[source] std::io::Error),
    /// The guest thread ended before it was ready.
    #[error("the guest thread ended before it was ready")]
    Lost,
}

impl From<wasmtime::Error> for WorkerError {
    fn from(error: wasmtime::Error) -> Self {
        Self::Engine(error)
    }
}

/// Where a worker begins.
#[derive(Debug)]
pub struct Worker;

impl Worker {
    /// Loads engine and guest. Still one thread, nothing read from outside.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Engine`].
    pub fn prepare() -> Result<Prepared, WorkerError> {
        let (engine, module) = image::load(&mut engine_config())?;
        let module = host::linker(&engine)?.instantiate_pre(&module)?;
        Ok(Prepared { engine, module })
    }
}

/// Engine and guest are loaded.
pub struct Prepared {
    engine: Engine,
    module: InstancePre<Host>,
}

impl Prepared {
    /// Starts the guest thread and makes the instance and everything a program needs.
    ///
    /// # Errors
    ///
    /// Any [`WorkerError`].
    pub fn arm(self) -> Result<Armed, WorkerError> {
        let (to_guest, channels) = mpsc::sync_channel(1);
        let (to_watchdog, watchdog) = mpsc::channel();
        let (report_armed, armed) = mpsc::sync_channel(1);
        let module = self.module;
        let thread = thread::Builder::new()
            .name("guest".to_owned())
            .stack_size(GUEST_STACK_BYTES)
            .spawn(move || guest_thread(&module, &report_armed, &channels, &to_watchdog))
            .map_err(WorkerError::Thread)?;
        armed.recv().map_err(|_| WorkerError::Lost)??;
        Ok(Armed {
            engine: self.engine,
            to_guest,
            watchdog,
            thread,
        })
    }
}

/// Everything stands ready; nothing was read from outside.
pub struct Armed {
    engine: Engine,
    to_guest: SyncSender<UnixStream>,
    watchdog: Receiver<Instant>,
    thread: JoinHandle<ExitCode>,
}

impl Armed {
    /// Says `Ready`, runs the one program that comes, and returns when its `Done` is sent.
    ///
    /// Success also when the gateway closes the channel without sending a program.
    pub fn serve(self, channel: impl Into<UnixStream>) -> ExitCode {
        if self.to_guest.send(channel.into()).is_err() {
            return ExitCode::FAILURE;
        }
        self.watch();
        self.thread.join().unwrap_or(ExitCode::FAILURE)
    }

    /// Waits for the run to end, and stops the guest when its time is up. The guest checks one
    /// number; raising it once is all the watching there is, so a waiting worker never wakes.
    fn watch(&self) {
        let Ok(deadline) = self.watchdog.recv() else {
            return;
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if let Err(RecvTimeoutError::Timeout) = self.watchdog.recv_timeout(left) {
            self.engine.increment_epoch();
        }
    }
}

/// The whole life of the guest thread. Dropping `watchdog` tells the first thread that it is over.
fn guest_thread(
    module: &InstancePre<Host>,
    report_armed: &SyncSender<Result<(), WorkerError>>,
    channels: &Receiver<UnixStream>,
    watchdog: &Sender<Instant>,
) -> ExitCode {
    let mut guest = match arm_guest(module) {
        Ok(guest) => guest,
        Err(error) => {
            // Whoever waits for this report cannot go away before it.
            let _ = report_armed.send(Err(error.into()));
            return ExitCode::FAILURE;
        }
    };
    let (Ok(()), Ok(stream)) = (report_armed.send(Ok(())), channels.recv()) else {
        return ExitCode::FAILURE;
    };
    match serve_one(&mut guest, stream, watchdog) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

/// Makes the instance, and does once what is slow only the first time: the thread's signal stack,
/// the pages of heap and parser.
fn arm_guest(module: &InstancePre<Host>) -> wasmtime::Result<Guest> {
    let mut guest = Guest::new(module)?;
    guest.wake_at()?;
    guest.touch_pages();
    source::warm_up();
    Ok(guest)
}

fn serve_one(
    guest: &mut Guest,
    stream: UnixStream,
    watchdog: &Sender<Instant>,
) -> Result<(), RunError> {
    let mut channel = Channel::new(stream);
    channel.send(&FromWorker::Ready(Ready {
        protocol: PROTOCOL_VERSION,
        guest_hash: image::guest_hash().to_owned(),
    }))?;
    channel.flush()?;
    let Some(start) = run::receive_start(&mut channel)? else {
        return Ok(());
    };
    let deadline = Instant::now().checked_add(Duration::from_millis(start.limits.wall_ms));
    if let Some(deadline) = deadline {
        // The watchdog only stops listening when it has seen this thread end.
        let _ = watchdog.send(deadline);
    }
    run::run(guest, channel, &start)
}

/// Tells the operator why the worker ends; the gateway keeps what its workers write here.
fn report(error: &dyn std::error::Error) {
    let mut text = format!("limbeck-worker: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    eprintln!("{text}");
}

/// Asks the kernel to kill this process when the thread that started it ends, as on `kill -9` of the
/// gateway: a guest that computes never reads its channel, so it would not notice by itself.
///
/// Gateways start workers from threads that live as long as their runtime. One that died before this
/// call is noticed at the channel, which is read next. Only on Linux.
pub fn die_with_parent() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, set_parent_process_death_signal};
        // It cannot fail for a valid signal, and there is nobody to tell yet.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
    }
}

/// Prepares, arms and serves: the whole process behind [`limbeck_wire::WORKER_ARGV0`].
pub fn run(channel: impl Into<UnixStream>) -> ExitCode {
    match Worker::prepare().and_then(Prepared::arm) {
        Ok(armed) => armed.serve(channel),
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}
