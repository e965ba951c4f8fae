//! Removal of secrets from JSON text: what was valid stays valid.
//!
//! Strings are compared by what they mean, because an encoder may escape any character. A number of many digits may be a
//! secret too; a string takes its place.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// Replaces strings and numbers of `json` by what `redact` returns for their texts.
///
/// `redact` returns a borrowed text where nothing is to be replaced. JSON that is not valid is treated as one text.
pub(crate) fn redacted<'a>(
    json: &'a str,
    redact: &dyn for<'t> Fn(&'t str) -> Cow<'t, str>,
) -> Cow<'a, str> {
    let mut out = String::new();
    // Everything before it is in `out`, if anything is.
    let mut done = 0;
    let mut at = 0;
    while at < json.len() {
        let Some(quote) = memchr(b'"', &json.as_bytes()[at..]).map(|found| at + found) else {
            numbers(json, at, json.len(), redact, &mut out, &mut done);
            break;
        };
        numbers(json, at, quote, redact, &mut out, &mut done);
        let Some((end, is_escaped)) = string_end(json.as_bytes(), quote + 1) else {
            return redact(json);
        };
        let inside = &json[quote + 1..end];
        let decoded = match is_escaped {
            false => Cow::Borrowed(inside),
            // Half of a surrogate pair is no text: what is around it is looked at as it is.
            true => serde_json::from_str(&json[quote..=end])
                .map_or(Cow::Borrowed(inside), |text: String| Cow::Owned(text)),
        };
        if let Cow::Owned(text) = redact(&decoded) {
            out.push_str(&json[done..quote]);
            out.push_str(&quoted(&text));
            done = end + 1;
        }
        at = end + 1;
    }
    if done == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(&json[done..]);
    Cow::Owned(out)
}

/// Where a string ends that begins before `at`, and whether it has escapes.
fn string_end(json: &[u8], mut at: usize) -> Option<(usize, bool)> {
    let mut is_escaped = false;
    loop {
        let found = at + memchr2(b'"', b'\\', json.get(at..)?)?;
        if json[found] == b'"' {
            return Some((found, is_escaped));
        }
        is_escaped = true;
        at = found + 2;
    }
}

/// Looks at the numbers between two strings.
fn numbers(
    json: &str,
    from: usize,
    to: usize,
    redact: &dyn for<'t> Fn(&'t str) -> Cow<'t, str>,
    out: &mut String,
    done: &mut usize,
) {
    // Most of what is between strings is a few signs.
    if to - from < 6 {
        return;
    }
    let is_of_number = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    let bytes = json.as_bytes();
    let mut at = from;
    while at < to {
        if !(bytes[at].is_ascii_digit() || bytes[at] == b'-') {
            at += 1;
            continue;
        }
        let length = bytes[at..to]
            .iter()
            .take_while(|byte| is_of_number(**byte))
            .count();
        if let Cow::Owned(text) = redact(&json[at..at + length]) {
            out.push_str(&json[*done..at]);
            out.push_str(&quoted(&text));
            *done = at + length;
        }
        at += length;
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned())
}
