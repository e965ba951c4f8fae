//! The JavaScript guest: QuickJS-NG, its standard library and the program's globals, as one
//! WebAssembly module that can do nothing but what its host links.
//!
//! The crate is compiled for `wasm32-unknown-unknown` by `cargo xtask guests`, which also says with
//! which tools; the worker pre-initialises the result, compiles it and runs one program per instance.
//!
//! # Interface
//!
//! Pointers and lengths are of UTF-8 text in the guest's memory. A buffer the host passes was made by
//! `alloc` and belongs to the guest from that call on; a buffer the guest passes is valid until the
//! import returns.
//!
//! | export | what it does |
//! |---|---|
//! | `memory` | the linear memory |
//! | `alloc(len) -> ptr` | `len` bytes for the host to fill; 0 when memory is exhausted |
//! | `wizer-initialize()` | makes the engine and evaluates the prelude; at build time, once, before anything else |
//! | `start(seed_ptr, now_us, globals_ptr, globals_len, memory_bytes)` | 32 bytes of seed, the clock in µs since 1970, JSON `{"input", "servers": [{"name", "tools", "state"}], "limits", "fullNames"}`, size of the memory |
//! | `run(ptr, len) -> status` | evaluates a script (file name `program`) whose completion value is a function, calls it, runs jobs |
//! | `deliver(id, ok, ptr, len)` | the answer of host call `id`: JSON of the value (`ok` 1) or of a `CallError` (`ok` 0); settles its promise, runs no job |
//! | `pump(now_us) -> status` | sets the clock, fires due timers by deadline then age, runs all jobs after each |
//! | `wake_at() -> i64` | deadline of the earliest timer in µs, or -1 |
//!
//! Status is 0 while the program waits and 1 once `done` was called; from then on the guest makes no
//! further import call.
//!
//! | import of module `host` | what it says |
//! |---|---|
//! | `call(id, op, head_ptr, head_len, body_ptr, body_len)` | a host call; ids count from 1, `op` is `HostOp`, head is a `ToolTarget` for tools and empty otherwise, body is JSON |
//! | `log(stream, ptr, len)` | one printed line without its newline; stream 0 is stdout, 1 stderr, 2 a warning of the envelope |
//! | `done(kind, ptr, len)` | the end: 0 a value as JSON (empty for `undefined`), 1 a thrown error as JSON `{name, message, stack, code?, hint?}`, 2 why the value has no JSON form, 3 a syntax error in the form of 1 |
//!
//! `servers[].tools` is a count or a list of names; `limits` is `ExecutionLimits`; `fullNames` are names such as
//! `mcp__server__tool` that the program may use as globals.
//!
//! # What holds
//!
//! - Same calls in the same order, same behaviour, byte for byte: time and randomness come from
//!   `start` and `pump` alone, the local time zone is UTC, and the prelude was evaluated at build time.
//! - A program that waits while no call is in flight and no timer is set can never go on. The guest does not
//!   check for that, because only the host knows the calls in flight.
//! - A program that has returned ends once no call that it waits for is in flight and no timer keeps it (`prelude/tail.js`);
//!   at the latest 10 s after that and shortly before its time limit, so that the host still receives the value.
//! - Native functions are reachable from the prelude only, never from a program.
//! - Recursion without end is a `RangeError` of the program, memory without end an `InternalError`;
//!   loops without end, and source nested thousands of levels deep, are the host's to stop.
//!
//! Start reading at [`exports`], then [`engine`]; what a program sees is made in `prelude/`.

mod clock;
mod engine;
mod exports;
mod imports;
mod natives;
mod random;
