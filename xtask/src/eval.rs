//! `cargo xtask eval NAME`: figures on the quality of search results.

use std::path::Path;
use std::process::Command;

use crate::{command, tools};

/// Arguments of `cargo xtask eval`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    name: Name,
}

#[derive(clap::Subcommand)]
enum Name {
    /// Search over the captured tools, beside plain BM25 and fuse.js
    Search(SearchArgs),
}

#[derive(clap::Args)]
struct SearchArgs {
    /// Leave out fuse.js, which needs Node and its package
    #[arg(long)]
    no_fuse: bool,
    /// List the tuning queries without a right answer among the first five
    #[arg(long)]
    misses: bool,
}

/// Prints the figures. The evaluation is a benchmark of `limbeck-search`, so that `xtask` depends on no crate of the
/// product.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    match &args.name {
        Name::Search(args) => search(root, args),
    }
}

fn search(root: &Path, args: &SearchArgs) -> anyhow::Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["bench", "--quiet", "--package", "limbeck-search"]);
    cargo.args(["--bench", "eval", "--"]).current_dir(root);
    if !args.no_fuse {
        cargo.arg("--fuse-script").arg(tools::install_fuse(root)?);
    }
    if args.misses {
        cargo.arg("--misses");
    }
    command::run(&mut cargo)
}
