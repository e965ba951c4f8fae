//! State that the imports of a guest use.

use limbeck_wire::{CallResult, Delivery, LogStream};

use super::files::Files;
use super::wasi::{Clock, Wasi};
use crate::host::{Host, HostError};

/// State of one guest, on the host's side.
pub(super) struct GuestState {
    pub(super) host: Host,
    pub(super) wasi: Wasi,
    /// Answers that arrived while the guest waited for the clock alone, kept until it asks for answers.
    pub(super) answers: Vec<CallResult>,
}

impl GuestState {
    pub(super) fn new() -> Self {
        Self {
            host: Host::new(),
            wasi: Wasi::new(),
            answers: Vec::new(),
        }
    }

    /// Reports that the guest waits, waits for the gateway, and sets the clock to the time it sends.
    pub(super) fn wait(&mut self, wake_at_us: Option<u64>) -> Result<(), HostError> {
        self.wasi.flush_lines(&mut self.host)?;
        let Delivery { now_us, results } = self.host.wait(wake_at_us.map(Clock::tick_from))?;
        self.wasi.clock.set(now_us);
        for _ in &results {
            self.host.answered();
        }
        self.answers.extend(results);
        Ok(())
    }

    /// Calls `work` with the files and with the bytes by which they may grow. Their size counts as memory of
    /// the guest.
    pub(super) fn files<T>(&mut self, work: impl FnOnce(&mut Files, usize) -> T) -> T {
        let room = self.host.memory_left();
        let done = work(&mut self.wasi.files, room);
        self.host.outside_bytes = self.wasi.files.bytes();
        done
    }

    /// Prints a line of the prelude, after the lines that were written to the same stream without it.
    pub(super) fn log(&mut self, stream: LogStream, line: &str) -> Result<(), HostError> {
        self.wasi.flush_lines(&mut self.host)?;
        self.host.log(stream, line.as_bytes())
    }
}
