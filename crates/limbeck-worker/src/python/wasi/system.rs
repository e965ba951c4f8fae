//! Clocks, random bytes, environment, exit and terminals of WASI. There is no environment and no terminal.

use rand_chacha::rand_core::Rng as _;
use wasmtime::component::{ComponentType, Lift, Linker, Lower, Resource, ResourceType};
use wasmtime::{StoreContextMut, bail};

use super::interface;
use super::io::Pollable;
use crate::host::HostError;
use crate::python::state::GuestState;

/// Random bytes given at once; Python asks for 2,500 to seed its generator.
const RANDOM_BYTES_MAX: u64 = 1 << 20;

/// Resolution of every clock, as in TypeScript.
const TICK_US: u64 = 1_000;

/// The guest's clock. It does not advance while the guest runs.
#[derive(Clone, Copy, Default)]
pub(in crate::python) struct Clock {
    begun_us: u64,
    now_us: u64,
}

impl Clock {
    pub(super) fn started(now_us: u64) -> Self {
        let now_us = now_us - now_us % TICK_US;
        Self {
            begun_us: now_us,
            now_us,
        }
    }

    /// Moves it, to the last tick; never back.
    pub(in crate::python) fn set(&mut self, now_us: u64) {
        self.now_us = self.now_us.max(now_us - now_us % TICK_US);
    }

    /// The tick that shows that `when_us` has come. An earlier tick would wake the guest too soon.
    pub(in crate::python) fn tick_from(when_us: u64) -> u64 {
        when_us
            .checked_next_multiple_of(TICK_US)
            .unwrap_or(u64::MAX)
    }

    /// Microseconds since 1970.
    pub(super) fn now_us(self) -> u64 {
        self.now_us
    }

    /// Nanoseconds since the program began.
    fn monotonic_ns(self) -> u64 {
        (self.now_us - self.begun_us).saturating_mul(1_000)
    }

    /// When `left_ns` will have passed, in microseconds since 1970, rounded up.
    fn after(self, left_ns: u64) -> u64 {
        self.now_us.saturating_add(left_ns.div_ceil(1_000))
    }
}

/// A moment since 1970.
#[derive(Clone, Copy, ComponentType, Lift, Lower)]
#[component(record)]
pub(super) struct Datetime {
    seconds: u64,
    nanoseconds: u32,
}

impl Datetime {
    pub(super) fn from_us(us: u64) -> Self {
        Self {
            seconds: us / 1_000_000,
            nanoseconds: (us % 1_000_000) as u32 * 1_000,
        }
    }

    pub(super) fn as_us(self) -> u64 {
        let nanoseconds = u64::from(self.nanoseconds);
        self.seconds
            .saturating_mul(1_000_000)
            .saturating_add(nanoseconds / 1_000)
    }
}

pub(super) fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    clocks(linker)?;
    terminals(linker)?;
    interface(linker, "random/random")?.func_wrap("get-random-bytes", random_bytes)?;
    let mut environment = interface(linker, "cli/environment")?;
    environment.func_wrap("get-environment", |_, ()| {
        Ok((Vec::<(String, String)>::new(),))
    })?;
    environment.func_wrap("get-arguments", |_, ()| Ok((Vec::<String>::new(),)))?;
    interface(linker, "cli/exit")?.func_wrap("exit", |_, (_,): (Result<(), ()>,)| {
        Err::<(), _>(HostError::Exit.into())
    })
}

fn clocks(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    let mut wall = interface(linker, "clocks/wall-clock")?;
    wall.func_wrap("now", |store: StoreContextMut<'_, GuestState>, ()| {
        Ok((Datetime::from_us(store.data().wasi.clock.now_us),))
    })?;
    wall.func_wrap("resolution", |_, ()| Ok((Datetime::from_us(TICK_US),)))?;

    let mut monotonic = interface(linker, "clocks/monotonic-clock")?;
    monotonic.func_wrap("now", |store: StoreContextMut<'_, GuestState>, ()| {
        Ok((store.data().wasi.clock.monotonic_ns(),))
    })?;
    monotonic.func_wrap("resolution", |_, ()| Ok((TICK_US * 1_000,)))?;
    monotonic.func_wrap(
        "subscribe-instant",
        |mut store: StoreContextMut<'_, GuestState>, (when_ns,): (u64,)| {
            let clock = store.data().wasi.clock;
            let left_ns = when_ns.saturating_sub(clock.monotonic_ns());
            timer(store.data_mut(), clock.after(left_ns))
        },
    )?;
    monotonic.func_wrap(
        "subscribe-duration",
        |mut store: StoreContextMut<'_, GuestState>, (left_ns,): (u64,)| {
            let when_us = store.data().wasi.clock.after(left_ns);
            timer(store.data_mut(), when_us)
        },
    )
}

fn timer(state: &mut GuestState, when_us: u64) -> wasmtime::Result<(Resource<Pollable>,)> {
    Ok((state.wasi.handles.push(Pollable::At(when_us))?,))
}

fn random_bytes(
    mut store: StoreContextMut<'_, GuestState>,
    (bytes,): (u64,),
) -> wasmtime::Result<(Vec<u8>,)> {
    if bytes > RANDOM_BYTES_MAX {
        bail!(HostError::Misuse("too many random bytes at once"));
    }
    let mut random = vec![0; bytes as usize];
    store.data_mut().wasi.random.fill_bytes(&mut random);
    Ok((random,))
}

/// A resource without instances.
pub(super) enum Absent {}

fn terminals(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    for (interfaces, resource) in [
        (&["stdin"][..], "terminal-input"),
        (&["stdout", "stderr"], "terminal-output"),
    ] {
        absent(linker, &format!("cli/{resource}"), resource)?;
        for stream in interfaces {
            let name = format!("get-terminal-{stream}");
            interface(linker, &format!("cli/terminal-{stream}"))?
                .func_wrap(&name, |_, ()| Ok((None::<Resource<Absent>>,)))?;
        }
    }
    Ok(())
}

/// Defines an interface with one resource that cannot be created.
fn absent(linker: &mut Linker<GuestState>, name: &str, resource: &str) -> wasmtime::Result<()> {
    interface(linker, name)?.resource(resource, ResourceType::host::<Absent>(), |_, _| {
        bail!(HostError::Misuse("dropped what does not exist"))
    })
}
