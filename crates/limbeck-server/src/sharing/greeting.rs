//! The first two lines of a connection.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::message::{self, Greeting, Reply};

/// How long one end waits for the line of the other. A gateway answers before it has started, so one that takes longer has been
/// stopped.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// Longest such line.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Whether the process at the other end belongs to the user of this one.
pub(super) fn is_own_user(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == own)
}

/// Writes one line.
pub(super) async fn write(stream: &mut UnixStream, message: impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(&message::line(message))?;
    line.push(b'\n');
    stream.write_all(&line).await
}

/// Reads one line and nothing behind it.
pub(super) async fn read<T: DeserializeOwned>(stream: &mut UnixStream) -> io::Result<T> {
    let reading = async {
        let mut line = Vec::new();
        loop {
            let byte = stream.read_u8().await?;
            if byte == b'\n' {
                return message::read(&line)
                    .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData));
            }
            if line.len() == LINE_BYTES_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
            line.push(byte);
        }
    };
    timeout(PATIENCE, reading).await?
}

/// Asks the gateway that listens at `socket` how it is.
///
/// # Errors
///
/// No process listens there, one of another user does, or no answer came in time.
pub async fn ask_health(socket: &Path) -> io::Result<Value> {
    let mut stream = super::meeting::connect(socket).await?;
    if !is_own_user(&stream) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    write(&mut stream, Greeting::Health).await?;
    match read(&mut stream).await? {
        Reply::Health(health) => Ok(health),
        Reply::Ending => Err(io::Error::other("the gateway is ending")),
        Reply::Joined { .. } | Reply::Refused { .. } => Err(io::ErrorKind::InvalidData.into()),
    }
}
