//! Misbehaviour of a worker before its first program; and X06, file descriptors in messages.

use std::fs;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use limbeck_domain::ErrorKind;
use limbeck_gateway::Gateway;
use limbeck_testkit::{World, run, value_of};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde_json::json;
use tempfile::TempDir;

use super::fake_worker;

/// Gateway whose workers have the start behaviour `name`.
async fn gateway_of(name: &str) -> (Gateway, TempDir) {
    let directory = TempDir::new().unwrap();
    let executable = directory.path().join(name);
    fs::copy(fake_worker(), &executable).unwrap();
    (World::new(executable).start().await, directory)
}

fn open_descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_starts_wrong_never_receives_a_program() {
    for (name, message) in [
        ("speaks-first", "worker sent `idle` while starting"),
        ("ends", "exit code 3"),
        ("other-version", "worker speaks protocol"),
        (
            "tier-it-has-not",
            "worker sent a tier above that of its layers",
        ),
    ] {
        let (gateway, _directory) = gateway_of(name).await;
        let envelope = run(&gateway, "anything honest").await;
        let error = envelope.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Gateway, "{name}: {error:?}");
        assert!(error.message.contains(message), "{name}: {error:?}");
        gateway.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn descriptors_that_a_worker_sends_along_never_arrive() {
    // The control: a reader that asks for descriptors receives them.
    assert_eq!(received_by_asking(), 1);

    let (gateway, _directory) = gateway_of("passes-descriptors").await;
    let envelope = run(&gateway, "anything honest").await;
    assert_eq!(value_of(&envelope), json!(2));
    let before = open_descriptors();
    for _ in 0..20 {
        let envelope = run(&gateway, "anything honest").await;
        assert_eq!(value_of(&envelope), json!(2));
    }
    // Each worker sent 64. The pool may hold a few descriptors more or fewer than before.
    let after = open_descriptors();
    assert!(after < before + 32, "{before} before, {after} after");
    gateway.shutdown().await;
}

/// Number of descriptors that a reader receives when it asks for them.
fn received_by_asking() -> usize {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = [theirs.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    let bytes = [IoSlice::new(b"x")];
    sendmsg(&theirs, &bytes, &mut ancillary, SendFlags::empty()).unwrap();

    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut bytes = [IoSliceMut::new(&mut byte)];
    recvmsg(&ours, &mut bytes, &mut ancillary, RecvFlags::empty()).unwrap();
    ancillary
        .drain()
        .map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => descriptors.count(),
            _ => 0,
        })
        .sum()
}
