//! Webhook of the user: a `POST` of a small JSON document, signed with a shared secret.
//!
//! The address is configured by the user and still untrusted: requests go through the guarded client ([`crate::http::guard`]),
//! redirects are not followed, the answer is not read, and the time is bounded. The secret is looked up when it is first needed;
//! only the signature leaves. Receivers check it as they check those of GitHub: `limbeck-signature` has `sha256=` and the
//! HMAC-SHA256 (RFC 2104) of `limbeck-timestamp`, a dot and the body, in hexadecimal.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;
use tokio::time::timeout;
use url::Url;

use crate::http::guard::{self, GuardedClient};
use crate::http::{LocalSecrets, NetworkRules, SecretReference, SecretResolver};

/// Time for one request, the lookup of the secret included.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a block of SHA-256.
const BLOCK_BYTES: usize = 64;

/// Configuration of a webhook.
#[derive(Clone)]
pub struct WebhookSpec {
    url: Url,
    /// Reference to the secret that signs.
    pub secret: SecretReference,
    /// Looks up the secret.
    pub secrets: Arc<dyn SecretResolver>,
    /// Networks allowed besides the host of the url.
    pub network: NetworkRules,
}

impl WebhookSpec {
    /// The webhook at `url`.
    ///
    /// # Errors
    ///
    /// What is wrong with the url.
    pub fn new(url: &str, secret: SecretReference) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err("it is neither `https://…` nor `http://…`".to_owned());
        }
        Ok(Self {
            url,
            secret,
            secrets: Arc::new(LocalSecrets::default()),
            network: NetworkRules::default(),
        })
    }
}

impl fmt::Debug for WebhookSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookSpec")
            .field("origin", &guard::origin(&self.url))
            .finish_non_exhaustive()
    }
}

/// Client of one webhook.
pub struct Webhook {
    spec: WebhookSpec,
    client: GuardedClient,
    secret: OnceCell<SecretString>,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Webhook").field(&self.spec).finish()
    }
}

impl Webhook {
    /// A client of the webhook; nothing is sent yet.
    ///
    /// # Errors
    ///
    /// The reason why the address is never allowed.
    pub fn new(spec: WebhookSpec) -> Result<Self, String> {
        let client = GuardedClient::new(&spec.url, spec.network.clone());
        Ok(Self {
            client: client.map_err(|error| error.to_string())?,
            spec,
            secret: OnceCell::new(),
        })
    }

    /// Sends one document. `at_s` is the time of the request, in seconds since 1970.
    ///
    /// # Errors
    ///
    /// What went wrong, without path, query and secret of the webhook.
    pub async fn send(&self, body: Vec<u8>, at_s: u64) -> Result<(), String> {
        let origin = guard::origin(&self.spec.url);
        match timeout(REQUEST_TIMEOUT, self.request(body, at_s)).await {
            Ok(sent) => sent.map_err(|problem| format!("{origin}: {problem}")),
            Err(_) => Err(format!("{origin}: no answer in time")),
        }
    }

    async fn request(&self, body: Vec<u8>, at_s: u64) -> Result<(), String> {
        let resolved = self
            .secret
            .get_or_try_init(|| self.spec.secrets.resolve(&self.spec.secret));
        let secret = resolved
            .await
            .map_err(|problem| format!("its secret: {problem}"))?;
        let timestamp = at_s.to_string();
        let signature = signature(secret.expose_secret().as_bytes(), &timestamp, &body);
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in [
            ("limbeck-timestamp", timestamp),
            ("limbeck-signature", signature),
        ] {
            let value = HeaderValue::from_str(&value).map_err(|error| error.to_string())?;
            headers.insert(name, value);
        }
        let sent = self
            .client
            .send(Method::POST, &self.spec.url, headers, body);
        let response = sent.await.map_err(|error| error.to_string())?;
        let status = response.status();
        if status.is_success() {
            Ok(())
        } else {
            Err(format!("it answered {}", status.as_u16()))
        }
    }
}

