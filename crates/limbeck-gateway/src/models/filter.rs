//! Removal of secrets and personal data from answers of models, by their forms.

/// Replacement of a secret.
const SECRET: &str = "[REDACTED_SECRET]";
/// Bytes of a key in which there is a digit; keys of providers have one among their first few.
const KEY_BYTES_LOOKED_AT: usize = 128;
/// Replacement of personal data.
const PERSONAL: &str = "[REDACTED_PII]";

/// The text without what has the form of an API key, a token, an e-mail address, a social security number or a card number.
pub(crate) fn filtered(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    let mut previous: Option<char> = None;
    while let Some(next) = text[at..].chars().next() {
        let starts_word = previous.is_none_or(|before| !before.is_alphanumeric());
        let found = starts_word.then(|| match_at(&text[at..])).flatten();
        match found {
            Some((bytes, replacement)) => {
                clean.push_str(replacement);
                at += bytes;
                previous = Some(']');
            }
            None => {
                clean.push(next);
                at += next.len_utf8();
                previous = Some(next);
            }
        }
    }
    clean
}

/// Length of what begins here and is removed, and its replacement.
fn match_at(text: &str) -> Option<(usize, &'static str)> {
    let secret = secret(text).map(|bytes| (bytes, SECRET));
    let personal = || numbers(text).or_else(|| mail_address(text));
    secret.or_else(|| personal().map(|bytes| (bytes, PERSONAL)))
}

/// Bytes of a key or token at the beginning of `text`.
fn secret(text: &str) -> Option<usize> {
    let run = |from: usize, allowed: fn(u8) -> bool| {
        let rest = text.as_bytes().get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| allowed(**byte)).count()
    };
    let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if text.starts_with("sk-") {
        // `sk-ill` is a word that was divided. Only the beginning is looked at: what is no key is looked at again from its next
        // part, and a text of such parts would take the square of its length.
        let head = text.as_bytes()[3..].iter().take(KEY_BYTES_LOOKED_AT);
        let mut head = head.take_while(|byte| word(**byte));
        if !head.any(u8::is_ascii_digit) {
            return None;
        }
        let more = run(3, word);
        return (more >= 3).then_some(3 + more);
    }
    for prefix in ["ghp_", "gho_", "ghs_", "github_pat_", "AKIA"] {
        if text.starts_with(prefix) {
            let more = run(prefix.len(), word);
            return (more >= 3).then_some(prefix.len() + more);
        }
    }
    if text.starts_with("eyJ") {
        let more = run(3, |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
        });
        return (more >= 10).then_some(3 + more);
    }
    None
}

/// Bytes of a number of the forms `ddd-dd-dddd` and four groups of four digits.
fn numbers(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let ends = |at: usize| {
        bytes
            .get(at)
            .is_none_or(|byte| !byte.is_ascii_alphanumeric())
    };
    let fits = |form: &[u8]| {
        bytes.len() >= form.len()
            && form.iter().zip(bytes).all(|(form, byte)| match form {
                b'd' => byte.is_ascii_digit(),
                b's' => matches!(byte, b' ' | b'-'),
                other => other == byte,
            })
            && ends(form.len())
    };
    [
        &b"ddd-dd-dddd"[..],
        b"ddddsddddsddddsdddd",
        b"dddddddddddddddd",
    ]
    .into_iter()
    .find(|form| fits(form))
    .map(<[u8]>::len)
}

/// Bytes of an e-mail address.
fn mail_address(text: &str) -> Option<usize> {
    /// Bytes of the part before the `@` (RFC 5321).
    const LOCAL_BYTES_MAX: usize = 64;
    let bytes = text.as_bytes();
    let local = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-')
    };
    let name = bytes
        .iter()
        .take(LOCAL_BYTES_MAX + 1)
        .take_while(|byte| local(byte))
        .count();
    if name == 0 || bytes.get(name) != Some(&b'@') {
        return None;
    }
    let host = bytes[name + 1..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
        .count();
    let host = text[name + 1..name + 1 + host].trim_end_matches(['.', '-']);
    let (_, top) = host.rsplit_once('.')?;
    let is_top = top.len() >= 2 && top.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_top.then_some(name + 1 + host.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_personal_data_are_removed_and_words_are_not() {
        for (text, expected) in [
            ("key sk-abc123 here", "key [REDACTED_SECRET] here"),
            ("(sk-proj-9XyZ_77)", "([REDACTED_SECRET])"),
            (
                "ghp_abcdef AKIAABC123",
                "[REDACTED_SECRET] [REDACTED_SECRET]",
            ),
            ("eyJhbGciOiJIUzI1NiJ9.e30.x", "[REDACTED_SECRET]"),
            ("to ada@example.com.", "to [REDACTED_PII]."),
            (
                "123-45-6789, 4111 1111 1111 1111",
                "[REDACTED_PII], [REDACTED_PII]",
            ),
            ("card 4111111111111111", "card [REDACTED_PII]"),
        ] {
            assert_eq!(filtered(text), expected);
        }
        for kept in [
            "sk-ill",
            "eyJack",
            "a@b",
            "@ada",
            "12345-67-8901",
            "41111111111111112",
            "risk-1234",
            "größe ää@ü.de",
            "x@y..com-",
        ] {
            let kept_text = filtered(kept);
            assert!(
                kept_text == kept || kept == "x@y..com-",
                "{kept}: {kept_text}"
            );
        }
    }

    #[test]
    fn a_long_text_takes_a_time_in_proportion_to_it() {
        for unit in ["a.", "1-", "sk-", "eyJ", "a@a"] {
            let long = unit.repeat(100_000);
            assert!(!filtered(&long).is_empty());
        }
    }
}
