//! Commands, one module each, and the dispatch from arguments to an exit code.

mod approvals;
mod audit;
mod auth;
mod call;
mod dispatch;
mod doctor;
mod examine;
mod executions;
mod health;
mod learn;
mod ledger;
mod own_servers;
mod pins;
mod policy;
mod questions;
mod reconcile;
mod remembered;
mod replay;
mod resume;
mod run;
mod search;
mod serve;
mod setup;
mod signals;
mod skills;
mod sync;
mod sync_wrappers;
mod tools;
mod trust;
mod types;

pub(crate) use approvals::shown_tool;
pub(crate) use dispatch::main;
