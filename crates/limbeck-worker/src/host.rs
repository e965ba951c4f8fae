//! What a guest can reach: three functions, and memory up to its limit.
//!
//! A guest runs untrusted code inside an engine written in C, so nothing it passes is trusted:
//! every pointer is checked against its memory, every length against a bound before a byte is
//! copied, every number against what it may be. A guest that breaks the rules is stopped with a
//! [`Stop`], and the run ends.

use limbeck_wire::domain::{CallId, ExecutionLimits, HostCall, HostOp};
use limbeck_wire::limits::{CALL_ARGS_BYTES_MAX, CALL_HEAD_BYTES_MAX, CALLS_BYTES_MAX};
use limbeck_wire::{FromWorker, LogLine, LogStream};
use serde::Deserialize;
use wasmtime::{Caller, Engine, Extern, Linker, ResourceLimiter};

use crate::channel::{Channel, ChannelError};

/// Error texts of the guest, as JSON: five of 8 KiB, escaped at worst six to one.
const ERROR_BYTES_MAX: u32 = 256 << 10;
/// Entries of the guest's function table; QuickJS has a few thousand and never grows it.
const TABLE_ENTRIES_MAX: usize = 20_000;

/// How the guest ended its program.
#[derive(Debug)]
pub(crate) enum GuestEnd {
    /// JSON text of the value; `None` for `undefined`.
    Value(Option<String>),
    /// The value has no JSON form; why.
    NotSerialisable(String),
    /// The program threw.
    Threw(GuestError),
    /// The engine refused the script.
    Syntax(GuestError),
}

/// An exception in the words of the guest.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct GuestError {
    /// `name` of the error, empty when something else than an error was thrown.
    #[serde(default)]
    pub(crate) name: String,
    /// `message` of the error, or the thrown thing as text.
    #[serde(default)]
    pub(crate) message: String,
    /// `stack` of the error.
    #[serde(default)]
    pub(crate) stack: String,
    /// The next step, where the guest knows one.
    #[serde(default)]
    pub(crate) hint: Option<String>,
}

/// Why the host stopped a guest.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    /// One call more than the run may make.
    #[error("program made more than {limit} calls")]
    Calls {
        /// The bound.
        limit: u32,
    },
    /// One call more than may wait at the same time.
    #[error("program started more than {limit} calls without waiting for answers")]
    CallsPending {
        /// The bound.
        limit: usize,
    },
    /// Arguments of a call, or its target, above the bound.
    #[error("{what} of call {id} are {bytes} bytes, at most {limit} are allowed")]
    CallBytes {
        /// Which part.
        what: &'static str,
        /// Which call.
        id: u32,
        /// Its size.
        bytes: u32,
        /// The bound.
        limit: usize,
    },
    /// Names and arguments of all calls together are above the bound.
    #[error("arguments of all calls together are more than {limit} bytes")]
    CallsBytes {
        /// The bound.
        limit: usize,
    },
    /// The returned value is above the bound.
    #[error("returned value is {bytes} bytes, at most {limit} are allowed")]
    ValueBytes {
        /// Its size.
        bytes: u32,
        /// The bound.
        limit: usize,
    },
    /// The guest used the interface in a way that the one we built never does.
    #[error("{0}")]
    Misuse(&'static str),
    /// The gateway is gone.
    #[error(transparent)]
    Channel(#[from] ChannelError),
}

/// State of one run on the host's side.
pub(crate) struct Host {
    /// Attached when a gateway is there to talk to.
    pub(crate) channel: Option<Channel>,
    pub(crate) limits: ExecutionLimits,
    /// Set once, when the program ends.
    pub(crate) end: Option<GuestEnd>,
    /// Whether memory was asked for beyond the limit.
    pub(crate) memory_refused: bool,
    /// Printed bytes that were not passed on.
    pub(crate) log_bytes_dropped: u64,
    log_bytes_left: usize,
    last_call: CallId,
    calls_pending: usize,
    call_bytes: usize,
}

impl Host {
    pub(crate) fn new() -> Self {
        Self {
            channel: None,
            limits: ExecutionLimits::default(),
            end: None,
            memory_refused: false,
            log_bytes_dropped: 0,
            log_bytes_left: 0,
            last_call: CallId(0),
            calls_pending: 0,
            call_bytes: 0,
        }
    }

    /// Takes the bounds of the run that begins.
    pub(crate) fn begin(&mut self, limits: ExecutionLimits) {
        self.limits = limits;
        self.log_bytes_left = limits.log_bytes;
    }

    /// Notes that one call was answered.
    pub(crate) fn answered(&mut self) {
        self.calls_pending = self.calls_pending.saturating_sub(1);
    }

    fn send(&mut self, frame: &FromWorker) -> Result<(), Stop> {
        let channel = self
            .channel
            .as_mut()
            .ok_or(Stop::Misuse("call before the start"))?;
        Ok(channel.send(frame)?)
    }

    /// Admits the next call, of `bytes` of names and arguments. The gateway counts the same way and
    /// kills a worker that lets more through.
    fn admit(&mut self, id: u32, bytes: usize) -> Result<CallId, Stop> {
        let expected = self.last_call.next();
        if id != expected.0 {
            return Err(Stop::Misuse("call ids out of order"));
        }
        if id > self.limits.calls {
            return Err(Stop::Calls {
                limit: self.limits.calls,
            });
        }
        if self.calls_pending >= self.limits.calls_pending {
            return Err(Stop::CallsPending {
                limit: self.limits.calls_pending,
            });
        }
        let call_bytes = self.call_bytes.saturating_add(bytes);
        if call_bytes > CALLS_BYTES_MAX {
            return Err(Stop::CallsBytes {
                limit: CALLS_BYTES_MAX,
            });
        }
        self.last_call = expected;
        self.calls_pending += 1;
        self.call_bytes = call_bytes;
        Ok(expected)
    }

    /// Room left for a line of `bytes`, its line end counted. What does not fit is dropped, and
    /// everything after it, so the log has no hole.
    fn log_room(&mut self, bytes: usize) -> usize {
        let room = self.log_bytes_left.saturating_sub(1).min(bytes);
        self.log_bytes_left = if room < bytes {
            0
        } else {
            self.log_bytes_left.saturating_sub(bytes + 1)
        };
        self.log_bytes_dropped += (bytes - room) as u64;
        room
    }
}

impl ResourceLimiter for Host {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let granted = desired <= self.limits.memory_bytes;
        self.memory_refused |= !granted;
        Ok(granted)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ENTRIES_MAX)
    }
}

