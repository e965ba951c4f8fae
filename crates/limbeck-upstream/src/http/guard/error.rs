//! Why a request brought no response, in words that hold no secret.

use std::error::Error;

use limbeck_domain::text;
use url::{Host, Url};

use super::{AddressRefused, origin};
use crate::http::address::AddressClass;

/// Reason of the system or of TLS in an error, in bytes.
const REASON_BYTES_MAX: usize = 300;

/// Why a request brought no response.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GuardError {
    /// The url is none that can be asked.
    #[error("the url cannot be used: {reason}")]
    Url {
        /// What is wrong with it; no part of it that may hold a secret.
        reason: String,
    },
    /// The url asks for the clear where it must not.
    #[error("`{origin}` is not asked in the clear; only https is")]
    Clear {
        /// Scheme, host and port.
        origin: String,
    },
    /// The address is one the server may not lead to.
    #[error(transparent)]
    Address(#[from] AddressRefused),
    /// No connection; nothing was sent.
    #[error("no connection to `{origin}`: {reason}")]
    Connect {
        /// Scheme, host and port.
        origin: String,
        /// The system's or the TLS library's reason.
        reason: String,
    },
    /// The connection broke, or what came was no HTTP. The request may have been received.
    #[error("the connection to `{origin}` broke: {reason}")]
    Broken {
        /// Scheme, host and port.
        origin: String,
        /// What happened.
        reason: String,
    },
    /// The whole took too long.
    #[error("`{origin}` took longer than {ms} ms")]
    TimedOut {
        /// Scheme, host and port.
        origin: String,
        /// The limit.
        ms: u64,
    },
    /// The body is above its bound.
    #[error("the answer has more than {limit} bytes")]
    TooLarge {
        /// The bound.
        limit: u64,
    },
    /// The body is compressed although nobody asked for that.
    #[error("the answer is encoded as `{encoding}`, which was not asked for")]
    Encoded {
        /// `Content-Encoding`, cleaned and cut.
        encoding: String,
    },
    /// A redirect to somewhere else, or one too many.
    #[error("a redirect to {target} is not followed")]
    Redirect {
        /// The origin it leads to, with its class when it is an address.
        target: String,
    },
}

impl GuardError {
    /// Whether the request surely never left.
    pub fn is_unsent(&self) -> bool {
        match self {
            Self::Url { .. } | Self::Clear { .. } | Self::Address(_) | Self::Connect { .. } => true,
            Self::Broken { .. }
            | Self::TimedOut { .. }
            | Self::TooLarge { .. }
            | Self::Encoded { .. }
            | Self::Redirect { .. } => false,
        }
    }
}

/// The error of a redirect that is not followed.
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

/// What a failure of the HTTP library means here.
pub(super) fn fault(error: &reqwest::Error, origin: &str) -> GuardError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(inner) = cause {
        if let Some(refused) = inner.downcast_ref::<AddressRefused>() {
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

/// The innermost reasons of `error`, without the url, which may hold a secret.
pub(super) fn causes(error: &reqwest::Error) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        // Some repeat what lies below them.
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
