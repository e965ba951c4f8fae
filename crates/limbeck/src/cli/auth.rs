//! Arguments of `limbeck auth`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Sign in to a server, in a browser
    Login(LoginArgs),
    /// Revoke and delete the tokens of a server
    Logout {
        /// Server to sign out of
        server: String,
        /// Sign out PRINCIPAL instead of the user who runs the gateway
        #[arg(long, value_name = "PRINCIPAL")]
        principal: Option<String>,
    },
    /// Show the sign-ins with their expiry and scopes
    Status(StatusArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// Server to sign in to
    pub(crate) server: String,
    /// Sign in PRINCIPAL of `serve --http`, such as `token:NAME`, instead of the user who runs the gateway
    #[arg(long, value_name = "PRINCIPAL")]
    pub(crate) principal: Option<String>,
    /// Do not open a browser; print the address and read the redirect from standard input
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Request SCOPE in addition to the scopes that the server asks for; repeat for more
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// Give up after N seconds
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Show only this server
    pub(crate) server: Option<String>,
    /// Show the sign-ins of PRINCIPAL
    #[arg(long, value_name = "PRINCIPAL")]
    pub(crate) principal: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
