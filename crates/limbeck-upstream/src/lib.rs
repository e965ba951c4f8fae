//! Pool of the MCP servers behind the gateway: starts them, lists their tools and sends permitted calls.
//!
//! A server is an untrusted program. Everything it writes is bounded while it is read, nothing it sends can
//! panic, and a fault stays with that server: its calls fail and its process is restarted, while the other
//! servers of the pool are not affected. Values pass as the raw JSON text the server sent, so unknown fields,
//! key order and large integers survive.
//!
//! Four properties hold and are tested in `tests/it`:
//! - A tool call is sent only with a [`limbeck_policy::Permit`], once. The pool never retries it.
//! - A child process gets exactly the environment of its configuration entry and is gone when
//!   [`UpstreamPool::shutdown`] returns.
//! - A request that a server makes during a call goes to the caller of that call only; where the call is not
//!   known, it is declined.
//! - A response reaches only the call whose id it carries, on the connection that call was sent on.
//!
//! When the gateway itself is killed with `SIGKILL`, none of its cleanup runs: its ends of the pipes close, and
//! a server that follows the specification exits at the end of its input. One that ignores that, or works, is ended
//! by a process that guards the servers ([`run_server_guard`]).
//!
//! Start reading at [`UpstreamPool`], then `server` for the life of one server, `server_messages` for what a
//! server sends unprompted, `rpc` for JSON-RPC, `stdio` for child processes and [`http`] for servers on a
//! network. [`embeddings`] is a client of an embeddings endpoint for the search, and [`models`] one of language models; they use
//! the same guarded HTTP client.

#![forbid(unsafe_code)]

mod call_context;
mod call_feedback;
mod call_observer;
mod change_throttle;
mod connection;
pub mod embeddings;
mod error;
mod handler;
pub mod http;
mod input_rounds;
mod known_secrets;
pub mod models;
mod negotiate;
pub mod oauth;
mod pool;
mod principal_connections;
mod protocol;
mod redaction;
mod redactor;
mod report;
mod request_room;
mod rpc;
mod send_window;
mod server;
mod server_messages;
mod server_request;
mod shapes;
mod shown_address;
mod spec;
mod stdio;
mod subscription;
mod sync;
mod tasks;
mod time;
mod tool_decoder;
mod tool_listing;
mod turns;
mod unusable;
mod upstream;
mod upstream_request;
mod url_needed;
mod watch;
pub mod webhook;

pub use call_context::{CallContext, RequestKey, UnaskedQuestions};
pub use call_observer::{CallObserver, PrintedStream, ProgressUpdate};
pub use change_throttle::{Audience, PoolEvent};
pub use error::UpstreamError;
pub use http::{CredentialSource, HttpKind, HttpSpec};
pub use known_secrets::{KnownSecrets, RedactedStream};
pub use pool::{PoolOptions, UpstreamPool};
pub use protocol::ProtocolGeneration;
pub use redaction::Redaction;
pub use report::{ServerDiagnostics, ServerInfo, ServerState, ToolList, TrafficCounts};
pub use send_window::{SendPass, SendWindow};
pub use server_request::{ClientCapabilities, DeclinedError, ServerRequest, ServerRequestKind};
pub use shapes::{Direction, ShapeAction, ShapeRules, UnknownShapeError};
pub use spec::{ServerSpec, StdioSpec, TransportSpec};
pub use stdio::guard::{is_server_guard, run_server_guard};
pub use turns::{Turn, TurnQueue};
pub use unusable::{UnusableKind, UnusableServer};
pub use upstream::{RawResult, RawToolResult, Upstream};
pub use watch::ResourceWatch;
