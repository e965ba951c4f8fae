//! The worker: a child process that erases types and runs one program in one guest.
//!
//! It holds no secret and has no authority but its frame channel, one Unix stream socket. The
//! program it is sent was written by a model; it is parsed here and not in the gateway, so that a
//! fault of the parser is a fault of a process that has nothing to lose.
//!
//! What happens to a program:
//! 1. `source` finds the code in the text, erases its types, and wraps it as one function, keeping
//!    for every place the line and column of the model's own text;
//! 2. `guest` hands it to the engine, which runs in WebAssembly, and `host` answers what it asks:
//!    calls become frames, printed lines become frames, memory and time have an end;
//! 3. `run` goes back and forth between guest and gateway until the program has ended, and `fault`
//!    finds the words for an end that is not a value.
//!
//! Start reading at [`Worker`].

mod channel;
mod engine_config;
mod fault;
mod guest;
mod host;
mod image;
mod run;
mod source;
mod worker;

pub use image::guest_hash;
pub use limbeck_wire::WORKER_ARGV0;
pub use worker::{Armed, Prepared, Worker, WorkerError};
