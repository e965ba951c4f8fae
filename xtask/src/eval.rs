//! `cargo xtask eval NAME`: how good an answer is, where that can be counted.

mod bm25;
mod fuse;
mod search;

use std::path::Path;

/// What is evaluated.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Search over the captured tools, beside plain BM25 and fuse.js
    Search(search::Args),
}

/// Prints figures.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    match &args.what {
        What::Search(args) => search::run(root, args),
    }
}
