//! Arguments of `limbeck auth`.

use clap::{Args, Subcommand};
use limbeck_gateway::LOCAL_PRINCIPAL;

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Sign in to a server, in a browser
    Login(LoginArgs),
    /// Revoke and delete the tokens of a server
    Logout {
        /// Server to sign out of
        server: String,
        /// Sign out PRINCIPAL instead of the user who runs the gateway
        #[arg(long, value_name = "PRINCIPAL", value_parser = principal)]
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
    #[arg(long, value_name = "PRINCIPAL", value_parser = principal)]
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
    #[arg(long, value_name = "PRINCIPAL", value_parser = principal)]
    pub(crate) principal: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A principal that a gateway has: `local`, `token:NAME`, or `jwt:ISSUER#SUBJECT`.
fn principal(text: &str) -> Result<String, String> {
    let is_of_token = |name: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
        !name.is_empty() && name.bytes().all(allowed)
    };
    let is_known = match text.split_once(':') {
        Some(("token", name)) => is_of_token(name),
        Some(("jwt", name)) => name
            .split_once('#')
            .is_some_and(|(issuer, subject)| !issuer.is_empty() && !subject.is_empty()),
        Some(_) | None => text == LOCAL_PRINCIPAL,
    };
    if is_known {
        Ok(text.to_owned())
    } else {
        Err("a principal is `token:NAME`, `jwt:ISSUER#SUBJECT` or `local`".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_that_no_gateway_has_is_refused() {
        for text in [
            "bogus",
            "",
            "token:",
            "token:a b",
            "jwt:me",
            "jwt:#me",
            "alice:x",
        ] {
            assert!(principal(text).is_err(), "{text}");
        }
        for text in [
            "local",
            "token:alice",
            "token:a.b@c",
            "jwt:https://a.example#me",
        ] {
            assert_eq!(principal(text).as_deref(), Ok(text));
        }
    }
}
