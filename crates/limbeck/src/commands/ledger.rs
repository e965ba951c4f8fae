//! `limbeck ledger`: tokens of executions, compared with tokens of direct calls.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use limbeck_domain::text::clean_line;
use limbeck_domain::{CountBasis, ServerName, TokenCount, TokenUsage};
use limbeck_gateway::ledger::{better_direct, entries};
use limbeck_store::LedgerRow;
use serde::Serialize;
use serde_json::json;

use crate::cli::LedgerArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::format::{counted, grouped_digits, token_comparison};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::table::TextTable;
use crate::time_zone::TimeZone;
use crate::wiring;

/// Most executions shown that cost more than direct calls.
const LOSSES_SHOWN: usize = 10;
/// Columns of a terminal from which on whole ids fit into the table of losses.
const WHOLE_IDS_MIN: usize = 100;
/// Characters of an id on a narrower terminal: its time in milliseconds, and a part of what differs within one.
const SHORT_ID_CHARS: usize = 18;
/// Longest server name that is shown, in bytes.
const NAME_BYTES_MAX: usize = 60;

/// Prints the totals, the servers, and the executions that cost more than direct calls.
pub(super) async fn ledger(
    invocation: &Invocation,
    arguments: &LedgerArgs,
) -> Result<ExitStatus, CommandError> {
    let store = wiring::open_past(invocation).await?;
    let since_us = arguments
        .since
        .map_or(0, |since| since.before(invocation.world.now_us()));
    let entries = entries(&store, since_us).await?;
    let report = LedgerReport::new(since_us, &entries);
    if arguments.json {
        invocation.printer.json(&report)?;
    } else {
        report.print(&invocation.printer);
    }
    Ok(ExitStatus::Completed)
}

/// JSON of `limbeck ledger --json`. Every token count names its basis.
#[derive(Debug, Serialize)]
struct LedgerReport {
    #[serde(skip_serializing_if = "is_zero")]
    since_us: u64,
    programs: usize,
    /// Programs that called tools and cost more than direct calls would have.
    losses: usize,
    /// Programs that called no tool, for example because they were rejected before they ran. Direct calls have no
    /// counterpart of them.
    without_calls: WithoutCalls,
    /// Tokens of searches that no program followed. Direct calls have no counterpart of them either.
    without_program: TokenCount,
    direct: DirectTotals,
    limbeck: ProgramTotals,
    servers: Vec<ServerTotals>,
    /// Largest losses.
    largest_losses: Vec<LossReport>,
    /// Servers whose tools `expose = "auto"` would list for clients.
    cheaper_direct: Vec<ServerName>,
}

#[derive(Debug, Default, Serialize)]
struct WithoutCalls {
    programs: usize,
    limbeck: TokenCount,
}

#[derive(Debug, Default, Serialize)]
struct DirectTotals {
    definitions: TokenCount,
    arguments: TokenCount,
    results: TokenCount,
    total: TokenCount,
}

#[derive(Debug, Default, Serialize)]
struct ProgramTotals {
    definitions: TokenCount,
    instructions: TokenCount,
    searches: TokenCount,
    programs: TokenCount,
    results: TokenCount,
    total: TokenCount,
}

#[derive(Debug, Default, Serialize)]
struct ServerTotals {
    name: String,
    programs: usize,
    calls: u32,
    direct: TokenCount,
    /// For programs that called several servers, the share of this server by number of calls.
    limbeck: TokenCount,
    /// Programs that called only this server, and how many of them cost more than direct calls.
    alone: usize,
    losses: usize,
}

