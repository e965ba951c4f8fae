//! Arguments of `limbeck serve`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use limbeck_server::surface::{CompatError, CompatOptions, Predecessor};

#[derive(Debug, Default, Args)]
pub(crate) struct ServeArgs {
    /// Listen for HTTP on ADDR: `8080` or `:8080` for this machine only, or `ADDRESS:PORT`
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    pub(crate) http: Option<SocketAddr>,
    /// List the tools of an earlier system, in place of `search` and `execute`: s0, s1, s2, several with commas, all or none
    /// [default: $LIMBECK_COMPAT, else the system whose variables are set]
    #[arg(long, value_name = "SYSTEMS", value_parser = surfaces)]
    pub(crate) compat: Option<Surfaces>,
    /// Start servers of its own, although a gateway of the same configuration runs for another client
    #[arg(long, conflicts_with = "http")]
    pub(crate) no_share: bool,
    #[command(flatten)]
    pub(crate) over_http: HttpArgs,
}

/// Value of `--compat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Surfaces(pub(crate) Vec<Predecessor>);

fn surfaces(text: &str) -> Result<Surfaces, CompatError> {
    CompatOptions::systems(text).map(Surfaces)
}

/// Options of `serve --http`.
#[derive(Debug, Default, Args)]
pub(crate) struct HttpArgs {
    /// Accept the bearer tokens in FILE: one token, or lines of `name token`
    /// [default: a token generated on the first start, in the state directory]
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Accept JSON web tokens of the issuer URL, for the audience of --jwt-audience
    #[arg(long, value_name = "URL", requires_all = ["http", "jwt_audience"])]
    pub(crate) jwt_issuer: Option<String>,
    /// Accept only JSON web tokens for the audience AUD, usually the URL of this server
    #[arg(long, value_name = "AUD", requires = "jwt_issuer")]
    pub(crate) jwt_audience: Option<String>,
    /// Accept requests for HOST as well, `name` or `name:port`; repeat for more
    #[arg(long, value_name = "HOST", requires = "http")]
    pub(crate) allow_host: Vec<String>,
    /// Accept requests from web pages of ORIGIN; repeat for more
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) allow_origin: Vec<String>,
    /// Serve TLS with the certificate chain in FILE
    #[arg(long, value_name = "FILE", requires_all = ["http", "tls_key"], conflicts_with = "behind_tls_proxy")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the certificate, in FILE
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Listen without TLS on any address, behind a proxy that terminates TLS
    #[arg(long, requires = "http")]
    pub(crate) behind_tls_proxy: bool,
}

/// Parses an address to listen on; without a host it is reachable from this machine only.
pub(super) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    // A port alone must not make the gateway reachable from other machines.
    if let Ok(port) = port.parse() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    let text = text.replacen("localhost:", "127.0.0.1:", 1);
    text.parse()
        .map_err(|_| "accepted: `8080`, `:8080`, `127.0.0.1:8080`, `[::1]:8080`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_host_is_loopback() {
        for text in ["8080", ":8080", "127.0.0.1:8080", "localhost:8080"] {
            let address = listen_address(text).unwrap();
            assert_eq!(address, SocketAddr::from(([127, 0, 0, 1], 8080)), "{text}");
        }
        assert!(!listen_address("0.0.0.0:8080").unwrap().ip().is_loopback());
        for text in ["", ":", "host:1", "127.0.0.1", "99999", "8080/mcp", "::1"] {
            assert!(listen_address(text).is_err(), "{text}");
        }
    }
}
