//! Any sequence of frames and acts of the gateway. The tests of the crate document the properties.

#![no_main]

#[path = "../../crates/limbeck-wire/tests/fuzz/conversation.rs"]
mod conversation;

libfuzzer_sys::fuzz_target!(|input: &[u8]| conversation::check(input));
