//! Life cycle of a worker: load, arm, serve one program, end.
//!
//! Two threads. The *guest thread* has a stack large enough for the deepest program, reads and
//! writes the channel and runs the guest. The first thread is the watchdog: it sleeps until the
//! program's time is up and then makes the guest stop at its next loop or call.
//!
//! The lockdown happens in two places, both before the first byte from outside is read:
//! - [`PreparedWorker::load`] happens once, in the process that all workers are copies of; between it and
//!   [`PreparedWorker::arm`] there is one thread, and what is imposed on it the guest thread inherits;
//! - between [`PreparedWorker::arm`] and [`ArmedWorker::serve`] all threads, stacks and memory exist: nothing
//!   but reading, writing, memory management, waiting on a futex and exiting is needed any more.

use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use limbeck_analysis::PARSER_STACK_BYTES;
use limbeck_domain::{Language, Sandbox};
use limbeck_wire::{FromWorker, PROTOCOL_VERSION, Ready, WorkerChannel};
use wasmtime::Engine;

use crate::channel::{Channel, ChannelError};
use crate::engine::LanguageEngine;
use crate::javascript::JavascriptEngine;
use crate::python::PythonEngine;
use crate::run;

/// Stack of the guest thread: what the guest may use, and what the parser needs for the deepest
/// program it is given. Reserved, not used: pages count when they are touched.
const GUEST_STACK_BYTES: usize = limbeck_guests::WASM_STACK_BYTES + PARSER_STACK_BYTES;

/// Error of loading an engine or starting its thread.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
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

impl From<wasmtime::Error> for EngineError {
    fn from(error: wasmtime::Error) -> Self {
        Self::Engine(error)
    }
}

/// A worker whose engine and guest are loaded.
pub struct PreparedWorker {
    wasm: Engine,
    engine: Box<dyn LanguageEngine>,
}

impl PreparedWorker {
    /// Loads the engine and makes a guest for programs of a language.
    ///
    /// The process still has one thread and has read nothing from outside. Copies of it share the loaded pages
    /// until they write to them.
    ///
    /// # Errors
    ///
    /// [`EngineError::Engine`].
    pub fn load(language: Language) -> Result<Self, EngineError> {
        let mut config = limbeck_guests::engine_config();
        let (wasm, engine): (Engine, Box<dyn LanguageEngine>) = match language {
            Language::Typescript => {
                let (wasm, module) = limbeck_guests::load_javascript(&mut config)?;
                let engine = JavascriptEngine::new(&wasm, &module)?;
                (wasm, Box::new(engine))
            }
            Language::Python => {
                let (wasm, component) = limbeck_guests::load_python(&mut config)?;
                let engine = PythonEngine::new(&wasm, &component)?;
                (wasm, Box::new(engine))
            }
        };
        Ok(Self { wasm, engine })
    }

    /// Starts the guest thread and makes everything a program needs.
    ///
    /// # Errors
    ///
    /// Any [`EngineError`].
    pub fn arm(self) -> Result<ArmedWorker, EngineError> {
        // With room for one, so that no sender waits for its receiver.
        let (to_guest, channels) = mpsc::sync_channel(1);
        let (to_watchdog, watchdog) = mpsc::channel();
        let (report_armed, armed) = mpsc::sync_channel(1);
        let engine = self.engine;
        let thread = thread::Builder::new()
            .name("guest".to_owned())
            .stack_size(GUEST_STACK_BYTES)
            .spawn(move || guest_thread(engine, &report_armed, &channels, &to_watchdog))
            .map_err(EngineError::Thread)?;
        armed.recv().map_err(|_| EngineError::Lost)??;
        Ok(ArmedWorker {
            wasm: self.wasm,
            to_guest,
            watchdog,
            thread,
        })
    }
}

/// A worker that is ready for a program and has read nothing from outside.
pub struct ArmedWorker {
    wasm: Engine,
    to_guest: SyncSender<(WorkerChannel, Sandbox)>,
    watchdog: Receiver<Instant>,
    thread: JoinHandle<ExitCode>,
}

impl ArmedWorker {
    /// Sends `Ready`, runs the one program that arrives, and returns when its `Done` is sent.
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
    /// number, and the watchdog raises it once, so a waiting worker never wakes.
    fn watch(&self) {
        let Ok(deadline) = self.watchdog.recv() else {
            return;
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if let Err(RecvTimeoutError::Timeout) = self.watchdog.recv_timeout(left) {
            self.wasm.increment_epoch();
        }
    }
}

/// Main function of the guest thread. Dropping `watchdog` ends the wait of the first thread.
fn guest_thread(
    mut engine: Box<dyn LanguageEngine>,
    report_armed: &SyncSender<Result<(), EngineError>>,
    channels: &Receiver<(WorkerChannel, Sandbox)>,
    watchdog: &Sender<Instant>,
) -> ExitCode {
    if let Err(error) = engine.warm_up() {
        // `arm` waits for this report, so the receiver still exists.
        let _ = report_armed.send(Err(error.into()));
        return ExitCode::FAILURE;
    }
    let (Ok(()), Ok((channel, sandbox))) = (report_armed.send(Ok(())), channels.recv()) else {
        return ExitCode::FAILURE;
    };
    // The gateway has the last frame, or sees the end of the channel. Nothing else can be reported.
    match serve_one(&mut *engine, channel, sandbox, watchdog) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve_one(
    engine: &mut dyn LanguageEngine,
    channel: WorkerChannel,
    sandbox: Sandbox,
    watchdog: &Sender<Instant>,
) -> Result<(), ChannelError> {
    let mut channel = Channel::new(channel);
    channel.send(&FromWorker::Ready(Ready {
        protocol: PROTOCOL_VERSION,
        guest_hash: limbeck_guests::guest_hash(engine.language()).to_owned(),
        sandbox,
    }))?;
    channel.flush()?;
    let Some(start) = run::receive_start(&mut channel)? else {
        return Ok(());
    };
    let deadline = Instant::now().checked_add(Duration::from_millis(start.program.limits.wall_ms));
    // A limit that the clock cannot express is never reached.
    if let Some(deadline) = deadline {
        // The watchdog only stops listening when it has seen this thread end.
        let _ = watchdog.send(deadline);
    }
    run::run(engine, channel, &start)
}
