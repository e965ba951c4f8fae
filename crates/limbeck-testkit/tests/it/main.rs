//! Integration tests that need real or fake workers: workers that misbehave, and the size of signatures.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails with the place"
)]

#[cfg(target_os = "linux")]
mod hostile_worker;
mod signatures;
