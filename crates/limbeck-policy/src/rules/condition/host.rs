//! Hosts of addresses, compared as the one who connects would read them.

use url::Url;

use crate::rules::truth::Truth;
use crate::scope::glob;

/// A pattern of hosts in the form in which hosts are compared: ASCII in lower case, without a dot at its end.
pub(super) fn pattern(written: &str) -> Option<String> {
    let stars = "limbeck-any-label";
    if written.contains(stars) {
        return None;
    }
    // A star is no character of a host, so the parser sees a label in its place.
    let readable = written.replace('*', stars);
    let host = url::Host::parse(&readable).ok()?.to_string();
    let host = host.trim_end_matches('.').replace(stars, "*");
    (!host.is_empty()).then_some(host)
}

/// Whether `address` has a host that `pattern` matches. Unknown for a text that is no address with a host, and for
/// one with a user name or password, which people read as the host.
pub(super) fn matches(pattern: &str, address: &str) -> Truth {
    let Ok(url) = Url::parse(address) else {
        return Truth::Unknown;
    };
    // The parser drops these characters and takes a backslash for a slash. Others do not.
    let is_ambiguous = address.contains(|character: char| {
        character == '\\' || character.is_ascii_control() || character.is_whitespace()
    });
    let has_user = !url.username().is_empty() || url.password().is_some();
    match url.host() {
        Some(host) if !is_ambiguous && !has_user => {
            let host = host.to_string();
            glob(pattern, host.trim_end_matches('.')).into()
        }
        _ => Truth::Unknown,
    }
}
