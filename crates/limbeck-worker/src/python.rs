//! Python: CPython as a WebAssembly component, from the program to its end.
//!
//! The guest runs in one piece: where it waits, it waits inside an import, with its own frames below on the
//! native stack. Everything it can reach is linked here: the gateway through [`imports`], and clock, random
//! bytes, files and standard streams through [`wasi`]. None of it touches the machine, and all of it follows
//! from the program's start and the gateway's answers.

mod files;
mod guest;
mod imports;
mod state;
mod wasi;

use limbeck_domain::{ErrorKind, Language, Mode, ProgramError};
use limbeck_wire::{Fault, Start};
use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Trap};

use self::guest::Guest;
use self::state::GuestState;
use crate::engine::LanguageEngine;
use crate::fault::{self, GuestError, LanguageTerms};
use crate::host::{Host, HostError};
use crate::outcome::{RunEnd, check_calls, start_globals};

/// CPython with a guest that is ready for one program.
pub(crate) struct PythonEngine {
    guest: Guest,
}

impl PythonEngine {
    /// Makes a guest of a loaded component.
    pub(crate) fn new(engine: &Engine, component: &Component) -> wasmtime::Result<Self> {
        let component = linker(engine, component)?.instantiate_pre(component)?;
        let guest = crate::instance::first(|| Guest::new(&component))?;
        limbeck_analysis::python::warm_up();
        Ok(Self { guest })
    }
}

impl LanguageEngine for PythonEngine {
    fn language(&self) -> Language {
        Language::Python
    }

    fn host_mut(&mut self) -> &mut Host {
        &mut self.guest.state_mut().host
    }

    fn warm_up(&mut self) -> wasmtime::Result<()> {
        self.guest.warm_up()
    }

    fn execute(
        &mut self,
        start: &Start,
        warnings: &mut Vec<String>,
    ) -> Result<Option<String>, RunEnd> {
        let start = &start.program;
        let terms = LanguageTerms::PYTHON;
        // The parser is not CPython's: a program that it cannot read goes to the guest, which runs it or
        // reports the syntax error in CPython's words.
        if let Some(sites) = limbeck_analysis::python::sites(&start.program, &start.servers) {
            check_calls(self.host_mut(), sites, start, terms, warnings)?;
            if start.mode != Mode::Run {
                return Ok(None);
            }
        } else if limbeck_analysis::typescript::accepts(&start.program) {
            let error = ProgramError::new(ErrorKind::Syntax, "the program is TypeScript");
            return Err(RunEnd::other_language(error, Language::Typescript));
        }
        self.guest.state_mut().wasi.begin(start);
        let ended = self.guest.run(&start.program, &start_globals(start, &[]));
        let state = self.guest.state_mut();
        let trap = ended
            .as_ref()
            .err()
            .and_then(|error| error.downcast_ref::<Trap>());
        // An interpreter that aborts prints lines about its own sources, which are of no use to a model.
        if trap.is_some_and(|trap| *trap != Trap::Interrupt) {
            state.wasi.discard_stderr();
        }
        let flushed = state.wasi.flush_lines(&mut state.host);
        let host = &state.host;
        let (kind, text) = ended
            .and_then(|end| flushed.map(|()| end).map_err(Into::into))
            .map_err(|error| RunEnd::from_guest(error, host, terms))?;
        Ok(result(kind, text, host)?)
    }
}

/// Links everything that a guest imports.
fn linker(engine: &Engine, component: &Component) -> wasmtime::Result<Linker<GuestState>> {
    let mut linker = Linker::new(engine);
    imports::add_to_linker(&mut linker)?;
    wasi::add_to_linker(&mut linker, component)?;
    Ok(linker)
}

/// Reads the pair that the guest's `run` returns; `world.wit` lists the kinds.
fn result(kind: u32, text: String, host: &Host) -> Result<Option<String>, Fault> {
    let stopped = |error| fault::from_host(&error, LanguageTerms::PYTHON);
    let error = || GuestError::read(&text).map_err(stopped);
    Err(match kind {
        0 => {
            host.check_value(text.len()).map_err(stopped)?;
            return Ok(Some(text).filter(|text| !text.is_empty()));
        }
        1 => fault::from_python(error()?, host),
        2 => fault::not_serialisable(
            text,
            "return dicts, lists, strings, numbers, booleans or None",
        ),
        3 => fault::from_python_syntax(error()?),
        _ => stopped(HostError::Misuse("unknown end of the program")),
    })
}