#[derive(Debug, Serialize)]
struct LossReport {
    id: String,
    created_us: u64,
    calls: u32,
    direct: TokenCount,
    limbeck: TokenCount,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl LedgerReport {
    fn new(since_us: u64, entries: &[(LedgerRow, TokenUsage)]) -> Self {
        let (mut direct, mut limbeck) = (DirectTotals::default(), ProgramTotals::default());
        let mut servers: BTreeMap<ServerName, ServerTotals> = BTreeMap::new();
        let mut lost = Vec::new();
        let mut without_calls = WithoutCalls::default();
        let mut without_program = TokenCount::default();
        let mut programs = 0;
        for (row, account) in entries {
            direct.add(account);
            limbeck.add(account);
            // An entry without a program counts in the totals only.
            if row.sizes.program_bytes == 0 {
                without_program = without_program + account.limbeck();
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
                lost.push(LossReport::new(row, account));
            }
        }
        lost.sort_by_key(|loss| std::cmp::Reverse(loss.tokens()));
        let losses = lost.len();
        // The count above includes all of them.
        lost.truncate(LOSSES_SHOWN);
        let accounts: Vec<(u64, TokenUsage)> = entries
            .iter()
            .map(|(row, account)| (row.created_us, account.clone()))
            .collect();
        Self {
            since_us,
            programs,
            losses,
            without_calls,
            without_program,
            direct,
            limbeck,
            servers: servers.into_values().collect(),
            largest_losses: lost,
            cheaper_direct: better_direct(&accounts).into_iter().collect(),
        }
    }

    fn print(&self, printer: &Printer) {
        if self.programs == 0 {
            printer.note(&match self.since_us {
                0 => "no programs are recorded; run one with `limbeck run FILE`".to_owned(),
                us => format!("no programs are recorded since {}", printer.time(us)),
            });
            return;
        }
        let since = match self.since_us {
            0 => String::new(),
            us => format!(" since {}", printer.time(us)),
        };
        let programs = self.programs;
        printer.data_line(&format!(
            "{}{since}, tokens (o200k_base)\n",
            counted(programs, "program")
        ));
        printer.data(&self.totals());
        let ours = self.of_programs_with_calls();
        let direct = self.direct.total.count;
        match programs.saturating_sub(self.without_calls.programs) {
            0 => {}
            1 => printer.data_line(&format!(
                "\nThe program that called a tool took {}\n",
                token_comparison(ours, direct)
            )),
            called => printer.data_line(&format!(
                "\nThe {called} programs that called a tool took {}\n",
                token_comparison(ours, direct)
            )),
        }
        if !self.servers.is_empty() {
            printer.data(&self.by_server());
        }
        let WithoutCalls {
            programs: idle,
            limbeck: spent,
        } = self.without_calls;
        if idle > 0 {
            printer.data_line(&format!(
                "\n{idle} of {} called no tool, which is not part of this comparison: {} tokens",
                counted(programs, "program"),
                grouped_digits(spent.count)
            ));
        }
        if self.without_program.count > 0 {
            printer.data_line(&format!(
                "\nSearches that no program followed took {} tokens, which are not part of this comparison",
                grouped_digits(self.without_program.count)
            ));
        }
        if self.losses > 0 {
            printer.data_line(&format!(
                "\n{} of {} cost more than direct calls would have; largest first:\n",
                self.losses,
                counted(programs, "program")
            ));
            let is_narrow = printer.width().is_some_and(|width| width < WHOLE_IDS_MIN);
            printer.data(&self.worst(printer.zone(), is_narrow));
        }
        for server in &self.cheaper_direct {
            let name = clean_line(server.as_str(), NAME_BYTES_MAX);
            printer.hint(&format!(
                "most programs make a single small call of server `{name}`; set `expose = \"auto\"` in its entry to list its tools for clients when they are few and small"
            ));
        }
    }

    /// Tokens of the programs that called a tool. Like with like: direct calls have no counterpart of the others, nor of a search
    /// that no program followed.
    fn of_programs_with_calls(&self) -> u64 {
        let others = self.without_calls.limbeck + self.without_program;
        self.limbeck.total.count.saturating_sub(others.count)
    }

    fn totals(&self) -> String {
        let mut table = TextTable::default().right([1]);
        let DirectTotals {
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
        add_side(&mut table, "direct calls", &lines, total);
        // The two sides are one table, so that their numbers are aligned.
        table.row(["", "", ""]);
        let ProgramTotals {
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
        add_side(&mut table, "through Limbeck", &lines, total);
        table.text()
    }

    fn by_server(&self) -> String {
        let header = [
            "server",
            "programs",
            "calls",
            "direct tokens",
            "Limbeck tokens",
            "cost more",
        ];
        let mut table = TextTable::with_header(header).right([1, 2, 3, 4, 5]);
        for server in &self.servers {
            table.row([
                clean_line(&server.name, NAME_BYTES_MAX),
                server.programs.to_string(),
                server.calls.to_string(),
                grouped_digits(server.direct.count),
                grouped_digits(server.limbeck.count),
                format!("{} of {}", server.losses, server.alone),
            ]);
        }
        table.text()
    }

    /// Table of the largest losses; with the beginnings of the ids, which every command accepts, where it is narrow.
    fn worst(&self, zone: TimeZone, is_narrow: bool) -> String {
        let header = [
            "id",
            &format!("when ({})", zone.name()),
            "calls",
            "direct tokens",
            "Limbeck tokens",
        ];
        let mut table = TextTable::with_header(header).right([2, 3, 4]);
        for loss in &self.largest_losses {
            let id_chars = if is_narrow {
                SHORT_ID_CHARS
            } else {
                usize::MAX
            };
            table.row([
                loss.id.chars().take(id_chars).collect::<String>(),
                zone.time(loss.created_us),
                loss.calls.to_string(),
                grouped_digits(loss.direct.count),
                grouped_digits(loss.limbeck.count),
            ]);
        }
        table.text()
    }
}

/// Adds the parts of one side and their sum.
fn add_side(table: &mut TextTable, title: &str, lines: &[(&str, TokenCount)], total: TokenCount) {
    table.row([title, "tokens", ""]);
    for (what, tokens) in lines {
        table.row(cells(&format!("  {what}"), *tokens));
    }
    table.row(cells("  sum", total));
}

fn cells(what: &str, tokens: TokenCount) -> [String; 3] {
    // A count of 0 needs no basis.
    let basis = match tokens.count {
        0 => "",
        _ => tokens.basis.as_str(),
    };
    [
        what.to_owned(),
        grouped_digits(tokens.count),
        basis.to_owned(),
    ]
}

impl DirectTotals {
    fn add(&mut self, account: &TokenUsage) {
        for server in account.servers.values() {
            self.definitions = self.definitions + server.definitions.times(account.rounds);
            self.arguments = self.arguments + server.arguments;
            self.results = self.results + server.results;
        }
        self.total = self.definitions + self.arguments + self.results;
    }
}

impl ProgramTotals {
    fn add(&mut self, account: &TokenUsage) {
        let TokenUsage {
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

impl ServerTotals {
    fn add(&mut self, name: &ServerName, account: &TokenUsage) {
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
                TokenCount {
                    count: limbeck.count.saturating_mul(u64::from(part.calls)) / all,
                    basis: CountBasis::Estimated,
                }
            };
    }
}

impl LossReport {
    fn new(row: &LedgerRow, account: &TokenUsage) -> Self {
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

/// Account in the JSON of `limbeck executions ID --json`, with its sums.
pub(super) fn account_json(account: &TokenUsage) -> serde_json::Value {
    let mut json = json!(account);
    json["limbeck"] = json!(account.limbeck());
    json["direct"] = json!(account.direct());
    json
}

/// Account in one line.
pub(super) fn account_line(account: &TokenUsage) -> String {
    let (ours, direct) = (account.limbeck(), account.direct());
    let part =
        |tokens: TokenCount| format!("{} {}", grouped_digits(tokens.count), tokens.basis.as_str());
    let more = match account.calls() {
        _ if !account.is_loss() => String::new(),
        0 => "; no tool was called".to_owned(),
        1 => "; direct calls would have cost less: the program made one small call".to_owned(),
        calls => {
            format!("; direct calls would have cost less: the program made {calls} small calls")
        }
    };
    format!(
        "{} through Limbeck, {} with direct calls{more}",
        part(ours),
        part(direct)
    )
}