/// What a receiver compares: `sha256=` and the HMAC of timestamp, dot and body.
fn signature(secret: &[u8], timestamp: &str, body: &[u8]) -> String {
    let digest = hmac(secret, &[timestamp.as_bytes(), b".", body]);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

/// HMAC-SHA256, RFC 2104.
fn hmac(secret: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut key = [0; BLOCK_BYTES];
    let hashed: [u8; 32] = Sha256::digest(secret).into();
    let short = if secret.len() > BLOCK_BYTES {
        &hashed[..]
    } else {
        secret
    };
    for (place, byte) in key.iter_mut().zip(short) {
        *place = *byte;
    }
    let mut inner = Sha256::new();
    inner.update(key.map(|byte| byte ^ 0x36));
    for part in parts {
        inner.update(part);
    }
    let mut outer = Sha256::new();
    outer.update(key.map(|byte| byte ^ 0x5c));
    outer.update(inner.finalize());
    outer.finalize().into()
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Answers one request, and returns it.
    async fn received(listener: TcpListener, answer: &str) -> String {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        let is_whole = |request: &[u8]| {
            let text = String::from_utf8_lossy(request);
            text.split_once("\r\n\r\n")
                .is_some_and(|(_, body)| body.ends_with('}'))
        };
        while !is_whole(&request) {
            let mut buffer = [0; 4096];
            let read = stream.read(&mut buffer).await.unwrap();
            assert!(read > 0);
            request.extend_from_slice(&buffer[..read]);
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(request).unwrap()
    }

    struct Known;

    impl SecretResolver for Known {
        fn resolve<'a>(
            &'a self,
            _: &'a SecretReference,
        ) -> BoxFuture<'a, Result<SecretString, String>> {
            Box::pin(async { Ok(SecretString::from("hook-secret")) })
        }
    }

    #[tokio::test]
    async fn a_request_is_signed_and_a_redirect_is_not_followed() {
        const OK: &str = "HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n";
        const MOVED: &str =
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
        let body = br#"{"event":"approval_waits","tool":"send"}"#;
        for (answer, is_sent) in [(OK, true), (MOVED, false)] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!(
                "http://{}/hook?token=path-secret",
                listener.local_addr().unwrap()
            );
            let reference = SecretReference::parse("env:HOOK").unwrap().unwrap();
            let mut spec = WebhookSpec::new(&url, reference).unwrap();
            spec.secrets = Arc::new(Known);
            let webhook = Webhook::new(spec).unwrap();
            let (request, sent) = tokio::join!(
                received(listener, answer),
                webhook.send(body.to_vec(), 1_700_000_000)
            );
            let head = request.to_ascii_lowercase();
            let signed = signature(b"hook-secret", "1700000000", body);
            assert!(
                head.contains(&format!("limbeck-signature: {signed}")),
                "{request}"
            );
            assert!(head.contains("limbeck-timestamp: 1700000000"), "{request}");
            assert!(!request.contains("hook-secret"), "{request}");
            assert_eq!(sent.is_ok(), is_sent);
            if let Err(problem) = sent {
                assert!(
                    problem.contains("302") && !problem.contains("path-secret"),
                    "{problem}"
                );
            }
        }
    }

    fn hex(digest: [u8; 32]) -> String {
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_signature_is_that_of_rfc_4231() {
        let jefe = hmac(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hex(jefe), expected);
        let text = b"Test Using Larger Than Block-Size Key - Hash Key First";
        let long = hmac(&[0xaa; 131], &[text]);
        let expected = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
        assert_eq!(hex(long), expected);
        // Time and body are both signed.
        let signed = signature(b"k", "1", b"{}");
        assert!(signed.starts_with("sha256=") && signed.len() == 71);
        assert_ne!(signed, signature(b"k", "2", b"{}"));
        assert_ne!(signed, signature(b"k", "1", b"[]"));
    }
}
