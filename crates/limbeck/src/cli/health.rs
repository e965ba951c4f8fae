//! Arguments of `limbeck health`.

use std::net::SocketAddr;

use clap::Args;

use super::serve::listen_address;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  limbeck health
  limbeck health --http 8080")]
pub(crate) struct HealthArgs {
    /// Ask the gateway that listens on ADDR without TLS: `8080`, or `ADDRESS:PORT`
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    pub(crate) http: Option<SocketAddr>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
