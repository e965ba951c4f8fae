//! Host side of a guest: calls, printed lines, answers, and memory up to a limit.
//!
//! A guest runs untrusted code inside an engine written in C, so nothing it passes is trusted. The
//! imports of a guest check pointers and lengths; this module checks bounds and order. A guest that breaks the
//! rules is stopped with a [`HostError`], and the run ends.

use limbeck_domain::limits::{CALL_ARGS_BYTES_MAX, CALL_HEAD_BYTES_MAX, CALLS_BYTES_MAX};
use limbeck_domain::limits::{GIVEN_UP_MAX, WARNING_BYTES_MAX, WARNINGS_MAX};
use limbeck_domain::{CallId, ErasedProgram, ExecutionLimits, HostCall, HostOp, Verdict};
use limbeck_wire::{CheckRequest, Delivery, Erased, FromWorker, Idle, LogStream, ToWorker};
use wasmtime::ResourceLimiter;

use crate::channel::{Channel, ChannelError};
use crate::printed::Printed;

/// Entries of all function tables of a guest. CPython has about 9,000 and QuickJS a few thousand;
/// neither ever grows them.
const TABLE_ENTRIES_MAX: usize = 40_000;

/// Reason for which the host stopped a guest.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostError {
    /// The program made more calls than its limit.
    #[error("program made more than {limit} calls")]
    Calls {
        /// The bound.
        limit: u32,
    },
    /// The program made more calls at the same time than its limit.
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
    /// The guest used the interface in a way that an unmodified guest never does.
    #[error("{0}")]
    Misuse(&'static str),
    /// The gateway is gone.
    #[error(transparent)]
    Channel(#[from] ChannelError),
}

/// State of one run on the host's side.
pub(crate) struct Host {
    /// Present from the start of the run.
    pub(crate) channel: Option<Channel>,
    pub(crate) limits: ExecutionLimits,
    /// Whether memory was asked for beyond the limit.
    pub(crate) memory_refused: bool,
    /// What the program printed.
    pub(crate) printed: Printed,
    /// Warnings of the guest about the program.
    pub(crate) warnings: Vec<String>,
    /// Calls that the program gave up.
    pub(crate) given_up: Vec<CallId>,
    /// Calls of tools.
    tool_calls: u32,
    /// Whether the program gave the client a block beside its result.
    emitted: bool,
    /// Memory the host keeps for the guest; counted as the guest's own.
    pub(crate) outside_bytes: usize,
    /// Linear memory of the guest. It never shrinks, so this is also the largest so far.
    memory_bytes: usize,
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
            printed: Printed::default(),
            warnings: Vec::new(),
            given_up: Vec::new(),
            tool_calls: 0,
            emitted: false,
            outside_bytes: 0,
            memory_bytes: 0,
            last_call: CallId(0),
            calls_pending: 0,
            call_bytes: 0,
        }
    }

    /// Takes the bounds of the run that begins.
    pub(crate) fn begin(&mut self, limits: ExecutionLimits, channel: Channel) {
        self.limits = limits;
        self.printed = Printed::new(limits.log_bytes);
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
    ) -> Result<(), HostError> {
        let id = self.admit(id, head.len() + body.len())?;
        self.tool_calls += u32::from(op == HostOp::Tool);
        self.emitted |= op == HostOp::Emit;
        self.send(&FromWorker::Call(HostCall { id, op, head, body }))
    }

    /// Takes a printed line, given without its end, and passes it on as far as there is room for it.
    pub(crate) fn log(&mut self, stream: LogStream, line: &[u8]) -> Result<(), HostError> {
        match self.printed.push(stream, line) {
            Some(line) => self.send(&FromWorker::Log(line)),
            None => Ok(()),
        }
    }

    /// Passes on the end of what the program printed.
    pub(crate) fn finish_log(&mut self) -> Result<(), HostError> {
        for line in self.printed.finish() {
            self.send(&FromWorker::Log(line))?;
        }
        Ok(())
    }

    /// Notes calls that the program gave up, as numbers with spaces between them.
    pub(crate) fn give_up(&mut self, numbers: &[u8]) {
        let numbers = std::str::from_utf8(numbers).unwrap_or_default();
        let calls = numbers.split(' ').filter_map(|number| number.parse().ok());
        let room = GIVEN_UP_MAX.saturating_sub(self.given_up.len());
        self.given_up.extend(calls.map(CallId).take(room));
    }

    /// Takes a warning of the guest.
    pub(crate) fn warn(&mut self, text: &[u8]) {
        if self.warnings.len() < WARNINGS_MAX {
            let text = &text[..text.len().min(WARNING_BYTES_MAX)];
            self.warnings
                .push(String::from_utf8_lossy(text).into_owned());
        }
    }

    /// The warning for a program that called tools and has nothing to show for it; asked when it returned no value.
    pub(crate) fn silence(&self) -> Option<String> {
        if self.tool_calls == 0 || self.printed.any || self.emitted {
            return None;
        }
        let calls = match self.tool_calls {
            1 => "1 call".to_owned(),
            calls => format!("{calls} calls"),
        };
        Some(format!(
            "the program made {calls}, returned no value and printed nothing: `return` what is needed; a field that a \
             result does not have is no value"
        ))
    }

    /// Sends the program without its types, which the gateway records.
    pub(crate) fn erased(&mut self, program: ErasedProgram) -> Result<(), HostError> {
        self.send(&FromWorker::Erased(Box::new(Erased { program })))
    }

    /// Sends the tool calls written in the program, and waits for the verdict: whether the program may start.
    pub(crate) fn check(&mut self, sites: String) -> Result<Verdict, HostError> {
        let channel = self.attached()?;
        channel.send(&FromWorker::Check(CheckRequest { sites }))?;
        channel.flush()?;
        let verdict = match channel.receive()? {
            ToWorker::Verdict(answer) => serde_json::from_str(&answer.verdict),
            ToWorker::Start(_) => return Err(ChannelError::OutOfOrder("start").into()),
            ToWorker::Deliver(_) => return Err(ChannelError::OutOfOrder("deliver").into()),
        };
        verdict.map_err(|_| ChannelError::OutOfOrder("verdict that is not JSON").into())
    }

    /// Reports that the guest waits, and waits.
    pub(crate) fn wait(&mut self, wake_at_us: Option<u64>) -> Result<Delivery, HostError> {
        let channel = self.attached()?;
        channel.send(&FromWorker::Idle(Idle { wake_at_us }))?;
        channel.flush()?;
        match channel.receive()? {
            ToWorker::Deliver(delivery) => Ok(delivery),
            ToWorker::Start(_) => Err(ChannelError::OutOfOrder("start").into()),
            ToWorker::Verdict(_) => Err(ChannelError::OutOfOrder("verdict").into()),
        }
    }

    /// Checks the size of a value before it is copied.
    pub(crate) fn check_value(&self, bytes: usize) -> Result<(), HostError> {
        let limit = self.limits.value_bytes;
        if bytes > limit {
            return Err(HostError::ValueBytes { bytes, limit });
        }
        Ok(())
    }

    fn send(&mut self, frame: &FromWorker) -> Result<(), HostError> {
        Ok(self.attached()?.send(frame)?)
    }

    fn attached(&mut self) -> Result<&mut Channel, HostError> {
        let channel = self.channel.as_mut();
        channel.ok_or(HostError::Misuse("call before the start"))
    }

    /// Admits the next call, of `bytes` of names and arguments. The gateway counts the same way and
    /// kills a worker that lets more through.
    fn admit(&mut self, id: u32, bytes: usize) -> Result<CallId, HostError> {
        let expected = self.last_call.next();
        if id != expected.0 {
            return Err(HostError::Misuse("call ids out of order"));
        }
        if id > self.limits.calls {
            return Err(HostError::Calls {
                limit: self.limits.calls,
            });
        }
        if self.calls_pending >= self.limits.calls_pending {
            return Err(HostError::CallsPending {
                limit: self.limits.calls_pending,
            });
        }
        let call_bytes = self.call_bytes.saturating_add(bytes);
        if call_bytes > CALLS_BYTES_MAX {
            return Err(HostError::CallsBytes {
                limit: CALLS_BYTES_MAX,
            });
        }
        self.last_call = expected;
        self.calls_pending += 1;
        self.call_bytes = call_bytes;
        Ok(expected)
    }
}

