//! Streams and polling of WASI.
//!
//! Everything is ready at once, except a timer. Waiting for one is the same as waiting for answers:
//! the gateway gets the deadline, and moves the clock.

use limbeck_wire::LogStream;
use wasmtime::component::{
    ComponentType, Linker, LinkerInstance, Lower, Resource, ResourceType, WasmList,
};
use wasmtime::{StoreContextMut, bail};

use super::filesystem::release;
use super::interface;
use crate::host::{Host, HostError};
use crate::python::files::NodeId;
use crate::python::state::GuestState;

/// Bytes read from or written to a stream at once.
pub(super) const STREAM_BYTES_MAX: u64 = 1 << 20;
/// Bytes of a printed line kept until its end comes, and of standard error.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Handles one `poll` may wait for.
const POLL_MAX: usize = 256;

/// Something to wait for.
pub(super) enum Pollable {
    Ready,
    /// At this time of the clock, in microseconds since 1970.
    At(u64),
}

/// Where bytes come from.
pub(super) enum InputStream {
    /// Standard input, which is at its end.
    Empty,
    File {
        node: NodeId,
        at: u64,
    },
}

/// Where bytes go.
pub(super) enum OutputStream {
    Stdout,
    Stderr,
    File {
        node: NodeId,
        /// `None` appends.
        at: Option<u64>,
    },
}

/// Error of a stream, whose description no guest requests.
pub(super) struct IoError;

/// How a stream operation fails.
#[derive(ComponentType, Lower)]
#[component(variant)]
pub(super) enum StreamError {
    #[component(name = "last-operation-failed")]
    LastOperationFailed(Resource<IoError>),
    #[component(name = "closed")]
    Closed,
}

/// One of the standard streams: bytes until their line ends.
pub(super) struct Lines {
    stream: LogStream,
    partial: Vec<u8>,
}

impl Lines {
    pub(super) fn new(stream: LogStream) -> Self {
        Self {
            stream,
            partial: Vec::new(),
        }
    }

    fn write(&mut self, bytes: &[u8], host: &mut Host) -> Result<(), HostError> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let line = piece.strip_suffix(b"\n");
            for part in line.unwrap_or(piece).chunks(LINE_BYTES_MAX) {
                if self.partial.len() + part.len() > LINE_BYTES_MAX {
                    self.end_line(host)?;
                }
                self.partial.extend_from_slice(part);
            }
            if line.is_some() {
                self.end_line(host)?;
            }
        }
        Ok(())
    }

    /// Ends a line that has begun.
    pub(super) fn flush(&mut self, host: &mut Host) -> Result<(), HostError> {
        if self.partial.is_empty() {
            return Ok(());
        }
        self.end_line(host)
    }

    fn end_line(&mut self, host: &mut Host) -> Result<(), HostError> {
        host.log(self.stream, &self.partial)?;
        self.partial.clear();
        Ok(())
    }
}

/// Standard error past the prelude: kept until the guest asks for anything else.
pub(super) struct Held {
    bytes: Vec<u8>,
}

impl Held {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    fn write(&mut self, bytes: &[u8], host: &mut Host) -> Result<(), HostError> {
        for part in bytes.chunks(LINE_BYTES_MAX) {
            if self.bytes.len() + part.len() > LINE_BYTES_MAX {
                self.flush(host)?;
            }
            self.bytes.extend_from_slice(part);
        }
        Ok(())
    }

    pub(super) fn flush(&mut self, host: &mut Host) -> Result<(), HostError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let text = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        host.log(LogStream::Stderr, text)?;
        self.bytes.clear();
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }
}

/// Answer of a stream operation.
type Answer<T> = wasmtime::Result<(Result<T, StreamError>,)>;

pub(super) fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    let mut errors = interface(linker, "io/error")?;
    errors.resource(
        "error",
        ResourceType::host::<IoError>(),
        |mut store, rep| {
            let error = Resource::<IoError>::new_own(rep);
            store.data_mut().wasi.handles.delete(error)?;
            Ok(())
        },
    )?;
    poll(&mut interface(linker, "io/poll")?)?;
    streams(&mut interface(linker, "io/streams")?)?;
    standard_streams(linker)
}

fn poll(poll: &mut LinkerInstance<'_, GuestState>) -> wasmtime::Result<()> {
    poll.resource(
        "pollable",
        ResourceType::host::<Pollable>(),
        |mut store, rep| {
            let pollable = Resource::<Pollable>::new_own(rep);
            store.data_mut().wasi.handles.delete(pollable)?;
            Ok(())
        },
    )?;
    poll.func_wrap(
        "[method]pollable.block",
        |mut store, (pollable,): (Resource<Pollable>,)| {
            ready(store.data_mut(), &[pollable]).map(drop)
        },
    )?;
    poll.func_wrap(
        "poll",
        |mut store: StoreContextMut<'_, GuestState>, (list,): (WasmList<Resource<Pollable>>,)| {
            if list.len() == 0 || list.len() > POLL_MAX {
                bail!(HostError::Misuse("poll of no handle or too many"));
            }
            let mut handles = Vec::with_capacity(list.len());
            for at in 0..list.len() {
                handles.extend(list.get(&mut store, at).transpose()?);
            }
            Ok((ready(store.data_mut(), &handles)?,))
        },
    )
}

