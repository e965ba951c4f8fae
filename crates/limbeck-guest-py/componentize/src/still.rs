//! WASI where nothing differs from one build to the next.
//!
//! Clocks, random bytes and the environment are our own. Files are those of this machine, see
//! [`files`].

mod files;

use componentize_py::Ctx;
use wasmtime::component::{HasData, Linker, Resource};
use wasmtime::ensure;
use wasmtime_wasi::cli::{WasiCliCtxView, WasiCliView as _};
use wasmtime_wasi::clocks::{WasiClocksCtxView, WasiClocksView as _};
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::cli::environment;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi::p2::bindings::random::random;

/// Settings of Python beyond those `componentize-py` makes: strings are hashed without a secret, and
/// no bytecode is left behind that a second build would read.
const SETTINGS: [(&str, &str); 2] = [("PYTHONHASHSEED", "0"), ("PYTHONDONTWRITEBYTECODE", "1")];

/// The moment of every build: 2020-01-01.
const NOW: Datetime = Datetime {
    seconds: 1_577_836_800,
    nanoseconds: 0,
};

/// Links WASI, with replacements for everything that differs between two moments or two machines.
pub(crate) fn add_to_linker(linker: &mut Linker<Ctx>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    wall_clock::add_to_linker::<Ctx, Still>(linker, |_| Still)?;
    monotonic_clock::add_to_linker::<Ctx, Timer<'static>>(linker, |ctx| Timer(ctx.clocks()))?;
    random::add_to_linker::<Ctx, Still>(linker, |_| Still)?;
    environment::add_to_linker::<Ctx, Environment<'static>>(linker, |ctx| Environment(ctx.cli()))?;
    files::add_to_linker(linker)
}

/// A clock that does not advance, and a constant in place of random bytes.
struct Still;

impl HasData for Still {
    type Data<'a> = Still;
}

impl wall_clock::Host for Still {
    fn now(&mut self) -> wasmtime::Result<Datetime> {
        Ok(NOW)
    }

    fn resolution(&mut self) -> wasmtime::Result<Datetime> {
        Ok(Datetime {
            seconds: 0,
            nanoseconds: 1_000,
        })
    }
}

/// A monotonic clock that does not advance, so that its timers are due at once.
struct Timer<'a>(WasiClocksCtxView<'a>);

impl HasData for Timer<'static> {
    type Data<'a> = Timer<'a>;
}

impl monotonic_clock::Host for Timer<'_> {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(0)
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(1_000)
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.subscribe_duration(when)
    }

    fn subscribe_duration(&mut self, left: u64) -> wasmtime::Result<Resource<DynPollable>> {
        ensure!(left == 0, "the guest slept while it was being built");
        self.0.subscribe_duration(0)
    }
}

impl random::Host for Still {
    fn get_random_bytes(&mut self, bytes: u64) -> wasmtime::Result<Vec<u8>> {
        Ok((0..bytes).map(|at| at as u8).collect())
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        Ok(0x0706_0504_0302_0100)
    }
}

/// The environment `componentize-py` made, and our settings.
struct Environment<'a>(WasiCliCtxView<'a>);

impl HasData for Environment<'static> {
    type Data<'a> = Environment<'a>;
}

impl environment::Host for Environment<'_> {
    fn get_environment(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        let mut all = self.0.get_environment()?;
        all.extend(SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned())));
        Ok(all)
    }

    fn get_arguments(&mut self) -> wasmtime::Result<Vec<String>> {
        self.0.get_arguments()
    }

    fn initial_cwd(&mut self) -> wasmtime::Result<Option<String>> {
        self.0.initial_cwd()
    }
}