/// Checks the sizes of a call before it is copied.
pub(crate) fn check_call(id: u32, head_bytes: usize, body_bytes: usize) -> Result<(), HostError> {
    let parts = [
        ("names", head_bytes, CALL_HEAD_BYTES_MAX),
        ("arguments", body_bytes, CALL_ARGS_BYTES_MAX),
    ];
    for (what, bytes, limit) in parts {
        if bytes > limit {
            return Err(HostError::CallBytes {
                what,
                id,
                bytes,
                limit,
            });
        }
    }
    Ok(())
}

/// Where a line of the guest goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineTarget {
    /// Printed text.
    Printed(LogStream),
    /// The warnings of the envelope.
    Warnings,
    /// Numbers of calls that the program gave up.
    GivenUp,
}

impl LineTarget {
    /// The target with a number, as both guests count them.
    pub(crate) fn from_number(number: u32) -> Result<Self, HostError> {
        match number {
            0 => Ok(Self::Printed(LogStream::Stdout)),
            1 => Ok(Self::Printed(LogStream::Stderr)),
            2 => Ok(Self::Warnings),
            3 => Ok(Self::GivenUp),
            _ => Err(HostError::Misuse("unknown log stream")),
        }
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
        host
    }

    #[test]
    fn calls_are_admitted_in_order_up_to_their_bounds() {
        let mut host = host(ExecutionLimits {
            calls: 3,
            calls_pending: 2,
            ..ExecutionLimits::default()
        });
        assert!(matches!(host.admit(2, 0), Err(HostError::Misuse(_))));
        assert_eq!(host.admit(1, 0).unwrap(), CallId(1));
        assert_eq!(host.admit(2, 0).unwrap(), CallId(2));
        assert!(matches!(
            host.admit(3, 0),
            Err(HostError::CallsPending { limit: 2 })
        ));
        host.answered();
        let left = CALLS_BYTES_MAX;
        assert!(matches!(
            host.admit(3, left + 1),
            Err(HostError::CallsBytes { .. })
        ));
        assert_eq!(host.admit(3, left).unwrap(), CallId(3));
        assert!(matches!(
            host.admit(4, 0),
            Err(HostError::Calls { limit: 3 })
        ));
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
