//! Chores of the repository: `cargo xtask COMMAND`.

#![forbid(unsafe_code)]

use std::path::Path;

use clap::{Parser, Subcommand};

mod attacks;
mod background;
mod bench;
mod check;
mod circles;
mod command;
mod crates;
mod deny;
mod dist;
mod docs;
mod eval;
mod fuzz;
mod guests;
mod junit;
mod package;
mod portable;
mod references;
mod stages;
mod test;
mod toolchain;
mod tools;
mod verified;
mod words;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Chores of the repository")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the programs of attacks/ that try to get out
    Attacks(attacks::Args),
    /// Serve the upstream that attacks call
    #[command(hide = true)]
    AttackUpstream,
    /// Run all checks of CI, or with `--fast` those that take about a minute
    Check(check::Args),
    /// Measure the gateway and print the figures beside the promised ones
    Bench(bench::Args),
    /// Measure the quality of search results
    Eval(eval::Args),
    /// Build the executable as it is installed, with its debug information beside it
    Dist,
    /// Run every command and code block of the documents
    Docs,
    /// Fuzz the gateway's side of the frames with what a worker could send
    Fuzz(fuzz::Args),
    /// Build the WebAssembly guests and write them to crates/limbeck-guests/artifacts
    Guests(guests::Args),
    /// Build packages for package managers of an executable, in target/packages
    Package(package::Args),
    /// Check that the product compiles for macOS and Windows
    Portable(portable::Args),
    /// Build everything and run all tests, those against real MCP servers included
    Test(test::Args),
    /// Check the words of code and documents, and that the files and tests which documents name exist
    Words,
}

fn main() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the root of the repository");
    match Cli::parse().command {
        Command::Attacks(args) => attacks::run(root, &args),
        Command::AttackUpstream => attacks::upstream::serve(),
        Command::Check(args) => check::run(root, &args),
        Command::Bench(args) => bench::run(root, &args),
        Command::Eval(args) => eval::run(root, &args),
        Command::Dist => dist::run(root),
        Command::Docs => docs::run(root),
        Command::Fuzz(args) => fuzz::run(root, &args),
        Command::Guests(args) => guests::run(root, &args),
        Command::Package(args) => package::run(root, &args),
        Command::Portable(args) => portable::run(root, &args),
        Command::Test(args) => test::run(root, args),
        Command::Words => words::run(root).and_then(|()| references::run(root)),
    }
}
