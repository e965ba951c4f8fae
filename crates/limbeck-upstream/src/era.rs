//! Finds out how a server speaks, and connects to it.
//!
//! `server/discover` is asked first. An answer makes the server modern. A refusal makes it legacy, and
//! `initialize` follows on the same pipes. Silence, or the server's end, makes it legacy on a fresh
//! process, because real servers died of, or stayed pinned by, a question they did not understand. A server that
//! refuses `initialize` for its version (`-32022`) is modern after all.
//!
//! Verdicts are remembered for an hour, per command line, or per origin and path (`http::connect`). A wrong
//! one heals: a remembered modern server that refuses is asked as a legacy one, and the other way round.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::ErrorCode;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection::{Connection, Peer, in_ms};
use crate::http::session::Speech;
use crate::http::{self, HttpSpec};
use crate::listener::{Ears, Listener};
use crate::stdio::program;
use crate::stdio::stderr::StderrRing;
use crate::stdio::tap::Tap;
use crate::sync::lock;
use crate::wire::{HandshakeFault, Wire};
use crate::{Era, StdioSpec, UpstreamError};

/// Time for `initialize` after a refused probe, before a fresh process is tried.
const SECOND_HANDSHAKE: Duration = Duration::from_secs(10);

/// A verdict is asked for anew after this time: a wrong "modern" fails loudly, but a wrong "legacy" works
/// without anybody noticing.
const VERDICT_LIFE: Duration = Duration::from_secs(3_600);

/// How servers were last seen to speak.
#[derive(Default)]
pub(crate) struct EraMemory(Mutex<HashMap<Whose, (Speech, Instant)>>);

/// What decides how a server speaks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Whose {
    CommandLine(PathBuf, Vec<String>),
    /// Origin and path.
    Address(String),
}

impl EraMemory {
    fn recall(&self, whose: &Whose, now: Instant) -> Option<Speech> {
        let (speech, since) = lock(&self.0).get(whose).copied()?;
        (now.saturating_duration_since(since) < VERDICT_LIFE).then_some(speech)
    }

    /// Keeps a verdict. One that was recalled and held keeps its age.
    fn remember(&self, whose: Whose, speech: Speech, now: Instant) {
        if self.recall(&whose, now) != Some(speech) {
            lock(&self.0).insert(whose, (speech, now));
        }
    }
}

/// What is connected to.
pub(crate) enum Target {
    /// A child process.
    Process(StdioSpec),
    /// An address.
    Http(Box<HttpSpec>),
}

impl Target {
    fn whose(&self) -> Whose {
        match self {
            Self::Process(spec) => Whose::CommandLine(spec.command.clone(), spec.args.clone()),
            Self::Http(spec) => Whose::Address(format!("{}{}", spec.origin(), spec.url.path())),
        }
    }
}

/// The latest process of a server, as far as it helps to find out why something failed.
#[derive(Clone)]
pub(crate) struct Trace {
    /// Only a process has one.
    pub(crate) stderr: Option<StderrRing>,
    pub(crate) tap: Arc<Tap>,
}

/// Everything a start needs.
pub(crate) struct Launch {
    pub(crate) target: Target,
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
        let whose = self.target.whose();
        let known = self.memory.recall(&whose, Instant::now());
        let (connection, speech) = match &self.target {
            Target::Http(spec) => http::connect::connect(self, spec, known).await?,
            Target::Process(spec) => {
                let start = Start {
                    launch: self,
                    spec,
                    program: program::resolve(spec)?,
                };
                let connection = match known {
                    Some(Speech::Legacy) => start.legacy().await,
                    Some(Speech::Modern | Speech::Sse) | None => start.probe().await,
                }?;
                let speech = match connection.era() {
                    Era::Legacy => Speech::Legacy,
                    Era::Modern => Speech::Modern,
                };
                (connection, speech)
            }
        };
        self.memory.remember(whose, speech, Instant::now());
        Ok(connection)
    }
}

