//! Arguments of `limbeck pins`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PinsArgs {
    /// Show every tool of SERVER [default: the tools of all servers that differ from their pins]
    #[arg(value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Option<PinsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PinsCommand {
    /// Show how definitions differ from those that were accepted
    Diff(PinsDiffArgs),
    /// Take definitions as right from now on, after you have seen them
    Accept(PinsDecideArgs),
    /// Keep the accepted definitions, and hold the tools until their servers list those again
    Reject(PinsDecideArgs),
    /// List the tools of all servers and compare them with their pins and with mcp.lock; exit code 1 when something differs
    Verify(PinsVerifyArgs),
    /// Write the pinned definitions to mcp.lock, for a review with the repository
    Lock(PinsLockArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PinsDiffArgs {
    /// Only these: `server` or `server.tool`
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PinsDecideArgs {
    /// `server`, for all of its tools that differ, or `server.tool`
    #[arg(value_name = "TARGET", required = true)]
    pub(crate) targets: Vec<String>,
    /// Do not ask
    #[arg(long, conflicts_with = "hash")]
    pub(crate) yes: bool,
    /// Only what has this hash, which `limbeck pins diff` shows; do not ask
    #[arg(long, value_name = "SHA256")]
    pub(crate) hash: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PinsVerifyArgs {
    /// Only these servers
    #[arg(value_name = "SERVER")]
    pub(crate) servers: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PinsLockArgs {
    /// Only these servers
    #[arg(value_name = "SERVER")]
    pub(crate) servers: Vec<String>,
    /// Write to FILE instead of mcp.lock in the working directory
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
