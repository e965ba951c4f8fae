//! The life of a worker: prepare, arm, serve one program, end.
//!
//! Two threads. The *guest thread* has a stack large enough for the deepest program, reads and
//! writes the channel and runs the guest. The first thread is the watchdog: it sleeps until the
//! program's time is up and then makes the guest stop at its next loop or call.
//!
//! The lockdown stands in two places, both before the first byte from outside is read:
//! - [`Worker::prepare`] happens once, in the process that all workers are copies of; between it and
//!   [`Prepared::arm`] there is one thread, and what is imposed on it the guest thread inherits;
//! - between [`Prepared::arm`] and [`Armed::serve`] all threads, stacks and memory exist: nothing
//!   but reading, writing, memory management, waiting on a futex and exiting is needed any more.

use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use limbeck_wire::domain::{Language, Sandbox};
use limbeck_wire::{FromWorker, PROTOCOL_VERSION, Ready, WorkerChannel};
use wasmtime::Engine;

use crate::channel::{Channel, ChannelError};
use crate::engine_config::engine_config;
use crate::run::{self, Guest};
use crate::{image, javascript, python, source};

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
    /// Loads the engine and makes a guest for programs of a language. Still one thread, nothing read from
    /// outside; copies of this process share what it has in memory until they write to it.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Engine`].
    pub fn prepare(language: Language) -> Result<Prepared, WorkerError> {
        let mut config = engine_config();
        let (engine, guest) = match language {
            Language::Typescript => {
                let (engine, module) = image::javascript(&mut config)?;
                let module = javascript::linker(&engine)?.instantiate_pre(&module)?;
                let guest = instance(|| javascript::Guest::new(&module))?;
                source::warm_up();
                (engine, Guest::Javascript(Box::new(guest)))
            }
            Language::Python => {
                let (engine, component) = image::python(&mut config)?;
                let linker = python::linker(&engine, &component)?;
                let component = linker.instantiate_pre(&component)?;
                let guest = Guest::Python(instance(|| python::Guest::new(&component))?);
                python::warm_up();
                (engine, guest)
            }
        };
        Ok(Prepared { engine, guest })
    }
}

/// Makes the first instance of a guest. That stores its heap in a file of memory and seals it, which
/// Linux refuses while it happens to hold one of the pages for a purpose of its own (`EBUSY`).
fn instance<T>(make: impl Fn() -> wasmtime::Result<T>) -> wasmtime::Result<T> {
    make().or_else(|_| make()).or_else(|_| make())
}

/// Engine and guest are loaded.
pub struct Prepared {
    engine: Engine,
    guest: Guest,
}

impl Prepared {
    /// Starts the guest thread and makes everything a program needs.
    ///
    /// # Errors
    ///
    /// Any [`WorkerError`].
    pub fn arm(self) -> Result<Armed, WorkerError> {
        let (to_guest, channels) = mpsc::sync_channel(1);
        let (to_watchdog, watchdog) = mpsc::channel();
        let (report_armed, armed) = mpsc::sync_channel(1);
        let guest = self.guest;
        let thread = thread::Builder::new()
            .name("guest".to_owned())
            .stack_size(GUEST_STACK_BYTES)
            .spawn(move || guest_thread(guest, &report_armed, &channels, &to_watchdog))
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
    to_guest: SyncSender<(WorkerChannel, Sandbox)>,
    watchdog: Receiver<Instant>,
    thread: JoinHandle<ExitCode>,
}

impl Armed {
    /// Says `Ready`, runs the one program that comes, and returns when its `Done` is sent.
    /// `sandbox` is what was found to hold around this process.
    ///
    /// Success also when the gateway closes the channel without sending a program.
    pub fn serve(self, channel: WorkerChannel, sandbox: Sandbox) -> ExitCode {
        if self.to_guest.send((channel, sandbox)).is_err() {
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
    mut guest: Guest,
    report_armed: &SyncSender<Result<(), WorkerError>>,
    channels: &Receiver<(WorkerChannel, Sandbox)>,
    watchdog: &Sender<Instant>,
) -> ExitCode {
    if let Err(error) = warm_up(&mut guest) {
        // Whoever waits for this report cannot go away before it.
        let _ = report_armed.send(Err(error.into()));
        return ExitCode::FAILURE;
    }
    let (Ok(()), Ok((channel, sandbox))) = (report_armed.send(Ok(())), channels.recv()) else {
        return ExitCode::FAILURE;
    };
    // The gateway has the last frame or sees the channel end; there is nobody else to tell.
    match serve_one(&mut guest, channel, sandbox, watchdog) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Does once what is slow only the first time: the thread's signal stack, the pages of the heap.
fn warm_up(guest: &mut Guest) -> wasmtime::Result<()> {
    match guest {
        Guest::Javascript(guest) => {
            guest.wake_at()?;
            guest.touch_pages();
        }
        Guest::Python(guest) => guest.warm_up()?,
    }
    Ok(())
}

fn serve_one(
    guest: &mut Guest,
    channel: WorkerChannel,
    sandbox: Sandbox,
    watchdog: &Sender<Instant>,
) -> Result<(), ChannelError> {
    let mut channel = Channel::new(channel);
    channel.send(&FromWorker::Ready(Ready {
        protocol: PROTOCOL_VERSION,
        guest_hash: image::guest_hash(guest.language()).to_owned(),
        sandbox,
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
