//! What the configuration says about a server that is reached over HTTP.

use std::fmt;
use std::sync::Arc;

use url::Url;

use super::guard;
use super::{Credentials, HeaderValueSpec, LocalSecrets, NetworkRules, SecretResolver};

/// Which HTTP transport a server is asked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpKind {
    /// Whichever it answers to.
    Auto,
    /// Streamable HTTP, of either era.
    Streamable,
    /// HTTP with server-sent events, of revision 2024-11-05.
    Sse,
}

impl HttpKind {
    /// The transport in a word: `http`, which stands for whichever a server answers to too, or `sse`.
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
    /// Its address; the path and the query may hold secrets.
    pub url: Url,
    /// Which transport.
    pub kind: HttpKind,
    /// Headers of every request, names and values.
    pub headers: Vec<(String, HeaderValueSpec)>,
    /// Looks up what the headers refer to, at every connect.
    pub secrets: Arc<dyn SecretResolver>,
    /// Tokens, unless `headers` has an `Authorization`.
    pub credentials: Option<Arc<dyn Credentials>>,
    /// What is allowed besides the url.
    pub network: NetworkRules,
}

impl HttpSpec {
    /// A server at `url` without headers, tokens or further rules.
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