/// Links the imports of the guest, and nothing else.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<Host>> {
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "call", call)?;
    linker.func_wrap("host", "log", log)?;
    linker.func_wrap("host", "done", done)?;
    Ok(linker)
}

fn call(
    mut caller: Caller<'_, Host>,
    id: u32,
    op: u32,
    head: u32,
    head_bytes: u32,
    body: u32,
    body_bytes: u32,
) -> wasmtime::Result<()> {
    let op = HostOp::from_number(op).ok_or(Stop::Misuse("unknown host call"))?;
    let parts = [
        ("names", head_bytes, CALL_HEAD_BYTES_MAX),
        ("arguments", body_bytes, CALL_ARGS_BYTES_MAX),
    ];
    for (what, bytes, limit) in parts {
        if bytes as usize > limit {
            let stop = Stop::CallBytes {
                what,
                id,
                bytes,
                limit,
            };
            return Err(stop.into());
        }
    }
    let (memory, host) = memory_and_host(&mut caller)?;
    let head = text(memory, head, head_bytes as usize)?;
    let body = text(memory, body, body_bytes as usize)?;
    let id = host.admit(id, head.len() + body.len())?;
    let call = HostCall { id, op, head, body };
    Ok(host.send(&FromWorker::Call(call))?)
}

fn log(mut caller: Caller<'_, Host>, stream: u32, line: u32, bytes: u32) -> wasmtime::Result<()> {
    let stream = match stream {
        0 => LogStream::Stdout,
        1 => LogStream::Stderr,
        _ => return Err(Stop::Misuse("unknown log stream").into()),
    };
    let (memory, host) = memory_and_host(&mut caller)?;
    if host.log_bytes_left == 0 {
        host.log_bytes_dropped += u64::from(bytes);
        return Ok(());
    }
    let room = host.log_room(bytes as usize);
    let mut text = text(memory, line, room)?;
    // Replacing what is not UTF-8, such as a character cut in two, may have made it longer.
    text.truncate(limbeck_wire::domain::text::cut(&text, room).len());
    Ok(host.send(&FromWorker::Log(LogLine { stream, text }))?)
}

