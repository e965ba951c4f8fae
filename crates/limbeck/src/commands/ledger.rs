//! `limbeck ledger`: what executions cost a model, beside what direct calls would have cost it.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use limbeck_gateway::domain::text::clean_line;
use limbeck_gateway::domain::{Account, Basis, ServerName, Tokens};
use limbeck_gateway::ledger::{better_direct, entries};
use limbeck_gateway::store::LedgerRow;
use serde::Serialize;
use serde_json::json;

use super::Invocation;
use super::executions::when;
use crate::cli::{LedgerArgs, Since};
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::table::{Table, grouped};
use crate::wiring;

/// Executions shown of those that cost more than direct calls.
const LOSSES_SHOWN: usize = 10;
/// Bytes shown of a server's name.
const NAME_BYTES_MAX: usize = 60;

/// Prints totals, servers and losses.
pub(super) async fn ledger(
    invocation: &Invocation,
    arguments: &LedgerArgs,
) -> Result<Exit, Failure> {
    let store = wiring::open_past(invocation).await?;
    let since_us = arguments.since.map_or(0, since_us);
    let entries = entries(&store, since_us).await?;
    let report = Report::new(since_us, &entries);
    if arguments.json {
        invocation.printer.json(&report)?;
    } else {
        report.print(&invocation.printer);
    }
    Ok(Exit::Completed)
}

fn since_us(since: Since) -> u64 {
    match since {
        Since::At(us) => us,
        Since::Ago(span) => {
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            u64::try_from(now.saturating_sub(span).as_micros()).unwrap_or(0)
        }
    }
}

/// The JSON of `limbeck ledger --json`; every number of tokens says what it is based on.
#[derive(Debug, Serialize)]
struct Report {
    #[serde(skip_serializing_if = "is_zero")]
    since_us: u64,
    programs: usize,
    /// Programs that called tools and cost more than direct calls would have.
    losses: usize,
    /// Programs that called no tool, such as those refused before they ran, and what they cost: direct calls have
    /// nothing to compare with them.
    without_calls: WithoutCalls,
    direct: Direct,
    limbeck: Limbeck,
    servers: Vec<Server>,
    /// The largest of them.
    lost_most: Vec<Loss>,
    /// Servers that `expose = "auto"` would list as they are.
    better_direct: Vec<ServerName>,
}

#[derive(Debug, Default, Serialize)]
struct WithoutCalls {
    programs: usize,
    limbeck: Tokens,
}

#[derive(Debug, Default, Serialize)]
struct Direct {
    definitions: Tokens,
    arguments: Tokens,
    results: Tokens,
    total: Tokens,
}

#[derive(Debug, Default, Serialize)]
struct Limbeck {
    definitions: Tokens,
    instructions: Tokens,
    searches: Tokens,
    programs: Tokens,
    results: Tokens,
    total: Tokens,
}

#[derive(Debug, Default, Serialize)]
struct Server {
    name: String,
    programs: usize,
    calls: u32,
    direct: Tokens,
    /// Of programs that called several servers the part that its calls are of all.
    limbeck: Tokens,
    /// Of the programs that called it alone: how many there were, and how many cost more than direct calls.
    alone: usize,
    losses: usize,
}

