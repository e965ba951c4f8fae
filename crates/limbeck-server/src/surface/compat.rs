//! Surfaces of three earlier systems, so that their users change one line of a client's configuration and keep prompts,
//! tool names and permission rules.
//!
//! A surface is data: the files of `aliases/` have the tools of one system with names, schemas and the meaning of each
//! argument. Every one of them is a way to call the one executor, or to read the one catalog. What is code is the form of
//! their results, one file for each system, which a client's user parses today.
//!
//! Every alias is callable always. [`CompatOptions`] decide what is listed: with a surface its tools take the place of
//! `search` and `execute`, which stay callable.

pub(super) mod alias;
mod alias_arguments;
mod argument_rules;
pub(super) mod catalog_tools;
mod durations;
pub(super) mod earlier_settings;
pub(super) mod execute_synonyms;
mod execution_log;
mod finished_run;
mod health;
pub(super) mod options;
mod predecessor;
pub(super) mod right_name;
mod run_alias;
mod s0_results;
mod s1_results;
mod s2_results;
mod sampling;
