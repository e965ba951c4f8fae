//! Arguments of `limbeck audit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Print the newest records
    Tail(AuditTailArgs),
    /// Check that no record was changed, removed or added
    Verify(AuditVerifyArgs),
    /// Print all records, one JSON object a line
    Export(AuditExportArgs),
    /// Remove the salts of hashes and the words of people; the records stay and still verify
    Erase(AuditEraseArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AuditTailArgs {
    /// Records, at most 1,000
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) lines: u32,
    /// Only those of one execution
    #[arg(long, value_name = "ID")]
    pub(crate) execution: Option<String>,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditVerifyArgs {
    /// Check what `limbeck audit export` wrote, instead of the records of the state directory
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Hash that the last record of FILE has to have; once for each principal in it
    #[arg(long, value_name = "HASH", requires = "file")]
    pub(crate) expect_last: Vec<String>,
    /// Numbers that the first and the last record of FILE have to have
    #[arg(long, value_name = "FROM..TO", requires = "file", value_parser = sequence)]
    pub(crate) expect_seq: Option<(u64, u64)>,
    /// Check signed checkpoints with this verifier key, the file `.pub` beside the key
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub(crate) key: Option<PathBuf>,
    /// Compare the records with the checkpoints in this file, instead of those beside the state file
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub(crate) anchor: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("whose").required(true).multiple(true))]
pub(crate) struct AuditEraseArgs {
    /// Of the records of one principal
    #[arg(long, value_name = "NAME", group = "whose")]
    pub(crate) principal: Option<String>,
    /// Of the records of one execution
    #[arg(long, value_name = "ID", group = "whose")]
    pub(crate) execution: Option<String>,
    /// Of the records with a lower number
    #[arg(long, value_name = "SEQ", group = "whose")]
    pub(crate) before: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditExportArgs {
    /// Only those of one principal; they can be checked alone
    #[arg(long, value_name = "NAME")]
    pub(crate) principal: Option<String>,
    /// Only those with a higher number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub(crate) after: u64,
}

fn sequence(text: &str) -> Result<(u64, u64), String> {
    let numbers = text.split_once("..").and_then(|(from, to)| {
        let (from, to) = (from.parse().ok()?, to.parse().ok()?);
        (from <= to).then_some((from, to))
    });
    numbers.ok_or_else(|| "two numbers with `..` between them, such as 1..812".to_owned())
}
