//! Log levels: which messages of servers a client wants.

use rmcp::model::LoggingLevel;

/// A level of RFC 5424; a greater one is more severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Level(u8);

impl Level {
    /// What a legacy client gets that never said what it wants.
    pub(crate) const DEFAULT: Self = Self(1);

    /// The level as the protocol writes it.
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

impl From<LoggingLevel> for Level {
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
