//! Addresses that a server asks a user to open, and which of them may be shown.

use serde_json::value::RawValue;

use crate::server_request::DeclinedError;

/// Longest `url` of an elicitation.
const URL_BYTES_MAX: usize = 4 << 10;

/// Accepts only plain `https` addresses, because a client may open the address without showing it.
pub(crate) fn check_url(params: &RawValue) -> Result<(), DeclinedError> {
    #[derive(serde::Deserialize)]
    struct Params {
        url: String,
    }
    let Ok(Params { url }) = serde_json::from_str(params.get()) else {
        return Err(DeclinedError::new("the request has no `url`"));
    };
    // RFC 3986, section 2: everything else has to be percent-encoded.
    let allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    let host = url
        // Checked by hand, not with a URL parser: the client may parse the text differently, so only text
        // without room for interpretation passes.
        .strip_prefix("https://")
        .and_then(|rest| rest.split(['/', '?', '#']).next())
        .filter(|host| !host.is_empty() && !host.contains('@'));
    if host.is_some() && url.len() <= URL_BYTES_MAX && url.bytes().all(allowed) {
        return Ok(());
    }
    Err(DeclinedError::new(
        "only plain `https` addresses without user names are shown to a user",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_https_addresses_are_shown() {
        let check = |url: &str| {
            let params = serde_json::json!({ "url": url }).to_string();
            check_url(&RawValue::from_string(params).unwrap()).is_ok()
        };
        assert!(check("https://example.com/sign-in?a=b#c"));
        for bad in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "http://127.0.0.1:9/x",
            "https://login.example.invalid@127.0.0.1/",
            "ms-settings:",
            "https://",
            "https://a.invalid/`id`",
            "https://a.invalid/a b",
            "https://a.invalid/\"",
        ] {
            assert!(!check(bad), "{bad}");
        }
    }
}
