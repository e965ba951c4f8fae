//! What both guests can reach: calls, printed lines, the answers that come back, and memory up to a
//! limit.
//!
//! A guest runs untrusted code inside an engine written in C, so nothing it passes is trusted. What
//! is linked to a guest checks pointers and lengths; here is checked what it may do with them. A
//! guest that breaks the rules is stopped with a [`Stop`], and the run ends.

use limbeck_wire::domain::{CallId, ExecutionLimits, HostCall, HostOp};
use limbeck_wire::limits::{CALL_ARGS_BYTES_MAX, CALL_HEAD_BYTES_MAX, CALLS_BYTES_MAX};
use limbeck_wire::{Delivery, FromWorker, Idle, LogLine, LogStream, ToWorker};
use wasmtime::ResourceLimiter;

use crate::channel::{Channel, ChannelError};

/// Entries of all function tables of a guest. CPython has about 9,000 and QuickJS a few thousand;
/// neither ever grows them.
const TABLE_ENTRIES_MAX: usize = 40_000;

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
        bytes: usize,
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
        bytes: usize,
        /// The bound.
        limit: usize,
    },
    /// The program ended the interpreter instead of itself.
    #[error("program ended the interpreter")]
    Exit,
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
    /// Whether memory was asked for beyond the limit.
    pub(crate) memory_refused: bool,
    /// Printed bytes that were not passed on.
    pub(crate) log_bytes_dropped: u64,
    /// Memory the host keeps for the guest; counted as the guest's own.
    pub(crate) outside_bytes: usize,
    /// Linear memory of the guest. It never shrinks, so this is also the largest so far.
    memory_bytes: usize,
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
            memory_refused: false,
            log_bytes_dropped: 0,
            outside_bytes: 0,
            memory_bytes: 0,
            log_bytes_left: 0,
            last_call: CallId(0),
            calls_pending: 0,
            call_bytes: 0,
        }
    }

    /// Takes the bounds of the run that begins.
    pub(crate) fn begin(&mut self, limits: ExecutionLimits, channel: Channel) {
        self.limits = limits;
        self.log_bytes_left = limits.log_bytes;
        self.channel = Some(channel);
    }

    /// Size of the guest's memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Memory the guest may still take.
    pub(crate) fn memory_left(&self) -> usize {
        let used = self.memory_bytes.saturating_add(self.outside_bytes);
        self.limits.memory_bytes.saturating_sub(used)
    }

    /// Notes that one call was answered.
    pub(crate) fn answered(&mut self) {
        self.calls_pending = self.calls_pending.saturating_sub(1);
    }

    /// Passes a call on. Its sizes were checked with [`check_call`] before it was copied.
    pub(crate) fn call(
        &mut self,
        id: u32,
        op: HostOp,
        head: String,
        body: String,
    ) -> Result<(), Stop> {
        let id = self.admit(id, head.len() + body.len())?;
        self.send(&FromWorker::Call(HostCall { id, op, head, body }))
    }

    /// Passes a printed line on, given without its end, as far as there is room for it.
    pub(crate) fn log(&mut self, stream: LogStream, line: &[u8]) -> Result<(), Stop> {
        if self.log_bytes_left == 0 {
            self.log_bytes_dropped += line.len() as u64;
            return Ok(());
        }
        let room = self.log_room(line.len());
        let mut text = String::from_utf8_lossy(&line[..room]).into_owned();
        // Replacing what is not UTF-8, such as a character cut in two, may have made it longer.
        text.truncate(limbeck_wire::domain::text::cut(&text, room).len());
        self.send(&FromWorker::Log(LogLine { stream, text }))
    }

    /// Asks the gateway whether the program may start, given the calls that stand in it. This is no call of
    /// the guest's, whose numbers begin at 1 and whose bounds it does not count against. The error is that of
    /// a gateway that cannot say.
    pub(crate) fn check(&mut self, sites: String) -> Result<Result<String, String>, Stop> {
        self.send(&FromWorker::Call(HostCall {
            id: CallId::CHECK,
            op: HostOp::Check,
            head: String::new(),
            body: sites,
        }))?;
        let mut results = self.wait(None)?.results;
        match (results.pop(), results.is_empty()) {
            (Some(answer), true) if answer.id == CallId::CHECK => Ok(answer.result),
            _ => Err(ChannelError::OutOfOrder("deliver").into()),
        }
    }

    /// Reports that the guest waits, and waits.
    pub(crate) fn wait(&mut self, wake_at_us: Option<u64>) -> Result<Delivery, Stop> {
        let channel = self.attached()?;
        channel.send(&FromWorker::Idle(Idle { wake_at_us }))?;
        channel.flush()?;
        match channel.receive()? {
            ToWorker::Deliver(delivery) => Ok(delivery),
            ToWorker::Start(_) => Err(ChannelError::OutOfOrder("start").into()),
        }
    }

    /// Checks the size of a value before it is copied.
    pub(crate) fn check_value(&self, bytes: usize) -> Result<(), Stop> {
        let limit = self.limits.value_bytes;
        if bytes > limit {
            return Err(Stop::ValueBytes { bytes, limit });
        }
        Ok(())
    }

    fn send(&mut self, frame: &FromWorker) -> Result<(), Stop> {
        Ok(self.attached()?.send(frame)?)
    }

    fn attached(&mut self) -> Result<&mut Channel, Stop> {
        let channel = self.channel.as_mut();
        channel.ok_or(Stop::Misuse("call before the start"))
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

/// Checks the sizes of a call before it is copied.
pub(crate) fn check_call(id: u32, head_bytes: usize, body_bytes: usize) -> Result<(), Stop> {
    let parts = [
        ("names", head_bytes, CALL_HEAD_BYTES_MAX),
        ("arguments", body_bytes, CALL_ARGS_BYTES_MAX),
    ];
    for (what, bytes, limit) in parts {
        if bytes > limit {
            return Err(Stop::CallBytes {
                what,
                id,
                bytes,
                limit,
            });
        }
    }
    Ok(())
}

/// The stream a guest means by a number.
pub(crate) fn stream_of(number: u32) -> Result<LogStream, Stop> {
    match number {
        0 => Ok(LogStream::Stdout),
        1 => Ok(LogStream::Stderr),
        _ => Err(Stop::Misuse("unknown log stream")),
    }
}

impl ResourceLimiter for Host {
    /// Counts all memories of the guest together.
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let all = self
            .memory_bytes
            .saturating_sub(current)
            .saturating_add(desired);
        let granted = all.saturating_add(self.outside_bytes) <= self.limits.memory_bytes;
        if granted {
            self.memory_bytes = all;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn host(limits: ExecutionLimits) -> Host {
        let mut host = Host::new();
        host.limits = limits;
        host.log_bytes_left = limits.log_bytes;
        host
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
        assert_eq!((host.memory_bytes(), host.memory_left()), (100, 0));
    }

    #[test]
    fn two_memories_share_one_limit() {
        let mut host = host(ExecutionLimits {
            memory_bytes: 100,
            ..ExecutionLimits::default()
        });
        assert!(host.memory_growing(0, 60, None).unwrap());
        assert!(host.memory_growing(0, 30, None).unwrap());
        assert!(!host.memory_growing(30, 41, None).unwrap());
        assert!(host.memory_growing(30, 40, None).unwrap());
    }
}
