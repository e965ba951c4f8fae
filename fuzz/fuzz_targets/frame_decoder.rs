//! Any bytes on a channel, in any pieces. What holds for them is said where the tests are.

#![no_main]

#[path = "../../crates/limbeck-wire/tests/fuzz/decoder.rs"]
mod decoder;

libfuzzer_sys::fuzz_target!(|input: &[u8]| decoder::check(input));
