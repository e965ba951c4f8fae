//! Token usage of executions, and of the same calls made one by one: plain data.
//!
//! When an execution ends, only sizes in bytes are recorded ([`LedgerSizes`]). Tokens are counted when a command
//! needs them ([`TokenUsage`]), because the vocabulary takes 50 MB and longer to load than most programs run.
//!
//! Both sides are counted alike. A model reads all tool definitions in each of its turns. With Limbeck there is
//! one turn for each `search` and one for the program; with direct calls there is one turn for each *round*, and
//! the calls that a program has in flight at the same time are one round. Not counted on either side are the turn
//! in which the model reads the last result, and that it reads earlier results again in every turn, of which
//! direct calls have more.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ServerName;

/// Basis of a token count.
///
/// Ordered from the most to the least reliable: a sum is as reliable as the worst of its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountBasis {
    /// Text that passed between a client and Limbeck, counted.
    #[default]
    Measured,
    /// Text that passed between Limbeck and a server and would have passed through the model, counted.
    Computed,
    /// Estimated from a number of bytes: the text was too long to count or is no longer stored.
    Estimated,
}

impl CountBasis {
    /// The basis as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Computed => "computed",
            Self::Estimated => "estimated",
        }
    }
}

/// A number of tokens (o200k_base) with its basis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCount {
    /// How many.
    pub count: u64,
    /// Its basis.
    pub basis: CountBasis,
}

impl TokenCount {
    /// Bytes per token. Measured: 4.0 over the definitions of 41 real servers, 3.3 in short JSON. Between them,
    /// because an estimate that is high on both sides misleads less than one that is low on one.
    const BYTES: f64 = 3.6;

    /// Estimated tokens of a text of `bytes` bytes.
    pub fn estimated(bytes: u64) -> Self {
        Self {
            count: (bytes as f64 / Self::BYTES).ceil() as u64,
            basis: CountBasis::Estimated,
        }
    }

    /// Tokens of the same text read `times` times.
    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self {
            count: self.count.saturating_mul(u64::from(times)),
            ..self
        }
    }
}

impl std::ops::Add for TokenCount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            basis: self.basis.max(other.basis),
        }
    }
}

impl std::iter::Sum for TokenCount {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), std::ops::Add::add)
    }
}

/// Sizes of everything that passed in an execution, in bytes of JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerSizes {
    /// Rounds of tool calls: the longest chain of calls that waited for one another.
    pub rounds: u32,
    /// Searches since the previous execution.
    pub searches: u32,
    /// Arguments and results of those searches.
    pub search_bytes: u64,
    /// Arguments of `execute`.
    pub program_bytes: u64,
    /// Its result.
    pub result_bytes: u64,
    /// Hash of the tools and instructions that the gateway listed to the client.
    pub surface: String,
    /// Bytes of those tools and instructions.
    pub surface_bytes: u64,
    /// The servers that were called.
    pub servers: BTreeMap<ServerName, ServerSizes>,
}

/// Sizes of one server in an execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSizes {
    /// Hash of the definitions of its tools.
    pub listing: String,
    /// Bytes of those definitions.
    pub listing_bytes: u64,
    /// Number of its tools.
    pub tools: u32,
    /// Calls that were sent to it.
    pub calls: u32,
    /// Arguments of those calls.
    pub argument_bytes: u64,
    /// Results of those calls.
    pub result_bytes: u64,
}

/// Texts stored until their tokens are counted; a missing one was too long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerTexts {
    /// Arguments and results of the searches.
    pub searches: Vec<String>,
    /// Arguments of `execute`.
    pub program: Option<String>,
    /// Result of the execution.
    pub result: Option<String>,
}

/// Token usage of one execution, and of the same calls made directly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Turns of the model with Limbeck.
    pub turns: u32,
    /// Turns that direct calls would have taken.
    pub rounds: u32,
    /// Definitions of the tools that the gateway lists, read once.
    pub definitions: TokenCount,
    /// Instructions of the gateway, read once.
    pub instructions: TokenCount,
    /// Arguments and results of the searches.
    pub searches: TokenCount,
    /// Arguments of `execute`.
    pub program: TokenCount,
    /// Result of the execution.
    pub result: TokenCount,
    /// The servers that were called.
    pub servers: BTreeMap<ServerName, ServerTokenUsage>,
}

