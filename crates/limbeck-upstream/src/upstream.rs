//! The seam between the pool and a server, and the values that cross it.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::BoxFuture;
use limbeck_domain::ToolDefinition;
use limbeck_policy::{Permit, ReadPermit};
use serde_json::value::RawValue;

use crate::{CallContext, RawResult, Unusable, UpstreamError, Watch};

/// JSON-RPC's code for a request the server does not know.
const METHOD_NOT_FOUND: i64 = -32601;

/// One connected or connectable server. In-process implementations serve tests and benchmarks.
pub trait Upstream: Send + Sync + 'static {
    /// Reads the tools the server offers, all pages, connecting first when needed.
    fn list_tools(&self) -> BoxFuture<'_, Result<ToolList, UpstreamError>>;

    /// Sends the permitted call once and waits for its result.
    ///
    /// Cancelling `context.cancel` ends the wait with [`UpstreamError::Cancelled`] and tells the server;
    /// `context.caller` hears its progress and is asked what the server wants to know.
    fn call(
        &self,
        permit: Permit,
        context: CallContext,
    ) -> BoxFuture<'_, Result<RawToolResult, UpstreamError>>;

    /// Sends a request that only reads and waits for its result.
    ///
    /// Servers that have nothing but tools need not implement it.
    fn request(
        &self,
        permit: ReadPermit,
        context: CallContext,
    ) -> BoxFuture<'_, Result<RawResult, UpstreamError>> {
        let _ = context;
        let method = permit.spend().method;
        Box::pin(async move {
            Err(UpstreamError::Protocol {
                code: METHOD_NOT_FOUND,
                message: format!("the server has no `{}`", method.as_str()),
                data: None,
            })
        })
    }

    /// Has the server tell of changes of the resource `uri` for as long as the watch is kept, connecting first
    /// when needed.
    ///
    /// Servers that have nothing but tools need not implement it.
    fn watch(&self, uri: String) -> BoxFuture<'_, Result<Watch, UpstreamError>> {
        let message = format!("the server has no resource `{uri}`");
        Box::pin(async move {
            Err(UpstreamError::Protocol {
                code: METHOD_NOT_FOUND,
                message,
                data: None,
            })
        })
    }

    /// Disconnects for good. When it returns nothing of the server is left running.
    fn shutdown(&self) -> BoxFuture<'_, ()>;
}

/// A `CallToolResult`, a JSON object, in the text the server sent.
#[derive(Clone, Debug)]
pub struct RawToolResult(pub Box<RawValue>);

impl RawToolResult {
    /// The JSON text.
    pub fn get(&self) -> &str {
        self.0.get()
    }
}

/// What a server offers.
#[derive(Clone, Debug, Default)]
pub struct ToolList {
    /// Tools in the server's order, at most [`limbeck_domain::limits::TOOLS_PER_SERVER_MAX`].
    pub tools: Vec<ToolDefinition>,
    /// What the definitions of its tools say besides the parts in `tools`, by name: annotations, icons, `_meta`
    /// and whatever else, as sent. At most [`crate::TOOL_EXTRA_BYTES_MAX`] of each tool, or nothing of it.
    pub extras: BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
    /// Tools left out, each with its reason: `tool 3: name is not a string`. Bounded and cleaned.
    pub dropped: Vec<String>,
    /// Parts of kept tools that were replaced or cut: `tool "x": input schema above 262144 bytes …`.
    pub notes: Vec<String>,
    /// The server's own words about how to use it, cleaned and cut; without any, what it says it is.
    pub instructions: Option<String>,
    /// What the server calls itself. Shown, never used as identity.
    pub server_info: Option<ServerInfo>,
}

/// What a server calls itself, cleaned and cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    /// `serverInfo.name`.
    pub name: String,
    /// `serverInfo.version`, when it sent one.
    pub version: Option<String>,
    /// What it says it is: `serverInfo.description`, else its `title`.
    pub about: Option<String>,
}

/// The two ways of speaking MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// With the `initialize` handshake: revisions 2024-11-05 to 2025-11-25.
    Legacy,
    /// Self-contained requests: revision 2026-07-28.
    Modern,
}

impl Era {
    /// The era as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

/// Where a server stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// No such server in the pool.
    NotConfigured,
    /// Nothing was asked of it yet, or it stopped and the next call starts it.
    NotStarted,
    /// Its process is coming up.
    Starting,
    /// Connected.
    Ready {
        /// How it speaks.
        era: Era,
        /// Protocol revision agreed on; empty for an in-process upstream.
        protocol: String,
        /// What it calls itself.
        server: Option<ServerInfo>,
    },
    /// It failed; calls fail at once until the time is over.
    BackingOff {
        /// Time until a call may start it again.
        retry_in: Duration,
        /// Why it failed.
        error: String,
    },
    /// It failed; the next call starts it again.
    Failed {
        /// Why it failed.
        error: String,
    },
    /// Switched off in its entry.
    Disabled,
    /// It is not to be connected.
    Unusable(Unusable),
    /// The pool has been shut down.
    Stopped,
}

/// State of a server and what helps to find out why.
#[derive(Clone, Debug)]
pub struct ServerReport {
    /// How it is reached, in a word: `stdio`, `in-process`, `none`.
    pub transport: &'static str,
    /// Where it stands.
    pub state: ServerState,
    /// The last failure, also after it recovered.
    pub last_error: Option<String>,
    /// What a person can do about it, when the server is not well.
    pub next_step: Option<String>,
    /// Requests that wait for its answer.
    pub under_way: usize,
    /// Requests that wait for one of them to end.
    pub queued: usize,
    /// The end of what its latest process wrote to standard error, cleaned.
    pub stderr_tail: String,
    /// What its latest process sent that was not an answer to us.
    pub traffic: Traffic,
}

/// Counts of messages that were no answers, per process; all but `notifications` were dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Lines that were no message: not JSON, not UTF-8, too deep, too long.
    pub junk_lines: u64,
    /// Answers nobody waits for: foreign, repeated or late ids.
    pub stray_answers: u64,
    /// Notifications of every kind.
    pub notifications: u64,
    /// Progress that no call waits for, that goes backwards, or that came too often.
    pub progress_dropped: u64,
    /// Questions to the user or the client's model that nobody was asked, or that were turned down.
    pub questions_declined: u64,
    /// Requests from the server dropped because too many were unanswered.
    pub requests_dropped: u64,
}
