//! WASI for a Python guest, as far as CPython needs it.
//!
//! A clock that the gateway sets, random bytes from the start's seed, files in memory,
//! standard streams that are the log, no environment, no arguments and no network. Functions that CPython never
//! calls are not linked; calling one stops the guest.

mod filesystem;
mod io;
mod sockets;
mod system;

use limbeck_domain::ProgramStart;
use limbeck_wire::LogStream;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;
use wasmtime::component::{Component, Linker, LinkerInstance, ResourceTable};

use super::files::Files;
use super::state::GuestState;
use crate::host::{Host, HostError};
pub(in crate::python) use filesystem::ErrorCode;
use io::{Held, Lines};
pub(in crate::python) use system::Clock;

/// Version of WASI that the component was made against.
const VERSION: &str = "0.2.9";
/// Open files and directories; one more is refused. As many as a process has on most systems.
const OPEN_MAX: usize = 1_024;
/// Open files, their streams and timers together; one more stops the guest.
const HANDLES_MAX: usize = 4 * OPEN_MAX;

/// State of WASI.
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

    /// Discards the lines written to standard error last. An interpreter that aborts writes about its own sources
    /// there.
    pub(super) fn discard_stderr(&mut self) {
        self.stderr.clear();
    }

    /// Sends the buffered lines of the standard streams.
    pub(super) fn flush_lines(&mut self, host: &mut Host) -> Result<(), HostError> {
        self.stdout.flush(host)?;
        self.stderr.flush(host)
    }
}

pub(super) fn add_to_linker(
    linker: &mut Linker<GuestState>,
    component: &Component,
) -> wasmtime::Result<()> {
    system::add_to_linker(linker)?;
    io::add_to_linker(linker)?;
    filesystem::add_to_linker(linker)?;
    sockets::add_to_linker(linker, component)
}

/// An interface of WASI, to be filled.
fn interface<'l>(
    linker: &'l mut Linker<GuestState>,
    name: &str,
) -> wasmtime::Result<LinkerInstance<'l, GuestState>> {
    linker.instance(&interface_name(name))
}

fn interface_name(name: &str) -> String {
    format!("wasi:{name}@{VERSION}")
}
