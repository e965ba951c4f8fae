//! Order and bounds of the frames that a worker may send. A worker that violates them is killed.

use limbeck_domain::limits::{
    CALL_ARGS_BYTES_MAX, CALL_HEAD_BYTES_MAX, CALLS_BYTES_MAX, ERASED_BYTES_MAX,
    ERROR_TEXT_BYTES_MAX, GIVEN_UP_MAX, SITES_BYTES_MAX, WARNING_BYTES_MAX, WARNINGS_MAX,
};
use limbeck_domain::sandbox::REASON_BYTES_MAX;
use limbeck_domain::{CallId, ExecutionLimits, HostCall, Layer, Sandbox};

use crate::{CheckRequest, Done, Erased, Fault, FromWorker, LogLine, Ready};

/// Length of [`Ready::guest_hash`].
const GUEST_HASH_CHARS: usize = 64;

/// Violation of the protocol, for which a worker is killed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A frame that its state does not allow.
    #[error("worker sent `{frame}` while {state}")]
    OutOfOrder {
        /// The frame.
        frame: &'static str,
        /// State of the worker as the gateway knows it.
        state: &'static str,
    },
    /// The id of a call is not the next one.
    #[error("worker sent call {got}, the next one is {expected}")]
    CallId {
        /// Id in the frame.
        got: CallId,
        /// The only id allowed.
        expected: CallId,
    },
    /// More calls than a worker that keeps its bound can send.
    #[error("worker made calls over its bound of {limit}")]
    Calls {
        /// The bound.
        limit: u32,
    },
    /// More printed bytes than a worker that keeps its bound can send.
    #[error("worker printed over its bound of {limit} bytes")]
    Logs {
        /// The bound.
        limit: usize,
    },
    /// A part of a frame is above its bound.
    #[error("worker sent {what} of {bytes} bytes, at most {limit} are allowed")]
    Bytes {
        /// Which part.
        what: &'static str,
        /// Its size, or that of all of them so far.
        bytes: usize,
        /// The bound.
        limit: usize,
    },
    /// A list in a frame has too many items.
    #[error("worker sent {got} {what}, at most {limit} are allowed")]
    Items {
        /// What is listed.
        what: &'static str,
        /// Number of items.
        got: usize,
        /// The bound.
        limit: usize,
    },
    /// A frame that contradicts itself or the frames before it.
    #[error("worker sent {0}")]
    Nonsense(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Starting,
    Ready,
    /// The worker waits for the verdict on its program.
    Checking,
    Running,
    Idle,
    Done,
    /// A frame was refused. No further frame is accepted.
    Broken,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Checking => "checking",
            Self::Running => "running",
            Self::Idle => "idle",
            Self::Done => "done",
            Self::Broken => "refused",
        }
    }
}

/// The gateway's view of one worker: which frame may come next, and how much is left of each limit.
///
/// ```text
///                                      checking
///                                     ▲        ║
///                                 check    verdict
///                                     │        ▼
/// starting ──ready──▶ ready ══start══▶ running ──idle──▶ idle
///                                     ▲ │ │              ║
///                     erased, call, log ┘ │   ◀══deliver══╝
///                                         └──done──▶ done
/// ```
#[derive(Debug)]
pub struct Conversation {
    state: State,
    /// Whether the worker has sent the program without its types.
    erased: bool,
    /// Whether the worker has sent its check.
    checked: bool,
    last_call: CallId,
    calls_max: u32,
    call_bytes: usize,
    log_bytes: usize,
    log_bytes_max: usize,
    value_bytes_max: usize,
}

impl Default for Conversation {
    fn default() -> Self {
        Self {
            state: State::Starting,
            erased: false,
            checked: false,
            last_call: CallId(0),
            calls_max: 0,
            call_bytes: 0,
            log_bytes: 0,
            log_bytes_max: 0,
            value_bytes_max: 0,
        }
    }
}

impl Conversation {
    /// Checks a frame and changes the state.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`], and the same for every later frame. The caller kills the worker and reads no further frame.
    pub fn receive(&mut self, frame: &FromWorker) -> Result<(), ProtocolError> {
        let checked = self.check(frame);
        self.state = match &checked {
            Ok(state) => *state,
            Err(_) => State::Broken,
        };
        checked.map(|_| ())
    }

    /// Records that a program was sent: correct for a worker that is ready. Sending it to any other is a fault of the
    /// gateway, and ends the conversation.
    pub fn started(&mut self, limits: &ExecutionLimits) {
        self.calls_max = limits.calls;
        self.log_bytes_max = limits.log_bytes;
        self.value_bytes_max = limits.value_bytes;
        self.run_from(State::Ready);
    }

    /// Records that a delivery was sent: correct for a worker that is idle, as with [`Self::started`].
    pub fn delivered(&mut self) {
        self.run_from(State::Idle);
    }

    /// Records that the verdict of a check was sent: correct for a worker that is checking, as with
    /// [`Self::started`].
    pub fn verdict_sent(&mut self) {
        self.run_from(State::Checking);
    }

    /// Whether the guest waits for a delivery.
    pub fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    /// Whether the worker waits for the gateway: for a delivery or for a verdict.
    pub fn is_blocked(&self) -> bool {
        matches!(self.state, State::Idle | State::Checking)
    }

    fn run_from(&mut self, state: State) {
        self.state = if self.state == state {
            State::Running
        } else {
            State::Broken
        };
    }

