//! Observer of a call: receives progress and answers requests of the server.
//!
//! A server may report progress of a call, and may need something before it can finish it: an answer of the user
//! (elicitation), a completion of the client's model (sampling), the client's workspace folders (roots). The pool
//! has neither user nor model, so it passes both on to the [`CallObserver`] of the call.
//!
//! Values pass as the raw JSON text of the server.

use futures::future::BoxFuture;
use limbeck_domain::ExecutionId;
use serde_json::value::RawValue;

use crate::server_request::{ClientCapabilities, DeclinedError, ServerRequest};

/// Observer of one call in flight.
///
/// Called from the task that reads the server's connection, so all methods return at once; slow work belongs
/// into the future of [`CallObserver::request`].
pub trait CallObserver: Send + Sync + 'static {
    /// Receives one `notifications/progress` of the call, at most 20 a second; `progress`
    /// always increases.
    fn progress(&self, progress: ProgressUpdate);

    /// Requests this client can answer. The pool declines all others.
    fn capabilities(&self) -> ClientCapabilities;

    /// Answers a request of the server. The pool drops the future when the call ends or the time limit has
    /// passed.
    ///
    /// # Errors
    ///
    /// [`DeclinedError`] with a reason that is sent to the server.
    fn request(
        &self,
        request: ServerRequest,
    ) -> BoxFuture<'_, Result<Box<RawValue>, DeclinedError>>;

    /// Lowest level of log messages requested from a server that sends them only on request (revision
    /// 2026-07-28): a level of RFC 5424. `None` requests none.
    fn log_level(&self) -> Option<&'static str> {
        None
    }

    /// Receives `params` of one `notifications/message` that belongs to this call. Log messages count against
    /// the same rate as progress.
    fn log(&self, params: &RawValue) {
        let _ = params;
    }

    /// Receives the id of the execution that the request became, once its record is queued for the journal and before any call
    /// of it is sent. A request that is run again becomes another.
    fn begun(&self, execution: &ExecutionId) {
        let _ = execution;
    }

    /// Receives one line that the program printed, as it comes and without its newline. What it printed in all is in
    /// the envelope too.
    fn printed(&self, stream: PrintedStream, line: &str) {
        let _ = (stream, line);
    }
}

/// Stream that a program prints to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintedStream {
    /// `console.log`, `print`.
    Stdout,
    /// `console.error`, `sys.stderr`.
    Stderr,
}

/// Notifications of one call passed to its [`CallObserver`] per second; further ones are dropped.
pub(crate) const PROGRESS_PER_SECOND: u32 = 20;

/// Progress of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgressUpdate {
    /// Finite, and larger than in the last notification.
    pub progress: f64,
    /// Expected final value, when the server sent one; finite.
    pub total: Option<f64>,
    /// Message of the server, cleaned and cut.
    pub message: Option<String>,
}
