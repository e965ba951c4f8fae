//! Tools, state and diagnostics of a server as the pool reports them.

use std::collections::BTreeMap;
use std::time::Duration;

use limbeck_domain::ToolDefinition;

use crate::protocol::ProtocolGeneration;
use crate::unusable::UnusableServer;

/// Tools of a server.
#[derive(Clone, Debug, Default)]
pub struct ToolList {
    /// Tools in the server's order, at most [`limbeck_domain::limits::TOOLS_PER_SERVER_MAX`].
    pub tools: Vec<ToolDefinition>,
    /// Remaining fields of the tool definitions, by tool name: annotations, icons, `_meta` and others, as sent.
    /// At most 16 KiB per tool; more are left out as a whole.
    pub extras: BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
    /// Hidden characters that were removed from the texts of a definition, by tool; only tools that had some.
    pub hidden: BTreeMap<String, u32>,
    /// Tools left out, each with its reason: `tool 3: name is not a string`. Bounded and cleaned.
    pub dropped: Vec<String>,
    /// Whether the server has tools behind those listed. Then the last reason of `dropped` says why.
    pub is_cut: bool,
    /// Parts of listed tools that were replaced or cut: `tool "x": input schema above 262144 bytes …`.
    pub notes: Vec<String>,
    /// Instructions of the server, cleaned and cut; without any, its own description.
    pub instructions: Option<String>,
    /// Name and version the server reports. Shown, never used as identity.
    pub server_info: Option<ServerInfo>,
}

/// Name, version and description a server reports, cleaned and cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    /// `serverInfo.name`.
    pub name: String,
    /// `serverInfo.version`, when it sent one.
    pub version: Option<String>,
    /// `serverInfo.description`, else its `title`.
    pub about: Option<String>,
}

/// State of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// No server of that name is configured.
    NotConfigured,
    /// Not started yet, or stopped when idle; the next call starts it.
    NotStarted,
    /// Starting.
    Starting,
    /// Connected.
    Ready {
        /// Protocol generation.
        generation: ProtocolGeneration,
        /// Protocol revision agreed on; empty for an in-process upstream.
        protocol: String,
        /// Name and version the server reports.
        server: Option<ServerInfo>,
    },
    /// Failed; calls fail at once until the back-off time has passed.
    BackingOff {
        /// Time until a call may start the server again.
        retry_in: Duration,
        /// Why it failed.
        error: String,
    },
    /// Failed; the next call starts it again. Also when its program or directory does not exist: waiting changes
    /// nothing, so the back-off is not shown.
    Failed {
        /// Why it failed.
        error: String,
    },
    /// Disabled in its configuration entry.
    Disabled,
    /// Must not be connected, for the reason given.
    Unusable(UnusableServer),
    /// The pool has been shut down.
    Stopped,
}

/// State of a server with diagnostics.
#[derive(Clone, Debug)]
pub struct ServerDiagnostics {
    /// Transport: `stdio`, `http`, `sse`, `in-process`, `none`.
    pub transport: &'static str,
    /// Current state.
    pub state: ServerState,
    /// Last failure, kept after the server has recovered.
    pub last_error: Option<String>,
    /// Next step for the user, when the server is not ready.
    pub next_step: Option<String>,
    /// Requests in flight.
    pub in_flight: usize,
    /// Requests waiting for a free slot.
    pub queued: usize,
    /// End of standard error of the latest process, cleaned.
    pub stderr_tail: String,
    /// Unexpected messages of the latest process.
    pub traffic: TrafficCounts,
}

/// Counts of messages other than responses, per process; all but `notifications` were dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficCounts {
    /// Lines that are not messages: not JSON, not UTF-8, too deep, too long.
    pub junk_lines: u64,
    /// Responses without a pending request: foreign, repeated or late ids.
    pub stray_answers: u64,
    /// Notifications of every kind.
    pub notifications: u64,
    /// Progress without a matching call, not increasing, or above the rate.
    pub progress_dropped: u64,
    /// Requests for the user or the client's model that were declined.
    pub questions_declined: u64,
    /// Requests from the server dropped because too many were unanswered.
    pub requests_dropped: u64,
}
