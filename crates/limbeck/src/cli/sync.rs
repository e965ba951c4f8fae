//! Arguments of `limbeck sync`.

use clap::{Args, ValueEnum};
use limbeck_setup::Adoption;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  limbeck sync
  limbeck sync --apply
  limbeck sync --install")]
pub(crate) struct SyncArgs {
    /// Write Limbeck's entry again where it was lost [default: only report]
    #[arg(long)]
    pub(crate) apply: bool,
    /// Write nothing; with --install print the files
    #[arg(long, conflicts_with = "apply")]
    pub(crate) dry_run: bool,
    /// Compare only files of CLIENT, such as `cursor`; repeat for more
    #[arg(long, value_name = "CLIENT")]
    pub(crate) client: Vec<String>,
    /// What happens to servers that were added to clients
    #[arg(long, value_name = "WHAT", default_value = "ask")]
    pub(crate) adopt: AdoptName,
    /// Have the system run `limbeck sync --apply` when files change, and every hour or day
    #[arg(long, conflicts_with_all = ["apply", "client", "uninstall"])]
    pub(crate) install: bool,
    /// Take back what --install did
    #[arg(long, conflicts_with_all = ["apply", "client"])]
    pub(crate) uninstall: bool,
    /// Open only files that changed since the last `--apply`
    #[arg(long, hide = true)]
    pub(crate) background: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What happens to new servers.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum AdoptName {
    /// They are reported
    Ask,
    /// They stay in the client, and are not reported
    Never,
    /// They move to Limbeck with --apply, as setup moves them
    Yes,
}

impl From<AdoptName> for Adoption {
    fn from(name: AdoptName) -> Self {
        match name {
            AdoptName::Ask => Self::Ask,
            AdoptName::Never => Self::Never,
            AdoptName::Yes => Self::Yes,
        }
    }
}
