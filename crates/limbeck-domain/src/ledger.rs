//! What an execution cost a model, and what the same calls would have cost it one by one: plain data.
//!
//! While an execution ends only bytes are noted ([`LedgerNote`]); tokens are counted when somebody asks
//! ([`Account`]), because the vocabulary takes 50 MB and longer to load than most programs run.
//!
//! Both sides are reckoned alike. A model reads the definitions it was given at each of its turns. Through
//! Limbeck that is one turn for each `search` and one for the program; with direct calls one turn for each
//! *round*, the calls that a program had under way at the same time being one round. The turn in which
//! the model reads the last result comes on top on both sides and is left out, and so is that earlier
//! results are read again at every turn, of which direct calls have more.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ServerName;

/// How a number came about.
///
/// Ordered from the surest: a sum is as good as the worst of its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Text that passed between a client and Limbeck, counted.
    #[default]
    Measured,
    /// Text that passed between Limbeck and a server and would have passed through the model, counted.
    Computed,
    /// From a number of bytes: the text was too long to count or is no longer kept.
    Estimated,
}

impl Basis {
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
pub struct Tokens {
    /// How many.
    pub count: u64,
    /// How it is known.
    pub basis: Basis,
}

impl Tokens {
    /// Bytes of a token in what passes here. 4.0 over the definitions of 41 real servers, 3.3 in short JSON;
    /// too many tokens on both sides are better than too few on one.
    const BYTES: f64 = 3.6;

    /// Tokens of a text of `bytes`.
    pub fn estimated(bytes: u64) -> Self {
        Self {
            count: (bytes as f64 / Self::BYTES).ceil() as u64,
            basis: Basis::Estimated,
        }
    }

    /// The same text read `times` times.
    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self {
            count: self.count.saturating_mul(u64::from(times)),
            ..self
        }
    }
}

impl std::ops::Add for Tokens {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            basis: self.basis.max(other.basis),
        }
    }
}

impl std::iter::Sum for Tokens {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), std::ops::Add::add)
    }
}

/// What is noted of an execution when it ends. Sizes are bytes of JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerNote {
    /// Rounds of tool calls: the most that waited for one another.
    pub rounds: u32,
    /// Searches since the execution before.
    pub searches: u32,
    /// Their arguments and answers.
    pub search_bytes: u64,
    /// Arguments of `execute`.
    pub program_bytes: u64,
    /// What came back.
    pub result_bytes: u64,
    /// Hash of what the client was shown: our tools and instructions.
    pub surface: String,
    /// Bytes of both.
    pub surface_bytes: u64,
    /// The servers that were called.
    pub servers: BTreeMap<ServerName, ServerNote>,
}

/// What an execution had of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerNote {
    /// Hash of the definitions of its tools.
    pub listing: String,
    /// Bytes of them.
    pub listing_bytes: u64,
    /// How many.
    pub tools: u32,
    /// Calls that left for it.
    pub calls: u32,
    /// Their arguments.
    pub argument_bytes: u64,
    /// Their results.
    pub result_bytes: u64,
}

/// Texts kept until their tokens are counted; one that is missing was too long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerTexts {
    /// Arguments and answers of the searches.
    pub searches: Vec<String>,
    /// Arguments of `execute`.
    pub program: Option<String>,
    /// What came back.
    pub result: Option<String>,
}

/// What an execution cost, in tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Turns of the model through Limbeck.
    pub turns: u32,
    /// Turns that direct calls would have taken.
    pub rounds: u32,
    /// Definitions of the tools we list, read once.
    pub definitions: Tokens,
    /// Our instructions, read once.
    pub instructions: Tokens,
    /// Searches, asked and answered.
    pub searches: Tokens,
    /// Arguments of `execute`.
    pub program: Tokens,
    /// What came back.
    pub result: Tokens,
    /// The servers that were called.
    pub servers: BTreeMap<ServerName, ServerAccount>,
}

/// What direct calls of one server would have cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerAccount {
    /// Its tools.
    pub tools: u32,
    /// Their definitions, read once.
    pub definitions: Tokens,
    /// Calls.
    pub calls: u32,
    /// Their arguments.
    pub arguments: Tokens,
    /// Their results.
    pub results: Tokens,
}

impl Account {
    /// What went through the model.
    pub fn limbeck(&self) -> Tokens {
        (self.definitions + self.instructions).times(self.turns)
            + self.searches
            + self.program
            + self.result
    }

    /// What would have with direct calls, by a client that knew the servers called here and no others.
    pub fn direct(&self) -> Tokens {
        let servers = self.servers.values();
        servers.map(|server| server.direct(self.rounds)).sum()
    }

    /// Calls of tools.
    pub fn calls(&self) -> u32 {
        self.servers.values().map(|server| server.calls).sum()
    }

    /// Whether direct calls would have cost less.
    pub fn is_loss(&self) -> bool {
        self.limbeck().count > self.direct().count
    }
}

impl ServerAccount {
    /// Its part of direct calls in `rounds` turns.
    pub fn direct(&self, rounds: u32) -> Tokens {
        self.definitions.times(rounds) + self.arguments + self.results
    }
}

impl From<&LedgerNote> for Account {
    /// Everything estimated from bytes.
    fn from(note: &LedgerNote) -> Self {
        let servers = note.servers.iter().map(|(name, server)| {
            let account = ServerAccount {
                tools: server.tools,
                definitions: Tokens::estimated(server.listing_bytes),
                calls: server.calls,
                arguments: Tokens::estimated(server.argument_bytes),
                results: Tokens::estimated(server.result_bytes),
            };
            (name.clone(), account)
        });
        Self {
            turns: note.searches + u32::from(note.program_bytes > 0),
            rounds: note.rounds,
            definitions: Tokens::estimated(note.surface_bytes),
            instructions: Tokens::default(),
            searches: Tokens::estimated(note.search_bytes),
            program: Tokens::estimated(note.program_bytes),
            result: Tokens::estimated(note.result_bytes),
            servers: servers.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(count: u64, basis: Basis) -> Tokens {
        Tokens { count, basis }
    }

    #[test]
    fn both_sides_read_their_definitions_once_a_turn() {
        let server = ServerAccount {
            tools: 9,
            definitions: tokens(1_000, Basis::Computed),
            calls: 4,
            arguments: tokens(40, Basis::Computed),
            results: tokens(400, Basis::Computed),
        };
        let account = Account {
            turns: 2,
            rounds: 3,
            definitions: tokens(600, Basis::Measured),
            instructions: tokens(100, Basis::Measured),
            searches: tokens(200, Basis::Measured),
            program: tokens(80, Basis::Measured),
            result: tokens(20, Basis::Measured),
            servers: BTreeMap::from([(ServerName::from("s"), server)]),
        };
        assert_eq!(account.limbeck(), tokens(1_700, Basis::Measured));
        assert_eq!(account.direct(), tokens(3_440, Basis::Computed));
        assert!(!account.is_loss());
    }

    #[test]
    fn a_sum_is_as_good_as_its_worst_part_and_an_execution_without_calls_is_a_loss() {
        let sum = tokens(1, Basis::Measured) + Tokens::estimated(36);
        assert_eq!(sum, tokens(11, Basis::Estimated));
        let note = LedgerNote {
            program_bytes: 100,
            ..LedgerNote::default()
        };
        assert!(Account::from(&note).is_loss());
    }
}
