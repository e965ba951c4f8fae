//! Protocol variants of a server over HTTP.

use crate::protocol::ProtocolGeneration;

/// Protocol variant used with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpDialect {
    /// Streamable HTTP, self-contained requests.
    Modern,
    /// Streamable HTTP with `initialize`.
    Legacy,
    /// An event stream and a second address for messages (HTTP+SSE, revision 2024-11-05).
    Sse,
}

impl HttpDialect {
    pub(crate) fn generation(self) -> ProtocolGeneration {
        match self {
            Self::Modern => ProtocolGeneration::Modern,
            Self::Legacy | Self::Sse => ProtocolGeneration::Legacy,
        }
    }
}
