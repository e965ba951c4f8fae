//! Configuration of a server that is reached over HTTP.

use std::fmt;
use std::sync::Arc;

use url::Url;

use super::guard;
use super::{CredentialSource, HeaderValueSpec, LocalSecrets, NetworkRules, SecretResolver};

/// HTTP transport of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpKind {
    /// Negotiated.
    Auto,
    /// Streamable HTTP, of either generation.
    Streamable,
    /// HTTP with server-sent events, of revision 2024-11-05.
    Sse,
}

impl HttpKind {
    /// Name of the transport: `http`, also when it is negotiated, or `sse`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto | Self::Streamable => "http",
            Self::Sse => "sse",
        }
    }
}

/// A server reached over HTTP.
#[derive(Clone)]
pub struct HttpSpec {
    /// Address; path and query may hold secrets.
    pub url: Url,
    /// Transport.
    pub kind: HttpKind,
    /// Names and values of headers sent with every request.
    pub headers: Vec<(String, HeaderValueSpec)>,
    /// Resolves the references in the headers, at every connect.
    pub secrets: Arc<dyn SecretResolver>,
    /// Source of tokens, unless `headers` has an `Authorization`.
    pub credentials: Option<Arc<dyn CredentialSource>>,
    /// Networks allowed besides the host of the url.
    pub network: NetworkRules,
}

impl HttpSpec {
    /// Creates a server at `url` without headers, tokens or further rules.
    ///
    /// # Errors
    ///
    /// What is wrong with the url.
    pub fn new(url: &str) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err("it is neither `https://…` nor `http://…`".to_owned());
        }
        Ok(Self {
            url,
            kind: HttpKind::Auto,
            headers: Vec::new(),
            secrets: Arc::new(LocalSecrets::default()),
            credentials: None,
            network: NetworkRules::default(),
        })
    }

    /// Scheme, host and port: what may be shown.
    pub fn origin(&self) -> String {
        guard::origin(&self.url)
    }
}

impl fmt::Debug for HttpSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSpec")
            .field("origin", &self.origin())
            .field("kind", &self.kind)
            .field("headers", &self.headers)
            .field("network", &self.network)
            .finish_non_exhaustive()
    }
}
