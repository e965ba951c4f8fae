//! Log levels of messages that upstream servers send to a client.

use rmcp::model::LoggingLevel;

/// Severity of RFC 5424; a greater level is more severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogLevel(u8);

impl LogLevel {
    /// Level of a legacy client that never set one.
    pub(crate) const DEFAULT: Self = Self(1);

    /// Name of the level in the protocol.
    pub(crate) fn as_str(self) -> &'static str {
        match self.0 {
            0 => "debug",
            1 => "info",
            2 => "notice",
            3 => "warning",
            4 => "error",
            5 => "critical",
            6 => "alert",
            _ => "emergency",
        }
    }
}

impl From<LoggingLevel> for LogLevel {
    fn from(level: LoggingLevel) -> Self {
        Self(match level {
            LoggingLevel::Debug => 0,
            LoggingLevel::Info => 1,
            LoggingLevel::Notice => 2,
            LoggingLevel::Warning => 3,
            LoggingLevel::Error => 4,
            LoggingLevel::Critical => 5,
            LoggingLevel::Alert => 6,
            LoggingLevel::Emergency => 7,
        })
    }
}
