//! Validation of the addresses in authorization metadata.
//!
//! An authorization endpoint is opened in a browser, a token endpoint is sent secrets. Both must be `https`, or
//! `http` on this machine when the MCP server itself is on this machine (RFC 8252, MCP authorization
//! §"Communication Security"), and must be URIs as RFC 3986 spells them: a backtick, a quote or a space would
//! matter to a shell that the address is pasted into.

use url::{Host, Url};

use super::error::{OAuthError, quoted};
use crate::http::guard;

/// Longest address accepted, in bytes.
const ADDRESS_BYTES_MAX: usize = 4096;

/// Parses `text` as the address of `what` for `server`.
pub(super) fn endpoint(text: &str, what: &'static str, server: &Url) -> Result<Url, OAuthError> {
    let refuse = |problem| OAuthError::Address {
        what,
        address: quoted(text),
        problem,
    };
    if text.len() > ADDRESS_BYTES_MAX {
        return Err(refuse("it is too long"));
    }
    if !text.bytes().all(is_uri_byte) {
        return Err(refuse("it has characters that no URI has"));
    }
    let url = Url::parse(text).map_err(|_| refuse("it is not a URI"))?;
    check(&url, server).map_err(refuse)?;
    if url.fragment().is_some() {
        return Err(refuse("it has a fragment"));
    }
    Ok(url)
}

/// Checks whether requests for `server` may be sent to `url`.
pub(super) fn check(url: &Url, server: &Url) -> Result<(), &'static str> {
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it has a user name");
    }
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_loopback(url) && is_loopback(server) => Ok(()),
        // An entry that allows `http` for its server has allowed it for that server alone.
        "http" if url.origin() == server.origin() => Ok(()),
        "http" => Err("it is not `https`"),
        _ => Err("only `https` is used"),
    }
}

/// Whether `url` names this machine, without a DNS lookup.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Scheme, host and port of `url`: path and query may hold secrets.
pub(super) fn shown(url: &Url) -> String {
    guard::origin(url)
}

/// RFC 3986: unreserved, reserved and `%`.
fn is_uri_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(text: &str, server: &str) -> bool {
        endpoint(text, "token endpoint", &Url::parse(server).unwrap()).is_ok()
    }

    #[test]
    fn addresses_are_https_or_stay_on_this_machine() {
        let remote = "https://mcp.example.com/mcp";
        let local = "http://127.0.0.1:3000/mcp";
        assert!(accepted("https://as.example.com/token?x=1", remote));
        assert!(accepted("http://localhost:9000/token", local));
        assert!(accepted("https://as.example.com/token", local));
        for text in [
            "http://as.example.com/token",
            "http://localhost:9000/token",
            "javascript:alert(document.domain)",
            "file:///etc/passwd",
            "data:text/html,x",
            "https://user@as.example.com/token",
            "https://as.example.com/token#x",
            "https://as.example.com/`id`",
            "https://as.example.com/a b",
            "https://as.example.com/\"x\"",
            "https://as.example.com/a|b",
            "",
        ] {
            assert!(!accepted(text, remote), "{text}");
        }
        assert!(!accepted("http://10.0.0.1/token", local));
    }
}
