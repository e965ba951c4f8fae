//! A worker whose engine belongs to somebody else.
//!
//! It is started, locked down and spoken to as any worker, but its program is not a program: it is the
//! name of one thing to do wrong ([`behaviour::ALL`]). Every other program gets the value 2. What a
//! worker does before it is sent a program depends on the name of the executable ([`Start`]); tests
//! copy it.
//!
//! The tests are in `tests/hostile_worker`.

mod behaviour;
mod talk;

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::process::ExitCode;

use limbeck_launcher::inside::{self, Tenant, TenantError};
use limbeck_wire::domain::{Layer, Sandbox, Tier};
use limbeck_wire::{FromWorker, Idle, PROTOCOL_VERSION, Ready, WorkerChannel, encode};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use talk::Talk;

/// Descriptors sent along by [`Start::PassesDescriptors`].
const DESCRIPTORS: usize = 64;

/// What it does before a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// What an honest worker does.
    SaysReady,
    SpeaksFirst,
    Ends,
    OtherVersion,
    TierItHasNot,
    /// Says ready with descriptors beside it. Before the filter is loaded: after it there is no way.
    PassesDescriptors,
}

impl Start {
    fn of(executable: Option<&str>) -> Self {
        match executable {
            Some("speaks-first") => Self::SpeaksFirst,
            Some("ends") => Self::Ends,
            Some("other-version") => Self::OtherVersion,
            Some("tier-it-has-not") => Self::TierItHasNot,
            Some("passes-descriptors") => Self::PassesDescriptors,
            _ => Self::SaysReady,
        }
    }
}

struct Impostor {
    start: Start,
}

impl Tenant for Impostor {
    type Armed = Self;

    fn arm(self) -> Result<Self, TenantError> {
        if self.start == Start::PassesDescriptors {
            let sandbox = Sandbox::of(Layer::ALL.to_vec(), Vec::new());
            pass_descriptors(&encoded(&ready(sandbox)))?;
        }
        Ok(self)
    }

    fn serve(armed: Self, channel: WorkerChannel, sandbox: Sandbox) -> ExitCode {
        let mut talk = Talk::new(channel);
        match armed.start {
            Start::SaysReady => talk.send(&FromWorker::Ready(ready(sandbox))),
            Start::SpeaksFirst => talk.send(&FromWorker::Idle(Idle { wake_at_us: None })),
            Start::Ends => return ExitCode::from(3),
            Start::OtherVersion => talk.send(&FromWorker::Ready(Ready {
                protocol: PROTOCOL_VERSION + 1,
                ..ready(sandbox)
            })),
            Start::TierItHasNot => talk.send(&FromWorker::Ready(ready(Sandbox {
                tier: Tier::Strict,
                ..Sandbox::wasm_only("it was left out")
            }))),
            Start::PassesDescriptors => {}
        }
        match talk.program() {
            Some(start) => behaviour::of(&start.program)(&mut talk, &start),
            None => ExitCode::SUCCESS,
        }
    }
}

fn ready(sandbox: Sandbox) -> Ready {
    Ready {
        protocol: PROTOCOL_VERSION,
        guest_hash: "fa4e".repeat(16),
        sandbox,
    }
}

fn encoded(ready: &Ready) -> Vec<u8> {
    let frame = FromWorker::Ready(ready.clone());
    encode(&frame, Vec::new()).expect("a frame within its bound")
}

/// Sends `bytes` on the channel with many descriptors beside them.
fn pass_descriptors(bytes: &[u8]) -> Result<(), TenantError> {
    #[expect(unsafe_code, reason = "the channel is handed over only later")]
    // SAFETY: number 3 is the channel, open for the whole life of a worker.
    let channel = unsafe { BorrowedFd::borrow_raw(3) };
    let descriptors = [channel; DESCRIPTORS];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    let parts = [IoSlice::new(bytes)];
    sendmsg(channel, &parts, &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn main() -> ExitCode {
    inside::main(|_| {
        let executable = std::env::current_exe()?;
        let name = executable.file_name().and_then(|name| name.to_str());
        Ok(Impostor {
            start: Start::of(name),
        })
    })
}