    /// The state after `frame`.
    fn check(&mut self, frame: &FromWorker) -> Result<State, ProtocolError> {
        match (frame, self.state) {
            (FromWorker::Ready(ready), State::Starting) => {
                check_ready(ready)?;
                Ok(State::Ready)
            }
            (FromWorker::Erased(erased), State::Running) => {
                self.erased(erased)?;
                Ok(State::Running)
            }
            (FromWorker::Check(check), State::Running) => {
                self.check_request(check)?;
                Ok(State::Checking)
            }
            (FromWorker::Call(call), State::Running) => {
                self.call(call)?;
                Ok(State::Running)
            }
            (FromWorker::Log(line), State::Running) => {
                self.log(line)?;
                Ok(State::Running)
            }
            (FromWorker::Idle(_), State::Running) => Ok(State::Idle),
            (FromWorker::Done(done), State::Running) => {
                self.done(done)?;
                Ok(State::Done)
            }
            (frame, state) => Err(ProtocolError::OutOfOrder {
                frame: frame.name(),
                state: state.as_str(),
            }),
        }
    }

    fn erased(&mut self, erased: &Erased) -> Result<(), ProtocolError> {
        if self.erased || self.last_call != CallId(0) {
            return Err(ProtocolError::Nonsense(
                "a second program, or a program after a call",
            ));
        }
        self.erased = true;
        let warnings = &erased.program.warnings;
        items_at_most("warnings", warnings.len(), WARNINGS_MAX)?;
        at_most("a program", erased.program.bytes(), ERASED_BYTES_MAX)
    }

    fn check_request(&mut self, check: &CheckRequest) -> Result<(), ProtocolError> {
        if self.checked || self.erased || self.last_call != CallId(0) {
            return Err(ProtocolError::Nonsense(
                "a second check, or a check after the program or a call",
            ));
        }
        self.checked = true;
        at_most("call sites", check.sites.len(), SITES_BYTES_MAX)
    }

    fn call(&mut self, call: &HostCall) -> Result<(), ProtocolError> {
        // Without gaps and repeats: the journal and the replay find a call by its id.
        let expected = self.last_call.next();
        if call.id != expected {
            return Err(ProtocolError::CallId {
                got: call.id,
                expected,
            });
        }
        if call.id.0 > self.calls_max {
            return Err(ProtocolError::Calls {
                limit: self.calls_max,
            });
        }
        self.last_call = expected;
        self.call_bytes(call)
    }

    fn call_bytes(&mut self, call: &HostCall) -> Result<(), ProtocolError> {
        at_most("names of a call", call.head.len(), CALL_HEAD_BYTES_MAX)?;
        at_most("arguments of a call", call.body.len(), CALL_ARGS_BYTES_MAX)?;
        self.call_bytes += call.head.len() + call.body.len();
        at_most("calls", self.call_bytes, CALLS_BYTES_MAX)
    }

    /// Counts the bytes of a line and one for its end, so that the number of empty lines is bounded too.
    fn log(&mut self, line: &LogLine) -> Result<(), ProtocolError> {
        self.log_bytes += line.text.len() + 1;
        if self.log_bytes > self.log_bytes_max {
            return Err(ProtocolError::Logs {
                limit: self.log_bytes_max,
            });
        }
        Ok(())
    }

    fn done(&self, done: &Done) -> Result<(), ProtocolError> {
        match &done.result {
            Ok(Some(value)) => at_most("a value", value.len(), self.value_bytes_max)?,
            Ok(None) => {}
            Err(fault) => check_fault(fault)?,
        }
        items_at_most("warnings", done.warnings.len(), WARNINGS_MAX)?;
        items_at_most("calls given up", done.given_up.len(), GIVEN_UP_MAX)?;
        done.warnings
            .iter()
            .try_for_each(|warning| at_most("a warning", warning.len(), WARNING_BYTES_MAX))
    }
}

fn check_ready(ready: &Ready) -> Result<(), ProtocolError> {
    let hash = ready.guest_hash.as_bytes();
    let hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    if hash.len() != GUEST_HASH_CHARS || !hash.iter().all(hex) {
        return Err(ProtocolError::Nonsense("an invalid guest hash"));
    }
    check_sandbox(&ready.sandbox)
}

fn check_sandbox(sandbox: &Sandbox) -> Result<(), ProtocolError> {
    let Sandbox {
        tier,
        held,
        missing,
    } = sandbox;
    // Also bounded where frames are decoded. This function does not rely on how its argument was made.
    items_at_most("layers", held.len(), Layer::ALL.len())?;
    items_at_most("missing layers", missing.len(), Layer::ALL.len())?;
    for layer in missing {
        at_most("a reason", layer.reason.len(), REASON_BYTES_MAX)?;
    }
    // A worker that was taken over may claim any tier; it has none above that of the layers it names.
    if *tier > Sandbox::of(held.clone(), Vec::new()).tier {
        return Err(ProtocolError::Nonsense("a tier above that of its layers"));
    }
    Ok(())
}

fn check_fault(fault: &Fault) -> Result<(), ProtocolError> {
    at_most(
        "an error message",
        fault.message.len(),
        ERROR_TEXT_BYTES_MAX,
    )?;
    let hint = fault.hint.as_ref().map_or(0, String::len);
    at_most("a hint", hint, ERROR_TEXT_BYTES_MAX)
}

fn at_most(what: &'static str, bytes: usize, limit: usize) -> Result<(), ProtocolError> {
    if bytes > limit {
        return Err(ProtocolError::Bytes { what, bytes, limit });
    }
    Ok(())
}

fn items_at_most(what: &'static str, got: usize, limit: usize) -> Result<(), ProtocolError> {
    if got > limit {
        return Err(ProtocolError::Items { what, got, limit });
    }
    Ok(())
}
