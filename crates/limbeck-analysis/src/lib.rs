//! Static analysis of programs: finds the calls of tools in TypeScript and Python, and erases the types of
//! TypeScript.
//!
//! A model wrote the program, so it is read in a worker and not in the gateway: a fault of a parser is then a
//! fault of a process that holds no secret. Nothing is run and nothing is decided here; the gateway judges the
//! facts.
//!
//! Both languages are read in the same steps, in files of the same names:
//! 1. `fence` takes a program out of a fenced block, and `nesting` refuses text that is nested too deeply for a
//!    recursive parser.
//! 2. `tree` gives the parsed program with the way up from each node.
//! 3. `sites` finds the calls of tools, with `names`, `arguments` and `positions`.
//! 4. `flow` finds for each call how often it is made, whether the program may catch its refusal, and which
//!    parts of its result the program reads.
//!
//! Start reading at [`typescript::prepare`] and [`python::sites`].

#![forbid(unsafe_code)]

mod bounds;
mod call_sites;
pub mod python;
mod repeats;
mod result_part;
mod result_read;
pub mod typescript;

pub use bounds::PARSER_STACK_BYTES;
pub use call_sites::call_sites;