#[derive(Debug, Serialize)]
struct Loss {
    id: String,
    created_us: u64,
    calls: u32,
    direct: Tokens,
    limbeck: Tokens,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Report {
    fn new(since_us: u64, entries: &[(LedgerRow, Account)]) -> Self {
        let (mut direct, mut limbeck) = (Direct::default(), Limbeck::default());
        let mut servers: BTreeMap<ServerName, Server> = BTreeMap::new();
        let mut lost = Vec::new();
        let mut without_calls = WithoutCalls::default();
        let mut programs = 0;
        for (row, account) in entries {
            direct.add(account);
            limbeck.add(account);
            if row.note.program_bytes == 0 {
                continue;
            }
            programs += 1;
            for name in account.servers.keys() {
                let server = servers.entry(name.clone()).or_default();
                server.add(name, account);
            }
            if account.calls() == 0 {
                without_calls.programs += 1;
                without_calls.limbeck = without_calls.limbeck + account.limbeck();
            } else if account.is_loss() {
                lost.push(Loss::new(row, account));
            }
        }
        lost.sort_by_key(|loss| std::cmp::Reverse(loss.tokens()));
        let losses = lost.len();
        lost.truncate(LOSSES_SHOWN);
        let accounts: Vec<(u64, Account)> = entries
            .iter()
            .map(|(row, account)| (row.created_us, account.clone()))
            .collect();
        Self {
            since_us,
            programs,
            losses,
            without_calls,
            direct,
            limbeck,
            servers: servers.into_values().collect(),
            lost_most: lost,
            better_direct: better_direct(&accounts).into_iter().collect(),
        }
    }

    fn print(&self, printer: &Printer) {
        if self.programs == 0 {
            printer.note("no programs are recorded; `limbeck run FILE` makes one");
            return;
        }
        let since = match self.since_us {
            0 => String::new(),
            us => format!(" since {} UTC", when(us)),
        };
        let programs = self.programs;
        printer.data_line(&format!(
            "{programs} programs{since}, tokens (o200k_base)\n"
        ));
        printer.data(&self.totals());
        let (ours, direct) = (self.limbeck.total.count, self.direct.total.count);
        printer.data_line(&format!("\n{}\n", verdict(ours, direct)));
        if !self.servers.is_empty() {
            printer.data(&self.by_server());
        }
        let WithoutCalls {
            programs: idle,
            limbeck: spent,
        } = self.without_calls;
        if idle > 0 {
            printer.data_line(&format!(
                "\n{idle} of {programs} programs called no tool: {} tokens",
                grouped(spent.count)
            ));
        }
        if self.losses > 0 {
            printer.data_line(&format!(
                "\n{} of {programs} programs cost more than direct calls would have; the most:\n",
                self.losses
            ));
            printer.data(&self.worst());
        }
        for server in &self.better_direct {
            let name = clean_line(server.as_str(), NAME_BYTES_MAX);
            printer.hint(&format!(
                "programs mostly make one small call of `{name}` alone: `expose = \"auto\"` in its entry lists its tools for clients, if they are few and small"
            ));
        }
    }

    fn totals(&self) -> String {
        let mut table = Table::default().right([1]);
        let mut side = |title: &str, lines: &[(&str, Tokens)], total: Tokens| {
            table.row([title, "tokens", ""]);
            for (what, tokens) in lines {
                table.row(cells(&format!("  {what}"), *tokens));
            }
            table.row(cells("  sum", total));
        };
        let Direct {
            definitions,
            arguments,
            results,
            total,
        } = self.direct;
        let lines = [
            ("definitions", definitions),
            ("arguments", arguments),
            ("results", results),
        ];
        side("direct calls", &lines, total);
        let Limbeck {
            definitions,
            instructions,
            searches,
            programs,
            results,
            total,
        } = self.limbeck;
        let lines = [
            ("definitions", definitions),
            ("instructions", instructions),
            ("searches", searches),
            ("programs", programs),
            ("results", results),
        ];
        side("through Limbeck", &lines, total);
        table.text()
    }

    fn by_server(&self) -> String {
        let header = [
            "server",
            "programs",
            "calls",
            "direct calls",
            "through Limbeck",
            "lost",
        ];
        let mut table = Table::with_header(header).right([1, 2, 3, 4, 5]);
        for server in &self.servers {
            table.row([
                clean_line(&server.name, NAME_BYTES_MAX),
                server.programs.to_string(),
                server.calls.to_string(),
                grouped(server.direct.count),
                grouped(server.limbeck.count),
                format!("{} of {}", server.losses, server.alone),
            ]);
        }
        table.text()
    }

    fn worst(&self) -> String {
        let header = [
            "id",
            "when (UTC)",
            "calls",
            "direct calls",
            "through Limbeck",
        ];
        let mut table = Table::with_header(header).right([2, 3, 4]);
        for loss in &self.lost_most {
            table.row([
                loss.id.clone(),
                when(loss.created_us),
                loss.calls.to_string(),
                grouped(loss.direct.count),
                grouped(loss.limbeck.count),
            ]);
        }
        table.text()
    }
}

fn cells(what: &str, tokens: Tokens) -> [String; 3] {
    // Nothing has no basis.
    let basis = match tokens.count {
        0 => "",
        _ => tokens.basis.as_str(),
    };
    [what.to_owned(), grouped(tokens.count), basis.to_owned()]
}

/// Both sums in words.
pub(crate) fn verdict(ours: u64, direct: u64) -> String {
    if direct == 0 {
        return format!(
            "No tool was called: {} tokens that direct calls would not have cost.",
            grouped(ours)
        );
    }
    let (more, fewer) = if ours > direct {
        (ours, direct)
    } else {
        (direct, ours)
    };
    let times = more as f64 / fewer.max(1) as f64;
    let word = if ours > direct { "more" } else { "fewer" };
    let numbers = format!("{} instead of {}", grouped(ours), grouped(direct));
    format!("{times:.1} times {word} tokens: {numbers}.")
}

impl Direct {
    fn add(&mut self, account: &Account) {
        for server in account.servers.values() {
            self.definitions = self.definitions + server.definitions.times(account.rounds);
            self.arguments = self.arguments + server.arguments;
            self.results = self.results + server.results;
        }
        self.total = self.definitions + self.arguments + self.results;
    }
}

impl Limbeck {
    fn add(&mut self, account: &Account) {
        let Account {
            turns,
            definitions,
            instructions,
            ..
        } = account;
        self.definitions = self.definitions + definitions.times(*turns);
        self.instructions = self.instructions + instructions.times(*turns);
        self.searches = self.searches + account.searches;
        self.programs = self.programs + account.program;
        self.results = self.results + account.result;
        self.total =
            self.definitions + self.instructions + self.searches + self.programs + self.results;
    }
}

impl Server {
    fn add(&mut self, name: &ServerName, account: &Account) {
        let part = &account.servers[name];
        let limbeck = account.limbeck();
        let all = u64::from(account.calls().max(1));
        self.name = name.to_string();
        self.programs += 1;
        self.calls += part.calls;
        self.direct = self.direct + part.direct(account.rounds);
        self.limbeck = self.limbeck
            + if account.servers.len() == 1 {
                self.alone += 1;
                self.losses += usize::from(account.is_loss());
                limbeck
            } else {
                Tokens {
                    count: limbeck.count.saturating_mul(u64::from(part.calls)) / all,
                    basis: Basis::Estimated,
                }
            };
    }
}

impl Loss {
    fn new(row: &LedgerRow, account: &Account) -> Self {
        Self {
            id: row.id.clone(),
            created_us: row.created_us,
            calls: account.calls(),
            direct: account.direct(),
            limbeck: account.limbeck(),
        }
    }

