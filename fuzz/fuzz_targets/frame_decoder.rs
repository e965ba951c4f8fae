//! Any bytes on a channel, in any pieces. The tests of the crate document the properties.

#![no_main]

#[path = "../../crates/limbeck-wire/tests/fuzz/decoder.rs"]
mod decoder;

libfuzzer_sys::fuzz_target!(|input: &[u8]| decoder::check(input));
