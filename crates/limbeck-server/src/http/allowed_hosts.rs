//! Check of `Host`, HTTP/2 `:authority` and `Origin` against the names of this server.
//!
//! A page of any web site can make a browser send requests to an address on this machine, and with DNS
//! rebinding even read the responses. It cannot choose `Host` and `Origin`, so both are checked before
//! anything else: `Host` must be a name of this server, and `Origin`, which only browsers send, must have
//! been allowed by the operator.

use std::net::{IpAddr, SocketAddr};

use http::uri::Authority;
use http::{HeaderMap, StatusCode, Uri, header};

/// Hosts and origins that requests are accepted with.
#[derive(Debug)]
pub(crate) struct AllowedHosts {
    hosts: Vec<Name>,
    origins: Vec<String>,
}

/// Host in lower case with its port. Without a port it matches every port.
#[derive(Debug, PartialEq, Eq)]
struct Name {
    host: String,
    port: Option<u16>,
}

/// Rejection of a request by its `Host` or `Origin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostRejectedError {
    /// `Host` is missing, repeated or malformed, or differs from `:authority`.
    Malformed,
    /// `Host` is not a name of this server.
    UnknownHost,
    /// `Origin` was not allowed.
    UnknownOrigin,
}

impl HostRejectedError {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::UnknownHost | Self::UnknownOrigin => StatusCode::FORBIDDEN,
        }
    }

    /// Body of the response. Contains no part of the request.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Malformed => "Bad Request: one valid Host is needed",
            Self::UnknownHost => "Forbidden: this Host is not allowed; see --allow-host",
            Self::UnknownOrigin => "Forbidden: this Origin is not allowed; see --allow-origin",
        }
    }
}

/// Option value that is not a host or an origin.
#[derive(Debug, thiserror::Error)]
pub enum HostNameError {
    /// Not `name` or `name:port`.
    #[error("`{0}` is not a host; accepted: `name`, `name:port`, `[::1]:port`")]
    Host(String),
    /// Not `scheme://host[:port]`.
    #[error(
        "`{0}` is not an origin; accepted: `https://name` or `https://name:port`, without a path"
    )]
    Origin(String),
}

impl AllowedHosts {
    /// Loopback names and the bound address, with the bound port, and what the operator allowed.
    pub(crate) fn new(
        bound: SocketAddr,
        hosts: &[String],
        origins: &[String],
    ) -> Result<Self, HostNameError> {
        let port = Some(bound.port());
        let mut names: Vec<Name> = ["localhost", "127.0.0.1", "[::1]"]
            .map(|host| Name {
                host: host.to_owned(),
                port,
            })
            .into();
        if !bound.ip().is_unspecified() {
            names.push(Name {
                host: match bound.ip() {
                    IpAddr::V4(address) => address.to_string(),
                    IpAddr::V6(address) => format!("[{address}]"),
                },
                port,
            });
        }
        for host in hosts {
            names.push(parse(host).ok_or_else(|| HostNameError::Host(host.clone()))?);
        }
        let origins = origins.iter().map(|origin| origin_of(origin));
        Ok(Self {
            hosts: names,
            origins: origins.collect::<Result<_, _>>()?,
        })
    }

    /// Host of a request that is accepted.
    pub(crate) fn check(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Authority, HostRejectedError> {
        let host = host_of(uri, headers)?;
        let name = parse(host.as_str()).ok_or(HostRejectedError::Malformed)?;
        // A request without a port means the scheme's default port. It matches only hosts that were allowed
        // without a port: the bound port is another one.
        let known = |allowed: &Name| {
            allowed.host == name.host && (allowed.port.is_none() || allowed.port == name.port)
        };
        if !self.hosts.iter().any(known) {
            return Err(HostRejectedError::UnknownHost);
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = origins.next() else {
            return Ok(host);
        };
        let allowed = |origin: &str| self.origins.iter().any(|other| other == origin);
        if origins.next().is_some() || !origin.to_str().is_ok_and(allowed) {
            return Err(HostRejectedError::UnknownOrigin);
        }
        Ok(host)
    }
}

/// Host of a request: `Host`, `:authority`, or both when they are equal.
fn host_of(uri: &Uri, headers: &HeaderMap) -> Result<Authority, HostRejectedError> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (None, _) => None,
        (Some(host), None) => {
            let host =
                Authority::try_from(host.as_bytes()).map_err(|_| HostRejectedError::Malformed)?;
            Some(host)
        }
        (Some(_), Some(_)) => return Err(HostRejectedError::Malformed),
    };
    match (host, uri.authority()) {
        (Some(host), None) => Ok(host),
        (None, Some(authority)) => Ok(authority.clone()),
        (Some(host), Some(authority)) if host == *authority => Ok(host),
        (Some(_), Some(_)) | (None, None) => Err(HostRejectedError::Malformed),
    }
}

