//! Generations of the Model Context Protocol.

/// Generation of the Model Context Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProtocolGeneration {
    /// With the `initialize` handshake: revisions 2024-11-05 to 2025-11-25.
    Legacy,
    /// Self-contained requests: revision 2026-07-28.
    Modern,
}

impl ProtocolGeneration {
    /// Name of the generation: `legacy` or `modern`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}
