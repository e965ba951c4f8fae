//! Chores of the repository: `cargo xtask COMMAND`.

#![forbid(unsafe_code)]

use std::path::Path;

use clap::{Parser, Subcommand};

mod attacks;
mod bench;
mod check;
mod circles;
mod command;
mod crates;
mod dist;
mod docs;
mod eval;
mod fuzz;
mod guests;
mod portable;
mod stages;
mod test;
mod toolchain;
mod tools;
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
    /// Run everything CI runs, or with `--fast` what answers within a minute
    Check(check::Args),
    /// Print what the gateway costs beside what is promised
    Bench(bench::Args),
    /// Print how good answers are, where that can be counted
    Eval(eval::Args),
    /// Build the executable as it is installed, with its debug information beside it
    Dist,
    /// Run every command and code block of the documents
    Docs,
    /// Send the gateway's side of the frames every kind of bytes a worker could
    Fuzz(fuzz::Args),
    /// Build the WebAssembly guests and put them where the worker takes them from
    Guests(guests::Args),
    /// Check that the product compiles for macOS and Windows
    Portable(portable::Args),
    /// Build everything and run all tests, those against real MCP servers included
    Test(test::Args),
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
        Command::Portable(args) => portable::run(root, &args),
        Command::Test(args) => test::run(root, args),
    }
}
