//! HTTP client of the SDK, which validates every request and every response.
//!
//! The SDK decides what to send; this client decides whether it is sent and what the SDK sees of the response.
//! Requests go only to addresses that [`super::address`] accepts, redirects of a POST are not followed, and of
//! an error response only the error code is passed on: some servers repeat the whole request in its
//! description, secrets included.

use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, Response, StatusCode};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest,
};
use serde_json::{Map, Value, json};
use url::{Url, form_urlencoded};

use super::address;
use super::error::{OAuthError, quoted};
use crate::http::guard::{GuardedClient, RedirectPolicy};
use crate::sync::lock;

/// Time limit of one request with its response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// Longest token; a JWT with many groups has 10 KiB.
const TOKEN_BYTES_MAX: usize = 32 << 10;
/// Longest token lifetime accepted, in seconds: ten years.
const LIFE_SECONDS_MAX: u64 = 10 * 365 * 24 * 3600;
/// Secret fields of a token request.
const SECRET_FIELDS: &[&str] = &[
    "code",
    "code_verifier",
    "refresh_token",
    "client_secret",
    "client_assertion",
    "token",
];

/// HTTP client of one sign-in, refresh or sign-out.
pub(super) struct OAuthHttp {
    client: GuardedClient,
    server: Url,
    /// Last error. The SDK's own error has less detail, and may contain secrets.
    fault: Mutex<Option<OAuthError>>,
}

/// Purpose of a request, which decides how its response is validated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestPurpose {
    Document,
    Token,
    Registration,
}

impl RequestPurpose {
    fn of(request: &Request<Vec<u8>>) -> Self {
        let form = request.headers().get(CONTENT_TYPE).is_some_and(|value| {
            value
                .as_bytes()
                .starts_with(b"application/x-www-form-urlencoded")
        });
        match (request.method(), form) {
            (&Method::POST, true) => Self::Token,
            (&Method::POST, false) => Self::Registration,
            _ => Self::Document,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Document => "metadata request",
            Self::Token => "token request",
            Self::Registration => "registration",
        }
    }
}

impl OAuthHttp {
    pub(super) fn new(client: GuardedClient, server: Url) -> Self {
        Self {
            client,
            server,
            fault: Mutex::new(None),
        }
    }

    /// Takes the last error.
    pub(super) fn take_fault(&self) -> Option<OAuthError> {
        lock(&self.fault).take()
    }

    /// Sends `request` if its address is allowed, within [`REQUEST_TIMEOUT`].
    pub(super) async fn exchange(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Vec<u8>>, OAuthError> {
        let text = request.uri().to_string();
        let url = Url::parse(&text).map_err(|_| OAuthError::Address {
            what: "address",
            address: quoted(&text),
            problem: "it is not a URI",
        })?;
        address::check(&url, &self.server).map_err(|problem| OAuthError::Address {
            what: "address",
            address: address::shown(&url),
            problem,
        })?;
        let sent = self
            .client
            .fetch(request, RedirectPolicy::Return, REQUEST_TIMEOUT);
        sent.await.map_err(|error| OAuthError::Unreachable {
            url: address::shown(&url),
            reason: quoted(&error.to_string()),
        })
    }

    /// Sends a request with [`OAuthHttp::exchange`] and validates the response.
    async fn checked(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, OAuthError> {
        let purpose = RequestPurpose::of(&request);
        let secrets = match purpose {
            RequestPurpose::Token => secrets_of(&request),
            RequestPurpose::Document | RequestPurpose::Registration => Vec::new(),
        };
        let url = request.uri().to_string();
        let response = self.exchange(request).await?;
        if purpose == RequestPurpose::Document {
            return Ok(response);
        }
        let status = response.status();
        if status.is_redirection() {
            let url = Url::parse(&url).map(|url| address::shown(&url));
            return Err(OAuthError::Redirected {
                url: url.unwrap_or_default(),
            });
        }
        if !status.is_success() {
            let refusal = refusal(purpose, &response, &secrets);
            // Kept for `explain`, because the SDK only sees the code.
            *lock(&self.fault) = Some(refusal.clone());
            return Ok(code_only(status, &refusal));
        }
        let checked = match purpose {
            RequestPurpose::Token => check_token(response.body()),
            RequestPurpose::Registration | RequestPurpose::Document => {
                check_client(response.body())
            }
        };
        checked.map_err(|reason| OAuthError::Answer {
            what: purpose.name(),
            reason,
        })?;
        Ok(response)
    }
}

impl OAuthHttpClient for OAuthHttp {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            self.checked(request.request).await.map_err(|error| {
                *lock(&self.fault) = Some(error.clone());
                Box::new(error) as OAuthHttpClientError
            })
        })
    }
}

