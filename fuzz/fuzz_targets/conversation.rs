//! Any sequence of frames and acts of the gateway. What holds for it is said where the tests are.

#![no_main]

#[path = "../../crates/limbeck-wire/tests/fuzz/conversation.rs"]
mod conversation;

libfuzzer_sys::fuzz_target!(|input: &[u8]| conversation::check(input));
