//! Errors of the guarded HTTP client, without secrets.

use std::error::Error;

use limbeck_domain::text;
use url::{Host, Url};

use super::{AddressRefusedError, origin};
use crate::http::address::AddressClass;

/// Bytes kept of a reason of the system or of TLS.
const REASON_BYTES_MAX: usize = 300;

/// Failure of an HTTP request.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GuardError {
    /// The url cannot be requested.
    #[error("the url cannot be used: {reason}")]
    Url {
        /// What is wrong with the url, without any part that may hold a secret.
        reason: String,
    },
    /// The url is `http` where `https` is required.
    #[error("`{origin}` is not contacted over plain http; use https")]
    Clear {
        /// Scheme, host and port.
        origin: String,
    },
    /// The address is not allowed for this server.
    #[error(transparent)]
    Address(#[from] AddressRefusedError),
    /// No connection could be made; nothing was sent.
    #[error("no connection to `{origin}`: {reason}")]
    Connect {
        /// Scheme, host and port.
        origin: String,
        /// The system's or the TLS library's reason.
        reason: String,
    },
    /// The connection broke, or the response was not HTTP. The request may have been received.
    #[error("the connection to `{origin}` broke: {reason}")]
    Broken {
        /// Scheme, host and port.
        origin: String,
        /// Reason of the system or the HTTP library.
        reason: String,
    },
    /// Request and response took too long together.
    #[error("`{origin}` took longer than {ms} ms")]
    TimedOut {
        /// Scheme, host and port.
        origin: String,
        /// The limit.
        ms: u64,
    },
    /// The body is larger than allowed.
    #[error("the answer has more than {limit} bytes")]
    TooLarge {
        /// The bound.
        limit: u64,
    },
    /// The body is compressed although compression was not requested.
    #[error("the answer is encoded as `{encoding}`, which was not requested")]
    Encoded {
        /// `Content-Encoding`, cleaned and cut.
        encoding: String,
    },
    /// A redirect to another origin, or one too many.
    #[error("a redirect to {target} is not followed")]
    Redirect {
        /// Origin of the target, with its class when it is an address.
        target: String,
    },
}

/// Error of a redirect that is not followed.
pub(crate) fn redirect(target: Option<&Url>) -> GuardError {
    let target = match target.map(|target| (target, target.host())) {
        None => "nowhere".to_owned(),
        Some((target, host)) => {
            let class = match host {
                Some(Host::Ipv4(address)) => Some(AddressClass::of(address.into())),
                Some(Host::Ipv6(address)) => Some(AddressClass::of(address.into())),
                Some(Host::Domain(_)) | None => None,
            };
            match class {
                Some(class) => format!("`{}`, a {class} address,", origin(target)),
                None => format!("`{}`", origin(target)),
            }
        }
    };
    GuardError::Redirect { target }
}

/// Converts an error of the HTTP library.
pub(super) fn fault(error: &reqwest::Error, origin: &str) -> GuardError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(inner) = cause {
        if let Some(refused) = inner.downcast_ref::<AddressRefusedError>() {
            return refused.clone().into();
        }
        cause = inner.source();
    }
    let (origin, reason) = (origin.to_owned(), causes(error));
    if error.is_connect() {
        GuardError::Connect { origin, reason }
    } else if error.is_builder() {
        GuardError::Url { reason }
    } else {
        GuardError::Broken { origin, reason }
    }
}

/// Innermost reasons of `error`, without the url, which may hold a secret.
pub(super) fn causes(error: &reqwest::Error) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        // Some errors repeat the text of their source.
        words.retain(|outer| !said.contains(outer.as_str()) && outer != "client error (Connect)");
        if !words.iter().any(|outer| outer.contains(&said)) {
            words.push(said);
        }
        cause = inner.source();
    }
    if words.is_empty() {
        words.push("no reason is known".to_owned());
    }
    text::clean_line(&words.join(": "), REASON_BYTES_MAX)
}
