//! Arguments of `limbeck setup`.

use clap::{Args, ValueEnum};
use limbeck_setup::SetupSecrets;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  limbeck setup --dry-run
  limbeck setup --client cursor --client codex
  limbeck setup --undo")]
pub(crate) struct SetupArgs {
    /// Change only files of CLIENT, such as `cursor`; repeat for more [default: every client that has servers]
    #[arg(long, value_name = "CLIENT")]
    pub(crate) client: Vec<String>,
    /// Show what would be done, and start and write nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Do it without a question
    #[arg(long)]
    pub(crate) yes: bool,
    /// Take a setup back: the one with ID, or the last one
    #[arg(long, value_name = "ID", num_args = 0..=1, conflicts_with_all = ["client", "dry_run", "import_only", "install_only", "secrets", "no_probe"])]
    pub(crate) undo: Option<Option<String>>,
    /// Copy servers and change no client's file
    #[arg(long, conflicts_with = "install_only")]
    pub(crate) import_only: bool,
    /// Add Limbeck to clients and move no server
    #[arg(long)]
    pub(crate) install_only: bool,
    /// Where the secrets of moved servers go
    #[arg(long, value_name = "WHERE", default_value = "file")]
    pub(crate) secrets: SecretsName,
    /// Move servers without starting each of them first
    #[arg(long)]
    pub(crate) no_probe: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where secrets go.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SecretsName {
    /// Into files that only you can read
    File,
    /// Into `imported.toml`, which only you can read, as they are
    Keep,
}

impl From<SecretsName> for SetupSecrets {
    fn from(name: SecretsName) -> Self {
        match name {
            SecretsName::File => Self::File,
            SecretsName::Keep => Self::Keep,
        }
    }
}
