//! JSON text on its way out of the guest.

use std::borrow::Cow;

/// Replaces escapes of lone surrogates (`\ud800`) by U+FFFD. `JSON.stringify` writes them for
/// strings that are not Unicode, which a strict parser on the other side would reject.
pub(super) fn well_formed(text: &str) -> Cow<'_, str> {
    if !text.contains("\\ud") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let len = escape_len(escape);
        if is_surrogate(&escape[..len]) {
            out.push('\u{fffd}');
        } else {
            out.push_str(&escape[..len]);
        }
        rest = &escape[len..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Length of the escape `text` begins with, in bytes; its whole length when it is cut short.
fn escape_len(text: &str) -> usize {
    let wanted = if text.as_bytes().get(1) == Some(&b'u') {
        6
    } else {
        2
    };
    if text.is_char_boundary(wanted) {
        wanted
    } else {
        text.len()
    }
}

/// `JSON.stringify` escapes no other character of this range than a lone surrogate, in lower case.
fn is_surrogate(escape: &str) -> bool {
    escape.starts_with("\\ud")
        && matches!(escape.as_bytes().get(3), Some(b'8'..=b'9' | b'a'..=b'f'))
}