impl fmt::Debug for OAuthHttp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthHttp").finish_non_exhaustive()
    }
}

/// Secrets of a token request, plain and form-encoded.
fn secrets_of(request: &Request<Vec<u8>>) -> Vec<String> {
    let mut secrets = Vec::new();
    for (name, value) in form_urlencoded::parse(request.body()) {
        if SECRET_FIELDS.contains(&name.as_ref()) && !value.is_empty() {
            secrets.push(form_urlencoded::byte_serialize(value.as_bytes()).collect());
            secrets.push(value.into_owned());
        }
    }
    let authorization = request.headers().get(AUTHORIZATION);
    if let Some(value) = authorization.and_then(|value| value.to_str().ok()) {
        // For `Basic`, the credentials are the secret.
        secrets.extend(value.split_whitespace().nth(1).map(str::to_owned));
    }
    secrets
}

/// Converts an error response.
fn refusal(
    purpose: RequestPurpose,
    response: &Response<Vec<u8>>,
    secrets: &[String],
) -> OAuthError {
    let body: Map<String, Value> = serde_json::from_slice(response.body()).unwrap_or_default();
    let is_code = |code: &&str| {
        (1..=64).contains(&code.len())
            && code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
            && !repeats(code, secrets)
    };
    let error = body.get("error").and_then(Value::as_str).filter(is_code);
    let description = body.get("error_description").and_then(Value::as_str);
    let description = description.filter(|text| !text.is_empty() && !repeats(text, secrets));
    OAuthError::Refused {
        what: purpose.name(),
        status: response.status().as_u16(),
        error: error.unwrap_or("no reason given").to_owned(),
        description: description.map(quoted),
    }
}

fn repeats(text: &str, secrets: &[String]) -> bool {
    secrets.iter().any(|secret| text.contains(secret.as_str()))
}

/// Error response for the SDK, with the code only: the SDK looks for `invalid_grant`.
fn code_only(status: StatusCode, refusal: &OAuthError) -> Response<Vec<u8>> {
    let code = match refusal {
        OAuthError::Refused { error, .. } => error.as_str(),
        _ => "refused",
    };
    let mut response = Response::new(json!({ "error": code }).to_string().into_bytes());
    *response.status_mut() = status;
    response
}

/// Validates a token response (RFC 6749 §5.1) and its bounds.
fn check_token(body: &[u8]) -> Result<(), String> {
    let body: Map<String, Value> =
        serde_json::from_slice(body).map_err(|_| "it is not a JSON object".to_owned())?;
    token_text(&body, "access_token")?.ok_or("it has no `access_token`")?;
    token_text(&body, "refresh_token")?;
    match body.get("token_type") {
        Some(Value::String(kind)) if kind.eq_ignore_ascii_case("bearer") => {}
        Some(Value::String(kind)) => {
            return Err(format!("its token is of the type `{}`", quoted(kind)));
        }
        _ => return Err("its `token_type` is not a text".to_owned()),
    }
    match body.get("expires_in") {
        None | Some(Value::Null) => {}
        Some(life) => match life.as_u64() {
            Some(seconds) if seconds <= LIFE_SECONDS_MAX => {}
            Some(seconds) => return Err(format!("its token lives for {seconds} s")),
            None => return Err("its `expires_in` is not a number of seconds".to_owned()),
        },
    }
    match body.get("scope") {
        None | Some(Value::Null | Value::String(_)) => Ok(()),
        Some(_) => Err("its `scope` is not a text".to_owned()),
    }
}

