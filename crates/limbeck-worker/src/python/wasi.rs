//! The system a Python guest believes to run on: WASI, as far as CPython needs it.
//!
//! A clock that moves when the gateway says so, random bytes from the start's seed, files in memory,
//! standard streams that are the log, no environment, no arguments and no network. What CPython never
//! asks for is not linked; asking for it stops the guest.

mod filesystem;
mod io;
mod sockets;
mod system;

use limbeck_wire::LogStream;
use limbeck_wire::domain::ProgramStart;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;
use wasmtime::component::{Component, Linker, LinkerInstance, ResourceTable};

use super::State;
use super::files::Files;
use crate::host::{Host, Stop};
pub(in crate::python) use filesystem::ErrorCode;
use io::{Held, Lines};
pub(in crate::python) use system::Clock;

/// Version of WASI that the component was made against.
const VERSION: &str = "0.2.9";
/// Open files and directories; one more is refused. As many as a process has on most systems.
const OPEN_MAX: usize = 1_024;
/// Open files, their streams and timers together; one more stops the guest.
const HANDLES_MAX: usize = 4 * OPEN_MAX;

/// State of the system.
pub(super) struct Wasi {
    pub(super) clock: Clock,
    random: ChaCha20Rng,
    pub(super) files: Files,
    handles: ResourceTable,
    /// How many of the handles are files and directories.
    open: usize,
    stdout: Lines,
    stderr: Held,
}

impl Wasi {
    pub(super) fn new() -> Self {
        let mut handles = ResourceTable::new();
        handles.set_max_capacity(HANDLES_MAX);
        Self {
            clock: Clock::default(),
            random: ChaCha20Rng::from_seed([0; 32]),
            files: Files::new(),
            handles,
            open: 0,
            stdout: Lines::new(LogStream::Stdout),
            stderr: Held::new(),
        }
    }

    /// Takes time and seed of the run that begins.
    pub(super) fn begin(&mut self, start: &ProgramStart) {
        self.clock = Clock::started(start.now_us);
        self.random = ChaCha20Rng::from_seed(start.seed);
    }

    /// Drops what was written to standard error last. When an interpreter aborts, that is what it says
    /// of its own sources.
    pub(super) fn drop_last_words(&mut self) {
        self.stderr.clear();
    }

    /// Passes on what was written to the standard streams and has not been.
    pub(super) fn flush_lines(&mut self, host: &mut Host) -> Result<(), Stop> {
        self.stdout.flush(host)?;
        self.stderr.flush(host)
    }
}

pub(super) fn add_to_linker(
    linker: &mut Linker<State>,
    component: &Component,
) -> wasmtime::Result<()> {
    system::add_to_linker(linker)?;
    io::add_to_linker(linker)?;
    filesystem::add_to_linker(linker)?;
    sockets::add_to_linker(linker, component)
}

/// An interface of WASI, to be filled.
fn interface<'l>(
    linker: &'l mut Linker<State>,
    name: &str,
) -> wasmtime::Result<LinkerInstance<'l, State>> {
    linker.instance(&interface_name(name))
}

fn interface_name(name: &str) -> String {
    format!("wasi:{name}@{VERSION}")
}
