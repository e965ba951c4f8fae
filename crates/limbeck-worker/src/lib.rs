//! Worker process: runs one program in one guest.
//!
//! It holds no secret and has no authority but its frame channel, on Linux one Unix stream socket. The
//! program was written by a model; it is parsed here and not in the gateway, so that a fault of the parser
//! is a fault of a process that holds no secret.
//!
//! Steps of a run:
//! 1. `limbeck-analysis` finds the calls of tools in the program, and erases the types of TypeScript. The
//!    gateway checks those calls before the program runs.
//! 2. An engine (`javascript` or `python`, behind the trait in `engine`) runs the program in WebAssembly. `host`
//!    turns its calls and printed lines into frames, and bounds its memory; `worker` bounds its time.
//! 3. `run` reports the end to the gateway. `fault` writes the error of a program that did not return.
//!
//! Start reading at [`PreparedWorker`].

#![forbid(unsafe_code)]

mod channel;
mod engine;
mod fault;
mod host;
mod instance;
mod javascript;
mod outcome;
mod printed;
mod python;
mod run;
mod worker;

pub use limbeck_guests::guest_hash;
pub use worker::{ArmedWorker, EngineError, PreparedWorker};