/// Whether a token can be sent in a header (RFC 6750 §2.1).
fn token_text<'b>(body: &'b Map<String, Value>, key: &str) -> Result<Option<&'b str>, String> {
    match body.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(token)) if token.is_empty() => Err(format!("its `{key}` is empty")),
        Some(Value::String(token)) if token.len() > TOKEN_BYTES_MAX => {
            Err(format!("its `{key}` has {} bytes", token.len()))
        }
        Some(Value::String(token)) if !token.bytes().all(|b| b.is_ascii_graphic()) => Err(format!(
            "its `{key}` has characters that no header can have"
        )),
        Some(Value::String(token)) => Ok(Some(token)),
        Some(_) => Err(format!("its `{key}` is not a text")),
    }
}

/// Validates the fields used of a registration response (RFC 7591 §3.2.1).
fn check_client(body: &[u8]) -> Result<(), String> {
    let body: Map<String, Value> =
        serde_json::from_slice(body).map_err(|_| "it is not a JSON object".to_owned())?;
    match body.get("client_id") {
        Some(Value::String(id)) if !id.is_empty() && id.len() <= TOKEN_BYTES_MAX => {}
        _ => return Err("it has no `client_id`".to_owned()),
    }
    match body.get("client_secret") {
        None | Some(Value::Null | Value::String(_)) => Ok(()),
        Some(_) => Err("its `client_secret` is not a text".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tokens_a_header_can_carry_for_a_sane_time_are_taken() {
        let good = json!({"access_token": "a", "token_type": "bearer", "expires_in": 3600});
        assert_eq!(check_token(good.to_string().as_bytes()), Ok(()));
        let cases = [
            json!({"token_type": "Bearer"}),
            json!({"access_token": "", "token_type": "Bearer"}),
            json!({"access_token": "a\r\nX: y", "token_type": "Bearer"}),
            json!({"access_token": ["a"], "token_type": "Bearer"}),
            json!({"access_token": "a", "token_type": 5}),
            json!({"access_token": "a", "token_type": "DPoP"}),
            json!({"access_token": "a", "token_type": "Bearer", "expires_in": 1e12 as u64}),
            json!({"access_token": "a", "token_type": "Bearer", "expires_in": "soon"}),
            json!({"access_token": "a", "token_type": "Bearer", "expires_in": -1}),
            json!({"access_token": "a", "token_type": "Bearer", "refresh_token": "r\n"}),
            json!([]),
        ];
        for case in cases {
            assert!(check_token(case.to_string().as_bytes()).is_err(), "{case}");
        }
    }

    #[test]
    fn a_description_that_repeats_a_secret_is_dropped_and_another_one_is_shown() {
        let request = Request::post("https://as.example.com/token")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(AUTHORIZATION, "Basic aWQ6c2VjcmV0")
            .body(b"grant_type=authorization_code&code=c%2B1&code_verifier=ver".to_vec())
            .unwrap();
        let secrets = secrets_of(&request);
        let answer = |text: &str| {
            let body = json!({"error": "invalid_request", "error_description": text});
            let response = Response::builder()
                .status(400)
                .body(body.to_string().into_bytes())
                .unwrap();
            refusal(RequestPurpose::Token, &response, &secrets).to_string()
        };
        let plain = "the authorization server refused the token request (400): invalid_request";
        assert_eq!(answer("code is old"), format!("{plain} (code is old)"));
        for text in ["got c+1", "got code=c%2B1", "x ver y", "Basic aWQ6c2VjcmV0"] {
            assert_eq!(answer(text), plain);
        }
    }
}
