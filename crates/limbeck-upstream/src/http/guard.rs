//! HTTP client for all outgoing requests, which checks every address it connects to.
//!
//! A url may be `https`, or `http` on this machine or where the entry allows it. Its address is checked after
//! the name was resolved, and the connection is made to exactly that address. Redirects are returned like any
//! other response; only [`GuardedClient::fetch`] follows them, within one origin, for metadata. There is no
//! cookie jar, no decompression, and no proxy from the environment.
//!
//! Bounds: a response head has at most about 400 KB and 100 headers over HTTP/1 (hyper) and
//! `HEADER_LIST_BYTES_MAX` over HTTP/2; callers read bodies in chunks and set the limit.

mod error;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, LOCATION};
use http::{HeaderMap, Method, StatusCode};
use limbeck_domain::text;
use tokio::time::timeout;
use url::{Host, Url};

use super::address::{AddressClass, AddressPolicy, NetworkRules};
pub use super::resolve::AddressRefusedError;
use super::resolve::{GuardedResolver, LookupFn, system};
use error::{causes, fault};

pub use error::GuardError;
pub(crate) use error::redirect;

/// Time to connect, name and TLS included.
const CONNECT_MS: u64 = 10_000;
/// Unused connections are closed after this time.
const POOL_IDLE: Duration = Duration::from_secs(30);
/// Unused connections kept per host.
const POOL_IDLE_MAX: usize = 8;
/// Headers of a response over HTTP/2, in bytes.
const HEADER_LIST_BYTES_MAX: u32 = 64 << 10;
/// Redirects followed by [`GuardedClient::fetch`].
const REDIRECTS_MAX: usize = 3;
/// Body of a response to [`GuardedClient::fetch`], in bytes.
const FETCH_BYTES_MAX: usize = 1 << 20;

/// Treatment of redirects by [`GuardedClient::fetch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectPolicy {
    /// Returns the redirect to the caller.
    Return,
    /// Follows a few redirects of a `GET` within its origin; any other is an error.
    SameOrigin,
}

/// HTTP client for one configured server and the hosts it names. Clones share their connections.
#[derive(Clone)]
pub struct GuardedClient {
    http: reqwest::Client,
    policy: Arc<AddressPolicy>,
}

impl fmt::Debug for GuardedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedClient")
            .field("policy", &self.policy)
            .finish()
    }
}

impl GuardedClient {
    /// Creates a client for the server whose entry has `url`.
    ///
    /// # Errors
    ///
    /// [`GuardError::Url`] and [`GuardError::Clear`] for a url that is never allowed; [`GuardError::Connect`]
    /// when the system's certificates cannot be read.
    pub fn new(url: &Url, rules: NetworkRules) -> Result<Self, GuardError> {
        Self::with_lookup(url, rules, system())
    }

    pub(crate) fn with_lookup(
        url: &Url,
        rules: NetworkRules,
        lookup: LookupFn,
    ) -> Result<Self, GuardError> {
        let no_host = || GuardError::Url {
            reason: "it has no host".to_owned(),
        };
        let policy = Arc::new(AddressPolicy::new(url, rules).ok_or_else(no_host)?);
        let http = reqwest::Client::builder()
            // A redirect chooses a new host; the caller decides about it.
            .redirect(reqwest::redirect::Policy::none())
            // A proxy would resolve names itself, after our check.
            .no_proxy()
            .referer(false)
            .dns_resolver(Arc::new(GuardedResolver::new(policy.clone(), lookup)))
            .connect_timeout(Duration::from_millis(CONNECT_MS))
            .pool_idle_timeout(POOL_IDLE)
            .pool_max_idle_per_host(POOL_IDLE_MAX)
            .tcp_keepalive(Duration::from_secs(30))
            .http2_max_header_list_size(HEADER_LIST_BYTES_MAX)
            .user_agent(concat!("limbeck/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| GuardError::Connect {
                origin: origin(url),
                reason: causes(&error),
            })?;
        let client = Self { http, policy };
        client.check(url)?;
        Ok(client)
    }

    /// Checks `url` without resolving its name.
    ///
    /// # Errors
    ///
    /// [`GuardError::Url`], [`GuardError::Clear`], and [`GuardError::Address`] when its host is an address.
    pub fn check(&self, url: &Url) -> Result<(), GuardError> {
        let unusable = |reason: &str| GuardError::Url {
            reason: reason.to_owned(),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(unusable("it has a user name or a password"));
        }
        let host = url.host().ok_or_else(|| unusable("it has no host"))?;
        match url.scheme() {
            "https" => {}
            "http" if self.policy.allows_clear(&host) => {}
            "http" => {
                return Err(GuardError::Clear {
                    origin: origin(url),
                });
            }
            _ => return Err(unusable("its scheme is neither https nor http")),
        }
        // The resolver is not called for literal addresses, so they are checked here.
        let address = match host {
            Host::Domain(_) => return Ok(()),
            Host::Ipv4(address) => address.into(),
            Host::Ipv6(address) => address.into(),
        };
        if self.policy.admits(&host, address) {
            Ok(())
        } else {
            Err(AddressRefusedError {
                host: host.to_string(),
                class: AddressClass::of(address),
            }
            .into())
        }
    }

