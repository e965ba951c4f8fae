//! Hosts of addresses, compared as the one who connects would read them.

use url::{Host, Url};

use crate::rules::truth::Truth;
use crate::scope::glob;

/// Schemes whose addresses name the host that is connected to. What another scheme does with what looks like a host is unknown:
/// `javascript:` and `file:` connect to none.
const NETWORK_SCHEMES: [&str; 41] = [
    "amqp",
    "amqps",
    "cassandra",
    "clickhouse",
    "coap",
    "coaps",
    "ftp",
    "ftps",
    "git",
    "git+ssh",
    "grpc",
    "grpcs",
    "http",
    "https",
    "imap",
    "imaps",
    "ldap",
    "ldaps",
    "mariadb",
    "memcached",
    "mongodb",
    "mqtt",
    "mqtts",
    "mysql",
    "nats",
    "nfs",
    "pop3",
    "postgres",
    "postgresql",
    "rdp",
    "redis",
    "rediss",
    "rtsp",
    "s3",
    "sftp",
    "smb",
    "smtp",
    "smtps",
    "ssh",
    "ws",
    "wss",
];

/// A pattern of hosts in the form in which hosts are compared: ASCII in lower case, without a dot at its end.
pub(super) fn pattern(written: &str) -> Option<String> {
    let stars = "limbeck-any-label";
    if written.contains(stars) {
        return None;
    }
    // A star is no character of a host, so the parser sees a label in its place.
    let readable = written.replace('*', stars);
    let host = folded(Host::parse(&readable).ok()?);
    let host = host.trim_end_matches('.').replace(stars, "*");
    (!host.is_empty()).then_some(host)
}

/// The text of a host. An IPv6 address that maps an IPv4 address is that address.
fn folded(host: Host) -> String {
    match host {
        Host::Ipv6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => mapped.to_string(),
            None => Host::<String>::Ipv6(address).to_string(),
        },
        other => other.to_string(),
    }
}

/// Whether `address` has a host that `pattern` matches. Unknown for a text that is no address with a host, for one of a scheme that
/// is not known to connect to its host, and for one with a user name or password, which people read as the host.
pub(super) fn matches(pattern: &str, address: &str) -> Truth {
    let Ok(url) = Url::parse(address) else {
        return Truth::Unknown;
    };
    // The parser drops these characters and takes a backslash for a slash. Others do not.
    let is_ambiguous = address.contains(|character: char| {
        character == '\\' || character.is_ascii_control() || character.is_whitespace()
    });
    let has_user = !url.username().is_empty() || url.password().is_some();
    if is_ambiguous || has_user || !NETWORK_SCHEMES.contains(&url.scheme()) {
        return Truth::Unknown;
    }
    // The standard leaves the hosts of schemes that are not the web's as they are written. Who connects does not.
    let host = url.host_str().and_then(|host| Host::parse(host).ok());
    match host.map(folded) {
        // A list of hosts, for example.
        Some(host) if host.contains(|character: char| !is_of_host(character)) => Truth::Unknown,
        Some(host) => glob(pattern, host.trim_end_matches('.')).into(),
        None => Truth::Unknown,
    }
}

fn is_of_host(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-_.:[]".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_the_same_in_each_spelling_and_with_each_scheme() {
        let of = |written: &str, address: &str| matches(&pattern(written).unwrap(), address);
        for address in [
            "http://169.254.169.254/latest",
            "http://[::ffff:169.254.169.254]/",
            "http://[::ffff:a9fe:a9fe]/",
            "redis://0xa9fea9fe/",
            "redis://[::FFFF:169.254.169.254]:6379/",
            "http://2852039166/",
        ] {
            assert_eq!(of("169.254.169.254", address), Truth::True, "{address}");
            assert_eq!(of("[::ffff:a9fe:a9fe]", address), Truth::True, "{address}");
        }
        for address in [
            "postgres://EVIL.com/db",
            "ssh://evi%6c.com/",
            "https://evil.com./",
        ] {
            assert_eq!(of("evil.com", address), Truth::True, "{address}");
        }
        // The controls: other hosts, also by these schemes.
        for address in [
            "http://good.com/",
            "postgres://good.com/db",
            "http://[::ffff:1.2.3.4]/",
            "http://[2001:db8::1]/",
        ] {
            assert_eq!(of("evil.com", address), Truth::False, "{address}");
            assert_eq!(of("169.254.169.254", address), Truth::False, "{address}");
        }
        assert_eq!(of("*.good.com", "postgres://db.good.com/"), Truth::True);
        for address in [
            "javascript://a.good.com/%0aalert(1)",
            "file://a.good.com/etc/passwd",
            "mongodb://evil.com,a.good.com/",
            "unheard-of://a.good.com/",
        ] {
            assert_eq!(of("*.good.com", address), Truth::Unknown, "{address}");
        }
    }
}
