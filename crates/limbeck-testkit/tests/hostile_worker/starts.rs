//! What a worker does before it is given a program; and X06, descriptors sent along.

use std::fs;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use limbeck_gateway::Gateway;
use limbeck_gateway::domain::ErrorKind;
use limbeck_testkit::{World, run, value_of};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde_json::json;
use tempfile::TempDir;

use crate::fake_worker;

/// A gateway whose workers begin as their executable's name says.
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
async fn a_worker_that_begins_wrong_is_never_given_a_program() {
    for (name, says) in [
        ("speaks-first", "worker sent `idle` while starting"),
        ("ends", "exit code 3"),
        ("other-version", "worker speaks protocol"),
        (
            "tier-it-has-not",
            "worker sent a tier above what its layers make",
        ),
    ] {
        let (gateway, _directory) = gateway_of(name).await;
        let envelope = run(&gateway, "anything honest").await;
        let error = envelope.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Gateway, "{name}: {error:?}");
        assert!(error.message.contains(says), "{name}: {error:?}");
        gateway.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn descriptors_that_a_worker_sends_along_never_arrive() {
    // The control: they were sent, and somebody who asks for descriptors gets them.
    assert_eq!(received_by_asking(), 1);

    let (gateway, _directory) = gateway_of("passes-descriptors").await;
    let envelope = run(&gateway, "anything honest").await;
    assert_eq!(value_of(&envelope), json!(2));
    let before = open_descriptors();
    for _ in 0..20 {
        let envelope = run(&gateway, "anything honest").await;
        assert_eq!(value_of(&envelope), json!(2));
    }
    // Each worker sent 64. The pool holds some more of ours now than then, or fewer.
    let after = open_descriptors();
    assert!(after < before + 32, "{before} before, {after} after");
    gateway.shutdown().await;
}

/// Descriptors that arrive at a reader which wants them.
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
