//! Retries after `Retry-After` (RFC 9110, section 10.2.3).

use std::time::{Duration, SystemTime};

use http::StatusCode;
use http::header::{HeaderMap, RETRY_AFTER};

/// Longest wait before a retry; a longer one is reported to the caller instead.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Retries of one request.
pub(super) const AGAIN_MAX: u32 = 2;

/// Time to wait before a request of `method` is sent again; `None` when it must not be, or the wait is too
/// long.
///
/// A server returns 429 before it does any work. 503 may come from a proxy in front of a server that did, so a
/// tool call is not retried after it.
pub(super) fn pause(method: &str, status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let may_repeat = match status {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::SERVICE_UNAVAILABLE => method != "tools/call",
        _ => false,
    };
    asked(headers, SystemTime::now()).filter(|wait| may_repeat && *wait <= WAIT_MAX)
}

/// Wait that a response requests: seconds, or a date; a past date is no wait.
pub(super) fn asked(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(value: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_static(value));
        headers
    }

    #[test]
    fn seconds_and_dates_are_waits_and_other_values_are_not() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let asked = |value| asked(&headers(value), now).map(|wait| wait.as_secs());
        assert_eq!(asked("3"), Some(3));
        assert_eq!(asked("Sun, 06 Nov 1994 08:50:37 GMT"), Some(60));
        assert_eq!(asked("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0));
        for odd in ["-1", "1.5", "soon", "", "99999999999999999999999"] {
            assert_eq!(asked(odd), None, "{odd}");
        }
    }

    #[test]
    fn only_requests_without_effect_are_retried_and_only_after_a_short_wait() {
        let pause = |method, status, value| pause(method, status, &headers(value)).is_some();
        let (busy, away) = (
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::SERVICE_UNAVAILABLE,
        );
        assert!(pause("tools/call", busy, "10"));
        assert!(pause("tools/list", away, "1"));
        assert!(!pause("tools/call", away, "1"));
        assert!(!pause("tools/list", busy, "11"));
        assert!(!pause("tools/list", StatusCode::INTERNAL_SERVER_ERROR, "1"));
    }
}
