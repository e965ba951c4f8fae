//! Integration tests of the catalog, one module for each part.

#![allow(
    clippy::disallowed_methods,
    reason = "tests read files and measure time, which the crate itself may not"
)]
#![allow(
    clippy::print_stdout,
    reason = "some tests report the counts they found"
)]

mod check;
mod checkers;
mod common;
mod declarations;
mod examine;
mod habits;
mod observed;
mod python;
mod resolve;
mod result_reads;
mod shared_reads;
mod signature;
mod validate;
