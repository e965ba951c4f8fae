//! Checks of an HTTP server's url, headers and networks.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::diagnostic::ValueError;
use crate::document::ConfigPlace;

/// Reads `allow_networks`: addresses or networks such as `10.0.0.0/8`.
pub(super) fn networks(place: &ConfigPlace<'_>) -> Result<Vec<IpNet>, ValueError> {
    let Some(found) = place.get("allow_networks")? else {
        return Ok(Vec::new());
    };
    let network = |item: &ConfigPlace<'_>| {
        let text = item.text()?;
        let network = text
            .parse()
            .or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        network.map_err(|_| item.malformed("expected a network such as `10.0.0.0/8`"))
    };
    found.list()?.iter().map(network).collect()
}

/// Adds a header after checking its name and value.
pub(super) fn add_header(
    headers: &mut Vec<(String, String)>,
    name: &str,
    value: String,
    place: &ConfigPlace<'_>,
) -> Result<(), ValueError> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(place.malformed("is not a valid header name"));
    }
    if value.chars().any(char::is_control) {
        return Err(place.malformed("has a control character, which is not allowed in a header"));
    }
    if headers
        .iter()
        .any(|(taken, _)| taken.eq_ignore_ascii_case(name))
    {
        return Err(place.malformed(format!("sets the header `{name}` a second time")));
    }
    headers.push((name.to_owned(), value));
    Ok(())
}

/// Problem of a url.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UrlError {
    /// It is not a url of the accepted form; the text says what is expected.
    Form(&'static str),
    /// It has a user name, and possibly a password.
    User,
    /// It is unencrypted, leads to another machine, and the entry does not allow that.
    Unencrypted,
}

/// Accepts `https` urls, and `http` urls that lead to this machine or that the entry allows.
pub(crate) fn check_url(url: &str, allow_http: bool) -> Result<(), UrlError> {
    let form = |expected| Err(UrlError::Form(expected));
    if url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return form("expected a url without spaces");
    }
    let lower = url.to_ascii_lowercase();
    let (rest, is_http) = match (
        lower.strip_prefix("https://"),
        lower.strip_prefix("http://"),
    ) {
        (Some(rest), _) => (rest, false),
        (None, Some(rest)) => (rest, true),
        (None, None) => return form("expected a url with `https://` or `http://`"),
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or("");
    if authority.contains('@') {
        return Err(UrlError::User);
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
    if is_http && !allow_http && !is_loopback(host) {
        return Err(UrlError::Unencrypted);
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
