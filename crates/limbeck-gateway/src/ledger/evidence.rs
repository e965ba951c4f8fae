//! Servers whose tools would have cost fewer tokens if clients had listed and called them directly, by the ledger.
//!
//! A program that makes one small call of a small server costs more than the call itself. Listing that server's tools
//! would have saved the difference, and would have added their definitions to every turn of all other programs. Both are
//! in the ledger, so no threshold is needed.
//!
//! The comparison uses the last [`PROGRAMS_MAX`] programs that called the server alone, and everything that ran in that
//! time. Once the server's tools are listed there are no further such programs, so the comparison keeps its result and
//! the listing does not change back and forth.

use std::collections::BTreeSet;

use limbeck_domain::{ServerName, TokenUsage};

/// Latest programs that are compared for a server.
const PROGRAMS_MAX: usize = 50;
/// Fewest programs that a comparison is made for.
const PROGRAMS_MIN: usize = 10;

/// The servers whose tools, listed as they are, would have saved tokens. `accounts` are newest first, each with
/// when its execution was asked for, in microseconds since 1970.
pub fn better_direct(accounts: &[(u64, TokenUsage)]) -> BTreeSet<ServerName> {
    let servers: BTreeSet<&ServerName> = accounts
        .iter()
        .flat_map(|(_, account)| account.servers.keys())
        .collect();
    let better = servers
        .into_iter()
        .filter(|server| is_better_direct(accounts, server));
    better.cloned().collect()
}

fn is_better_direct(accounts: &[(u64, TokenUsage)], server: &ServerName) -> bool {
    let is_alone =
        |account: &TokenUsage| account.servers.len() == 1 && account.servers.contains_key(server);
    let alone: Vec<&(u64, TokenUsage)> = accounts
        .iter()
        .filter(|(_, account)| is_alone(account))
        .take(PROGRAMS_MAX)
        .collect();
    let (Some((newest, latest)), Some((oldest, _))) = (alone.first(), alone.last()) else {
        return false;
    };
    if alone.len() < PROGRAMS_MIN {
        return false;
    }
    let saved: i128 = alone
        .iter()
        .map(|(_, account)| signed(account.limbeck().count) - signed(account.direct().count))
        .sum();
    let definitions = latest.servers[server].definitions;
    let others = accounts.iter().filter(|(created_us, account)| {
        (oldest..=newest).contains(&created_us) && !is_alone(account)
    });
    let paid: i128 = others
        .map(|(_, account)| signed(definitions.times(account.turns).count))
        .sum();
    saved > paid
}

fn signed(tokens: u64) -> i128 {
    i128::from(tokens)
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{LedgerSizes, ServerSizes};

    use super::*;

    /// A program at `created_us` with one call of each of `servers`, whose definitions have so many bytes.
    fn program(created_us: u64, servers: &[(&str, u64)]) -> (u64, TokenUsage) {
        let servers = servers.iter().map(|(name, listing_bytes)| {
            let note = ServerSizes {
                listing_bytes: *listing_bytes,
                calls: 1,
                argument_bytes: 36,
                result_bytes: 36,
                ..ServerSizes::default()
            };
            (ServerName::from(*name), note)
        });
        let note = LedgerSizes {
            rounds: 1,
            program_bytes: 360,
            result_bytes: 360,
            surface_bytes: 3_600,
            servers: servers.collect(),
            ..LedgerSizes::default()
        };
        (created_us, TokenUsage::from(&note))
    }

    fn better(mut rows: Vec<(u64, TokenUsage)>) -> Vec<String> {
        rows.sort_by_key(|(created_us, _)| std::cmp::Reverse(*created_us));
        let better = better_direct(&rows);
        better.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_small_server_that_is_called_alone_again_and_again_had_better_be_listed() {
        let small = |n| program(n, &[("time", 900)]);
        assert_eq!(better((0..10).map(small).collect()), ["time"]);
        assert_eq!(
            better((0..9).map(small).collect()),
            [""; 0],
            "too few to say"
        );
        let large = |n| program(n, &[("github", 180_000)]);
        assert_eq!(
            better((0..40).map(large).collect()),
            [""; 0],
            "no loss, no evidence"
        );
    }

    #[test]
    fn other_programs_of_that_time_would_pay_for_its_definitions() {
        let mut rows: Vec<_> = (0..10).map(|n| program(10 * n, &[("time", 900)])).collect();
        rows.extend((0..20).map(|n| program(4 * n + 1, &[("github", 180_000)])));
        assert_eq!(better(rows.clone()), ["time"]);
        rows.extend((0..20).map(|n| program(4 * n + 2, &[("github", 180_000), ("time", 900)])));
        assert_eq!(better(rows.clone()), [""; 0]);
        // What came later proves nothing about that time.
        rows.retain(|(_, account)| !account.servers.contains_key(&ServerName::from("github")));
        rows.extend((0..99).map(|n| program(1_000 + n, &[("github", 180_000)])));
        assert_eq!(better(rows), ["time"]);
    }
}
