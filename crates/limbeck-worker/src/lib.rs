//! The worker: a child process that runs one program in one guest.
//!
//! It holds no secret and has no authority but its frame channel, on Linux one Unix stream socket. The
//! program it is sent was written by a model; it is parsed here and not in the gateway, so that a
//! fault of the parser is a fault of a process that has nothing to lose.
//!
//! What happens to a program:
//! 1. A TypeScript program is read by `source`: it finds the code in the text, erases its types, and
//!    wraps it as one function, keeping for every place the line and column of the model's own text.
//!    A Python program is read by `python::source` for the tools it calls, and goes to its guest as it is.
//! 2. `javascript` or `python` hands it to the engine, which runs in WebAssembly, and `host` answers
//!    what it asks: calls become frames, printed lines become frames, memory and time have an end.
//! 3. `run` tells the gateway how the program has ended, and `fault` finds the words for an end that
//!    is not a value.
//!
//! Start reading at [`Worker`].

mod channel;
mod engine_config;
mod fault;
mod host;
mod image;
mod javascript;
mod python;
mod run;
mod source;
mod worker;

use limbeck_wire::domain::{Language, ProgramError, Sites};

pub use image::guest_hash;
pub use limbeck_wire::{WORKER_ARGV0, WorkerChannel};
pub use worker::{Armed, Prepared, Worker, WorkerError};

/// The calls of tools that stand in a program, read as a worker reads it before it runs: types of TypeScript are
/// erased and places mapped on the way. For those who measure this; a gateway has a worker do it.
///
/// # Errors
///
/// Why the program cannot be read.
pub fn call_sites(language: Language, program: &str) -> Result<Sites, ProgramError> {
    match language {
        Language::Typescript => Ok(source::prepare(program)?.sites),
        Language::Python => python::call_sites(program),
    }
}
