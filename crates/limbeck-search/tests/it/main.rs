//! Integration tests of search.

#![allow(
    clippy::disallowed_methods,
    reason = "tests read files and measure time, which the crate itself may not"
)]
#![allow(
    clippy::print_stdout,
    reason = "the tests report the figures they compare"
)]

mod quality;
mod search;
