//! Where a server over HTTP is, what is sent along, and which of it cannot be.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::document::Place;
use crate::error::Fault;

/// `allow_networks`: addresses or networks such as `10.0.0.0/8`.
pub(super) fn networks(place: &Place<'_>) -> Result<Vec<IpNet>, Fault> {
    let Some(found) = place.get("allow_networks")? else {
        return Ok(Vec::new());
    };
    let network = |item: &Place<'_>| {
        let text = item.text()?;
        let network = text
            .parse()
            .or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        network.map_err(|_| item.fault("expected a network such as `10.0.0.0/8`"))
    };
    found.list()?.iter().map(network).collect()
}

/// Adds a header, if it can be one.
pub(super) fn header(
    headers: &mut Vec<(String, String)>,
    name: &str,
    value: String,
    place: &Place<'_>,
) -> Result<(), Fault> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(place.fault("is not a name a header can have"));
    }
    if value.chars().any(char::is_control) {
        return Err(place.fault("has a control character, which no header can have"));
    }
    if headers
        .iter()
        .any(|(taken, _)| taken.eq_ignore_ascii_case(name))
    {
        return Err(place.fault(format!("sets the header `{name}` a second time")));
    }
    headers.push((name.to_owned(), value));
    Ok(())
}

/// Why a url is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UrlProblem {
    /// It is none; what was expected.
    Form(&'static str),
    /// It holds a user name, and with it perhaps a password.
    User,
    /// It is one, in the clear to another machine, and the entry does not say that it may be.
    Clear,
}

/// Accepts what may be asked for: `https` anywhere, `http` on this machine or where the entry insists.
pub(crate) fn check_url(url: &str, clear_anywhere: bool) -> Result<(), UrlProblem> {
    let form = |expected| Err(UrlProblem::Form(expected));
    if url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return form("expected a url without spaces");
    }
    let lower = url.to_ascii_lowercase();
    let (rest, clear) = match (
        lower.strip_prefix("https://"),
        lower.strip_prefix("http://"),
    ) {
        (Some(rest), _) => (rest, false),
        (None, Some(rest)) => (rest, true),
        (None, None) => return form("expected a url with `https://` or `http://`"),
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or("");
    if authority.contains('@') {
        return Err(UrlProblem::User);
    }
    if url.contains('#') {
        return form("expected a url without a `#`");
    }
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => authority.split(':').next().unwrap_or(""),
    };
    if host.is_empty() {
        return form("expected a url with a host");
    }
    if clear && !clear_anywhere && !is_loopback(host) {
        return Err(UrlProblem::Clear);
    }
    Ok(())
}

fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_https_or_stay_on_this_machine() {
        for url in [
            "https://example.com/mcp?x=1",
            "HTTPS://Example.com",
            "http://localhost:3000/mcp",
            "http://127.0.0.1/",
            "http://[::1]:80/mcp",
        ] {
            assert_eq!(check_url(url, false), Ok(()), "{url}");
        }
        for url in [
            "",
            "example.com",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "https://",
            "https://user:pass@example.com/",
            "https://example.com/#x",
            "https://exa mple.com/",
            "https://example.com/\n",
            "http://example.com/",
            "http://localhost.example.com/",
            "http://127.0.0.1.example.com/",
            "http://[2001:db8::1]/",
        ] {
            assert!(check_url(url, false).is_err(), "{url}");
        }
        assert_eq!(check_url("http://example.com/", true), Ok(()));
    }
}
