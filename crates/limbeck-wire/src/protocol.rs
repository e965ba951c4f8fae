//! The order in which a worker may speak. Everything else ends it.

use limbeck_domain::{CallId, ExecutionLimits};

use crate::FromWorker;

/// Why a worker is killed for what it said.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A frame that its state does not allow.
    #[error("worker sent `{frame}` while {state}")]
    OutOfOrder {
        /// The frame.
        frame: &'static str,
        /// What the worker was doing as far as the gateway knows.
        state: &'static str,
    },
    /// A call id that is not the next one.
    #[error("worker sent call {got}, the next one is {expected}")]
    CallId {
        /// Id in the frame.
        got: CallId,
        /// The only id allowed.
        expected: CallId,
    },
    /// More printed bytes than a worker that keeps its bound can send.
    #[error("worker printed over its bound of {limit} bytes")]
    Logs {
        /// The bound.
        limit: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Starting,
    Ready,
    Running,
    Idle,
    Done,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Idle => "idle",
            Self::Done => "done",
        }
    }
}

/// The gateway's view of one worker: which frame may come next.
#[derive(Debug)]
pub struct Conversation {
    state: State,
    last_call: CallId,
    log_bytes: usize,
    log_bytes_max: usize,
}

impl Default for Conversation {
    fn default() -> Self {
        Self {
            state: State::Starting,
            last_call: CallId(0),
            log_bytes: 0,
            log_bytes_max: 0,
        }
    }
}

impl Conversation {
    /// Checks a frame and moves on.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`]; the worker is to be killed and nothing more read from it.
    pub fn receive(&mut self, frame: &FromWorker) -> Result<(), ProtocolError> {
        match (frame, self.state) {
            (FromWorker::Ready(_), State::Starting) => self.state = State::Ready,
            (FromWorker::Call(call), State::Running) => {
                let expected = self.last_call.next();
                if call.id != expected {
                    return Err(ProtocolError::CallId {
                        got: call.id,
                        expected,
                    });
                }
                self.last_call = expected;
            }
            (FromWorker::Log(line), State::Running) => {
                self.log_bytes = self.log_bytes.saturating_add(line.text.len());
                if self.log_bytes > self.log_bytes_max {
                    return Err(ProtocolError::Logs {
                        limit: self.log_bytes_max,
                    });
                }
            }
            (FromWorker::Idle(_), State::Running) => self.state = State::Idle,
            (FromWorker::Done(_), State::Running) => self.state = State::Done,
            (frame, state) => {
                return Err(ProtocolError::OutOfOrder {
                    frame: name(frame),
                    state: state.as_str(),
                });
            }
        }
        Ok(())
    }

    /// Notes that a program was sent. Whether the worker may be sent one is the caller's to know.
    pub fn started(&mut self, limits: &ExecutionLimits) {
        self.log_bytes_max = limits.log_bytes;
        self.state = State::Running;
    }

    /// Notes that answers were sent.
    pub fn delivered(&mut self) {
        self.state = State::Running;
    }

    /// Whether the worker waits for answers.
    pub fn is_idle(&self) -> bool {
        self.state == State::Idle
    }
}

fn name(frame: &FromWorker) -> &'static str {
    match frame {
        FromWorker::Ready(_) => "ready",
        FromWorker::Call(_) => "call",
        FromWorker::Log(_) => "log",
        FromWorker::Idle(_) => "idle",
        FromWorker::Done(_) => "done",
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{HostCall, HostOp};

    use super::*;
    use crate::{Idle, LogLine, LogStream, Ready};

    fn ready() -> FromWorker {
        FromWorker::Ready(Ready {
            protocol: 1,
            guest_hash: String::new(),
        })
    }

    fn call(id: u32) -> FromWorker {
        FromWorker::Call(HostCall {
            id: CallId(id),
            op: HostOp::Servers,
            head: String::new(),
            body: String::new(),
        })
    }

    fn running() -> Conversation {
        let mut conversation = Conversation::default();
        conversation.receive(&ready()).unwrap();
        conversation.started(&ExecutionLimits::default());
        conversation
    }

    #[test]
    fn calls_count_up_without_gaps_and_only_while_the_program_runs() {
        let mut conversation = running();
        conversation.receive(&call(1)).unwrap();
        conversation.receive(&call(2)).unwrap();
        assert_eq!(
            conversation.receive(&call(2)),
            Err(ProtocolError::CallId {
                got: CallId(2),
                expected: CallId(3)
            })
        );

        let mut conversation = running();
        let idle = FromWorker::Idle(Idle { wake_at_us: None });
        conversation.receive(&idle).unwrap();
        assert!(conversation.is_idle());
        assert!(matches!(
            conversation.receive(&call(1)),
            Err(ProtocolError::OutOfOrder { .. })
        ));
        conversation.delivered();
        conversation.receive(&call(1)).unwrap();
    }

    #[test]
    fn a_worker_says_ready_once_and_first() {
        let mut conversation = Conversation::default();
        assert!(conversation.receive(&call(1)).is_err());
        conversation.receive(&ready()).unwrap();
        assert!(conversation.receive(&ready()).is_err());
    }

    #[test]
    fn printing_over_the_bound_is_a_violation_and_up_to_it_is_not() {
        let line = |bytes: usize| {
            FromWorker::Log(LogLine {
                stream: LogStream::Stdout,
                text: "x".repeat(bytes),
            })
        };
        let limit = ExecutionLimits::default().log_bytes;
        let mut conversation = running();
        conversation.receive(&line(limit)).unwrap();
        assert_eq!(
            conversation.receive(&line(1)),
            Err(ProtocolError::Logs { limit })
        );
    }
}