    fn tokens(&self) -> u64 {
        self.limbeck.count.saturating_sub(self.direct.count)
    }
}

/// An account as `executions ID --json` has it, with its sums.
pub(super) fn account_json(account: &Account) -> serde_json::Value {
    let mut json = json!(account);
    json["limbeck"] = json!(account.limbeck());
    json["direct"] = json!(account.direct());
    json
}

/// An account in one line.
pub(super) fn account_line(account: &Account) -> String {
    let (ours, direct) = (account.limbeck(), account.direct());
    let part = |tokens: Tokens| format!("{} {}", grouped(tokens.count), tokens.basis.as_str());
    let more = match account.calls() {
        _ if !account.is_loss() => String::new(),
        0 => "; no tool was called".to_owned(),
        1 => "; direct would have cost less: it made one small call".to_owned(),
        calls => format!("; direct would have cost less: it made {calls} small calls"),
    };
    format!(
        "{} through Limbeck, {} with direct calls{more}",
        part(ours),
        part(direct)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_says_which_side_had_fewer() {
        assert_eq!(
            verdict(100, 1_250),
            "12.5 times fewer tokens: 100 instead of 1,250."
        );
        assert_eq!(
            verdict(300, 200),
            "1.5 times more tokens: 300 instead of 200."
        );
        assert_eq!(
            verdict(300, 0),
            "No tool was called: 300 tokens that direct calls would not have cost."
        );
    }
}
