//! JavaScript: one program from its source to its end.
//!
//! The guest runs in slices. A slice begins with what the gateway sent and ends when the program
//! waits or has ended; what it asked and printed leaves with the end of the slice, in one write.

mod guest;
mod imports;

use limbeck_wire::domain::{Mode, ProgramStart};
use limbeck_wire::{Delivery, Fault};

pub(crate) use guest::Guest;
pub(crate) use imports::linker;

use crate::fault::{self, GuestError};
use crate::host::Host;
use crate::run::{Ended, globals, judged};
use crate::source::{self, Positions};
use guest::{Start, Status};

/// What a guest's imports work on.
pub(crate) struct State {
    pub(crate) host: Host,
    /// Set once, when the program ends.
    end: Option<GuestEnd>,
}

/// How the guest ended its program.
#[derive(Debug)]
enum GuestEnd {
    /// JSON text of the value; `None` for `undefined`.
    Value(Option<String>),
    /// The value has no JSON form; why.
    NotSerialisable(String),
    /// The program threw.
    Threw(GuestError),
    /// The engine refused the script.
    Syntax(GuestError),
}

/// Runs the program to its end.
pub(crate) fn execute(
    guest: &mut Guest,
    start: &ProgramStart,
    warnings: &mut Vec<String>,
) -> Result<Option<String>, Ended> {
    let prepared = source::prepare(&start.program)?;
    warnings.extend(prepared.warnings);
    let host = &mut guest.state_mut().host;
    judged(
        host,
        prepared.sites,
        start.mode,
        fault::Words::JAVASCRIPT,
        warnings,
    )?;
    if start.mode != Mode::Run {
        return Ok(None);
    }
    let first = guest
        .start(&Start {
            seed: &start.seed,
            now_us: start.now_us,
            globals: &globals(start),
            memory_bytes: start.limits.memory_bytes,
        })
        .and_then(|()| guest.run(&prepared.script));
    let mut status = ended_by(guest, first)?;
    loop {
        if let Some(end) = guest.state_mut().end.take() {
            return Ok(outcome(end, guest, &prepared.positions)?);
        }
        if status == Status::Finished {
            return Err(fault::no_result().into());
        }
        let delivery = wait(guest)?;
        let slice = answer(guest, &delivery);
        status = ended_by(guest, slice)?;
    }
}

/// Reports that the guest waits, and waits.
fn wait(guest: &mut Guest) -> Result<Delivery, Ended> {
    let wake_at = guest.wake_at();
    let wake_at_us = ended_by(guest, wake_at)?;
    let delivery = guest.state_mut().host.wait(wake_at_us);
    ended_by(guest, delivery.map_err(Into::into))
}

fn answer(guest: &mut Guest, delivery: &Delivery) -> wasmtime::Result<Status> {
    for answer in &delivery.results {
        guest.deliver(answer.id.0, &answer.result)?;
    }
    guest.pump(delivery.now_us)
}

fn outcome(end: GuestEnd, guest: &Guest, positions: &Positions) -> Result<Option<String>, Fault> {
    match end {
        GuestEnd::Value(value) => Ok(value),
        GuestEnd::NotSerialisable(why) => Err(fault::not_serialisable(
            why,
            "return plain objects, arrays, strings, numbers, booleans or null",
        )),
        GuestEnd::Threw(error) => {
            let host = &guest.state().host;
            let full = host.memory_bytes() >= host.limits.memory_bytes / 8 * 7;
            let position = positions.of_stack(&error.stack);
            Err(fault::from_javascript(error, &host.limits, full, position))
        }
        GuestEnd::Syntax(error) => {
            let position = positions.of_stack(&error.stack);
            Err(fault::from_javascript_syntax(error, position))
        }
    }
}

fn ended_by<T>(guest: &Guest, result: wasmtime::Result<T>) -> Result<T, Ended> {
    result.map_err(|error| Ended::by(error, &guest.state().host, fault::Words::JAVASCRIPT))
}
