//! Arguments of `limbeck add`, `limbeck remove` and `limbeck import`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  limbeck add git -- uvx mcp-server-git
  limbeck add files -- npx -y @modelcontextprotocol/server-filesystem@2026.1.14 ~/work
  limbeck add tracker https://mcp.example.com/mcp --header 'Authorization: Bearer env:TRACKER_TOKEN'")]
pub(crate) struct AddArgs {
    /// Name of the server
    pub(crate) name: String,
    /// Url of a remote server
    #[arg(value_name = "URL", required_unless_present = "command")]
    pub(crate) url: Option<String>,
    /// Words behind a program that was given without `--`
    #[arg(hide = true)]
    pub(crate) words: Vec<String>,
    /// Command of a local server with its arguments, after `--`
    #[arg(value_name = "COMMAND", last = true, conflicts_with = "url")]
    pub(crate) command: Vec<String>,
    /// Set a variable of the server, such as `TOKEN=${TOKEN}`; repeat for more
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    pub(crate) env: Vec<String>,
    /// Start the server in DIR, which is written as an absolute path; `${workspaceFolder}` is the working directory of Limbeck
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub(crate) cwd: Option<String>,
    /// Send a header with every request, such as `Authorization: Bearer env:TOKEN`; repeat for more
    #[arg(long, value_name = "NAME: VALUE", conflicts_with = "command")]
    pub(crate) header: Vec<String>,
    /// Replace a server of this name
    #[arg(long)]
    pub(crate) replace: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Name of the server
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// File of a client: any JSON with `mcpServers`, `servers` or `context_servers`, or Codex's `config.toml`
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Replace servers of the same names
    #[arg(long)]
    pub(crate) replace: bool,
    /// Show what would be copied, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Copy the servers of a project's file without a question; review them before with `--dry-run`
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
