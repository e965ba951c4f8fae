//! What budgets count.

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Calls of tools, and reads of resources and prompts by programs.
    Calls,
    /// Calls of tools that are not known to read only.
    Writes,
    /// Bytes of arguments.
    BytesSent,
    /// Bytes of results, as programs get them.
    BytesReceived,
    /// Tokens of answers of `execute`.
    Tokens,
    /// Processor time of workers, in milliseconds.
    Cpu,
    /// `sampling/createMessage` requests of servers.
    Sampling,
    /// Tokens that such requests ask for.
    SamplingTokens,
}

/// When a unit is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// With a call.
    Call,
    /// With a run.
    Run,
    /// When a server asks the client's model.
    Sampling,
}

impl Unit {
    /// All units, in the order in which they are listed.
    pub const ALL: [Self; 8] = [
        Self::Calls,
        Self::Writes,
        Self::BytesSent,
        Self::BytesReceived,
        Self::Tokens,
        Self::Cpu,
        Self::Sampling,
        Self::SamplingTokens,
    ];

    /// The unit of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.as_str() == name)
    }

    /// Its name, which is its key in a file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Writes => "writes",
            Self::BytesSent => "bytes_sent",
            Self::BytesReceived => "bytes_received",
            Self::Tokens => "tokens",
            Self::Cpu => "cpu",
            Self::Sampling => "sampling",
            Self::SamplingTokens => "sampling_tokens",
        }
    }

    /// When it is counted.
    pub fn kind(self) -> UnitKind {
        match self {
            Self::Calls | Self::Writes | Self::BytesSent | Self::BytesReceived => UnitKind::Call,
            Self::Tokens | Self::Cpu => UnitKind::Run,
            Self::Sampling | Self::SamplingTokens => UnitKind::Sampling,
        }
    }

    /// An amount of it, as a phrase.
    pub fn amount(self, amount: u64) -> String {
        let plural = |one: &str| match amount {
            1 => format!("1 {one}"),
            _ => format!("{amount} {one}s"),
        };
        match self {
            Self::Calls => plural("call"),
            Self::Writes => plural("write"),
            Self::BytesSent => format!("{} sent", plural("byte")),
            Self::BytesReceived => format!("{} received", plural("byte")),
            Self::Tokens => format!("{} of answers", plural("token")),
            Self::Cpu => format!("{amount} ms of processor time"),
            Self::Sampling => plural("sampling request"),
            Self::SamplingTokens => format!("{} of sampling", plural("token")),
        }
    }
}