fn done(mut caller: Caller<'_, Host>, kind: u32, at: u32, bytes: u32) -> wasmtime::Result<()> {
    let (memory, host) = memory_and_host(&mut caller)?;
    if host.end.is_some() {
        return Err(Stop::Misuse("the program ended twice").into());
    }
    let limit = host.limits.value_bytes;
    if kind == 0 && bytes as usize > limit {
        return Err(Stop::ValueBytes { bytes, limit }.into());
    }
    if kind != 0 && bytes > ERROR_BYTES_MAX {
        return Err(Stop::Misuse("error text above its bound").into());
    }
    let text = text(memory, at, bytes as usize)?;
    host.end = Some(match kind {
        0 => GuestEnd::Value(Some(text).filter(|text| !text.is_empty())),
        1 => GuestEnd::Threw(guest_error(&text)?),
        2 => GuestEnd::NotSerialisable(text),
        3 => GuestEnd::Syntax(guest_error(&text)?),
        _ => return Err(Stop::Misuse("unknown end of the program").into()),
    });
    Ok(())
}

fn guest_error(json: &str) -> Result<GuestError, Stop> {
    serde_json::from_str(json).map_err(|_| Stop::Misuse("malformed error"))
}

fn memory_and_host<'c>(caller: &'c mut Caller<'_, Host>) -> Result<(&'c [u8], &'c mut Host), Stop> {
    match caller.get_export("memory") {
        Some(Extern::Memory(memory)) => {
            let (memory, host) = memory.data_and_store_mut(caller);
            Ok((memory, host))
        }
        _ => Err(Stop::Misuse("the guest has no memory")),
    }
}

/// Copies text out of the guest. Guests write UTF-8; what is not is replaced, not refused.
fn text(memory: &[u8], at: u32, bytes: usize) -> Result<String, Stop> {
    let at = at as usize;
    let slice = at
        .checked_add(bytes)
        .and_then(|end| memory.get(at..end))
        .ok_or(Stop::Misuse("text outside the guest's memory"))?;
    Ok(String::from_utf8_lossy(slice).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(limits: ExecutionLimits) -> Host {
        let mut host = Host::new();
        host.begin(limits);
        host
    }

    #[test]
    fn text_is_read_inside_the_memory_and_refused_outside() {
        let memory = b"abcdef";
        assert_eq!(text(memory, 1, 3).unwrap(), "bcd");
        assert_eq!(text(memory, 6, 0).unwrap(), "");
        for (at, bytes) in [(0, 7), (6, 1), (7, 0), (u32::MAX, 1), (1, usize::MAX)] {
            assert!(text(memory, at, bytes).is_err(), "{at} {bytes}");
        }
        assert_eq!(text(b"a\xffb", 0, 3).unwrap(), "a\u{fffd}b");
    }

    #[test]
    fn a_log_is_cut_where_it_first_exceeds_its_bound_and_counts_the_rest() {
        let mut host = host(ExecutionLimits {
            log_bytes: 10,
            ..ExecutionLimits::default()
        });
        assert_eq!(host.log_room(4), 4);
        assert_eq!(host.log_room(9), 4);
        assert_eq!(host.log_room(1), 0);
        assert_eq!(host.log_bytes_dropped, 6);
    }

    #[test]
    fn calls_are_admitted_in_order_up_to_their_bounds() {
        let mut host = host(ExecutionLimits {
            calls: 3,
            calls_pending: 2,
            ..ExecutionLimits::default()
        });
        assert!(matches!(host.admit(2, 0), Err(Stop::Misuse(_))));
        assert_eq!(host.admit(1, 0).unwrap(), CallId(1));
        assert_eq!(host.admit(2, 0).unwrap(), CallId(2));
        assert!(matches!(
            host.admit(3, 0),
            Err(Stop::CallsPending { limit: 2 })
        ));
        host.answered();
        let left = CALLS_BYTES_MAX;
        assert!(matches!(
            host.admit(3, left + 1),
            Err(Stop::CallsBytes { .. })
        ));
        assert_eq!(host.admit(3, left).unwrap(), CallId(3));
        assert!(matches!(host.admit(4, 0), Err(Stop::Calls { limit: 3 })));
    }

    #[test]
    fn memory_grows_to_its_limit_and_a_refusal_is_remembered() {
        let mut host = host(ExecutionLimits {
            memory_bytes: 100,
            ..ExecutionLimits::default()
        });
        assert!(host.memory_growing(0, 100, None).unwrap());
        assert!(!host.memory_refused);
        assert!(!host.memory_growing(100, 101, None).unwrap());
        assert!(host.memory_refused);
    }
}