/// Token usage of direct calls to one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerTokenUsage {
    /// Number of its tools.
    pub tools: u32,
    /// Definitions of its tools, read once.
    pub definitions: TokenCount,
    /// Number of calls.
    pub calls: u32,
    /// Arguments of the calls.
    pub arguments: TokenCount,
    /// Results of the calls.
    pub results: TokenCount,
}

impl TokenUsage {
    /// Tokens that went through the model with Limbeck.
    pub fn limbeck(&self) -> TokenCount {
        (self.definitions + self.instructions).times(self.turns)
            + self.searches
            + self.program
            + self.result
    }

    /// Tokens of direct calls, by a client that knows exactly the servers that were called.
    pub fn direct(&self) -> TokenCount {
        let servers = self.servers.values();
        servers.map(|server| server.direct(self.rounds)).sum()
    }

    /// Number of tool calls.
    pub fn calls(&self) -> u32 {
        self.servers.values().map(|server| server.calls).sum()
    }

    /// Whether direct calls would have used fewer tokens.
    pub fn is_loss(&self) -> bool {
        self.limbeck().count > self.direct().count
    }
}

impl ServerTokenUsage {
    /// This server's share of direct calls in `rounds` turns.
    pub fn direct(&self, rounds: u32) -> TokenCount {
        self.definitions.times(rounds) + self.arguments + self.results
    }
}

impl From<&LedgerSizes> for TokenUsage {
    /// Estimates every number from bytes.
    fn from(note: &LedgerSizes) -> Self {
        let servers = note.servers.iter().map(|(name, server)| {
            let account = ServerTokenUsage {
                tools: server.tools,
                definitions: TokenCount::estimated(server.listing_bytes),
                calls: server.calls,
                arguments: TokenCount::estimated(server.argument_bytes),
                results: TokenCount::estimated(server.result_bytes),
            };
            (name.clone(), account)
        });
        Self {
            turns: note.searches + u32::from(note.program_bytes > 0),
            rounds: note.rounds,
            definitions: TokenCount::estimated(note.surface_bytes),
            instructions: TokenCount::default(),
            searches: TokenCount::estimated(note.search_bytes),
            program: TokenCount::estimated(note.program_bytes),
            result: TokenCount::estimated(note.result_bytes),
            servers: servers.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(count: u64, basis: CountBasis) -> TokenCount {
        TokenCount { count, basis }
    }

    #[test]
    fn both_sides_read_their_definitions_once_a_turn() {
        let server = ServerTokenUsage {
            tools: 9,
            definitions: tokens(1_000, CountBasis::Computed),
            calls: 4,
            arguments: tokens(40, CountBasis::Computed),
            results: tokens(400, CountBasis::Computed),
        };
        let account = TokenUsage {
            turns: 2,
            rounds: 3,
            definitions: tokens(600, CountBasis::Measured),
            instructions: tokens(100, CountBasis::Measured),
            searches: tokens(200, CountBasis::Measured),
            program: tokens(80, CountBasis::Measured),
            result: tokens(20, CountBasis::Measured),
            servers: BTreeMap::from([(ServerName::from("s"), server)]),
        };
        assert_eq!(account.limbeck(), tokens(1_700, CountBasis::Measured));
        assert_eq!(account.direct(), tokens(3_440, CountBasis::Computed));
        assert!(!account.is_loss());
    }

    #[test]
    fn a_sum_is_as_good_as_its_worst_part_and_an_execution_without_calls_is_a_loss() {
        let sum = tokens(1, CountBasis::Measured) + TokenCount::estimated(36);
        assert_eq!(sum, tokens(11, CountBasis::Estimated));
        let note = LedgerSizes {
            program_bytes: 100,
            ..LedgerSizes::default()
        };
        assert!(TokenUsage::from(&note).is_loss());
    }
}