/// Waits until one of the handles is ready. Returns the indexes of those that are.
fn ready(state: &mut GuestState, handles: &[Resource<Pollable>]) -> wasmtime::Result<Vec<u32>> {
    loop {
        let now_us = state.wasi.clock.now_us();
        let mut ready = Vec::new();
        let mut wake_at_us = u64::MAX;
        for (at, handle) in (0..).zip(handles) {
            match state.wasi.handles.get(handle)? {
                Pollable::At(when_us) if *when_us > now_us => {
                    wake_at_us = wake_at_us.min(*when_us);
                }
                Pollable::Ready | Pollable::At(_) => ready.push(at),
            }
        }
        if !ready.is_empty() {
            return Ok(ready);
        }
        state.wait(Some(wake_at_us))?;
    }
}

fn streams(streams: &mut LinkerInstance<'_, GuestState>) -> wasmtime::Result<()> {
    streams.resource(
        "input-stream",
        ResourceType::host::<InputStream>(),
        |mut store, rep| {
            let stream = Resource::<InputStream>::new_own(rep);
            if let InputStream::File { node, .. } = store.data_mut().wasi.handles.delete(stream)? {
                release(store.data_mut(), node);
            }
            Ok(())
        },
    )?;
    streams.resource(
        "output-stream",
        ResourceType::host::<OutputStream>(),
        |mut store, rep| {
            let stream = Resource::<OutputStream>::new_own(rep);
            if let OutputStream::File { node, .. } = store.data_mut().wasi.handles.delete(stream)? {
                release(store.data_mut(), node);
            }
            Ok(())
        },
    )?;
    streams.func_wrap("[method]input-stream.read", read)?;
    streams.func_wrap(
        "[method]input-stream.subscribe",
        |mut store: StoreContextMut<'_, GuestState>, (_,): (Resource<InputStream>,)| {
            Ok((store.data_mut().wasi.handles.push(Pollable::Ready)?,))
        },
    )?;
    streams.func_wrap(
        "[method]output-stream.check-write",
        |_, (_,): (Resource<OutputStream>,)| Ok((Ok::<_, StreamError>(STREAM_BYTES_MAX),)),
    )?;
    streams.func_wrap("[method]output-stream.write", write)?;
    streams.func_wrap("[method]output-stream.blocking-write-and-flush", write)?;
    streams.func_wrap(
        "[method]output-stream.blocking-flush",
        |_, (_,): (Resource<OutputStream>,)| Ok((Ok::<_, StreamError>(()),)),
    )?;
    streams.func_wrap(
        "[method]output-stream.subscribe",
        |mut store: StoreContextMut<'_, GuestState>, (_,): (Resource<OutputStream>,)| {
            Ok((store.data_mut().wasi.handles.push(Pollable::Ready)?,))
        },
    )
}

fn read(
    mut store: StoreContextMut<'_, GuestState>,
    (stream, bytes): (Resource<InputStream>, u64),
) -> Answer<Vec<u8>> {
    let wasi = &mut store.data_mut().wasi;
    let data = match wasi.handles.get_mut(&stream)? {
        InputStream::Empty => Vec::new(),
        InputStream::File { node, at } => {
            let data = wasi.files.read(*node, *at, bytes.min(STREAM_BYTES_MAX));
            *at += data.len() as u64;
            data.to_vec()
        }
    };
    Ok((if data.is_empty() && bytes > 0 {
        Err(StreamError::Closed)
    } else {
        Ok(data)
    },))
}

fn write(
    mut store: StoreContextMut<'_, GuestState>,
    (stream, bytes): (Resource<OutputStream>, WasmList<u8>),
) -> Answer<()> {
    if bytes.len() as u64 > STREAM_BYTES_MAX {
        bail!(HostError::Misuse("write of more than was offered"));
    }
    let bytes = bytes.as_le_slice(&store).to_vec();
    let GuestState { host, wasi, .. } = store.data_mut();
    let now_us = wasi.clock.now_us();
    match wasi.handles.get_mut(&stream)? {
        OutputStream::Stdout => wasi.stdout.write(&bytes, host)?,
        OutputStream::Stderr => wasi.stderr.write(&bytes, host)?,
        OutputStream::File { node, at } => {
            let (node, from) = (*node, at.unwrap_or_else(|| wasi.files.size(*node)));
            // Too many bytes stop the guest, so the stream is not used after that.
            *at = at.map(|at| at.saturating_add(bytes.len() as u64));
            let written = store
                .data_mut()
                .files(|files, room| files.write(node, from, &bytes, room, now_us));
            if written.is_err() {
                let error = store.data_mut().wasi.handles.push(IoError)?;
                return Ok((Err(StreamError::LastOperationFailed(error)),));
            }
        }
    }
    Ok((Ok(()),))
}

fn standard_streams(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    interface(linker, "cli/stdin")?.func_wrap(
        "get-stdin",
        |mut store: StoreContextMut<'_, GuestState>, ()| {
            Ok((store.data_mut().wasi.handles.push(InputStream::Empty)?,))
        },
    )?;
    interface(linker, "cli/stdout")?.func_wrap(
        "get-stdout",
        |mut store: StoreContextMut<'_, GuestState>, ()| {
            Ok((store.data_mut().wasi.handles.push(OutputStream::Stdout)?,))
        },
    )?;
    interface(linker, "cli/stderr")?.func_wrap(
        "get-stderr",
        |mut store: StoreContextMut<'_, GuestState>, ()| {
            Ok((store.data_mut().wasi.handles.push(OutputStream::Stderr)?,))
        },
    )
}
