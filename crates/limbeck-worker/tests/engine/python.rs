//! Python programs, from their text to what comes back.

mod check;
mod limits;
mod programs;
mod system;

use crate::gateway::Run;

/// JSON text of what a program gives.
#[track_caller]
fn value(program: &str) -> String {
    let outcome = Run::python(program).go();
    match outcome.result() {
        Ok(value) => value.unwrap_or("nothing").to_owned(),
        Err(fault) => panic!("{fault:?}\nprogram: {program}\nstderr: {}", outcome.stderr),
    }
}
