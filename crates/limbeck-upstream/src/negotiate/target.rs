//! Address of a server: a child process or a url.

use crate::http::HttpSpec;
use crate::spec::StdioSpec;

/// Server to connect to.
pub(crate) enum Target {
    /// A child process.
    Process(StdioSpec),
    /// A server at a url.
    Http(Box<HttpSpec>),
}
