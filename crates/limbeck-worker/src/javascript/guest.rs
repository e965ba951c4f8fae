//! One instance of the guest: its exports as methods.
//!
//! Between two calls the guest has returned. Nothing of it is on a native stack; a waiting program
//! is only its memory.

use std::hint::black_box;

use wasmtime::{InstancePre, Memory, Store, StoreContextMut, TypedFunc};

use super::state::GuestState;
use crate::fault::GuestMemoryError;
use crate::host::{Host, HostError};

/// Whether the program has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunStatus {
    /// It waits for answers or timers.
    Waiting,
    /// It called `host.done`.
    Finished,
}

/// Values that a guest gets before its program.
pub(super) struct GuestStart<'a> {
    pub(super) seed: &'a [u8; 32],
    pub(super) now_us: u64,
    /// JSON text of `{"input", "servers", "limits"}`.
    pub(super) globals: &'a str,
    pub(super) memory_bytes: usize,
}

/// A guest and the host functions it can reach.
pub(super) struct Guest {
    store: Store<GuestState>,
    memory: Memory,
    alloc: TypedFunc<u32, u32>,
    start: TypedFunc<(u32, u64, u32, u32, u32), ()>,
    run: TypedFunc<(u32, u32), i32>,
    deliver: TypedFunc<(u32, i32, u32, u32), ()>,
    pump: TypedFunc<u64, i32>,
    wake_at: TypedFunc<(), i64>,
}

impl Guest {
    /// Makes an instance. Its heap is as the build script left it.
    pub(super) fn new(module: &InstancePre<GuestState>) -> wasmtime::Result<Self> {
        let state = GuestState {
            host: Host::new(),
            positions: None,
            end: None,
        };
        let mut store = Store::new(module.module().engine(), state);
        store.limiter(|state| &mut state.host);
        store.set_epoch_deadline(1);
        let instance = module.instantiate(&mut store)?;
        let memory = instance
            .get_memory(&mut store, "memory")
            .ok_or(HostError::Misuse("the guest has no memory"))?;
        Ok(Self {
            memory,
            alloc: instance.get_typed_func(&mut store, "alloc")?,
            start: instance.get_typed_func(&mut store, "start")?,
            run: instance.get_typed_func(&mut store, "run")?,
            deliver: instance.get_typed_func(&mut store, "deliver")?,
            pump: instance.get_typed_func(&mut store, "pump")?,
            wake_at: instance.get_typed_func(&mut store, "wake_at")?,
            store,
        })
    }

    pub(super) fn state(&self) -> &GuestState {
        self.store.data()
    }

    pub(super) fn state_mut(&mut self) -> &mut GuestState {
        self.store.data_mut()
    }

    /// Writes to every page that the smallest program writes to, so that the copies these pages
    /// need are made before a program is there to wait for them.
    pub(super) fn touch_pages(&mut self) {
        let memory = self.memory.data_mut(&mut self.store);
        for page in limbeck_guests::WRITTEN_PAGES {
            if let Some(byte) = memory.get_mut(*page as usize * limbeck_guests::WRITTEN_PAGE_BYTES)
            {
                *byte = black_box(*byte);
            }
        }
    }

    pub(super) fn start(&mut self, start: &GuestStart<'_>) -> wasmtime::Result<()> {
        let memory_bytes = u32::try_from(start.memory_bytes).unwrap_or(u32::MAX);
        let (seed, _) = self.put(start.seed)?;
        let (globals, globals_bytes) = self.put(start.globals.as_bytes())?;
        let params = (seed, start.now_us, globals, globals_bytes, memory_bytes);
        self.start.call(&mut self.store, params)
    }

    /// Evaluates the script and runs until the program waits or ends.
    pub(super) fn run(&mut self, script: &str) -> wasmtime::Result<RunStatus> {
        let script = self.put(script.as_bytes())?;
        status(self.run.call(&mut self.store, script)?)
    }

    /// Queues one answer. The guest sees it at the next [`Guest::pump`].
    pub(super) fn deliver(
        &mut self,
        id: u32,
        result: &Result<String, String>,
    ) -> wasmtime::Result<()> {
        let (ok, json) = match result {
            Ok(json) => (1, json),
            Err(json) => (0, json),
        };
        let (at, bytes) = self.put(json.as_bytes())?;
        self.store.data_mut().host.answered();
        self.deliver.call(&mut self.store, (id, ok, at, bytes))
    }

    /// Sets the clock and runs until the program waits or ends.
    pub(super) fn pump(&mut self, now_us: u64) -> wasmtime::Result<RunStatus> {
        status(self.pump.call(&mut self.store, now_us)?)
    }

    /// Clock of the earliest timer, in microseconds since 1970.
    pub(super) fn wake_at(&mut self) -> wasmtime::Result<Option<u64>> {
        let at = self.wake_at.call(&mut self.store, ())?;
        Ok(u64::try_from(at).ok())
    }

    /// Copies bytes into memory of the guest, which owns them from then on.
    fn put(&mut self, bytes: &[u8]) -> wasmtime::Result<(u32, u32)> {
        let length = u32::try_from(bytes.len()).map_err(|_| GuestMemoryError)?;
        let at = self.alloc.call(&mut self.store, length)?;
        if at == 0 {
            return Err(GuestMemoryError.into());
        }
        let mut store: StoreContextMut<'_, GuestState> = (&mut self.store).into();
        self.memory
            .write(&mut store, at as usize, bytes)
            .map_err(|_| HostError::Misuse("allocation outside the guest's memory"))?;
        Ok((at, length))
    }
}

fn status(number: i32) -> wasmtime::Result<RunStatus> {
    match number {
        0 => Ok(RunStatus::Waiting),
        1 => Ok(RunStatus::Finished),
        _ => Err(HostError::Misuse("unknown status").into()),
    }
}
