//! Integration tests of the `limbeck` executable.
//!
//! `gateway` holds the tests of the gateway crates, with real workers and servers inside of the test process. The
//! other modules start the executable as people and clients do and assert standard output, standard error and exit
//! code; their MCP server is the sample server of `limbeck demo`.

#![expect(
    clippy::unwrap_used,
    reason = "a test or helper that cannot continue fails its test"
)]

mod approvals;
mod artifacts;
mod audit;
mod configuration;
mod demo;
mod doctor;
mod doctor_codes;
mod embeddings;
mod error_texts;
mod evidence;
mod gateway;
mod hints;
mod http;
mod learn;
mod ledger;
mod own_servers;
mod past;
mod pins;
mod policy;
mod redaction;
mod reload;
mod run;
mod secrets;
mod serve;
mod servers;
mod setup;
mod sharing;
mod sign_ins;
mod signals;
mod surfaces;
mod sync;
mod trust;
mod types;
mod usage;
mod world;
