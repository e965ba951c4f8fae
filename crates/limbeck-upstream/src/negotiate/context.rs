//! Context shared by all starts of one server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::rpc::pending::PendingRequests;
use crate::server_messages::NotificationSink;
use crate::stdio::guard::ServerGuard;
use crate::stdio::stderr::StderrRing;

/// Diagnostics of the latest process or session of a server.
#[derive(Clone)]
pub(crate) struct LastProcess {
    /// Standard error of a child process; `None` over HTTP.
    pub(crate) stderr: Option<StderrRing>,
    pub(crate) pending: Arc<PendingRequests>,
}

/// Everything a start needs except the address of the server.
pub(crate) struct ConnectContext {
    pub(crate) start_timeout: Duration,
    /// Receives the notifications of the server.
    pub(crate) sink: Arc<NotificationSink>,
    /// Cancelled when the server is shut down.
    pub(crate) closing: CancellationToken,
    /// Tracks the supervisors of the processes.
    pub(crate) tracker: TaskTracker,
    /// Ends the processes when the gateway is killed.
    pub(crate) guard: Arc<ServerGuard>,
    /// Diagnostics of the latest process or session.
    pub(crate) last_process: Arc<Mutex<Option<LastProcess>>>,
}
