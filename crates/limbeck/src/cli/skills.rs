//! Arguments of `limbeck skills`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SkillsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SkillsCommand>,
    /// Skill to show [default: list all]
    pub(crate) name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List the skills
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one skill with its source
    Show {
        /// Skill to show
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Keep the program of a recorded execution as a skill
    Save(SkillSaveArgs),
    /// Let programs call a skill that waits for your word because it may write
    Accept {
        /// Skills to accept
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
    },
    /// Compare the tools that skills call with those of now, check their calls, and repeat their recorded runs
    Test {
        /// Skills to test [default: all]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove skills
    #[command(alias = "rm")]
    Remove {
        /// Skills to remove
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
    },
    /// Print skills as JSON, or write each into a file
    Export {
        /// Skills to export [default: all]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Write NAME.ts and NAME.py into DIR instead
        #[arg(short, long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SkillSaveArgs {
    /// Name of the skill
    pub(crate) name: String,
    /// Execution whose program is kept
    pub(crate) execution: String,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Replace this version alone, 0 for none
    #[arg(long, value_name = "N")]
    pub(crate) if_version: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
