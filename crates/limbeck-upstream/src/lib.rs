//! The pool of MCP servers behind the gateway: starts them, lists their tools, sends permitted calls.
//!
//! A server is a stranger's program. Everything it writes is bounded while it is read, nothing it
//! sends can panic, and whatever it does costs only itself: its own calls fail, its own process is
//! restarted, the other servers of the pool do not notice. Values pass as the raw JSON text the server
//! sent, so unknown fields, key order and large integers survive.
//!
//! Four things hold here and are tested in `tests/`:
//! - A tool call leaves only with a [`limbeck_policy::Permit`], once; it is never repeated by itself.
//! - A child process gets exactly the environment of its entry and is gone when
//!   [`Pool::shutdown`] returns.
//! - What a server asks during a call is put to the caller of that call, or to nobody.
//! - An answer reaches the call whose id it carries, on the connection that call was sent on, or nobody.
//!
//! When the gateway itself is killed with `SIGKILL` nothing of it runs any more: its ends of the
//! pipes close, and a server that follows the specification exits at the end of its input. A
//! server that ignores that survives; setting `PR_SET_PDEATHSIG` would need `unsafe` and, being tied to
//! the thread that spawned, would kill servers whenever a runtime thread retires.
//!
//! Start reading at [`Pool`], then `server` for the life of one server, `listener` for what it says by
//! itself, `stdio` for its pipes and [`http`] for servers that are asked over a network. [`embeddings`] is no server: an endpoint
//! that the search asks what texts mean, through the same guarded client.

#![forbid(unsafe_code)]

mod breaker;
mod caller;
mod changes;
mod connection;
mod decode;
pub mod embeddings;
mod era;
mod error;
mod handler;
mod hearing;
pub mod http;
mod list;
mod listener;
mod load;
mod mrtr;
pub mod oauth;
mod pool;
mod principals;
mod question;
mod redactor;
mod server;
mod spec;
mod stdio;
mod subscription;
mod sync;
mod tasks;
mod upstream;
mod wire;

pub use caller::{
    Answers, Ask, AskKind, CallContext, Caller, Declined, PROGRESS_PER_SECOND, Progress,
};
pub use changes::PoolEvent;
pub use decode::TOOL_EXTRA_BYTES_MAX;
pub use error::UpstreamError;
pub use http::{Credentials, HttpKind, HttpSpec};
pub use pool::{Pool, PoolOptions};
pub use question::RawResult;
pub use spec::{ServerSpec, StdioSpec, TransportSpec, Unusable, UnusableKind};
pub use subscription::Watch;
pub use upstream::{
    Era, RawToolResult, ServerInfo, ServerReport, ServerState, ToolList, Traffic, Upstream,
};
