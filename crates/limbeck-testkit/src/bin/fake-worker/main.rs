//! Worker process that an attacker controls.
//!
//! It is started, confined and addressed like any worker, but the text of its program is the name of a misbehaviour
//! ([`behaviour::of`]). Any other program returns the value 2. The behaviour before the first program depends on the name
//! of the executable ([`StartBehaviour`]); tests copy it.
//!
//! The tests are in `tests/it/hostile_worker`.

mod behaviour;
mod raw_channel;

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::process::ExitCode;

use limbeck_domain::{Layer, Sandbox, Tier};
use limbeck_launcher::inside::{self, WorkerMain, WorkerMainError};
use limbeck_wire::{FromWorker, Idle, PROTOCOL_VERSION, Ready, WorkerChannel, encode};
use raw_channel::RawChannel;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// File descriptors sent by [`StartBehaviour::PassesDescriptors`].
const DESCRIPTORS: usize = 64;

/// Behaviour before the first program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StartBehaviour {
    /// Behaviour of an honest worker.
    SaysReady,
    SpeaksFirst,
    Ends,
    OtherVersion,
    TierItHasNot,
    /// Sends `Ready` with file descriptors, before the system call filter is loaded that makes it impossible.
    PassesDescriptors,
}

impl StartBehaviour {
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

struct FakeWorkerMain {
    start: StartBehaviour,
}

impl WorkerMain for FakeWorkerMain {
    type Armed = Self;

    fn arm(self) -> Result<Self, WorkerMainError> {
        if self.start == StartBehaviour::PassesDescriptors {
            let sandbox = Sandbox::of(Layer::ALL.to_vec(), Vec::new());
            pass_descriptors(&encoded(&ready(sandbox)))?;
        }
        Ok(self)
    }

    fn serve(armed: Self, channel: WorkerChannel, sandbox: Sandbox) -> ExitCode {
        let mut channel = RawChannel::new(channel);
        match armed.start {
            StartBehaviour::SaysReady => channel.send(&FromWorker::Ready(ready(sandbox))),
            StartBehaviour::SpeaksFirst => {
                channel.send(&FromWorker::Idle(Idle { wake_at_us: None }))
            }
            StartBehaviour::Ends => return ExitCode::from(3),
            StartBehaviour::OtherVersion => channel.send(&FromWorker::Ready(Ready {
                protocol: PROTOCOL_VERSION + 1,
                ..ready(sandbox)
            })),
            StartBehaviour::TierItHasNot => channel.send(&FromWorker::Ready(ready(Sandbox {
                tier: Tier::Strict,
                ..Sandbox::wasm_only("it was left out")
            }))),
            StartBehaviour::PassesDescriptors => {}
        }
        match channel.program() {
            Some(start) => behaviour::of(&start.program)(&mut channel, &start),
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

/// Sends `bytes` on the channel together with many file descriptors.
fn pass_descriptors(bytes: &[u8]) -> Result<(), WorkerMainError> {
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
        Ok(FakeWorkerMain {
            start: StartBehaviour::of(name),
        })
    })
}
