//! Which names a request may give us: `Host`, HTTP/2 `:authority` and `Origin`.
//!
//! A page of any web site can make a browser send requests to an address on this machine, and with DNS
//! rebinding even read the answers. What it cannot do is choose `Host` and `Origin`. So both are looked
//! at before anything else: `Host` must be a name we go by, and `Origin`, which only browsers send, must
//! be one that was allowed.

use std::net::{IpAddr, SocketAddr};

use http::uri::Authority;
use http::{HeaderMap, StatusCode, Uri, header};

/// Names we go by.
#[derive(Debug)]
pub(crate) struct Names {
    hosts: Vec<Name>,
    origins: Vec<String>,
}

/// A host, in lower case, and its port; any port without one.
#[derive(Debug, PartialEq, Eq)]
struct Name {
    host: String,
    port: Option<u16>,
}

/// A request that named somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misnamed {
    /// No `Host`, two of them, one that is none, or two names that differ.
    BadHost,
    /// A host we do not go by.
    ForeignHost,
    /// An origin nobody allowed.
    ForeignOrigin,
}

impl Misnamed {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::BadHost => StatusCode::BAD_REQUEST,
            Self::ForeignHost | Self::ForeignOrigin => StatusCode::FORBIDDEN,
        }
    }

    /// What the client is told. It has no part of the request in it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::BadHost => "Bad Request: one valid Host is needed",
            Self::ForeignHost => "Forbidden: this Host is not allowed; see --allow-host",
            Self::ForeignOrigin => "Forbidden: this Origin is not allowed; see --allow-origin",
        }
    }
}

/// A name that was given and is none.
#[derive(Debug, thiserror::Error)]
pub enum NameError {
    /// Not `name` or `name:port`.
    #[error("`{0}` is no host; accepted: `name`, `name:port`, `[::1]:port`")]
    Host(String),
    /// Not `scheme://host[:port]`.
    #[error("`{0}` is no origin; accepted: `https://name` or `https://name:port`, without a path")]
    Origin(String),
}

impl Names {
    /// Loopback names and the address we listen on, with its port, and those that were allowed.
    pub(crate) fn new(
        bound: SocketAddr,
        hosts: &[String],
        origins: &[String],
    ) -> Result<Self, NameError> {
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
            names.push(parse(host).ok_or_else(|| NameError::Host(host.clone()))?);
        }
        let origins = origins.iter().map(|origin| origin_of(origin));
        Ok(Self {
            hosts: names,
            origins: origins.collect::<Result<_, _>>()?,
        })
    }

    /// The name a request gave us.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<Authority, Misnamed> {
        let host = host_of(uri, headers)?;
        let name = parse(host.as_str()).ok_or(Misnamed::BadHost)?;
        // A port that is left out is the scheme's, and that is ours only when we were told so.
        let known = |allowed: &Name| {
            allowed.host == name.host && (allowed.port.is_none() || allowed.port == name.port)
        };
        if !self.hosts.iter().any(known) {
            return Err(Misnamed::ForeignHost);
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = origins.next() else {
            return Ok(host);
        };
        let allowed = |origin: &str| self.origins.iter().any(|other| other == origin);
        if origins.next().is_some() || !origin.to_str().is_ok_and(allowed) {
            return Err(Misnamed::ForeignOrigin);
        }
        Ok(host)
    }
}

/// The one name of a request: `Host`, `:authority`, or both when they agree.
fn host_of(uri: &Uri, headers: &HeaderMap) -> Result<Authority, Misnamed> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (None, _) => None,
        (Some(host), None) => {
            let host = Authority::try_from(host.as_bytes()).map_err(|_| Misnamed::BadHost)?;
            Some(host)
        }
        (Some(_), Some(_)) => return Err(Misnamed::BadHost),
    };
    match (host, uri.authority()) {
        (Some(host), None) => Ok(host),
        (None, Some(authority)) => Ok(authority.clone()),
        (Some(host), Some(authority)) if host == *authority => Ok(host),
        (Some(_), Some(_)) | (None, None) => Err(Misnamed::BadHost),
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

/// An origin as browsers write it, which is how they are compared.
fn origin_of(text: &str) -> Result<String, NameError> {
    let wrong = || NameError::Origin(text.to_owned());
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

    fn names() -> Names {
        let bound = "127.0.0.1:8080".parse().unwrap();
        let hosts = ["mcp.example".to_owned(), "other.example:444".to_owned()];
        Names::new(bound, &hosts, &["https://app.example".to_owned()]).unwrap()
    }

    fn check(uri: &str, headers: &[(&'static str, &'static str)]) -> Result<(), Misnamed> {
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
                Err(Misnamed::ForeignHost),
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
                Err(Misnamed::BadHost),
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
            Err(Misnamed::BadHost)
        );
        assert_eq!(
            check("http://attacker.example/mcp", &[]),
            Err(Misnamed::ForeignHost)
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
            assert_eq!(with(origin), Err(Misnamed::ForeignOrigin), "{origin}");
        }
        let twice = [
            ("host", "localhost:8080"),
            ("origin", "https://app.example"),
            ("origin", "https://app.example"),
        ];
        assert_eq!(check("/mcp", &twice), Err(Misnamed::ForeignOrigin));
    }

    #[test]
    fn names_that_are_none_are_not_taken() {
        for host in ["https://a.example", "a.example:x", "", "a b", "u@a.example"] {
            let bound = "127.0.0.1:1".parse().unwrap();
            let error = Names::new(bound, &[host.to_owned()], &[]).unwrap_err();
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
