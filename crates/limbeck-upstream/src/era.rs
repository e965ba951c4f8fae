//! Finds out how a server speaks, and connects to it.
//!
//! `server/discover` is asked first. An answer makes the server modern. A refusal makes it legacy, and
//! `initialize` follows on the same pipes. Silence, or the server's end, makes it legacy on a fresh
//! process, because real servers died of, or stayed pinned by, a question they did not understand. A server that
//! refuses `initialize` for its version (`-32022`) is modern after all.
//!
//! Verdicts are remembered per command line for the life of the pool. A wrong one heals: a remembered
//! modern server that refuses is asked as a legacy one, and the other way round.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::ErrorCode;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection::{Connection, in_ms};
use crate::listener::{Ears, Listener};
use crate::stdio::program;
use crate::stdio::stderr::StderrRing;
use crate::stdio::tap::Tap;
use crate::sync::lock;
use crate::wire::{HandshakeFault, Wire};
use crate::{Era, StdioSpec, UpstreamError};

/// Time for `initialize` after a refused probe, before a fresh process is tried.
const SECOND_HANDSHAKE: Duration = Duration::from_secs(10);

/// What is known about command lines.
#[derive(Default)]
pub(crate) struct EraMemory(Mutex<HashMap<CommandLine, Era>>);

/// What decides how a server speaks.
type CommandLine = (PathBuf, Vec<String>);

impl EraMemory {
    fn recall(&self, spec: &StdioSpec) -> Option<Era> {
        lock(&self.0).get(&command_line(spec)).copied()
    }

    fn remember(&self, spec: &StdioSpec, era: Era) {
        lock(&self.0).insert(command_line(spec), era);
    }
}

fn command_line(spec: &StdioSpec) -> CommandLine {
    (spec.command.clone(), spec.args.clone())
}

/// The latest process of a server, as far as it helps to find out why something failed.
#[derive(Clone)]
pub(crate) struct Trace {
    pub(crate) stderr: StderrRing,
    pub(crate) tap: Arc<Tap>,
}

/// Everything a start needs.
pub(crate) struct Launch {
    pub(crate) spec: StdioSpec,
    pub(crate) start_timeout: Duration,
    pub(crate) memory: Arc<EraMemory>,
    /// What is heard from the server goes there.
    pub(crate) ears: Arc<Ears>,
    /// Cancelled when the server is shut down.
    pub(crate) closing: CancellationToken,
    /// Tracks the supervisors of the processes.
    pub(crate) tracker: TaskTracker,
    /// Where the latest process is noted.
    pub(crate) trace: Arc<Mutex<Option<Trace>>>,
}

impl Launch {
    /// Starts the server and shakes hands. Every process gets the whole start time.
    ///
    /// # Errors
    ///
    /// Those of starting: [`UpstreamError::ProgramNotFound`], [`UpstreamError::Spawn`],
    /// [`UpstreamError::StartTimeout`], [`UpstreamError::Exited`], [`UpstreamError::Handshake`].
    pub(crate) async fn connect(&self) -> Result<Connection, UpstreamError> {
        let program = program::resolve(&self.spec)?;
        let connection = match self.memory.recall(&self.spec) {
            Some(Era::Legacy) => self.legacy(&program).await,
            Some(Era::Modern) | None => self.probe(&program).await,
        }?;
        self.memory.remember(&self.spec, connection.era());
        Ok(connection)
    }

    async fn probe(&self, program: &Path) -> Result<Connection, UpstreamError> {
        let mut wire = self.spawn(program)?;
        match wire.handshake(Era::Modern, self.start_timeout).await {
            Ok(service) => return Ok(Connection::new(wire, service, Era::Modern)),
            Err(fault @ HandshakeFault::TimedOut) => return Err(self.failed(wire, fault).await),
            Err(HandshakeFault::Silent | HandshakeFault::Ended) => {}
            Err(HandshakeFault::Refused { .. } | HandshakeFault::NoCommonVersion { .. }) => {
                let limit = SECOND_HANDSHAKE.min(self.start_timeout);
                if let Ok(service) = wire.handshake(Era::Legacy, limit).await {
                    return Ok(Connection::new(wire, service, Era::Legacy));
                }
            }
        }
        wire.end().await;
        self.legacy(program).await
    }

    async fn legacy(&self, program: &Path) -> Result<Connection, UpstreamError> {
        let mut wire = self.spawn(program)?;
        match wire.handshake(Era::Legacy, self.start_timeout).await {
            Ok(service) => Ok(Connection::new(wire, service, Era::Legacy)),
            Err(HandshakeFault::Refused { code, .. })
                if code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION.0 =>
            {
                wire.end().await;
                self.modern(program).await
            }
            Err(fault) => Err(self.failed(wire, fault).await),
        }
    }

    async fn modern(&self, program: &Path) -> Result<Connection, UpstreamError> {
        let mut wire = self.spawn(program)?;
        match wire.handshake(Era::Modern, self.start_timeout).await {
            Ok(service) => Ok(Connection::new(wire, service, Era::Modern)),
            Err(fault) => Err(self.failed(wire, fault).await),
        }
    }

    fn spawn(&self, program: &Path) -> Result<Wire, UpstreamError> {
        let stop = self.closing.child_token();
        let listener = Arc::new(Listener::new(self.ears.clone()));
        let wire = Wire::spawn(&self.spec, program, listener, stop, &self.tracker)?;
        *lock(&self.trace) = Some(Trace {
            stderr: wire.process.stderr.clone(),
            tap: wire.tap.clone(),
        });
        Ok(wire)
    }

    /// Ends the process and says what happened, with what it had to say itself.
    async fn failed(&self, wire: Wire, fault: HandshakeFault) -> UpstreamError {
        wire.process.stop.cancel();
        wire.process.ended().await;
        let status = wire.process.status().unwrap_or_default();
        let stderr_tail = wire.process.last_words();
        match fault {
            HandshakeFault::Ended => UpstreamError::Exited {
                status,
                stderr_tail,
            },
            HandshakeFault::TimedOut | HandshakeFault::Silent => UpstreamError::StartTimeout {
                ms: in_ms(self.start_timeout),
                stderr_tail,
            },
            HandshakeFault::Refused { code, message } => UpstreamError::Handshake {
                reason: format!("{message} (code {code})"),
            },
            HandshakeFault::NoCommonVersion { offered } => UpstreamError::Handshake {
                reason: format!("it speaks only {}", offered.join(", ")),
            },
        }
    }
}
