//! What a model would have read and written, counted in tokens of its own alphabet (o200k_base).
//!
//! Two columns that are compared must be counted alike: tool definitions are name, description and
//! input schema on both sides, which is what clients show a model; every argument and result is the
//! JSON text as it passed. What a client wraps around them is left out on both sides, and so is
//! that a context is read again at every step, which direct calls would have had more of.

use limbeck_gateway::InnerCall;
use rmcp::model::Tool;
use serde_json::json;
use tiktoken_rs::CoreBPE;

use crate::table::{Table, grouped};

/// How a number came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Basis {
    /// Text that passed between a client and Limbeck in this run.
    Measured,
    /// Text that passed between Limbeck and the server in this run and would have passed through
    /// the model.
    Computed,
}

#[derive(Debug)]
struct Line {
    what: String,
    tokens: u64,
    basis: Basis,
}

/// The two sides of the comparison.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    direct: Vec<Line>,
    ours: Vec<Line>,
}

/// What passed between a client and Limbeck.
#[derive(Debug)]
pub(super) struct Conversation {
    /// Limbeck's tools, as listed.
    pub(super) tools: Vec<Tool>,
    /// Limbeck's instructions.
    pub(super) instructions: String,
    /// Arguments and result of `search`.
    pub(super) search: (String, String),
    /// Arguments and result of `execute`.
    pub(super) execute: (String, String),
}

impl Ledger {
    /// Counts both sides: `conversation` as it was, and the same `calls` made one by one by a model
    /// that was shown `tools` of the server.
    ///
    /// # Errors
    ///
    /// A tokenizer that cannot be loaded.
    pub(super) fn count(
        conversation: &Conversation,
        tools: &[Tool],
        calls: &[InnerCall],
    ) -> anyhow::Result<Self> {
        let tokenizer = Tokenizer(tiktoken_rs::o200k_base()?);
        let mut ledger = Self::default();
        let arguments = calls.iter().map(|call| call.call.body.as_str());
        let results = calls
            .iter()
            .filter_map(|call| call.result.as_ref()?.as_deref().ok());
        let n = calls.len();
        ledger.would(
            format!("definitions of {} tools", tools.len()),
            tokenizer.definitions(tools),
        );
        ledger.would(
            format!("arguments of {n} calls"),
            arguments.map(|text| tokenizer.count(text)).sum(),
        );
        ledger.would(
            format!("results of {n} calls"),
            results.map(|text| tokenizer.count(text)).sum(),
        );

        let Conversation {
            tools,
            instructions,
            search,
            execute,
        } = conversation;
        ledger.did(
            format!("definitions of {} tools", tools.len()),
            tokenizer.definitions(tools),
        );
        ledger.did("instructions", tokenizer.count(instructions));
        ledger.did(
            "search, asked and answered",
            tokenizer.count(&search.0) + tokenizer.count(&search.1),
        );
        ledger.did("the program", tokenizer.count(&execute.0));
        ledger.did("its result", tokenizer.count(&execute.1));
        Ok(ledger)
    }

    fn would(&mut self, what: impl Into<String>, tokens: u64) {
        self.direct.push(Line {
            what: what.into(),
            tokens,
            basis: Basis::Computed,
        });
    }

    fn did(&mut self, what: impl Into<String>, tokens: u64) {
        self.ours.push(Line {
            what: what.into(),
            tokens,
            basis: Basis::Measured,
        });
    }

    /// Both sides with their sums, and the ratio.
    pub(super) fn text(&self) -> String {
        let mut table = Table::default().right([1]).indented(2);
        side(&mut table, "direct tool calls", &self.direct);
        table.row(["", "", ""]);
        side(&mut table, "through Limbeck", &self.ours);
        let (direct, ours) = (sum(&self.direct), sum(&self.ours));
        format!(
            "{}\n  {:.1} times fewer tokens: {} instead of {}.\n",
            table.text(),
            direct as f64 / ours.max(1) as f64,
            grouped(ours),
            grouped(direct),
        )
    }
}

fn side(table: &mut Table, title: &str, lines: &[Line]) {
    table.row([title, "tokens", ""]);
    for line in lines {
        let basis = match line.basis {
            Basis::Measured => "measured",
            Basis::Computed => "computed",
        };
        table.row([
            format!("  {}", line.what),
            grouped(line.tokens),
            basis.to_owned(),
        ]);
    }
    table.row(["  sum", &grouped(sum(lines)), ""]);
}

fn sum(lines: &[Line]) -> u64 {
    lines.iter().map(|line| line.tokens).sum()
}

struct Tokenizer(CoreBPE);

impl Tokenizer {
    fn count(&self, text: &str) -> u64 {
        self.0.count_ordinary(text) as u64
    }

    /// Tools as clients show them to a model.
    fn definitions(&self, tools: &[Tool]) -> u64 {
        tools
            .iter()
            .map(|tool| {
                let definition = json!({
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.input_schema,
                });
                self.count(&definition.to_string())
            })
            .sum()
    }
}
