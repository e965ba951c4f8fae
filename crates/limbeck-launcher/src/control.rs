//! Messages between the gateway and the zygote: small datagrams, some with a descriptor.
//!
//! Both sides are this very build and neither is hostile: the zygote never reads a byte that a guest
//! or an upstream wrote. A worker has no descriptor of this socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Exit;

/// Largest message, with room for a chain of error messages.
const MESSAGE_BYTES_MAX: usize = 4096;
/// Longest text in a message.
const REASON_BYTES_MAX: usize = 2048;

/// What the gateway asks for. Carries the worker's end of its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ToZygote {
    /// A worker that serves one program.
    Serve,
    /// A worker that tries one thing it must not be able to do; index into [`crate::probe::ALL`].
    Probe(u16),
}

/// Message of the zygote. Requests are answered in order; exits are reported at any time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FromZygote {
    /// It is ready to fork; its first message.
    Up,
    /// It cannot work and ends.
    Down {
        /// Why.
        reason: String,
    },
    /// A worker was forked. Carries its pidfd.
    Forked {
        /// Its id in the gateway's PID namespace.
        pid: u32,
    },
    /// A worker could not be forked.
    Refused {
        /// Why.
        reason: String,
    },
    /// A worker has ended and was reaped.
    Exited {
        /// Its id.
        pid: u32,
        /// How.
        exit: Exit,
    },
}

impl FromZygote {
    pub(crate) fn down(error: &dyn std::error::Error) -> Self {
        Self::Down {
            reason: reason(error),
        }
    }

    pub(crate) fn refused(error: &dyn std::error::Error) -> Self {
        Self::Refused {
            reason: reason(error),
        }
    }
}

fn reason(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    let end = text.floor_char_boundary(REASON_BYTES_MAX);
    text.truncate(end);
    text
}

/// Sends one message, with a descriptor if there is one.
///
/// # Errors
///
/// Errors of the socket; `WouldBlock` from a non-blocking socket that is full.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    message: &impl Serialize,
    descriptor: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let bytes = postcard::to_extend(message, Vec::new()).map_err(io::Error::other)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = descriptor.as_slice();
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    sendmsg(
        socket,
        &[IoSlice::new(&bytes)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

/// Receives one message; `None` when the other side is gone.
///
/// # Errors
///
/// Errors of the socket; `WouldBlock` from a non-blocking socket that is empty; `InvalidData` for
/// bytes that are not a message.
pub(crate) fn receive<T: DeserializeOwned>(
    socket: BorrowedFd<'_>,
) -> io::Result<Option<(T, Option<OwnedFd>)>> {
    let mut bytes = [0; MESSAGE_BYTES_MAX];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut bytes)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    if received.bytes == 0 {
        return Ok(None);
    }
    let descriptor = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let message = postcard::from_bytes(&bytes[..received.bytes])
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(Some((message, descriptor)))
}
