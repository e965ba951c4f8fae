//! Python: CPython as a component, from the program to its end.
//!
//! Before it runs, [`source`] tells which tools it calls and how, and the gateway judges that.
//!
//! The guest runs in one piece: where it waits, it waits inside an import, with its own frames below
//! on the native stack. Everything it can reach is linked here: the gateway through [`imports`], and
//! clock, random bytes, files and standard streams through [`wasi`]. Nothing of it touches the
//! machine, and all of it follows from the program's start and what the gateway answers.

mod files;
mod guest;
mod imports;
mod source;
mod wasi;

use limbeck_wire::domain::{ErrorKind, Mode, ProgramError, ProgramStart, Sites};
use limbeck_wire::{CallResult, Delivery, Fault, LogStream};
use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Trap};

pub(crate) use guest::Guest;

use crate::fault::{self, GuestError, Words};
use crate::host::{Host, Stop};
use crate::run::{Ended, globals, judged};
use files::Files;
use wasi::{Clock, Wasi};

/// What a guest's imports work on.
pub(crate) struct State {
    pub(crate) host: Host,
    wasi: Wasi,
    /// Answers that came while the guest waited for the clock alone, until it asks for answers.
    answers: Vec<CallResult>,
}

impl State {
    fn new() -> Self {
        Self {
            host: Host::new(),
            wasi: Wasi::new(),
            answers: Vec::new(),
        }
    }

    /// Gives the gateway its turn, and moves the clock to what it says.
    fn turn(&mut self, wake_at_us: Option<u64>) -> Result<(), Stop> {
        self.wasi.flush_lines(&mut self.host)?;
        let Delivery { now_us, results } = self.host.wait(wake_at_us.map(Clock::tick_from))?;
        self.wasi.clock.set(now_us);
        for _ in &results {
            self.host.answered();
        }
        self.answers.extend(results);
        Ok(())
    }

    /// Works on the files. Told besides is by how much they may grow; afterwards what they take is
    /// known to be memory of the guest.
    fn files<T>(&mut self, work: impl FnOnce(&mut Files, usize) -> T) -> T {
        let room = self.host.memory_left();
        let done = work(&mut self.wasi.files, room);
        self.host.outside_bytes = self.wasi.files.bytes();
        done
    }

    /// Prints a line the guest wrote, after what it wrote past the prelude to the same stream.
    fn log(&mut self, stream: LogStream, line: &str) -> Result<(), Stop> {
        self.wasi.flush_lines(&mut self.host)?;
        self.host.log(stream, line.as_bytes())
    }
}

/// Links all a guest imports.
pub(crate) fn linker(engine: &Engine, component: &Component) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    imports::add_to_linker(&mut linker)?;
    wasi::add_to_linker(&mut linker, component)?;
    Ok(linker)
}

/// The calls of tools that stand in a program.
pub(crate) fn call_sites(program: &str) -> Result<Sites, ProgramError> {
    let unreadable = || ProgramError::new(ErrorKind::Syntax, "no program in Python".to_owned());
    source::sites(program, "[]").ok_or_else(unreadable)
}

/// Touches the code paths every program takes, so that the first program finds them in memory.
pub(crate) fn warm_up() {
    let warm = source::sites("a = await tools.a.b(c=f\"{1}\")\nreturn a[\"d\"]", "[]");
    debug_assert!(warm.is_some());
}

/// Runs the program to its end.
pub(crate) fn execute(
    guest: &mut Guest,
    start: &ProgramStart,
    warnings: &mut Vec<String>,
) -> Result<Option<String>, Ended> {
    // What cannot be read here is the guest's to refuse, in its own words, or to run.
    if let Some(sites) = source::sites(&start.program, &start.servers) {
        let host = &mut guest.state_mut().host;
        judged(host, sites, start.mode, Words::PYTHON, warnings)?;
        if start.mode != Mode::Run {
            return Ok(None);
        }
    }
    guest.state_mut().wasi.begin(start);
    let ended = guest.run(&start.program, &globals(start));
    let state = guest.state_mut();
    let trap = ended
        .as_ref()
        .err()
        .and_then(|error| error.downcast_ref::<Trap>());
    if trap.is_some_and(|trap| *trap != Trap::Interrupt) {
        state.wasi.drop_last_words();
    }
    let flushed = state.wasi.flush_lines(&mut state.host);
    let host = &state.host;
    let (kind, text) = ended
        .and_then(|end| flushed.map(|()| end).map_err(Into::into))
        .map_err(|error| Ended::by(error, host, Words::PYTHON))?;
    Ok(outcome(kind, text, host)?)
}

/// Reads the pair that `run` answers with; `world.wit` says what the kinds are.
fn outcome(kind: u32, text: String, host: &Host) -> Result<Option<String>, Fault> {
    let stopped = |stop| fault::bound(&stop, Words::PYTHON);
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
        _ => stopped(Stop::Misuse("unknown end of the program")),
    })
}