    /// Sends one request and waits for the head of the response, without a time limit.
    ///
    /// # Errors
    ///
    /// Any [`GuardError`] but [`GuardError::TimedOut`], [`GuardError::TooLarge`] and [`GuardError::Redirect`].
    pub async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<GuardedResponse, GuardError> {
        self.check(url)?;
        let origin = origin(url);
        let request = self.http.request(method, url.clone()).headers(headers);
        let request = if body.is_empty() {
            request
        } else {
            request.body(body)
        };
        let inner = request
            .send()
            .await
            .map_err(|error| fault(&error, &origin))?;
        if let Some(encoding) = inner.headers().get(CONTENT_ENCODING)
            // A small compressed body can expand beyond every bound.
            && encoding != "identity"
        {
            let encoding = String::from_utf8_lossy(encoding.as_bytes());
            return Err(GuardError::Encoded {
                encoding: text::clean_line(&encoding, 40),
            });
        }
        Ok(GuardedResponse { inner, origin })
    }

    /// Sends one request and reads its whole response, at most 1 MiB, within `limit`.
    ///
    /// Used for metadata and tokens, as the transport of rmcp's `OAuthHttpClient`.
    ///
    /// # Errors
    ///
    /// Any [`GuardError`].
    pub async fn fetch(
        &self,
        request: http::Request<Vec<u8>>,
        redirects: RedirectPolicy,
        limit: Duration,
    ) -> Result<http::Response<Vec<u8>>, GuardError> {
        let (parts, body) = request.into_parts();
        let url = Url::parse(&parts.uri.to_string()).map_err(|error| GuardError::Url {
            reason: error.to_string(),
        })?;
        let timed_out = GuardError::TimedOut {
            origin: origin(&url),
            ms: crate::time::in_ms(limit),
        };
        let follow = redirects == RedirectPolicy::SameOrigin && parts.method == Method::GET;
        let whole = self.whole(parts.method, url, parts.headers, body, follow);
        timeout(limit, whole).await.map_err(|_| timed_out)?
    }

    async fn whole(
        &self,
        method: Method,
        mut url: Url,
        headers: HeaderMap,
        body: Vec<u8>,
        follow: bool,
    ) -> Result<http::Response<Vec<u8>>, GuardError> {
        for _ in 0..=REDIRECTS_MAX {
            let response = self
                .send(method.clone(), &url, headers.clone(), body.clone())
                .await?;
            if !(follow && response.status().is_redirection()) {
                return response.collect(FETCH_BYTES_MAX).await;
            }
            let target = response.redirect_target(&url);
            match target {
                Some(target) if target.origin() == url.origin() => url = target,
                other => return Err(redirect(other.as_ref())),
            }
        }
        Err(redirect(Some(&url)))
    }
}

/// A response whose body has not been read.
pub struct GuardedResponse {
    inner: reqwest::Response,
    origin: String,
}

impl GuardedResponse {
    /// HTTP status.
    pub fn status(&self) -> StatusCode {
        self.inner.status()
    }

    /// Response headers.
    pub fn headers(&self) -> &HeaderMap {
        self.inner.headers()
    }

    /// Returns the next chunk of the body, `None` at its end.
    ///
    /// # Errors
    ///
    /// [`GuardError::Broken`].
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, GuardError> {
        let broken = |error: reqwest::Error| GuardError::Broken {
            origin: self.origin.clone(),
            reason: causes(&error),
        };
        self.inner.chunk().await.map_err(broken)
    }

    /// Reads the whole body, at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// [`GuardError::Broken`] and [`GuardError::TooLarge`]; the latter before more than `limit` bytes are
    /// buffered.
    pub async fn bytes(&mut self, limit: usize) -> Result<Vec<u8>, GuardError> {
        let too_large = GuardError::TooLarge {
            limit: limit as u64,
        };
        if self
            .inner
            .content_length()
            // `Content-Length` allows an early rejection; without it the loop below counts.
            .is_some_and(|length| length > limit as u64)
        {
            return Err(too_large);
        }
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if chunk.len() > limit - body.len() {
                return Err(too_large);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Target of a redirect of a request to `url`; `None` when it cannot be read.
    pub(crate) fn redirect_target(&self, url: &Url) -> Option<Url> {
        url.join(self.headers().get(LOCATION)?.to_str().ok()?).ok()
    }

    async fn collect(mut self, limit: usize) -> Result<http::Response<Vec<u8>>, GuardError> {
        let (status, headers) = (self.status(), self.headers().clone());
        let mut response = http::Response::new(self.bytes(limit).await?);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }
}

/// Scheme, host and port: the part of a url that holds no secret.
pub fn origin(url: &Url) -> String {
    match url.host() {
        Some(_) => text::cut(&url.origin().ascii_serialization(), 300).to_owned(),
        None => format!("{}:", text::cut(url.scheme(), 40)),
    }
}