/// The start of a process.
struct Start<'a> {
    launch: &'a Launch,
    spec: &'a StdioSpec,
    program: PathBuf,
}

impl Start<'_> {
    async fn probe(&self) -> Result<Connection, UpstreamError> {
        let mut wire = self.spawn()?;
        match wire.handshake(Era::Modern, self.launch.start_timeout).await {
            Ok(service) => return Ok(Connection::new(Peer::Process(wire), service, Era::Modern)),
            Err(fault @ HandshakeFault::TimedOut) => return Err(self.failed(wire, fault).await),
            Err(HandshakeFault::Silent | HandshakeFault::Ended) => {}
            Err(HandshakeFault::Refused { .. } | HandshakeFault::NoCommonVersion { .. }) => {
                let limit = SECOND_HANDSHAKE.min(self.launch.start_timeout);
                if let Ok(service) = wire.handshake(Era::Legacy, limit).await {
                    return Ok(Connection::new(Peer::Process(wire), service, Era::Legacy));
                }
            }
        }
        wire.end().await;
        self.legacy().await
    }

    async fn legacy(&self) -> Result<Connection, UpstreamError> {
        let mut wire = self.spawn()?;
        match wire.handshake(Era::Legacy, self.launch.start_timeout).await {
            Ok(service) => Ok(Connection::new(Peer::Process(wire), service, Era::Legacy)),
            Err(HandshakeFault::Refused { code, .. })
                if code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION.0 =>
            {
                wire.end().await;
                self.modern().await
            }
            Err(fault) => Err(self.failed(wire, fault).await),
        }
    }

    async fn modern(&self) -> Result<Connection, UpstreamError> {
        let mut wire = self.spawn()?;
        match wire.handshake(Era::Modern, self.launch.start_timeout).await {
            Ok(service) => Ok(Connection::new(Peer::Process(wire), service, Era::Modern)),
            Err(fault) => Err(self.failed(wire, fault).await),
        }
    }

    fn spawn(&self) -> Result<Wire, UpstreamError> {
        let launch = self.launch;
        let stop = launch.closing.child_token();
        let listener = Arc::new(Listener::new(launch.ears.clone()));
        let wire = Wire::spawn(self.spec, &self.program, listener, stop, &launch.tracker)?;
        *lock(&launch.trace) = Some(Trace {
            stderr: Some(wire.process.stderr.clone()),
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
                ms: in_ms(self.launch.start_timeout),
                stderr_tail,
            },
            HandshakeFault::Refused { code, message } => UpstreamError::Handshake {
                reason: format!("{} (code {code})", wire.process.redactor.redact(&message)),
            },
            HandshakeFault::NoCommonVersion { offered } => UpstreamError::Handshake {
                reason: format!("it speaks only {}", offered.join(", ")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_lives_an_hour_from_when_it_was_found_and_is_replaced_by_another() {
        let memory = EraMemory::default();
        let target = |url: &str| Target::Http(Box::new(HttpSpec::new(url).unwrap())).whose();
        let whose = target("https://example.com/mcp?token=a");
        let found = Instant::now();
        memory.remember(whose.clone(), Speech::Legacy, found);
        let later = found + VERDICT_LIFE - Duration::from_secs(1);
        assert_eq!(memory.recall(&whose, later), Some(Speech::Legacy));
        // The same origin and path is the same server, whatever the query says.
        let other_query = target("https://example.com/mcp?token=b");
        assert_eq!(memory.recall(&other_query, later), Some(Speech::Legacy));
        assert_eq!(memory.recall(&target("https://example.com/"), later), None);

        // That it held once more makes it no younger.
        memory.remember(whose.clone(), Speech::Legacy, later);
        assert_eq!(memory.recall(&whose, found + VERDICT_LIFE), None);
        memory.remember(whose.clone(), Speech::Modern, later);
        assert_eq!(
            memory.recall(&whose, found + VERDICT_LIFE),
            Some(Speech::Modern)
        );
    }
}
