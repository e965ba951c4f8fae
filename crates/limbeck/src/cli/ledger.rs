//! Arguments of `limbeck ledger`.

use clap::Args;

use super::since::{SinceTime, since};

#[derive(Debug, Args)]
pub(crate) struct LedgerArgs {
    /// Count only executions since WHEN: `30m`, `24h`, `7d`, `2026-11-01` or `2026-11-01T08:00:00Z`
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub(crate) since: Option<SinceTime>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
