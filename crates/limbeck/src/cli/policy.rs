//! Arguments of `limbeck policy`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::since::{SinceTime, since};

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Check the rules of all configuration files; exit code 1 when something is wrong with them
    Check(PolicyCheckArgs),
    /// Show which rule decides about a call, and why each other rule does not
    Explain(PolicyExplainArgs),
    /// Decide about recorded calls again with the rules of FILE, and show what would be different
    Backtest(PolicyBacktestArgs),
    /// Show what is left of budgets and rates
    Budgets(PolicyBudgetsArgs),
    /// Suggest rules that allow what was approved again and again, each with what it would have decided
    Suggest(PolicySuggestArgs),
    /// Write the rules in another language, for tools that prove what they allow
    Export(PolicyExportArgs),
    /// Show the class of each known tool and whose word it is, with a suggestion for those without one
    Classes(PolicyClassesArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PolicyClassesArgs {
    /// Only these tools: patterns as in `run --tools`
    #[arg(value_name = "PATTERN")]
    pub(crate) tools: Vec<String>,
    /// Write the suggestions into your own config.toml, after you have confirmed them
    #[arg(long)]
    pub(crate) write: bool,
    /// Write them without a question
    #[arg(long, requires = "write")]
    pub(crate) yes: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyCheckArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyExplainArgs {
    /// Tool, as `server.tool`
    #[arg(value_name = "TOOL")]
    pub(crate) tool: String,
    /// Arguments of the call, a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub(crate) args: String,
    /// Decide for PRINCIPAL of `serve --http`, such as `token:NAME`, instead of the user who runs the gateway
    #[arg(long = "as", value_name = "PRINCIPAL")]
    pub(crate) principal: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyBacktestArgs {
    /// A limbeck.toml with `[policy]`, which replaces that of the configuration
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Take only executions since WHEN: `30m`, `24h`, `7d`, `2026-11-01` or `2026-11-01T08:00:00Z`
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub(crate) since: Option<SinceTime>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyBudgetsArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PolicySuggestArgs {
    /// Take only approvals since WHEN: `30m`, `24h`, `7d`, `2026-11-01` or `2026-11-01T08:00:00Z`
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub(crate) since: Option<SinceTime>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyExportArgs {
    /// Write Cedar policies, with a schema of the known tools
    #[arg(long, required = true)]
    pub(crate) cedar: bool,
    /// Print the schema and not the policies
    #[arg(long, conflicts_with = "file")]
    pub(crate) schema: bool,
    /// Fail when something cannot be said in the other language, and write nothing
    #[arg(long)]
    pub(crate) strict: bool,
    /// File for the policies; the schema is written beside it, with the ending `.cedarschema`. Without FILE the policies are printed
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}