fn parse(text: &str) -> Option<Name> {
    let authority: Authority = text.parse().ok()?;
    let has_port = authority.as_str().len() > authority.host().len();
    if authority.as_str().contains('@') || (has_port && authority.port_u16().is_none()) {
        return None;
    }
    Some(Name {
        host: authority.host().to_ascii_lowercase(),
        port: authority.port_u16(),
    })
}

/// Origin in the form that browsers send, in which origins are compared.
fn origin_of(text: &str) -> Result<String, HostNameError> {
    let wrong = || HostNameError::Origin(text.to_owned());
    let (scheme, authority) = text.split_once("://").ok_or_else(wrong)?;
    if !matches!(scheme, "http" | "https") || parse(authority).is_none() {
        return Err(wrong());
    }
    Ok(text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn names() -> AllowedHosts {
        let bound = "127.0.0.1:8080".parse().unwrap();
        let hosts = ["mcp.example".to_owned(), "other.example:444".to_owned()];
        AllowedHosts::new(bound, &hosts, &["https://app.example".to_owned()]).unwrap()
    }

    fn check(uri: &str, headers: &[(&'static str, &'static str)]) -> Result<(), HostRejectedError> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        names().check(&uri.parse().unwrap(), &map).map(|_| ())
    }

    #[test]
    fn names_we_go_by_pass_and_no_others() {
        for host in [
            "127.0.0.1:8080",
            "localhost:8080",
            "LOCALHOST:8080",
            "[::1]:8080",
            "mcp.example",
            "mcp.example:9",
            "other.example:444",
        ] {
            assert_eq!(check("/mcp", &[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "attacker.example",
            "127.0.0.1",
            "127.0.0.1:8081",
            "127.0.0.1.attacker.example:8080",
            "other.example",
            "localhost.:8080",
            "0.0.0.0:8080",
        ] {
            assert_eq!(
                check("/mcp", &[("host", host)]),
                Err(HostRejectedError::UnknownHost),
                "{host}"
            );
        }
        for host in [
            "",
            "a b",
            "user@127.0.0.1:8080",
            "127.0.0.1:",
            "127.0.0.1:99999",
            "127.0.0.1:8080/x",
        ] {
            assert_eq!(
                check("/mcp", &[("host", host)]),
                Err(HostRejectedError::Malformed),
                "{host}"
            );
        }
    }

    #[test]
    fn a_target_with_its_own_authority_must_agree_with_the_host() {
        let uri = "http://127.0.0.1:8080/mcp";
        assert_eq!(check(uri, &[]), Ok(()));
        assert_eq!(check(uri, &[("host", "127.0.0.1:8080")]), Ok(()));
        assert_eq!(
            check(uri, &[("host", "localhost:8080")]),
            Err(HostRejectedError::Malformed)
        );
        assert_eq!(
            check("http://attacker.example/mcp", &[]),
            Err(HostRejectedError::UnknownHost)
        );
    }

    #[test]
    fn an_origin_must_be_one_that_was_allowed_letter_by_letter() {
        let with = |origin| check("/mcp", &[("host", "localhost:8080"), ("origin", origin)]);
        assert_eq!(with("https://app.example"), Ok(()));
        for origin in [
            "null",
            "",
            "http://localhost:8080",
            "http://app.example",
            "https://app.example:444",
            "HTTPS://APP.EXAMPLE",
            "https://app.example.attacker.example",
        ] {
            assert_eq!(
                with(origin),
                Err(HostRejectedError::UnknownOrigin),
                "{origin}"
            );
        }
        let twice = [
            ("host", "localhost:8080"),
            ("origin", "https://app.example"),
            ("origin", "https://app.example"),
        ];
        assert_eq!(check("/mcp", &twice), Err(HostRejectedError::UnknownOrigin));
    }

    #[test]
    fn malformed_hosts_and_origins_are_rejected_with_the_accepted_form() {
        for host in ["https://a.example", "a.example:x", "", "a b", "u@a.example"] {
            let bound = "127.0.0.1:1".parse().unwrap();
            let error = AllowedHosts::new(bound, &[host.to_owned()], &[]).unwrap_err();
            assert!(error.to_string().contains("accepted:"), "{error}");
        }
        for origin in [
            "*",
            "null",
            "app.example",
            "https://app.example/",
            "ftp://app.example",
        ] {
            assert!(origin_of(origin).is_err(), "{origin}");
        }
    }
}
