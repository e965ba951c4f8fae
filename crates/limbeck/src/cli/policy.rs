//! Arguments of `limbeck policy`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Check the rules of all configuration files; exit code 1 when something is wrong with them
    Check(PolicyCheckArgs),
    /// Show which rule decides about a call, and why each other rule does not
    Explain(PolicyExplainArgs),
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
